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

SEARCHES = "a loop of scikit-learn"  # every fold, class or member is another look at the same rows
LOOPS = tuple(
    f"sklearn.{name}" for name in ("model_selection", "calibration", "ensemble", "multiclass", "feature_selection")
)
WORK = 10_000  # how hard to look for common values of two views

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
    data = getattr(type(data), "origin", lambda rows: rows)(data)  # of an opened source, what it was opened on
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
    root = _root(data)
    views = seen.get(id(root))
    view = _view(data)
    if views is not None and views[0]() is root:
        if any(_common(view, one) for one in views[1]):
            return True
        views[1].append(view)
        return False
    key = id(root)
    with suppress(TypeError):  # a list cannot be remembered without being kept
        # Only a weak reference: what is remembered about data must not keep them in memory.
        seen[key] = (weakref.ref(root, lambda _: seen.pop(key, None)), [view])
    return False


View = tuple[
    int, tuple[int, ...], tuple[int, ...], int
]  # where an array lies: address, shape, strides, bytes per value


def _root(data: Any) -> Any:
    """What owns the data: arrays may be views of one another."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(data, numpy.ndarray):
        return data
    root = data
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    return root


def _view(data: Any) -> View | None:
    """Which part of their owner the data are, in numbers that keep nothing in memory; None for all of it."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(data, numpy.ndarray):
        return None
    return int(data.__array_interface__["data"][0]), data.shape, data.strides, data.itemsize


def _common(one: View | None, other: View | None) -> bool:
    """Whether two parts of the same memory have values in common; what is hard to tell counts as no."""
    if one is None or other is None:
        return True
    import numpy

    # Columns of a table lie apart in memory and its halves in between: bounds alone would take halves for the same.
    # Stand-ins of the same layout, over no memory at all, are compared: the array itself may be gone.
    first, second = (numpy.asarray(_Layout(view)) for view in (one, other))
    work: Any = WORK
    try:
        return bool(numpy.shares_memory(first, second, max_work=work))
    except numpy.exceptions.TooHardError:
        return False


class _Layout:
    """An array's layout without the array."""

    def __init__(self, view: View) -> None:
        where, shape, strides, size = view
        self.__array_interface__ = {
            "version": 3, "data": (where, True), "shape": shape, "strides": strides, "typestr": f"|V{max(size, 1)}",
        }  # fmt: skip


def _in_search() -> bool:
    """Whether a loop of scikit-learn that fits again and again is at work below this call."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(LOOPS):
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
