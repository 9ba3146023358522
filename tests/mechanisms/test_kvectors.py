"""K-norm noise vectors: the volumes, the law by closed forms and by its integer twin, and the distance they state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import BudgetError
from discreet.mechanisms import kvectors
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.knorm import KNorm, slice_count
from discreet.mechanisms.kvectors import KVector
from discreet.mechanisms.vectors import SeededBits, SystemBits

ALARM = 1e-8  # the false-alarm rate of each sampled check; there are fewer than a hundred


def seeded(seed: int) -> SeededBits:
    return SeededBits(np.random.default_rng(seed))


def drawn(sizes: tuple[int, ...], rate: Fraction, count: int, seed: int) -> tuple[Any, Any]:
    noise, bits = KVector(sizes), seeded(seed)
    found = [noise.draw(rate, bits) for _ in range(count)]
    return np.array([one.vector for one in found]), np.array([one.total for one in found])


def norm(sizes: Sequence[int], vector: Any) -> float:
    """The norm that the law is made of: the largest sum of sizes in a block."""
    return float(np.add.reduceat(np.abs(vector), np.cumsum([0, *sizes[:-1]])).max())


# ---- weights


@pytest.mark.parametrize("size", range(1, 9))
def test_the_volume_of_a_slice_is_the_limit_of_its_lattice_points(size: int) -> None:
    """Both sides are whole numbers; at radius 10^12 they differ by a few parts in it."""
    radius = 10**12
    terms = kvectors._terms(size)
    for total in (0, radius // 7, radius // 2, radius - 10**6, radius):
        inside = slice_count(size, total, radius) * math.factorial(size - 1) << (size - 1)
        volume = sum(c * total**i * (radius - total) ** (size - 1 - i) for i, c in enumerate(terms))
        assert abs(Fraction(inside, volume) - 1) < Fraction(2 * size * size, 10**12) + Fraction(size**2, total + 10**6)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 10**30), min_size=1, max_size=9), st.lists(st.integers(1, 10**9), min_size=1, max_size=9)
)
def test_products_of_polynomials_are_exact(a: list[int], b: list[int]) -> None:
    expected = [0] * (len(a) + len(b) - 1)
    for (i, x), (j, y) in itertools.product(enumerate(a), enumerate(b)):
        expected[i + j] += x * y
    assert list(kvectors._times(a, b)) == expected


def test_the_chance_of_all_powers_of_blocks() -> None:
    """χ² of the powers that are drawn, against the product of all terms; 20 000 draws."""
    noise, coins, count = KVector([3, 2, 3]), Coins(np.random.default_rng(2).bytes), 20_000
    terms = [kvectors._terms(size) for size in noise.sizes]
    weights = {}
    for powers in itertools.product(range(3), range(2), range(3)):
        whole = sum(powers)
        beta = math.factorial(whole) * math.factorial(noise.dim - 1 - whole)
        weights[powers] = beta * math.prod(t[i] for t, i in zip(terms, powers, strict=True))
    seen = dict.fromkeys(weights, 0)
    for _ in range(count):
        seen[tuple(noise._powers(coins))] += 1
    expected = np.array(list(weights.values())) * (count / sum(weights.values()))
    score = ((np.array(list(seen.values())) - expected) ** 2 / expected).sum()
    assert expected.min() > 20 and stats.chi2.sf(score, len(weights) - 1) > ALARM


# ---- the law


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_one_block_is_independent_laplace_noise(size: int) -> None:
    rate = Fraction(2, 5)
    vectors, totals = drawn((size,), rate, 4000, size)
    for values in (vectors[:, 0], vectors[:, -1]):
        assert stats.kstest(values, stats.laplace(scale=2.5).cdf).pvalue > ALARM
    gamma = stats.gamma(size, scale=2.5)
    norms = np.abs(vectors).sum(axis=1)
    assert stats.kstest(norms, gamma.cdf).pvalue > ALARM
    for wrong in (0.7, 1.3):
        assert stats.kstest(norms / wrong, gamma.cdf).pvalue < ALARM
    falling = (vectors < 0).sum(axis=1)  # signs are fair and independent
    chances = stats.binom(size, 0.5).pmf(np.arange(size + 1))
    assert stats.chisquare(np.bincount(falling, minlength=size + 1), 4000 * chances).pvalue > ALARM
    least = np.abs(vectors).min(axis=1)
    assert stats.kstest(least, stats.expon(scale=2.5 / size).cdf).pvalue > ALARM
    assert vectors.sum(axis=1) == pytest.approx(totals, abs=1e-9)


def test_blocks_of_two_cells_fill_a_cube() -> None:
    """For blocks of two the norm is the largest of |t| and of the contrasts: radius and an even point of a cube."""
    vectors, totals = drawn((2,) * 5, Fraction(1), 4000, 3)
    cube = np.column_stack([totals, vectors[:, ::2] - vectors[:, 1::2]])
    radius = np.abs(cube).max(axis=1)
    assert stats.kstest(radius, stats.gamma(6).cdf).pvalue > ALARM
    assert stats.kstest(radius / 1.3, stats.gamma(6).cdf).pvalue < ALARM
    inner = np.sort(np.abs(cube) / radius[:, None], axis=1)[:, :-1]  # the others are even below the largest
    assert stats.kstest(inner[:, -1], stats.beta(5, 1).cdf).pvalue > ALARM
    assert stats.kstest(inner[:, 0], stats.beta(1, 5).cdf).pvalue > ALARM
    largest = np.abs(cube).argmax(axis=1)
    assert stats.chisquare(np.bincount(largest, minlength=6)).pvalue > ALARM
    assert stats.binomtest(int((cube[:, 0] > 0).sum()), 4000).pvalue > ALARM


@pytest.mark.parametrize("sizes", [(3, 2), (4, 1, 2), (5, 3, 3), (12, 7, 2, 2)])
def test_norms_and_moments(sizes: tuple[int, ...]) -> None:
    """The norm is of a Gamma law of `dim` degrees whatever the sizes; squares of 4000 draws err by 4 % of their mean
    (a kurtosis of 9), and six deviations are a chance of 1e-8."""
    noise, count = KVector(sizes), 4000
    vectors, totals = drawn(sizes, Fraction(1), count, len(sizes))
    norms = np.array([norm(sizes, vector) for vector in vectors])
    assert stats.kstest(norms, stats.gamma(noise.dim).cdf).pvalue > ALARM
    cells, total = noise.moments()
    for j, size in enumerate(sizes):
        block = vectors[:, noise.edges[j] : noise.edges[j + 1]]
        assert block.sum(axis=1) == pytest.approx(totals, abs=1e-9)
        squares = (block**2).mean(axis=1)
        assert abs(squares.mean() - cells[size]) < 6 * squares.std() / math.sqrt(count)
        assert squares.std() / math.sqrt(count) < 0.06 * cells[size]
    assert abs((totals**2).mean() - total) < 6 * (totals**2).std() / math.sqrt(count)


@pytest.mark.parametrize("sizes", [(3, 2), (4, 3, 2)])
def test_the_law_is_the_limit_of_the_integer_law(sizes: tuple[int, ...]) -> None:
    """Two-sample Kolmogorov-Smirnov tests against whole tables at ε = 1/60, whose steps are 1/60 of the scale."""
    count, rate = 600, Fraction(1, 60)
    coins = Coins(np.random.default_rng(5).bytes)
    whole = KNorm(sizes)
    tables = np.array([np.concatenate(whole.draw(rate, coins)) for _ in range(count)]).astype(float)
    vectors, _ = drawn(sizes, rate, 5 * count, 6)
    first = sizes[0]
    probes = [
        lambda v: v[:, 0], lambda v: v[:, -1], lambda v: v[:, :first].sum(axis=1),
        lambda v: np.abs(v[:, :first]).sum(axis=1) - np.abs(v[:, first : first + sizes[1]]).sum(axis=1),
        lambda v: np.abs(v[:, 0] * v[:, -1]), lambda v: v[:, 0] - v[:, first], lambda v: v[:, :first].max(axis=1),
    ]  # fmt: skip
    for probe in probes:
        assert stats.ks_2samp(probe(tables), probe(vectors)).pvalue > ALARM
    norms = [np.array([norm(sizes, z) for z in many]) for many in (tables, vectors, 1.5 * vectors)]
    assert stats.ks_2samp(norms[0], norms[1]).pvalue > ALARM
    assert stats.ks_2samp(norms[0], norms[2]).pvalue < ALARM


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_moments_of_one_block_are_those_of_laplace_noise(size: int) -> None:
    cells, total = KVector([size]).moments()
    assert cells[size] == pytest.approx(2, rel=1e-12) and total == pytest.approx(2 * size, rel=1e-12)


def test_moments_near_those_of_fine_integer_noise() -> None:
    """The integer law at ε = 1/1000 has the same variances to a part in a thousand or so."""
    sizes = (5, 3, 2)
    cells, total = KVector(sizes).moments()
    whole, whole_total = KNorm(sizes).moments(Fraction(1, 1000))
    assert total == pytest.approx(whole_total * 1e-6, rel=0.01)
    for size in sizes:
        assert cells[size] == pytest.approx(whole[size] * 1e-6, rel=0.01)


# ---- what a row moves


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_a_row_moves_the_norm_by_at_most_one(sizes: list[int], seed: int) -> None:
    """One cell of each block, or a weight of one spread over its cells: the exponent moves by the rate at most."""
    rng = np.random.default_rng(seed)
    blocks = [
        rng.dirichlet(np.ones(size)) if rng.random() < 0.5 else np.eye(size)[rng.integers(size)] for size in sizes
    ]
    row = np.concatenate(blocks)
    vectors, _ = drawn(tuple(sizes), Fraction(1), 20, seed)
    for vector in [*vectors, *(vectors * 1e-3), 0 * row]:
        assert abs(norm(sizes, vector + row) - norm(sizes, vector)) <= 1 + 1e-12
    assert norm(sizes, row) == pytest.approx(1, abs=1e-12)


# ---- the distance from an exact draw


class ExactWords:
    """Words of a seeded generator; the uniform numbers they begin go on with random bits."""

    def __init__(self, seed: int) -> None:
        self.bits, self.tail = seeded(seed), np.random.default_rng(seed + 1)

    def words(self, size: int) -> Any:
        return self.bits.words(size)

    def exponentials(self, size: int) -> list[Any]:
        words = [int(word) for word in self.words(size)]
        numbers = []
        for word in words:
            shift = 64
            while word < 1 << 56:
                word, shift = word << 64 | int(self.words(1)[0]), shift + 64
            for _ in range(2):
                word, shift = word << 60 | int(self.tail.integers(0, 2**60)), shift + 60
            numbers.append(-mpmath.log((mpmath.mpf(word) + 0.5) * mpmath.mpf(2) ** -shift))
        return numbers


def exact_draw(noise: KVector, scale: float, bits: ExactWords) -> list[Any]:
    """The construction in sixty digits, with the same decisions."""
    coins = Coins(lambda size: bits.words(-(-size // 8)).tobytes())
    sign = 1 if coins.bits(1) else -1
    powers = noise._powers(coins)
    first, many = 1 + sum(powers), len(noise.sizes)
    steps = bits.exponentials(noise.dim + 1 + many + sum(noise.sizes))
    total, room = mpmath.fsum(steps[:first]), mpmath.fsum(steps[first : noise.dim + 1]) / 2
    own, parts = steps[noise.dim + 1 :], steps[noise.dim + 1 + many :]
    result = []
    for j, (size, power) in enumerate(zip(noise.sizes, powers, strict=True)):
        free, part = size - 1 - power, parts[noise.edges[j] : noise.edges[j + 1]]
        places = set(coins.sample(2 * size - 2 - power, size - 1)) if free else set(range(size))
        low = room * mpmath.exp(-own[j] / free) if free else mpmath.mpf(0)
        up = mpmath.fsum(e for k, e in enumerate(part) if k in places)
        down = mpmath.fsum(e for k, e in enumerate(part) if k not in places)
        result += [(total + low) * e / up if k in places else -low * e / down for k, e in enumerate(part)]
    return [sign * scale * value for value in [*result, total]]


@pytest.mark.parametrize("sizes", [(2,), (1, 3, 2), (16, 9, 5, 2, 2, 30, 1), (100, 3)])
def test_the_stated_distance_holds(sizes: tuple[int, ...]) -> None:
    noise, worst = KVector(sizes), 0.0
    with mpmath.workdps(60):
        for seed in range(25):
            found = noise.draw(Fraction(1, 8), ExactWords(seed))
            exact = exact_draw(noise, 8.0, ExactWords(seed))
            near = [*found.vector, found.total]
            off = mpmath.sqrt(mpmath.fsum((mpmath.mpf(float(a)) - b) ** 2 for a, b in zip(near, exact, strict=True)))
            assert off <= found.error
            worst = max(worst, float(off / found.error))
            assert found.error <= 2.0**-44 * 8 * noise.dim * len(sizes)
    assert worst > 1e-5  # the bound is not empty


def shifted(way: Any) -> Any:
    """Exponential variables that are off by nine tenths of what they may be, each in its own direction."""
    honest = kvectors.exponentials

    def steps(size: int, bits: Any) -> Any:
        found = honest(size, bits)
        return found + way(size) * 0.9 * 2.0**-50 * (1 + found)

    return steps


def slope_and_biases(seed: int) -> tuple[Any, float]:
    found = kvectors.slope_vector(3, Fraction(1), seeded(seed))
    return found.vector, found.error


def all_of(sizes: tuple[int, ...]) -> Any:
    def draw(seed: int) -> tuple[Any, float]:
        found = KVector(sizes).draw(Fraction(1), seeded(seed))
        return np.array([*found.vector, found.total]), found.error

    return draw


@pytest.mark.parametrize(
    ("draw", "share"),
    [(all_of((2,)), 0.18), (all_of((2,) * 40), 0.084), (all_of((6,)), 0.123), (slope_and_biases, 0.1)],
)
def test_the_stated_distance_covers_steps_that_are_off_by_all_they_may(
    draw: Any, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exponential variables are good to 2^−50·(1 + themselves): nine tenths of that, whichever way, stay within.

    `share` of the bound is then used up. The proof adds up more than can come together and leaves the rest to
    rounding; a part that was left out would show as a larger share (seeds are fixed, so there is no chance in it).
    """
    ways, worst = np.random.default_rng(8), 0.0
    patterns = [np.ones, lambda size: -np.ones(size), lambda size: ways.choice([-1.0, 1.0], size)]
    for seed in range(30):
        near, error = draw(seed)
        for way in patterns:
            with monkeypatch.context() as patch:
                patch.setattr(kvectors, "exponentials", shifted(way))
                there, _ = draw(seed)
            off = float(np.linalg.norm(near - there))
            assert off <= error
            worst = max(worst, off / error)
    assert share * 0.7 < worst < share * 1.3


