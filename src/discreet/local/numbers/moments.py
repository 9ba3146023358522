"""Bell curves from class sums: one group of people reports a number, another its square; post-processing only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.local.inputs import as_square
from discreet.local.mechanism import Floats
from discreet.local.numbers.base import NumberMechanism
from discreet.local.wire.integers import Integers

_ROUNDING = 1 / 12  # lattice steps squared: noise leaves no reason to trust a spread below that of rounding


@dataclass(frozen=True)
class Group:
    """What the people who were asked one question said: estimated sums per class and the variance of each."""

    sums: Floats
    people: int
    variance: Floats

    @classmethod
    def of(cls, mechanism: NumberMechanism, support: Any, m: int, shares: Any) -> Group:
        """The group of m reports about one number; `shares` are the (estimated) class frequencies.

        The noise of some mechanisms follows the points a little: points spread evenly are taken for granted.
        """
        even = mechanism.half**2 / 3
        spread = [mechanism.variance(m, float(share), even) for share in _shares(shares)]
        return cls(mechanism.estimate(support, m), m, np.array(spread))

    @classmethod
    def all_of(cls, mechanism: NumberMechanism, support: Any, m: int) -> list[Group]:
        """The same people as one group for each number, where all numbers are reported at once."""
        rows = zip(mechanism.estimate(support, m), mechanism.variance(m), strict=True)
        return [cls(sums, m, np.full(len(sums), one)) for sums, one in rows]


def square_points(points: Any, half: int) -> Integers:
    """Points of the squares: 2·k² − half², which fills −half² … half²."""
    return np.asarray(as_square(np.asarray(points, np.int64), half))


def gaussian_parameters(half: int, shares: Any, numbers: Group, squares: Group) -> tuple[Floats, Floats]:
    """Mean and variance per class in lattice units, inside what the bounds allow.

    `numbers` are sums of points k in −half … half and `squares` sums of 2·k² − half², from two groups of people in
    which the classes have the given (estimated) shares. A class that seems empty counts as one person.
    """
    share = _shares(shares)
    if not share.shape == np.shape(numbers.sums) == np.shape(squares.sums):
        raise DataError("the shares and both groups must have one number for each class")
    widest = float(half) ** 2
    asked, asked_square = share * numbers.people, share * squares.people
    rows, square_rows = np.maximum(asked, 1.0), np.maximum(asked_square, 1.0)
    mean = np.clip(numbers.sums / rows, -half, half)
    second = np.clip((squares.sums + widest * asked_square) / (2 * square_rows), 0.0, widest)
    # A variance drowned in noise is not trusted below the noise's own size; the mean's error widens it further.
    doubt = np.sqrt(squares.variance) / (2 * square_rows)
    mean_doubt = numbers.variance / rows**2
    spread = np.clip(second - mean**2, np.minimum(doubt, widest / 3), widest) + np.minimum(mean_doubt, widest / 3)
    return mean, np.maximum(spread, _ROUNDING)


def _shares(shares: Any) -> Floats:
    array = np.asarray(shares, np.float64)
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0).any():
        raise DataError("class shares must be finite and not negative; project estimates on the simplex first")
    return array
