"""K-norm noise: counts against brute force, draws against the law, and the cost by enumerating neighbours."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from discreet.errors import BudgetError
from discreet.mechanisms import knorm
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.knorm import KNorm, slice_count, slice_square

SIZES = [(2,), (3,), (2, 2), (2, 3), (1, 2), (1,), (4, 2)]


def seeded(seed: int) -> Coins:
    return Coins(np.random.default_rng(seed).bytes)


def vectors(size: int, radius: int) -> Any:
    return itertools.product(range(-radius, radius + 1), repeat=size)


def blocks(sizes: tuple[int, ...], z: tuple[int, ...]) -> list[tuple[int, ...]]:
    edges = [0, *itertools.accumulate(sizes)]
    return [z[a:b] for a, b in itertools.pairwise(edges)]


def norm(sizes: tuple[int, ...], z: tuple[int, ...]) -> int | None:
    """The K-norm of a point, None if its block sums differ."""
    parts = blocks(sizes, z)
    return max(sum(map(abs, p)) for p in parts) if len({sum(p) for p in parts}) == 1 else None


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_slices_are_counted_and_their_squares_added_up(size: int) -> None:
    for radius in range(5):
        for total in range(-radius - 1, radius + 2):
            inside = [z for z in vectors(size, radius) if sum(z) == total and sum(map(abs, z)) <= radius]
            assert slice_count(size, total, radius) == len(inside)
            assert slice_square(size, total, radius) == sum(z[0] ** 2 for z in inside)


@pytest.mark.parametrize("sizes", SIZES)
def test_the_polynomial_counts_points(sizes: tuple[int, ...]) -> None:
    noise = KNorm(sizes)
    for radius in range(3):
        found = sum(
            1 for z in vectors(sum(sizes), radius) if (norm(sizes, z) or 0) <= radius and norm(sizes, z) is not None
        )
        assert noise.count(radius) == found


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6))
def test_the_numerator_is_whole_positive_and_symmetric(sizes: list[int]) -> None:
    """Symmetry is used to halve the work; here the second half is computed, and N at radii it was not made from."""
    noise = KNorm(sizes)
    h, dim = noise.numerator, noise.dim
    assert min(h) >= 0 and h[0] == 1
    for radius in (dim // 2 + 1, dim, dim + 3):
        direct = sum(noise.weight(total, radius) for total in range(-radius, radius + 1))
        assert noise.count(radius) == direct


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("epsilon", [Fraction(3, 2), pytest.param(Fraction(5, 2), marks=pytest.mark.slow)])
def test_draws_follow_the_law(sizes: tuple[int, ...], epsilon: Fraction) -> None:
    """χ² over the likely points and one cell for the rest; p below 1e-9 would be an alarm, in 14 tests."""
    noise, size, x = KNorm(sizes), 4000, math.exp(-float(epsilon))
    whole = sum(h * x**k for k, h in enumerate(noise.numerator)) / (1 - x) ** noise.dim
    coins = seeded(sum(sizes) * 100 + int(10 * epsilon))
    seen = Counter(tuple(int(v) for block in noise.draw(epsilon, coins) for v in block) for _ in range(size))
    assert all(norm(sizes, z) is not None for z in seen)
    score, cells, left, mass = 0.0, 0, size, 1.0
    for z in vectors(sum(sizes), 3 if sum(sizes) > 4 else 4):
        radius = norm(sizes, z)
        if radius is None:
            continue
        expected = size * x**radius / whole
        if expected >= 8:
            score += (seen[z] - expected) ** 2 / expected
            cells, left, mass = cells + 1, left - seen[z], mass - expected / size
    if size * mass > 8:
        score, cells = score + (left - size * mass) ** 2 / (size * mass), cells + 1
    assert cells >= 3
    assert chi2.sf(score, cells - 1) > 1e-9


@pytest.mark.parametrize("sizes", [*SIZES, (5, 3, 2)])
def test_norms_of_wide_noise_follow_their_law(sizes: tuple[int, ...]) -> None:
    """χ² over the norm, whose law is (N(r) − N(r−1))·e^−εr; p below 1e-9 would be an alarm, in 8 tests."""
    noise, size, epsilon = KNorm(sizes), 3000, Fraction(3, 7)
    coins = seeded(len(sizes))
    seen = Counter(max(int(abs(block).sum()) for block in noise.draw(epsilon, coins)) for _ in range(size))
    weights = [(noise.count(r) - (noise.count(r - 1) if r else 0)) * math.exp(-r * 3 / 7) for r in range(200)]
    expected = size * np.array(weights) / sum(weights)
    kept = expected >= 8
    found = np.array([seen[r] for r in range(200)])
    score = ((found - expected)[kept] ** 2 / expected[kept]).sum()
    score += (found[~kept].sum() - expected[~kept].sum()) ** 2 / expected[~kept].sum()
    assert chi2.sf(score, int(kept.sum())) > 1e-9


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 1)])
def test_one_row_costs_epsilon_exactly(sizes: tuple[int, ...]) -> None:
    """The log-ratio of the law at a table and at its neighbour is at most 1 (times ε) and reaches 1."""
    rows = [sum((tuple(int(i == c) for i in range(s)) for s, c in zip(sizes, cell, strict=True)), ())
            for cell in itertools.product(*(range(s) for s in sizes))]  # fmt: skip
    worst = 0
    for z in vectors(sum(sizes), 2):
        here = norm(sizes, z)
        if here is None:
            continue
        for row in rows:
            there = norm(sizes, tuple(a - b for a, b in zip(z, row, strict=True)))
            assert there is not None  # a row moves every block sum alike: no output is possible for one side only
            worst = max(worst, abs(there - here))
    assert worst == 1


def test_separate_tables_would_pay_more() -> None:
    """For d binary tables the contrast of two cells has a third of d²/ε² and not four times d²/ε²."""
    d, epsilon = 12, Fraction(1)
    cells, _ = KNorm([2] * d).moments(epsilon)
    contrast = 4 * cells[2] - KNorm([2] * d).moments(epsilon)[1]
    assert contrast < 0.6 * d * d
    assert contrast > 0.3 * d * d


@pytest.mark.parametrize(("sizes", "epsilon"), [((2, 3), 1), ((2,) * 6, 1), ((7, 5, 2), Fraction(1, 3))])
def test_moments_are_those_of_the_draws(sizes: tuple[int, ...], epsilon: Any) -> None:
    """3000 draws: with a kurtosis of 9 a mean of squares errs by 5 %, and six of those are a chance of 1e-8."""
    noise, coins = KNorm(sizes), seeded(5)
    cells, total = noise.moments(Fraction(epsilon))
    drawn = [noise.draw(Fraction(epsilon), coins) for _ in range(3000)]
    for j, size in enumerate(sizes):
        assert np.mean([np.mean(z[j].astype(float) ** 2) for z in drawn]) == pytest.approx(cells[size], rel=0.3)
    assert np.mean([float(z[0].sum()) ** 2 for z in drawn]) == pytest.approx(total, rel=0.3)


def test_blocks_share_one_sum_and_stay_integers() -> None:
    for block in (draw := KNorm([16, 9, 2, 5]).draw(Fraction(1, 10))):
        assert block.dtype == np.int64
        assert block.sum() == draw[0].sum()


@pytest.mark.parametrize("sizes", [[], [0], [2, -1], [30_000]])
def test_bad_sizes_are_refused(sizes: list[int]) -> None:
    with pytest.raises(BudgetError):
        KNorm(sizes)


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(0, 400))
def test_counts_of_even_and_of_odd_sums_never_rise(size: int, radius: int) -> None:
    counts = [slice_count(size, total, radius) for total in range(radius + 1)]
    assert all(later <= sooner for sooner, later in zip(counts, counts[2:], strict=False)) and min(counts) > 0


@pytest.mark.parametrize("runs", [1, 2, 24])
@pytest.mark.parametrize("sizes", [(1,), (2,), (3, 2), (2, 2, 2)])
def test_places_under_the_steps_give_each_sum_its_weight(sizes: tuple[int, ...], runs: int, monkeypatch: Any) -> None:
    """Every place that coins can name, one by one: those that are kept are as many for a sum as it has points."""
    monkeypatch.setattr(knorm, "FAR", -1)
    monkeypatch.setattr(knorm, "RUNS", runs)
    noise = KNorm(sizes)
    for radius in (0, 1, 2, 5, 8):
        steps = noise._steps(radius)
        assert sorted(first + 2 * k for first, many, _ in steps for k in range(many)) == list(range(radius + 1))
        found: Counter[int] = Counter()
        for place in range(2 * sum(many * weight for _, many, weight in steps)):
            named = iter([place])

            class One(Coins):
                def below(self, limit: int, named: Any = named) -> int:
                    return next(named)  # a place that is not kept asks for another

            with contextlib.suppress(StopIteration):
                found[noise._total(radius, One())] += 1
        assert found == {total: noise.weight(total, radius) for total in range(-radius, radius + 1)}


@pytest.mark.parametrize("sizes", [[2, 3], [11] * 10 + [17] * 3])
def test_far_sums_follow_their_weights(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """χ² of 4000 sums where steps are long, in cells of 20 draws; p below 1e-9 would be an alarm, in 2 tests."""
    radius, size = 1500, 4000
    noise, coins = KNorm(sizes), seeded(1500)
    steps = noise._steps(radius)
    assert radius > knorm.FAR and max(many for first, many, _ in steps if first < 50) > 1
    monkeypatch.setattr(noise, "_steps", lambda _: steps)  # the same for every draw
    half = [noise.weight(total, radius) for total in range(radius + 1)]
    whole = 2 * sum(half) - half[0]
    expected = np.array([float(Fraction(size * one, whole)) for one in (*half[:0:-1], *half)])
    seen = np.bincount([noise._total(radius, coins) + radius for _ in range(size)], minlength=len(expected))
    ends = np.searchsorted(np.cumsum(expected), np.arange(20, size - 20, 20))
    cells = np.unique([0, *(ends + 1)])
    wanted, found = np.add.reduceat(expected, cells), np.add.reduceat(seen, cells)
    assert len(wanted) > 20 and wanted.min() > 5
    assert chi2.sf(((found - wanted) ** 2 / wanted).sum(), len(wanted) - 1) > 1e-9


def test_places_that_are_kept_are_all_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of wide tables, exactly: the heights that are kept end at each sum's weight, and all of them make up N(r)."""
    monkeypatch.setattr(knorm, "FAR", -1)
    noise, radius, kept, bottom = KNorm([40] * 10), 60, 0, 0
    steps = noise._steps(radius)
    monkeypatch.setattr(noise, "_steps", lambda _: steps)
    whole = sum(many * weight for _, many, weight in steps)

    class Named(Coins):
        def below(self, limit: int) -> int:
            assert limit == 2 * whole
            return self.places.pop(0)

    def total(*places: int) -> int:
        coins = Named()
        coins.places = list(places)
        found = noise._total(radius, coins)
        assert not coins.places
        return found

    for first, many, height in steps:
        for at in range(first, first + 2 * many, 2):
            weight = noise.weight(at, radius)
            assert 0 < weight <= height
            last = bottom + weight - 1
            assert total(bottom) == total(last) == at
            if at:
                assert total(whole + bottom) == total(whole + last) == -at
            else:
                assert total(whole + bottom, whole + last, 0) == 0  # of zero there is one sign
            if weight < height:
                assert total(last + 1, bottom + height - 1, whole + last + 1, 0) == 0  # above it, none is kept
            kept += weight * (2 if at else 1)
            bottom += height
    assert bottom == whole and kept == noise.count(radius)


