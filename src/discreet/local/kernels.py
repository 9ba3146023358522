"""Kernels: loops that are compiled when they are first called and kept on disk between processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any


def kernel(loop: Callable[..., Any]) -> Callable[..., Any]:
    """A loop over arrays as machine code; importing it costs nothing."""

    @cache
    def compiled() -> Callable[..., Any]:
        import numba

        made: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")(loop)
        return made

    @wraps(loop)
    def run(*arguments: Any) -> Any:
        return compiled()(*arguments)

    return run
