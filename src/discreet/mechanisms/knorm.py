"""K-norm noise: one draw for all count tables of a class, shaped like what one row can change, exact on integers.

A row adds one unit vector to each of d tables (blocks). The noise z has P(z) ∝ exp(−ε·max_j ‖z_j‖₁) on the integer
points whose block sums are all equal; adding a row moves the norm by at most one, so ε is the exact cost. It is drawn
as a radius r with weight e^−εr·N(r), where N(r) counts the points of norm at most r, and then one of them evenly. N is
a polynomial of degree `dim` in r (Ehrhart), so its series is h(x)/(1−x)^(dim+1) with whole h_k ≥ 0: r is a k with
weight h_k·e^−εk plus dim+1 geometric numbers. docs/proofs/k-norm.md has the proofs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import comb, exp, log

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.geometric import geometrics
from discreet.mechanisms.intervals import context, enclose, ends

Integers = NDArray[np.int64]
STEPS = 64  # common sums at which moments are taken, about
FAR = 1024  # radius from which on the walk from sum to sum is long
CHUNK = 1 << 18  # common sums that are looked at together
LONGEST = 1 << 30  # mean radius: beyond, the walk along common sums would take minutes
_UNIT = 2.0**-53  # the share that one rounding of a double is off by
_TINY = 2.0**-900  # far from the least of the doubles that are exact to a share
LARGEST = 20_000  # dimensions: beyond, the polynomial would take minutes


def slice_count(size: int, total: int, radius: int) -> int:
    """How many whole vectors of a length have this sum and at most this sum of absolute values."""
    total = abs(total)
    if total > radius:
        return 0
    low, last = (radius - total) // 2, size - 1  # the most that the negative entries can add up to
    rising, count = low + total, 0
    term = comb(low + last, last)
    for i in range(last + 1):  # C(last, i)·C(rising, i)·C(low+last−i, last−i), from the term before
        count += term
        term = term * ((last - i) ** 2 * (rising - i)) // ((i + 1) ** 2 * (low + last - i)) if i < last else 0
    return count


def _slice_counts(size: int, totals: Integers, radius: int) -> NDArray[np.float64]:
    """`slice_count` of sums from 0 on in doubles, over a common factor; each is off by a share of `_off(size)` at most.

    All terms are positive. None has more than 9 roundings for each entry of a vector, sums and the first one included.
    NaN stands where the first term is so small that a later one, made of it, might be off by more; a later one that is
    too small for a double is nothing beside the first.
    """
    low, last = (radius - totals) // 2, size - 1
    rising, term, count = low + totals, np.ones(len(totals)), np.zeros(len(totals))
    for i in range(1, size):
        term *= (low + i) / (radius // 2 + i)
    term[term < _TINY] = np.nan
    for i in range(size):
        count += term
        if i < last:
            term *= ((last - i) / (i + 1)) ** 2 * (np.maximum(rising - i, 0) / (low + last - i))
    return count


def _off(size: int) -> float:
    return 10 * size * _UNIT


def slice_square(size: int, total: int, radius: int) -> int:
    """The sum of the squares of the first entry over all vectors that `slice_count` counts."""
    total = abs(total)
    if total > radius:
        return 0
    if size == 1:
        return total * total
    low = (radius - total) // 2

    def side(own: int, other: int) -> int:
        """Vectors whose first entry has the sign of the mass `own`."""
        result, sign, ways, rest = 0, 1, 1, comb(other + size - 2, size - 2)
        upper, lower = comb(own + size, size + 1), comb(own + size - 1, size + 1)
        for i in range(min(size - 2, low) + 1):
            result += sign * ways * (upper + lower) * rest
            sign, ways = -sign, ways * (size - 2 - i) // (i + 1)
            if other > i:
                rest = rest * (other - i) // (other - i + size - 2)
            upper, own_left = lower, own - i - 1
            lower = lower * (own_left - 1) // (own_left + size) if own_left > 0 else 0
        return result

    return side(low + total, low) + side(low, low + total)


class KNorm:
    """Noise for one class's tables, given how many cells each table has.

    >>> noise = KNorm([2, 3])
    >>> noise.dim, noise.numerator
    (4, (1, 8, 14, 8, 1))
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(int(size) for size in sizes)
        if not self.sizes or min(self.sizes) < 1:
            raise BudgetError("K-norm noise needs at least one table, and each table a cell")
        self.dim = 1 + sum(size - 1 for size in self.sizes)
        if self.dim > LARGEST:
            raise BudgetError(f"{self.dim} dimensions are too many for one K-norm draw: release the tables in groups")
        self._kinds = Counter(self.sizes)

    # ---- counting

    def weight(self, total: int, radius: int) -> int:
        """How many points of norm at most `radius` have this common block sum."""
        product = 1
        for size, times in self._kinds.items():
            product *= slice_count(size, total, radius) ** times
        return product

    @cached_property
    def numerator(self) -> tuple[int, ...]:
        """h_0 … h_dim; they read the same backwards, because every facet lies at distance one from the centre."""
        return _numerator(tuple(sorted(self._kinds.items())), self.dim)

    def count(self, radius: int) -> int:
        """N(radius), by its polynomial."""
        ways, result = comb(radius + self.dim, self.dim), 0  # C(radius − k + dim, dim), from that of the k before
        for k in range(min(self.dim, radius) + 1):
            result += self.numerator[k] * ways
            ways = ways * (radius - k) // (radius - k + self.dim)
        return result

    def moments(self, epsilon: Fraction) -> tuple[dict[int, float], float]:
        """The variance of one cell by the size of its table, and the variance of the common block sum.

        Given the radius they are even polynomials in r + 1/2 over another; they are taken at the mean radius (or at ten
        times the dimension, if that is less) and carried over by the square of r + 1/2.
        """
        return _moments(tuple(sorted(self._kinds.items())), Fraction(epsilon))

    def check(self, epsilon: Fraction) -> None:
        """Refuse, by public numbers, noise so large that its exact draw takes too long."""
        if self.dim + 1 > LONGEST * epsilon:
            raise BudgetError(
                f"K-norm noise of {self.dim} dimensions at epsilon = {float(epsilon):g} is too large to be drawn "
                "exactly: raise epsilon, or use another mechanism"
            )

    def moments_at(self, radius: int) -> tuple[dict[int, float], float]:
        """The same among the points of norm at most `radius`.

        The weight falls smoothly with the common sum, apart for even and odd sums: where it reaches far, every third,
        fifth, … sum of each kind stands for the others, on grids that are symmetric about zero.
        """
        top, reach = self.weight(0, radius), 1
        while reach < radius and self.weight(reach, radius) << 50 > top:
            reach *= 2
        apart = max(1, min(reach, radius) // STEPS) | 1
        whole, square, cells = 0.0, 0.0, dict.fromkeys(self._kinds, 0.0)
        for total in range(0, min(reach, radius) + 1, apart):
            share = self.weight(total, radius) / top * (2 if total else 1)
            whole += share
            square += share * total * total
            for size in cells:
                cells[size] += share * (slice_square(size, total, radius) / slice_count(size, total, radius))
        return {size: value / whole for size, value in cells.items()}, square / whole

    def _radius_moments(self, epsilon: Fraction) -> tuple[float, float]:
        """The mean of the radius and of its square."""
        low, _ = _enclosures(self.numerator, epsilon, 128)
        whole = sum(low)
        first = sum(k * weight for k, weight in enumerate(low)) / whole
        second = sum(k * k * weight for k, weight in enumerate(low)) / whole
        ratio = exp(-float(epsilon))
        mean = (self.dim + 1) * ratio / (1 - ratio)
        spread = mean / (1 - ratio)
        return first + mean, second + 2 * first * mean + spread + mean * mean

    # ---- drawing

    def draw(self, epsilon: Fraction, coins: Coins | None = None) -> list[Integers]:
        """One draw: a vector for each table. Without `coins` the randomness is the operating system's."""
        coins = Coins() if coins is None else coins
        self.check(Fraction(epsilon))
        radius = self._radius(Fraction(epsilon), coins)
        total = self._total(radius, coins)
        return [np.array(self._block(size, total, radius, coins), np.int64) for size in self.sizes]

    def _radius(self, epsilon: Fraction, coins: Coins) -> int:
        return self._start(epsilon, coins) + int(geometrics(epsilon, self.dim + 1, coins).sum())

    def _start(self, epsilon: Fraction, coins: Coins) -> int:
        """k with weight h_k·e^−εk: random bits are drawn until they decide between enclosures of the weights."""
        bits, value = 64, coins.bits(64)
        while True:
            low, high = _enclosures(self.numerator, epsilon, bits + 64)
            bottom, top = list(accumulate(low)), list(accumulate(high))
            for k in range(len(low)):
                if value * top[-1] < bottom[k] << bits:  # not certainly beyond k
                    certain = (value + 1) * top[-1] <= bottom[k] << bits
                    if certain and (k == 0 or value * bottom[-1] >= top[k - 1] << bits):
                        return k
                    break
            bits, value = bits + 64, value << 64 | coins.bits(64)

    def _total(self, radius: int, coins: Coins) -> int:
        """The common block sum: the sums from zero outwards, each as often as there are points of it, up to a place."""
        place = coins.below(self.count(radius))
        found = self._near(place, radius) if radius > FAR else None  # a short walk is quicker
        return self._walk(place, radius) if found is None else found

    def _walk(self, place: int, radius: int) -> int:
        """The common sum of a place, from zero outwards."""
        rest, total = place, 0
        while True:
            weight = self.weight(total, radius)
            for sign in (1, -1) if total else (1,):
                if rest < weight:
                    return sign * total
                rest -= weight
            total += 1

    def _near(self, place: int, radius: int) -> int | None:
        """The same where doubles with a bound on their error decide it, which is nearly always; else None.

        Weights are in proportion to that of zero. Each is off by at most the share `off`, so that their sums up to any
        of them are, but for one rounding for each more that is added. That holds for doubles of full precision: the
        sums end where the first weight is too small for it, and what lies beyond is left to whole numbers.
        """
        if radius >> 50:  # doubles would not hold whole numbers
            return None
        low, high, before = 0, min(radius, radius // 8 + 64, CHUNK) + 1, 0.0
        target = place / self.weight(0, radius)
        while True:
            share, off = self._shares(np.arange(low, high), radius)
            fine = (share > _TINY) & np.isfinite(share)
            exact = len(share) if fine.all() else int(np.argmin(fine))
            both = np.repeat(share[:exact], 2)[0 if low else 1 :]  # plus, then minus; zero is but one
            ends = before + np.cumsum(both)
            if not exact or ends[-1] > target or high > radius or exact < len(share):
                break
            before, low, high = float(ends[-1]), high, min(2 * high, high + CHUNK, radius + 1)
        at = int(np.searchsorted(ends, target, side="right"))
        if at == len(ends):
            return None
        error = (off + (2 * high + 8) * _UNIT) * float(ends[at])
        start = float(ends[at - 1]) if at else before
        if not (target + error < ends[at] and (start + error < target or start == 0.0)):
            return None
        spot = at + (2 * low - 1 if low else 0)
        return (spot + 1) // 2 * (1 if spot % 2 else -1)

    def _shares(self, totals: Integers, radius: int) -> tuple[NDArray[np.float64], float]:
        """weight(total)/weight(0) of sums from zero on, and a bound on the share that any of them is off by."""
        product, worst = np.ones(len(totals)), 0.0
        for size, times in self._kinds.items():
            with np.errstate(over="ignore", invalid="ignore"):  # what is no number is not looked at
                counts = _slice_counts(size, np.append(0, totals), radius)
                ratio = counts[1:] / counts[0]
            worst += times * (2 * _off(size) + 3 * _UNIT)
            for _ in range(times):
                product *= ratio
        return product, 1.01 * worst

    @staticmethod
    def _block(size: int, total: int, radius: int, coins: Coins) -> list[int]:
        """A whole vector drawn evenly among those with this sum and norm at most `radius`."""
        sign, total = (-1, -total) if total < 0 else (1, total)
        whole = slice_count(size, total, radius)
        rest = coins.below(whole)
        low, high, power = 0, (radius - total) // 2, 1 / max(size - 1, 1)
        # The root of the count grows nearly like the mass: that tells where to look, and whole numbers what is there.
        goal, before, after, begin, end = exp(log(rest + 1) * power), 0.0, exp(log(whole) * power), -1, high
        while low < high:  # the least negative mass whose vectors, with all of smaller mass, are more than `rest`
            spot = begin + (end - begin) * (goal - before) / (after - before) if after > before else 0.0
            middle = min(max(int(spot), (15 * low + high) // 16), (low + 15 * high) // 16, high - 1)
            count = slice_count(size, total, total + 2 * middle)
            if count > rest:
                high, end, after = middle, middle, exp(log(count) * power)
            else:
                low, begin, before = middle + 1, middle, exp(log(count) * power)
        return [sign * entry for entry in _signed(size, low + total, low, coins)]


def _signed(size: int, positive: int, negative: int, coins: Coins) -> list[int]:
    """A vector drawn evenly among those whose positive entries add up to one number and negative ones to another."""
    if positive == 0:  # then the sum and with it the negative mass is zero, or the roles are exchanged
        return [-entry for entry in _signed(size, negative, 0, coins)] if negative else [0] * size
    ways = []
    spread = comb(negative + size - 2, negative) if size > 1 else int(negative == 0)
    places_and_parts = size
    for k in range(1, size + 1):  # C(size, k)·C(positive−1, k−1) ways for the positive entries, times the others'
        ways.append(places_and_parts * spread)
        places_and_parts = places_and_parts * (size - k) * (positive - k) // ((k + 1) * k)
        others = size - k
        spread = spread * (others - 1) // (negative + others - 1) if others > 1 else int(negative == 0)
    rest, k = coins.below(sum(ways)), 0
    while rest >= ways[k]:
        rest -= ways[k]
        k += 1
    k += 1
    places = coins.sample(size, k)
    cuts = sorted(1 + cut for cut in coins.sample(positive - 1, k - 1))
    parts = [b - a for a, b in zip([0, *cuts], [*cuts, positive], strict=True)]
    vector = [0] * size
    for place, part in zip(places, parts, strict=True):
        vector[place] = part
    free = [place for place in range(size) if vector[place] == 0]
    if free and negative:
        bars = sorted(coins.sample(negative + len(free) - 1, len(free) - 1))
        edges = [-1, *bars, negative + len(free) - 1]
        for place, (a, b) in zip(free, pairwise(edges), strict=True):
            vector[place] = -(b - a - 1)
    return vector


@lru_cache(64)
def _numerator(kinds: tuple[tuple[int, int], ...], dim: int) -> tuple[int, ...]:
    """The numerator of the series of N: its first half from N itself, its second half by symmetry."""
    half = dim // 2
    counts = []
    for radius in range(half + 1):
        sums = [1] * (radius + 1)
        for size, times in kinds:
            sums = [have * slice_count(size, total, radius) ** times for total, have in enumerate(sums)]
        counts.append(sums[0] + 2 * sum(sums[1:]))
    first = [sum((-1) ** i * comb(dim + 1, i) * counts[k - i] for i in range(k + 1)) for k in range(half + 1)]
    return tuple(first + [first[dim - k] for k in range(half + 1, dim + 1)])


@lru_cache(1024)
def _moments(kinds: tuple[tuple[int, int], ...], epsilon: Fraction) -> tuple[dict[int, float], float]:
    noise = KNorm([size for size, times in kinds for _ in range(times)])
    mean, square = noise._radius_moments(epsilon)
    at = max(1, min(round(mean), 10 * noise.dim))
    cells, total = noise.moments_at(at)
    scale = (square + mean + 0.25) / (at + 0.5) ** 2
    return {size: value * scale for size, value in cells.items()}, total * scale


@lru_cache(256)
def _enclosures(weights: tuple[int, ...], epsilon: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Whole numbers below and above weights[k]·e^−εk·2^bits, in proportion to the largest of them."""
    ctx = context(bits + 64)
    powers = [ends(ctx.exp(enclose(ctx, -epsilon * k))) for k in range(len(weights))]
    largest = max(weight * high for weight, (_, high) in zip(weights, powers, strict=True))
    unit = (1 << bits) / largest
    low = [int(weight * power[0] * unit) for weight, power in zip(weights, powers, strict=True)]
    high = [int(weight * power[1] * unit) + 1 for weight, power in zip(weights, powers, strict=True)]
    return low, high
