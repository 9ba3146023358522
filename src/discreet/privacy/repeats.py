"""Repeated fits: a word of warning where the same data are fitted again and nobody keeps count of it."""

from __future__ import annotations

import os
import sys
import threading
import warnings
import weakref
from contextlib import suppress
from typing import Any

from discreet.errors import RepeatedFitWarning

SEARCHES = "sklearn.model_selection"  # every fold is another slice of the same rows

_lock = threading.RLock()  # a weak reference may die, and call back, while it is held
_seen: dict[type, dict[Any, Any]] = {}
_warned: set[type] = set()


def note_fit(kind: type, data: Any) -> None:
    """Remember a fit that nobody paid for, and warn at the second one of a class on the same data, once."""
    if kind in _warned:
        return
    with _lock:
        again = _again(kind, data)
        if again:
            _warned.add(kind)
            _seen.pop(kind, None)
    if again:
        warnings.warn(
            f"{kind.__name__} was fitted to the same data again, and the privacy that fits spend adds up (k folds or k "
            "settings spend k times epsilon): pass account= or fit inside 'with discreet.Account.open(file):' so that "
            "it is counted",
            RepeatedFitWarning,
            stacklevel=_depth(),
        )


def _again(kind: type, data: Any) -> bool:
    seen = _seen.setdefault(kind, {})
    if _in_search():
        known = SEARCHES in seen or _is_worker()  # a worker does a part of a search: the others do the rest
        seen[SEARCHES] = True
        return known
    if isinstance(data, str | os.PathLike):
        path = os.path.realpath(data)
        known = path in seen
        seen[path] = True
        return known
    root, low, high = _memory(data)
    spans = seen.get(id(root))
    if spans is not None and spans[0]() is root:
        if any(low < end and start < high for start, end in spans[1]):
            return True
        spans[1].append((low, high))
        return False
    key = id(root)
    with suppress(TypeError):  # a list cannot be remembered without being kept
        # Only a weak reference: what is remembered about data must not keep them in memory.
        seen[key] = (weakref.ref(root, lambda _: seen.pop(key, None)), [(low, high)])
    return False


def _memory(data: Any) -> tuple[Any, int, int]:
    """What owns the data, and which part of it they are: arrays may be views of one another."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(data, numpy.ndarray):
        return data, 0, 1
    root = data
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    low, high = numpy.lib.array_utils.byte_bounds(data)
    return root, int(low), int(high)


def _in_search() -> bool:
    """Whether scikit-learn's model selection is at work below this call."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(SEARCHES):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _is_worker() -> bool:
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.current_process().name != "MainProcess"


def _depth() -> int:
    """How many calls up the user's own code is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("discreet."):
        depth, frame = depth + 1, frame.f_back
    return depth
