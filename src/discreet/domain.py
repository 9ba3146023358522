"""Public domains: the categories that a schema lists, and the public lattice on which its numbers lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from discreet.values import Lookup, text

__all__ = ["DEFAULT_HALF", "MAX_HALF", "Lattice", "Lookup", "bin_cuts", "bin_starts", "exact", "text"]

DEFAULT_HALF = 1 << 16
MAX_HALF = 1 << 20


@dataclass(frozen=True, slots=True)
class Lattice:
    """The points `middle + k·step`, k = −half … half, with `half` even so that half²/2 is an integer."""

    middle: float
    step: Fraction
    half: int
    inverse: float

    @classmethod
    def of(cls, lower: float, upper: float, integer: bool = False, step: float | None = None,
           half: int | None = None) -> Lattice:  # fmt: skip
        """The lattice of a bounded number; an explicit or integer step is kept as one of its multiples."""
        span = exact(upper) - exact(lower)
        if not math.isfinite(upper - lower) or not math.isfinite(2 * DEFAULT_HALF / (upper - lower)):
            raise ValueError("the bounds are too far apart or too close together")
        half = half or DEFAULT_HALF
        wanted = exact(step) if step is not None else Fraction(1) if integer else None
        if wanted is not None:
            steps = span / wanted
            if steps.denominator != 1:
                raise ValueError(f"the step {step} must divide upper - lower")
            # Halve the step once or twice where needed: the middle must be a lattice point and half even.
            count = steps.numerator
            fine = count // 2 if count % 4 == 0 else count if count % 2 == 0 else 2 * count
            if step is not None and fine > MAX_HALF:
                raise ValueError(f"the step {step} makes over {2 * MAX_HALF} lattice points; choose a larger one")
            half = fine if step is not None or fine <= 2 * DEFAULT_HALF else DEFAULT_HALF
        spacing = span / (2 * half)
        return cls(float((exact(upper) + exact(lower)) / 2), spacing, half, float(1 / spacing))

    def point(self, value: float) -> int:
        """The lattice point of a finite value: the one rounding rule of the whole package."""
        scaled = (value - self.middle) * self.inverse
        return round(max(-float(self.half), min(float(self.half), scaled)))

    def value(self, point: int) -> float:
        """The number a lattice point stands for."""
        return float(exact(self.middle) + point * self.step)


def bin_starts(lower: float, upper: float, integer: bool, bins: int | Sequence[float]) -> tuple[float, ...]:
    """Where the second, third, … bin begins, in the data's own unit."""
    if not isinstance(bins, int):
        edges = tuple(float(edge) for edge in bins)
        if len(edges) < 2 or edges[0] != lower or edges[-1] != upper:
            raise ValueError("bins given as edges must run from lower to upper")
        if not all(a < b for a, b in pairwise(edges)):
            raise ValueError("bin edges must rise")
        return tuple(float(math.ceil(edge)) for edge in edges[1:-1]) if integer else edges[1:-1]
    low, high = exact(lower), exact(upper)
    if integer:
        values = int(high - low) + 1
        count = min(bins, values)
        return tuple(float(low + -(-values * i // count)) for i in range(1, count))
    return tuple(float(low + (high - low) * i / bins) for i in range(1, bins))


def bin_cuts(lattice: Lattice, starts: Sequence[float], declared: bool = False) -> tuple[int, ...]:
    """The lattice points at which bins start: a value on an edge opens its bin.

    Where the data are declared to be multiples of a step, a bin starts at the first of them that is not below the
    edge; elsewhere an edge is rounded as the data are.
    """
    if declared:
        cuts = tuple(math.ceil((exact(start) - exact(lattice.middle)) / lattice.step) for start in starts)
    else:
        cuts = tuple(lattice.point(start) for start in starts)
    if not all(a < b for a, b in zip((-lattice.half, *cuts), cuts, strict=False)):
        raise ValueError("bin edges must rise by at least one lattice step; use fewer bins")
    return cuts


def exact(number: float | int | str | Fraction | Decimal) -> Fraction:
    """The fraction a person means by a number: 0.1 is one tenth.

    >>> exact(0.1)
    Fraction(1, 10)
    """
    if isinstance(number, float):
        return Fraction(repr(float(number)))
    return Fraction(number)
