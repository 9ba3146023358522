"""The command `discreet` and `python -m discreet`: they know how to stop before anything large is imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

_interrupted = False


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupted
    if _interrupted:
        os._exit(130)  # told twice
    _interrupted = True
    raise KeyboardInterrupt


def _unraised(found: sys.UnraisableHookArgs) -> None:
    if not _interrupted:  # nobody who stops a command wants to read what it was doing
        sys.__unraisablehook__(found)


def main() -> None:
    """Run the command line; an interruption is one line and exit code 130 wherever it falls."""
    sys.unraisablehook = _unraised
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    began = False
    try:
        from discreet.cli import main as run
        from discreet.cli.sparing import spare

        spare()
        began = True
        run()
    except SystemExit:
        if _interrupted:  # an engine's own word for it was the one line
            sys.exit(130)
        raise
    except BaseException:  # an import or an engine may have made an error of its own out of an interruption
        if not _interrupted:
            raise
        done = "no result was written; what was charged stays charged" if began else "no file was changed"
        sys.stderr.write(f"stopped: {done}\n")
        sys.exit(130)
    finally:
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
