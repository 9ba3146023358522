"""Kernels: loops that are compiled when they are first called and kept on disk between processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any


class Kernel:
    """A loop over arrays as machine code; `kernel` makes one of a function, and importing it costs nothing."""

    def __init__(self, loop: Callable[..., Any]) -> None:
        self.loop = loop
        update_wrapper(self, loop)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The machine code."""
        import numba

        made: Callable[..., Any] = numba.njit(cache=True, nogil=True, error_model="numpy")(self.loop)
        return made

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)


kernel = Kernel