@pytest.mark.parametrize("radius", [1500, 1 << 36])
def test_few_places_are_drawn_again(radius: int) -> None:
    """The share of places that are kept is that of points under the steps: a half at least, by exact counts."""
    for sizes in ([11] * 10 + [17] * 3, [3, 2], [1, 1], [300]):
        noise = KNorm(sizes)
        steps = noise._steps(radius)
        assert len(steps) < 4 * knorm.RUNS + 80
        assert noise.count(radius) > sum(many * weight for _, many, weight in steps)  # twice them, as of both signs


def test_noise_of_any_spread_is_drawn_at_once_or_refused() -> None:
    noise, coins = KNorm([11] * 10 + [17] * 3), seeded(4)
    first, *others = noise.draw(Fraction(1, 10**9), coins)  # a radius of about 10^11
    assert all(first.sum() == other.sum() for other in others) and max(abs(first)) > 10**6
    with pytest.raises(BudgetError, match="too large to be drawn"):
        noise.draw(Fraction(1, 10**12))


def test_samples() -> None:
    """χ² at 1e-9."""
    coins, size = seeded(3), 8000
    pairs = Counter(tuple(coins.sample(4, 2)) for _ in range(size))
    assert len(pairs) == 12
    assert chi2.sf(sum((n - size / 12) ** 2 / (size / 12) for n in pairs.values()), 11) > 1e-9


