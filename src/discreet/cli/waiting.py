"""A word on a terminal while a command gets ready, so that nobody wonders: it is gone before anything else is said."""

from __future__ import annotations

import sys
import threading

PATIENCE = 0.7  # seconds without a word
_timer: threading.Timer | None = None
_lock = threading.Lock()
_said = False


def begin() -> None:
    """Say that work has begun, unless something else is said soon; on a terminal's standard error only."""
    global _timer
    if sys.stderr.isatty():
        _timer = threading.Timer(PATIENCE, _say)
        _timer.daemon = True
        _timer.start()


def end() -> None:
    """Something else is about to be said."""
    global _timer, _said
    with _lock:
        if _timer is not None:
            _timer.cancel()
        _timer = None
        if _said:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        _said = False


def _say() -> None:
    global _said
    with _lock:
        if _timer is not None:
            sys.stderr.write("getting ready …")
            sys.stderr.flush()
            _said = True
