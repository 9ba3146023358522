"""Noise vectors of a K-norm law: one draw for all blocks of an objective, with a bound on how far its doubles are off.

The vector b has blocks of s_1 … s_d cells with one common sum t and density ∝ exp(−rate·max_j ‖b_j‖₁) on the subspace
of such vectors. In Bernstein form the volume of a block's slice has whole positive coefficients, so the law is a
mixture: whole numbers are drawn exactly from whole weights, and everything else is sums and quotients of exponential
variables. docs/proofs/k-vectors.md has the proofs.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation, Overflow, Rounded
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb, fsum

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre

from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.vectors import Bits, Drawn, exponentials
from discreet.privacy.calibrate import float_up

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Sizes = tuple[int, ...]
LARGEST = 6_000  # dimensions: beyond, the polynomial would take a minute
_ULP = 2.0**-50  # as in `vectors`: exponential variables, exp and products are each this near or nearer


@dataclass(frozen=True)
class SharedSum(Drawn):
    """A noise vector whose blocks share a sum; `error` bounds the distance of vector and sum together."""

    total: float


class KVector:
    """Noise for parameters in blocks of which a row fills one cell each, or spreads a weight of one over its cells.

    A block of one cell carries the common sum: it is the noise of an intercept. The doubles are for a solver whose
    answer gets exact noise of its own: released as they are, added to sums, their last digits would tell on the sums.

    >>> KVector([2, 3, 1]).dim
    4
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        if not self.sizes or min(self.sizes) < 1:
            raise BudgetError("a K-norm vector needs at least one block, and each block a cell")
        self.dim = 1 + sum(size - 1 for size in self.sizes)
        if self.dim > LARGEST:
            raise BudgetError(
                f"{self.dim} dimensions are too many for one K-norm vector: merge cells or leave out some"
            )
        self.edges = [0, *accumulate(self.sizes)]
        self._order = sorted(range(len(self.sizes)), key=self.sizes.__getitem__)
        self._sorted = tuple(self.sizes[j] for j in self._order)

    # ---- drawing

    def draw(self, rate: Fraction, bits: Bits) -> SharedSum:
        """One draw: the blocks one after the other. An exact draw at this rate or a lower one is within `error`."""
        scale = _scale(rate)
        coins = Coins(lambda size: bits.words(-(-size // 8)).tobytes())
        sign = 1.0 if coins.bits(1) else -1.0
        powers = self._powers(coins)
        first = 1 + sum(powers)
        steps = exponentials(self.dim + 1 + len(self.sizes) + self.edges[-1], bits)
        total, room = fsum(steps[:first]), fsum(steps[first : self.dim + 1]) / 2
        off = (2 * _ULP * (first + total), 2 * _ULP * (self.dim + 1 - first + room))
        own, parts = steps[self.dim + 1 :], steps[self.dim + 1 + len(self.sizes) :]
        vector, offs = np.empty(self.edges[-1]), [off[0]]
        for j, (size, power) in enumerate(zip(self.sizes, powers, strict=True)):
            a, b = self.edges[j : j + 2]
            vector[a:b], bound = _block(size, power, (total, room), off, float(own[j]), parts[a:b], coins)
            offs.append(bound)
        error = (math.hypot(*offs) + 2 * _ULP * float(np.linalg.norm(vector))) * scale * (1 + 2.0**-30)
        return SharedSum(vector * (sign * scale), error, sign * scale * total)

    def _powers(self, coins: Coins) -> list[int]:
        """For each block the power of t that its term of the mixture has."""
        sums = _cumulated(self._sorted)
        power = bisect_right(sums, coins.below(sums[-1]))
        result = [0] * len(self.sizes)
        for j, own in zip(self._order, _split(self._sorted, power, coins), strict=True):
            result[j] = own
        return result

    # ---- what plans need

    def moments(self) -> tuple[dict[int, float], float]:
        """At rate one: the variance of a cell by the size of its block, and the variance of the common sum.

        The radius is of a Gamma law and independent of t; the rest is a polynomial in t, which a Gauss rule integrates.
        """
        nodes, gauss = roots_legendre(self.dim // 2 + 2)
        t = (nodes + 1) / 2
        chances = {size: _chances(size, t) for size in set(self.sizes)}
        logs = np.log(gauss) + sum(chances[size][1] for size in self.sizes)
        weights = np.exp(logs - logs.max())
        weights *= (self.dim + 1) * (self.dim + 2) / weights.sum()
        cells = {size: float(weights @ _cell_square(size, t, chance)) for size, (chance, _) in chances.items()}
        return cells, float(weights @ t**2)


def _scale(rate: Fraction) -> float:
    """A double that is not below 1/rate: noise of that scale is at least as wide."""
    if not rate > 0:
        raise BudgetError(f"the rate of a noise vector must be above zero, not {rate}")
    return float_up(1 / Fraction(rate))


def _block(size: int, power: int, masses: tuple[float, float], off: tuple[float, float], step: float, parts: Floats,
           coins: Coins) -> tuple[Floats, float]:  # fmt: skip
    """A block and a bound on the sum of how far its cells are off, in units of the scale and for a positive sum."""
    (total, room), free = masses, size - 1 - power
    if free == 0:
        return _shares(parts, total, off[0])
    places = np.array(coins.sample(2 * size - 2 - power, size - 1))
    rising = np.zeros(size, np.bool_)
    rising[places[places < size]] = True
    part = math.exp(-step / free)
    low = room * part  # the largest of `free` uniform numbers, times the room
    low_off = off[1] + room * (2 * _ULP * (1 + step) / free + 4 * _ULP)
    vector = np.empty(size)
    vector[rising], up = _shares(parts[rising], total + low, off[0] + low_off + _ULP * (total + low))
    falling, down = _shares(parts[~rising], low, low_off)
    vector[~rising] = -falling
    return vector, up + down


def _shares(parts: Floats, mass: float, off: float) -> tuple[Floats, float]:
    """A mass in parts in the proportion of exponential variables, which is evenly, and how far they are off in all."""
    if len(parts) == 1:
        return np.array([mass]), off
    whole = fsum(parts)
    if whole <= 0:
        raise BudgetError("all random shares came out as zero: fit again")
    return mass * (parts / whole), off + mass * _ULP * (6 * (len(parts) + whole) / whole + 2)


def _chances(size: int, t: Floats) -> tuple[Floats, Floats]:
    """Given the common sum, the chance of each power of a block, and the logarithm of the slice's volume."""
    powers = np.arange(size)
    logs = _logs(_terms(size)) + powers * np.log(t)[:, None] + (size - 1 - powers) * np.log1p(-t)[:, None]
    largest = logs.max(axis=1, keepdims=True)
    parts = np.exp(logs - largest)
    whole = parts.sum(axis=1, keepdims=True)
    return parts / whole, (np.log(whole) + largest)[:, 0]


def _cell_square(size: int, t: Floats, chances: Floats) -> Floats:
    """The mean square of a cell given the common sum: of the positive and negative mass, and of even shares of one."""
    i, t = np.arange(size), t[:, None]
    free = size - 1 - i
    low = (1 - t) ** 2 / 4 * free / (free + 2)
    high = t**2 + t * (1 - t) * free / (free + 1) + low
    spread = 2 * (2 * size - 1 - i) / (size + 1) * (high / size + low / (size - i)) / size
    return np.asarray((chances * spread).sum(axis=1))


# ---- whole weights


def _terms(size: int) -> tuple[int, ...]:
    """The volume of a block's slice at t, times a constant: the i-th number belongs to t^i·(1 − t)^(size−1−i)."""
    return tuple(comb(size - 1, i) * comb(2 * size - 2 - i, size - 1) << i for i in range(size))


@lru_cache(1024)
def _product(sizes: Sizes) -> tuple[int, ...]:
    """The same for the product over blocks: halves are multiplied, and remembered for `_split`."""
    if len(sizes) == 1:
        return _terms(sizes[0])
    middle = len(sizes) // 2
    return _times(_product(sizes[:middle]), _product(sizes[middle:]))


def _times(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The product of two polynomials with whole coefficients ≥ 0, as one product of two long decimal numbers.

    The decimal module multiplies long numbers by fast transforms; it would signal any digit that it had to drop.
    """
    exact = Context(MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, Rounded, InvalidOperation, Overflow])
    bits = max(a).bit_length() + max(b).bit_length() + min(len(a), len(b)).bit_length()
    width = bits * 30103 // 100_000 + 2
    long = [Decimal("".join(str(Decimal(c)).zfill(width) for c in reversed(poly))) for poly in (a, b)]
    size = len(a) + len(b) - 1
    digits = str(exact.multiply(*long)).zfill(size * width)
    return tuple(int(Decimal(digits[(size - 1 - k) * width : (size - k) * width])) for k in range(size))


@lru_cache(16)
def _cumulated(sizes: Sizes) -> list[int]:
    """Sums of the weights of the powers of t; ∫tⁱ(1−t)ⁿ⁻ⁱdt = i!(n−i)!/(n+1)!."""
    product = _product(sizes)
    factorials = list(accumulate(range(1, len(product)), lambda a, b: a * b, initial=1))
    return list(accumulate(c * a * b for c, a, b in zip(product, factorials, reversed(factorials), strict=True)))


def _split(sizes: Sizes, power: int, coins: Coins) -> list[int]:
    """Powers of the blocks that add up to `power`, in proportion to the product of their terms."""
    if len(sizes) == 1:
        return [power]
    middle = len(sizes) // 2
    left, right = _product(sizes[:middle]), _product(sizes[middle:])
    rest = coins.below(_product(sizes)[power])
    own = max(0, power - len(right) + 1)
    while rest >= (weight := left[own] * right[power - own]):
        rest -= weight
        own += 1
    return [*_split(sizes[:middle], own, coins), *_split(sizes[middle:], power - own, coins)]


def _logs(numbers: Sequence[int]) -> Floats:
    return np.array([math.log(number) for number in numbers])


# ---- a slope and biases


def slope_vector(classes: int, rate: Fraction, bits: Bits) -> Drawn:
    """Noise (u, v) of a slope and of biases that add up to zero: density ∝ exp(−rate·max(|u|, ‖v‖₁/2)).

    Of a Gamma radius R, u is even between −R and R, and v even in a block's slice for the sum 0.
    """
    if classes < 2:
        raise BudgetError("there are no biases of fewer than two classes")
    scale = _scale(rate)
    coins = Coins(lambda size: bits.words(-(-size // 8)).tobytes())
    steps = exponentials(2 * classes + 2, bits)
    radius = fsum(steps[: classes + 1])
    off = 2 * _ULP * (classes + 1 + radius)
    turn = float(bits.words(1)[0]) * 2.0**-63 - 1
    biases, bound = _block(classes, 0, (0.0, radius), (0.0, off), float(steps[-1]), steps[classes + 1 : -1], coins)
    vector = np.array([radius * turn, *biases])
    error = math.hypot(off + 2 * _ULP * radius, bound) + 2 * _ULP * float(np.linalg.norm(vector))
    return Drawn(vector * scale, error * scale * (1 + 2.0**-30))