@given(st.fractions(Fraction(1, 10**9), 10**9))
def test_the_scale_is_rounded_up(rate: Fraction) -> None:
    scale = Fraction(kvectors._scale(rate))
    assert 1 / rate <= scale <= (1 + Fraction(1, 2**51)) / rate


def test_the_scale_is_never_below_the_exact_one() -> None:
    """A rate that is no double: the law drawn has a rate that is not above it."""
    noise = KVector([2])
    one, third = noise.draw(Fraction(1), seeded(4)), noise.draw(Fraction(3), seeded(4))
    factor = Fraction(third.total) / Fraction(one.total)
    assert factor >= Fraction(1, 3) * (1 - Fraction(1, 2**51))


def test_wide_problems_are_quick_enough_and_near() -> None:
    noise = KVector([16, 9, 16, 16, 15, 16, 7, 16, 6, 5, 2, 16, 16, 42, 1])
    found = noise.draw(Fraction(1), SystemBits())
    assert found.vector.shape == (199,) and found.error < 1e-9
    sums = np.add.reduceat(found.vector, noise.edges[:-1])
    assert sums == pytest.approx(np.full(15, found.total), abs=1e-9)


@pytest.mark.parametrize("sizes", [[], [0], [2, -1], [7_000]])
def test_bad_sizes_are_refused(sizes: list[int]) -> None:
    with pytest.raises(BudgetError):
        KVector(sizes)


@pytest.mark.parametrize("rate", [0, -1])
def test_bad_rates_are_refused(rate: int) -> None:
    with pytest.raises(BudgetError, match="above zero"):
        KVector([2]).draw(Fraction(rate), SystemBits())


def test_shares_of_nothing_are_refused() -> None:
    with pytest.raises(BudgetError, match="fit again"):
        kvectors._shares(np.zeros(2), 1.0, 0.0)
