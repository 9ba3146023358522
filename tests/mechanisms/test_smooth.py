"""Smooth bounds: every neighbour pair of small grids, a literal reference, mutations that must fail."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetError, DataError
from discreet.loops import machine_code
from discreet.mechanisms.smooth import (
    FLOOR,
    ROUNDING,
    Ends,
    _halving_maximum,
    _widest,
    charged_beta,
    smooth_mean_bound,
    smooth_variance_bound,
)
from discreet.mechanisms.trimmed import (
    TrimmedSample,
    _Counted,
    _Partitioned,
    lattice_histogram,
)

Rows = tuple[int, ...]
Bound = Callable[[TrimmedSample, float], Fraction]


def sample(rows: Rows | np.ndarray, trim: int, half_range: int) -> TrimmedSample:
    return _Partitioned(np.asarray(rows, dtype=np.int64), trim, half_range)


def multisets(half_range: int, rows: int) -> Iterator[Rows]:
    for n in range(rows + 1):
        yield from itertools.combinations_with_replacement(range(-half_range, half_range + 1), n)


def window(rows: Rows, trim: int) -> Rows:
    return tuple(sorted(rows))[trim : len(rows) - trim] if len(rows) > 2 * trim else ()


def mean(rows: Rows, trim: int) -> Fraction:
    kept = window(rows, trim)
    return Fraction(sum(kept), len(kept)) if kept else Fraction(0)


def variance(rows: Rows, trim: int) -> Fraction:
    kept = window(rows, trim)
    if not kept:
        return Fraction(0)
    centre = Fraction(sum(kept), len(kept))
    return sum(((x - centre) ** 2 for x in kept), Fraction(0)) / len(kept)


def violations(
    statistic: Callable[[Rows, int], Fraction],
    bound: Callable[[TrimmedSample, float], float],
    trim: int,
    half_range: int,
    rows: int,
    betas: Sequence[float],
) -> tuple[int, int]:
    """Count pairs of add-remove neighbours with |f - f'| > min(S, S'), and with S/S' outside [e^-β, e^β]."""
    known = list(multisets(half_range, rows))
    place = {x: i for i, x in enumerate(known)}
    more = [(x, tuple(sorted((*x, v)))) for x in known if len(x) < rows for v in range(-half_range, half_range + 1)]
    one, other = np.array([(place[x], place[y]) for x, y in more]).T
    values = np.array([float(statistic(x, trim)) for x in known])
    views = [sample(x, trim, half_range) for x in known]
    uncovered = rough = 0
    for beta in betas:
        bounds = np.array([bound(view, beta) for view in views])
        s, s2 = bounds[one], bounds[other]
        factor = math.exp(float(charged_beta(beta)))
        uncovered += int((np.abs(values[one] - values[other]) > np.minimum(s, s2) * (1 + 1e-14)).sum())
        rough += int(((s > factor * s2) | (s2 > factor * s)).sum())
    return uncovered, rough


GRIDS = [(1, 1, 11), (1, 2, 7), (2, 1, 11), (2, 2, 8), (3, 1, 12), (3, 2, 8), (1, 3, 6), (0, 2, 6)]
MORE_ROWS = [(1, 2, 9), (2, 2, 10), (3, 2, 10), (1, 3, 7)]
BETAS = [0.02, 0.15, 0.6, 2.0]


@pytest.mark.parametrize(
    ("trim", "half_range", "rows"), [*GRIDS, *(pytest.param(*grid, marks=pytest.mark.slow) for grid in MORE_ROWS)]
)
@pytest.mark.parametrize(
    ("statistic", "bound"),
    [(mean, smooth_mean_bound), (variance, smooth_variance_bound)],
    ids=["mean", "variance"],
)
def test_every_neighbour_pair_is_covered_and_smooth(
    statistic: Callable[[Rows, int], Fraction], bound: Bound, trim: int, half_range: int, rows: int
) -> None:
    found = violations(statistic, lambda view, beta: float(bound(view, beta)), trim, half_range, rows, BETAS)
    assert found == (0, 0)


