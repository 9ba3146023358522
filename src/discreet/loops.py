"""Loops over rows as machine code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


@functools.cache
def machine_code(*loops: Callable[..., Any]) -> Any:
    """The loops under their names; the compiler is loaded on first use and its work is kept on disk."""
    import numba

    make = numba.njit(nogil=True, cache=True, error_model="numpy")
    return SimpleNamespace(**{loop.__name__: make(loop) for loop in loops})
