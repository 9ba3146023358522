"""The child process of a node: Flower's own SuperNode, which ends when the node that started it does.

It is run as a file, by itself: it needs nothing of this package and sees nothing of the node's house.
"""

from __future__ import annotations

import os
import signal
import sys
import threading


def _watch() -> None:
    """The parent holds the other end of standard input: its end, however it comes, is ours."""
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run `flower-supernode` with the arguments of the command line."""
    from flwr.supernode.cli.flower_supernode import flower_supernode

    threading.Thread(target=_watch, daemon=True).start()
    sys.argv[0] = "flower-supernode"
    try:
        flower_supernode()
    finally:
        os._exit(1)  # its server thread would keep a SuperNode that has given up alive, deaf and dumb


if __name__ == "__main__":
    main()
