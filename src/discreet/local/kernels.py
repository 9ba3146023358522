"""Kernels: the loops over reports, compiled when they are first needed."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np


def grr(values: Any, draws: Any, last_true: Any, other: Any, out: Any) -> None:
    """Direct encoding: words up to `last_true` keep the value, the rest name one of the other values."""
    for i in range(len(out)):
        value = values[i]
        if draws[i] <= last_true:
            out[i] = value
        else:
            place = np.int64((draws[i] - last_true - np.uint64(1)) // other)
            out[i] = place + (place >= value)


@functools.cache
def compiled() -> SimpleNamespace:
    """The kernels as machine code, kept on disk between processes."""
    import numba

    jit = numba.njit(cache=True, nogil=True, error_model="numpy")
    return SimpleNamespace(grr=jit(grr))
