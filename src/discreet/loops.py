"""Loops over rows as machine code."""

from __future__ import annotations

import functools
import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


@contextmanager
def loading() -> Iterator[None]:
    """A block that loads what stays loaded: Python does not look through all of it for garbage again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def once(build: Callable[..., Any]) -> Callable[..., Any]:
    """What `build` gives, built by one thread for all: whoever comes meanwhile waits, as `functools.cache` does not."""
    lock = threading.RLock()

    @functools.cache
    def kept(*arguments: Any) -> Any:
        with loading():
            return build(*arguments)

    @functools.wraps(build)
    def built(*arguments: Any) -> Any:
        with lock:
            return kept(*arguments)

    return built


@once
def machine_code(*loops: Callable[..., Any]) -> Any:
    """The loops under their names; the compiler is loaded on first use and its work is kept on disk."""
    import numba

    make = numba.njit(nogil=True, cache=True, error_model="numpy")
    return SimpleNamespace(**{loop.__name__: make(loop) for loop in loops})


def kernel(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A loop over arrays as machine code; importing it costs nothing."""

    @functools.wraps(loop)
    def run(*arguments: Any) -> Any:
        return getattr(machine_code(loop), loop.__name__)(*arguments)

    return run


@functools.cache
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def one_thread(kind: str | None = None) -> Any:
    """A block in which libraries (of one kind, such as "blas") have one thread: small matrices wait for others'."""
    return _threads().limit(limits=1, user_api=kind)
