"""Numbers under local privacy: class sums of bounded whole numbers from randomised reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.errors import SchemaError
from discreet.local.numbers.base import NUMBERS, NumberMechanism
from discreet.local.numbers.hybrid import Hybrid
from discreet.local.numbers.laplace import LaplaceAll, LaplaceSampled
from discreet.local.numbers.onebit import OneBit, OneBitSampled, best_oracle
from discreet.local.numbers.piecewise import Piecewise

Laplace = LaplaceSampled


def make_number(name: str, classes: int, halves: Sequence[int], epsilon: Any) -> NumberMechanism:
    """The mechanism of that name: for one number the only one of `halves`, for all at once the whole list."""
    if name not in NUMBERS:
        raise SchemaError(f"there is no mechanism {name!r} for numbers: choose one of {', '.join(NUMBERS)}")
    return NUMBERS[name].of(classes, halves, epsilon)


__all__ = [
    "NUMBERS", "Hybrid", "Laplace", "LaplaceAll", "LaplaceSampled", "NumberMechanism", "OneBit", "OneBitSampled",
    "Piecewise", "best_oracle", "make_number",
]  # fmt: skip