class Script:
    """Chosen words of 64 bits; how many were taken tells how often a draw was refined."""

    def __init__(self, *words: int) -> None:
        self.words, self.taken = list(words), 0

    def __call__(self, size: int) -> bytes:
        self.taken += 1
        return self.words.pop(0).to_bytes(8, "little")


def cumulated(noise: KNorm, epsilon: Fraction, bits: int) -> list[int]:
    """⌊2^bits·P(start ≤ k)⌋, at a precision far beyond what is asked for."""
    with mpmath.workprec(bits + 256):
        weights = [h * mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator * k)
                   for k, h in enumerate(noise.numerator)]  # fmt: skip
        whole, sums = mpmath.fsum(weights), itertools.accumulate(weights)
        return [int(mpmath.floor(one / whole * mpmath.mpf(2) ** bits)) for one in sums]


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3, 2)])
def test_bits_that_do_not_decide_are_followed_by_more(sizes: tuple[int, ...]) -> None:
    """64 bits that hold the border between k and k + 1 decide nothing: the next 64 do, either way."""
    noise, epsilon = KNorm(sizes), Fraction(1, 3)
    for k, border in enumerate(cumulated(noise, epsilon, 64)[:-1]):
        below, above = Script(border, 0), Script(border, 2**64 - 1)
        assert (noise._start(epsilon, Coins(below)), below.taken) == (k, 2)
        assert (noise._start(epsilon, Coins(above)), above.taken) == (k + 1, 2)
        clear = Script(border + 1)
        assert (noise._start(epsilon, Coins(clear)), clear.taken) == (k + 1, 1)