@pytest.mark.parametrize(
    ("statistic", "bound"),
    [(mean, smooth_mean_bound), (variance, smooth_variance_bound)],
    ids=["mean", "variance"],
)
def test_the_enumeration_catches_a_smaller_and_a_rougher_bound(
    statistic: Callable[[Rows, int], Fraction], bound: Bound
) -> None:
    smaller = violations(statistic, lambda x, b: 0.8 * float(bound(x, b)), 1, 2, 6, [0.15])
    assert smaller[0] > 0
    rougher = violations(statistic, lambda x, b: float(bound(x, 1.2 * b)), 1, 2, 6, [0.15])
    assert rougher[1] > 0


def test_replace_one_twin_on_every_neighbour_pair() -> None:
    for trim, half_range, n in [(1, 2, 5), (2, 1, 7), (1, 1, 8), (0, 2, 4)]:
        for beta in BETAS:
            factor = math.exp(float(charged_beta(beta)))
            sizes = itertools.combinations_with_replacement(range(-half_range, half_range + 1), n)
            known = {x: reference_replace(x, trim, half_range, beta) for x in sizes}
            tight = 0.0
            for x, s in known.items():
                for i, v in itertools.product(range(n), range(-half_range, half_range + 1)):
                    y = tuple(sorted((*x[:i], v, *x[i + 1 :])))
                    change = float(abs(mean(x, trim) - mean(y, trim)))
                    assert change <= min(s, known[y]) * (1 + 1e-14)
                    assert s <= factor * known[y]
                    tight = max(tight, change / s)
            assert tight > 0.999


# --- the literal reference: every pair of ends, every number of removals ------------------------------------


def padded(rows: Rows, position: int, half_range: int) -> int:
    if position < 1:
        return -half_range
    return half_range if position > len(rows) else rows[position - 1]


def reference(rows: Rows, trim: int, half_range: int, beta: float, power: int) -> float:
    x, n, m, width = tuple(sorted(rows)), len(rows), trim, 2 * half_range
    kept = n - 2 * m
    outward = max(n, m) + 1
    best = max(
        max(0, padded(x, n - m + 1 + t, half_range) - padded(x, m - s, half_range)) ** power * math.exp(-beta * (s + t))
        for s in range(outward)
        for t in range(outward)
    )
    if power == 1:
        cap = width / 2
        if kept < 1:
            return cap * math.exp(beta * kept)
        shrink = max((math.exp(-beta * r) / (kept - r) for r in range(kept - 1)), default=0.0)
        return min(cap, max(cap * math.exp(-beta * (kept - 1)), best * shrink))
    sizes = range(1, max(kept, 1) + 1)
    shrink = max(math.exp(-beta * (max(kept, 1) - k)) * (max(k - 1, 1) / max(k, 2) ** 2) for k in sizes)
    return best * shrink


def reference_replace(rows: Rows, trim: int, half_range: int, beta: float) -> float:
    x, n = tuple(sorted(rows)), len(rows)
    return max(
        math.exp(-k * beta)
        * (padded(x, n - trim + 1 + k - lower, half_range) - padded(x, trim + 1 - lower, half_range))
        / (n - 2 * trim)
        for k in range(n + 1)
        for lower in range(k + 2)
    )


def published_sketch(rows: Rows, trim: int, half_range: int, beta: float, power: int) -> float:
    """Give the older bound with a cap and a 1/(N+1) weight, which the variance bound here undercuts."""
    x, n, m = tuple(sorted(rows)), len(rows), trim
    kept, cap = n - 2 * m, (2 * half_range) ** power / (2 * power)
    if kept < 1:
        return cap
    best = max(
        (padded(x, n - m + 1 + t, half_range) - padded(x, m - s, half_range)) ** power * math.exp(-beta * (s + t))
        for s in range(m + 1)
        for t in range(m + 1)
    )
    removals, extra, exponent = (kept - 1, 0, kept - 1) if power == 1 else (kept, 1, kept)
    shrink = max((math.exp(-beta * r) / (kept - r + extra) for r in range(removals)), default=0.0)
    return min(cap, max(cap * math.exp(-beta * exponent), best * shrink))


