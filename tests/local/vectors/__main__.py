"""Write the vectors beside this file: run after a change of the wire format, and say why in the change log."""

from __future__ import annotations

from tests.local.vectors.make import FILES, render, write

if __name__ == "__main__":
    for name in FILES:
        write(name, render(name))
