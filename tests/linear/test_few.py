"""Few rows are added up by NumPy: the same margins to the last bit, and sums that are no less exact."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.additive import few as several
from discreet.additive import kernels as class_kernels
from discreet.linear import few, kernels
from discreet.linear.losses import Huber

SIZES = (2, 5, 7, 3)


def rows(n: int, seed: int, valued: bool) -> SimpleNamespace:
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *SIZES])
    codes = np.stack([start + rng.integers(0, size, n) for start, size in zip(starts, SIZES, strict=False)], axis=1)
    values = rng.integers(-4096, 4097, (n, len(SIZES) + 1)).astype(np.int32) if valued else None
    return SimpleNamespace(codes=codes.astype(np.uint16), values=values, columns=int(starts[-1]) + 1, rng=rng)


@pytest.mark.parametrize("valued", [True, False])
def test_margins_are_the_same_to_the_last_bit(valued):
    at = rows(500, 0, valued)
    weights, one, two = at.rng.normal(size=at.columns), np.empty(500), np.empty(500)
    kernels.compiled().margins(at.codes, at.values, weights, one)
    few.margins(at.codes, at.values, weights, two)
    assert (one == two).all()


@pytest.mark.parametrize("name", ["scores", "exact_scores"])
def test_scores_are_the_same_to_the_last_bit(name):
    at = rows(500, 1, True)
    weights, one, two = at.rng.normal(size=(at.columns, 3)), np.empty((500, 3)), np.empty((500, 3))
    getattr(class_kernels.compiled(), name)(at.codes, at.values, weights, one)
    getattr(several, name)(at.codes, at.values, weights, two)
    assert (one == two).all()


@pytest.mark.parametrize("valued", [True, False])
def test_sums_are_off_by_their_last_rounding_alone(valued):
    at = rows(400, 2, valued)
    rates = at.rng.normal(size=400) * np.exp(at.rng.normal(size=400) * 6)
    rates[0], rates[1] = 1e9, -1e9  # which a plain sum would be off by
    out, rest = np.zeros(at.columns), np.zeros(at.columns)
    few.gather(at.codes, at.values, rates, out, rest)
    exact = [Fraction(0)] * at.columns
    for i, rate in enumerate(rates):
        entries = [*at.codes[i].tolist(), at.columns - 1]
        counts = [1] * len(entries) if at.values is None else at.values[i].tolist()
        for column, count in zip(entries, counts, strict=True):
            exact[column] += Fraction(float(rate)) * count
    unit = 1 if at.values is None else 4096
    for found, left, true in zip(out, rest, exact, strict=True):
        whole = float(Fraction(float(found)) + Fraction(float(left)) - true)
        assert abs(whole) <= 400**2 * 2.0**-100 * 1e9 * unit
        assert abs((found + left) - float(true)) <= 2.0**-52 * abs(float(true))


@pytest.mark.parametrize("valued", [True, False])
def test_whole_rates_have_whole_second_sums(valued):
    at = rows(300, 3, valued)
    rates = at.rng.integers(0, 5, 300)
    one, two = np.zeros((2, at.columns, at.columns), np.int64)
    kernels.compiled().outer(at.codes, at.values, rates, one)
    few.outer(at.codes, at.values, rates, two)
    assert (one == two).all()


def test_parts_of_rates_add_up_exactly():
    rates = np.random.default_rng(4).normal(size=1000) * 2.0 ** np.random.default_rng(5).integers(-60, 10, 1000)
    for rate, high, low, rest in zip(rates, *few.thirds(rates), strict=True):
        assert Fraction(rate) == Fraction(high) + Fraction(low) + Fraction(rest)
    assert not np.any(few.thirds(np.zeros(3)))


def test_a_loss_by_rows_is_that_of_arrays_to_the_last_bit():
    """Many rows have the rounded hinge loss and its curvature from a loop: few of them by arrays are the same."""
    loss, rng = Huber(0.05), np.random.default_rng(6)
    t = np.concatenate([rng.normal(1, 0.1, few.ROWS), [0.95, 1.05, 1.0, np.nextafter(1.05, 0), -7.0, 0.0, 40.0]])
    for made in (loss.value, loss.curvature):
        parts = [made(part) for part in np.array_split(t, 3)]
        assert not few.is_few(len(t), 1) and few.is_few(len(parts[0]), 1)
        assert made(t).tobytes() == np.concatenate(parts).tobytes()


def test_no_rows_are_few_within_a_study():
    with few.compiled():
        assert not few.is_few(1, 1)
        assert kernels.loops(np.zeros((10, 3))) is kernels.compiled()
    assert few.is_few(1, 1)


def test_which_way_is_taken_hangs_on_the_size_alone():
    assert few.is_few(10_000, 20) and not few.is_few(100_000, 20) and not few.is_few(few.ROWS + 1, 1)
    assert not few.is_few(1_000, 500)  # whose pairs of entries are many
    assert kernels.loops(np.zeros((10, 3))) is few.LOOPS
    assert class_kernels.loops(np.zeros((10, 3))) is several.LOOPS
