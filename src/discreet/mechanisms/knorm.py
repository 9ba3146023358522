"""K-norm noise: one draw for all count tables of a class, shaped like what one row can change, exact on integers.

A row adds one unit vector to each of d tables (blocks). The noise z has P(z) ∝ exp(−ε·max_j ‖z_j‖₁) on the integer
points whose block sums are all equal; adding a row moves the norm by at most one, so ε is the exact cost. It is drawn
as a radius r with weight e^−εr·N(r), where N(r) counts the points of norm at most r, and then one of them evenly. N is
a polynomial of degree `dim` in r (Ehrhart), so its series is h(x)/(1−x)^(dim+1) with whole h_k ≥ 0: r is a k with
weight h_k·e^−εk plus dim+1 geometric numbers. docs/proofs/k-norm.md has the proofs.
"""

from __future__ import annotations

from bisect import bisect_right
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
RUNS = 24  # of even and of odd common sums, about, under which nearly all of them lie
LONGEST = 1 << 40  # mean radius, so that whole numbers of 64 bits hold the noise of every cell and their sums
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
        top, reach = self.weight(0, radius), self._reach(radius)
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
        """The common block sum, each as often as there are points of it."""
        if radius <= FAR:
            return self._walk(coins.below(self.count(radius)), radius)
        steps = self._steps(radius)
        ends = list(accumulate(many * weight for _, many, weight in steps))
        while True:  # a place under the steps, which is kept if it lies under the weight of its sum, too
            negative, rest = divmod(coins.below(2 * ends[-1]), ends[-1])
            at = bisect_right(ends, rest)
            first, _, weight = steps[at]
            beyond, height = divmod(rest - (ends[at - 1] if at else 0), weight)
            total = first + 2 * beyond
            if height < self.weight(total, radius) and (total or not negative):
                return -total if negative else total

    def _steps(self, radius: int) -> list[tuple[int, int, int]]:
        """Runs of even and of odd sums from zero to the radius: their first, how many they are, the first's weight.

        Among sums of one kind the weight never rises with the sum, so that it is the largest of the run.
        """
        steps, reach = [], self._reach(radius)
        for first in (0, 1):
            while first <= radius:
                many = max(1, reach // (2 * RUNS)) if first < reach else first
                many = min(many, (radius - first) // 2 + 1)
                steps.append((first, many, self.weight(first, radius)))
                first += 2 * many
        return steps

    def _reach(self, radius: int) -> int:
        """A power of two beyond which hardly any common sum lies, or one beyond the radius."""
        top, reach = self.weight(0, radius), 1
        while reach < radius and self.weight(reach, radius) << 50 > top:
            reach *= 2
        return reach

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
