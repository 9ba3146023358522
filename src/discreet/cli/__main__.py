"""The command line as a module, for processes that start one another."""

from discreet.cli import main

main()