@pytest.mark.parametrize("lost", [70, 90, 120])
def test_wide_enclosures_cost_bits_and_change_nothing(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide the enclosures are at first, k is taken only where they agree: it is that of the exact law."""
    noise, epsilon, honest = KNorm([2, 3, 2]), Fraction(2, 3), knorm._enclosures

    def wide(weights: tuple[int, ...], rate: Fraction, bits: int) -> tuple[list[int], list[int]]:
        low, high = honest(weights, rate, bits)
        apart = 1 << lost if bits == 128 else 0
        return [max(one - apart, 0) for one in low], [one + apart for one in high]

    monkeypatch.setattr(knorm, "_enclosures", wide)
    borders, rng = cumulated(noise, epsilon, 192), np.random.default_rng(lost)
    near = [(border >> 128) + step for border in borders[:-1] for step in (-1, 0, 1)]
    words = [*near, *(int(w) for w in rng.integers(0, 2**64, 200, dtype=np.uint64))]
    for first in words:
        rest = [int(w) for w in rng.integers(0, 2**64, 3, dtype=np.uint64)]
        number = (first << 128) | (rest[0] << 64) | rest[1]
        expected = next(k for k, border in enumerate([*borders[:-1], 2**192]) if number < border)
        script = Script(first, *rest)
        assert noise._start(epsilon, Coins(script)) == expected


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(7, 5), Fraction(40)])
def test_enclosures_hold_the_exact_weights(epsilon: Fraction) -> None:
    """Whole numbers on both sides of h_k·e^−εk·2^bits over the largest, and no farther apart than they need be."""
    weights = KNorm([3, 4, 2]).numerator
    with mpmath.workprec(600):
        exact = [h * mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator * k)
                 for k, h in enumerate(weights)]  # fmt: skip
        for bits in (64, 128, 192):
            low, high = knorm._enclosures(weights, epsilon, bits)
            for one, a, b in zip(exact, low, high, strict=True):
                scaled = one / max(exact) * mpmath.mpf(2) ** bits
                assert a <= scaled <= b and a < b <= a + 2