def random_case(rng: np.random.Generator, largest: int) -> tuple[np.ndarray, int, int]:
    n, half_range = int(rng.integers(0, largest + 1)), int(2 ** rng.integers(1, 17))
    shape = rng.integers(4)
    if shape == 0:
        values = rng.integers(-half_range, half_range + 1, n)
    elif shape == 1:
        values = np.rint(rng.normal(0, half_range / 50, n))
    elif shape == 2:
        values = np.rint(half_range * rng.standard_cauchy(n) / 100)
    else:
        values = np.full(n, int(rng.integers(-half_range, half_range + 1)))
    clipped = np.clip(values, -half_range, half_range).astype(np.int64)
    return clipped, int(rng.integers(0, max(2, n // 2 + 3))), half_range


def close(bound: Fraction, exact: float) -> bool:
    """Say whether the bound lies in [S, S(1+η)], the reference being a float with its own rounding error."""
    low = max(exact, float(FLOOR))
    return low * (1 - 1e-12) <= float(bound) <= low * (1 + float(ROUNDING)) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_agrees_with_the_literal_quadratic_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(3):
        values, trim, half_range = random_case(rng, 300 if seed < 3 else 60)
        rows, beta = tuple(values.tolist()), float(10 ** rng.uniform(-3, 0.5))
        view = sample(values, trim, half_range)
        assert close(smooth_mean_bound(view, beta), reference(rows, trim, half_range, beta, 1))
        assert close(smooth_variance_bound(view, beta), reference(rows, trim, half_range, beta, 2))
        for power, bound in ((1, smooth_mean_bound), (2, smooth_variance_bound)):
            sketch = max(published_sketch(rows, trim, half_range, beta, power), float(FLOOR))
            assert float(bound(view, beta)) <= sketch * (1 + 2 * float(ROUNDING))


def test_agrees_with_the_reference_where_the_search_is_not_direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.smooth.DIRECT", 1 << 8)
    rng = np.random.default_rng(5)
    half_range, trim = 1 << 16, 130
    values = rng.integers(-half_range, half_range + 1, 300)
    rows = tuple(values.tolist())
    for beta in (0.0005, 0.004):
        assert close(
            smooth_variance_bound(sample(values, trim, half_range), beta),
            reference(rows, trim, half_range, beta, 2),
        )
        assert close(
            smooth_mean_bound(sample(values, trim, half_range), beta),
            reference(rows, trim, half_range, beta, 1),
        )


def test_divide_and_conquer_equals_all_pairs() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        rows, columns = (int(k) for k in rng.integers(1, 200, 2))
        low = -np.cumsum(rng.pareto(1.0, rows))
        high = np.cumsum(rng.pareto(1.0, columns))
        beta, power = 10 ** rng.uniform(-4, 0), int(rng.integers(1, 3))
        steps_low, steps_high = (np.cumsum(rng.integers(1, 4, k)) for k in (rows, columns))
        every = (high[None, :] - low[:, None]) ** power * np.exp(-beta * (steps_low[:, None] + steps_high[None, :]))
        for search in (_halving_maximum, machine_code(_halving_maximum)._halving_maximum):
            again = search(low, np.exp(-beta * steps_low), high[::-1].copy(), np.exp(-beta * steps_high[::-1]), power)
            assert again == pytest.approx(every.max(), rel=1e-12)
        ends = Ends(steps_low, low, steps_high, high)
        assert _widest(ends, beta, power) == pytest.approx(every.max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_raw_values_and_histogram_give_identical_answers(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    values, trim, half_range = random_case(rng, 3000)
    beta = float(10 ** rng.uniform(-3, 0.5))
    views = [
        _Partitioned(values, trim, half_range),
        TrimmedSample.from_values(values.astype(np.int32), trim=trim, half_range=half_range),
        TrimmedSample.from_histogram(
            lattice_histogram(values, half_range=half_range), trim=trim, half_range=half_range
        ),
    ]
    answers = {
        (
            v.mean(),
            v.variance(),
            smooth_mean_bound(v, beta),
            smooth_variance_bound(v, beta),
        )
        for v in views
    }
    assert len(answers) == 1
    rows = tuple(values.tolist())
    assert answers.pop()[:2] == (mean(rows, trim), variance(rows, trim))


def test_both_representations_are_reached_from_values() -> None:
    few, many = np.arange(-4, 5), np.zeros(300_000, dtype=np.int64)
    assert isinstance(TrimmedSample.from_values(few, trim=1, half_range=10), _Partitioned)
    counted = TrimmedSample.from_values(many, trim=1, half_range=10)
    assert isinstance(counted, _Counted)
    assert counted.count == 300_000


def test_moments_stay_exact_beyond_64_bits() -> None:
    half_range = 1 << 10
    counts = np.zeros(2 * half_range + 1, dtype=np.int64)
    counts[0] = counts[-1] = 1 << 50
    view = TrimmedSample.from_histogram(counts, trim=0, half_range=half_range)
    assert view.mean() == 0
    assert view.variance() == half_range**2


def test_returned_bound_is_never_below_the_exact_one() -> None:
    """The rounding is upward: checked against 60 digits, not against another float."""
    mpmath = pytest.importorskip("mpmath")
    rng = np.random.default_rng(3)
    with mpmath.workdps(60):
        for _ in range(20):
            values = np.sort(rng.integers(-500, 501, 41))
            beta, trim, n = float(10 ** rng.uniform(-2, 0)), 6, 41
            rows = tuple(values.tolist())
            best = max(
                (padded(rows, n - trim + 1 + t, 500) - padded(rows, trim - s, 500))
                * mpmath.exp(-mpmath.mpf(beta) * (s + t))
                for s in range(trim + 1)
                for t in range(trim + 1)
            )
            kept = n - 2 * trim
            weight = max(mpmath.exp(-mpmath.mpf(beta) * r) / (kept - r) for r in range(kept - 1))
            exact = min(mpmath.mpf(500), max(500 * mpmath.exp(-mpmath.mpf(beta) * (kept - 1)), best * weight))
            got = smooth_mean_bound(sample(values, trim, 500), beta)
            ratio = mpmath.mpf(got.numerator) / got.denominator / exact
            assert 1 <= ratio <= 1 + mpmath.mpf(float(ROUNDING))


def test_refuses_what_would_widen_a_sensitivity() -> None:
    with pytest.raises(DataError):
        TrimmedSample.from_values(np.array([11]), trim=0, half_range=10)
    with pytest.raises(DataError):
        TrimmedSample.from_values(np.full(300_000, -11), trim=0, half_range=10)
    with pytest.raises(DataError):
        TrimmedSample.from_values(np.array([0.5]), trim=0, half_range=10)
    with pytest.raises(DataError):
        TrimmedSample.from_histogram(np.ones(20, dtype=np.int64), trim=0, half_range=10)
    with pytest.raises(DataError):
        TrimmedSample.from_histogram(np.full(21, -1), trim=0, half_range=10)
    with pytest.raises(BudgetError):
        smooth_mean_bound(sample((0, 1), 0, 2), 0)
    with pytest.raises(DataError):
        TrimmedSample.from_values(np.array([1]), trim=-1, half_range=10)


def test_nothing_private_is_printed() -> None:
    shown = repr(TrimmedSample.from_values(np.array([7, 7, 7]), trim=0, half_range=10))
    assert "7" not in shown.split(" at ")[0]


@pytest.mark.parametrize("seed", range(20))
def test_squares_of_a_histogram_equal_the_sample_of_squared_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    half_range, rows, trim = 2 * int(rng.integers(1, 20)), int(rng.integers(0, 60)), int(rng.integers(0, 5))
    values = rng.integers(-half_range, half_range + 1, rows)
    cap = half_range**2 // 2
    folded = TrimmedSample.from_squares(
        lattice_histogram(values, half_range=half_range), trim=trim, half_range=half_range
    )
    plain = _Partitioned(values * values - cap, trim, cap)
    assert (folded.mean(), folded.count, folded.half_range) == (plain.mean(), plain.count, plain.half_range)
    for beta in (0.01, 0.3, 2.0):
        assert smooth_mean_bound(folded, beta) == smooth_mean_bound(plain, beta)


def test_squares_of_fine_lattices_stay_exact() -> None:
    half_range = 1 << 16
    counts = np.zeros(2 * half_range + 1, dtype=np.int64)
    counts[[0, 7, -1]] = [10**9, 3, 10**9]
    view = TrimmedSample.from_squares(counts, trim=0, half_range=half_range)
    total = 2 * 10**9 * half_range**2 + 3 * (half_range - 7) ** 2
    assert view.mean() == Fraction(total, 2 * 10**9 + 3) - half_range**2 // 2
