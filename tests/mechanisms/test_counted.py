"""Means and deviations by public bounds and a released number of rows: every neighbour is covered, and no more."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import counted
from discreet.mechanisms.counted import (
    PureLaplace,
    counted_deviation,
    counted_mean,
    deviation_sensitivity,
    mean_sensitivity,
)
from discreet.mechanisms.smooth_plan import plan_smooth, release_smooth, simulate_smooth
from discreet.mechanisms.trimmed import TrimmedSample
from tests.laws import cell_probability

HALF, MOST = 2, 6
SIZES = (1, 2, 3, 4, 5, 9)
STATISTICS = {"mean": (counted_mean, mean_sensitivity), "deviation": (counted_deviation, deviation_sensitivity)}


def sample(values):
    return TrimmedSample.from_values(np.array(values, np.int64), trim=0, half_range=HALF)


def farthest(statistic, rows):
    """How far a row more moves the statistic, over every multiset of up to six rows of five values."""
    value = STATISTICS[statistic][0]
    points, widest = range(-HALF, HALF + 1), Fraction(0)
    for n in range(MOST):
        for x in itertools.combinations_with_replacement(points, n):
            here = value(sample(x), rows)
            widest = max(widest, *(abs(value(sample((*x, v)), rows) - here) for v in points))
    return widest


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("rows", SIZES)
def test_one_row_moves_the_statistic_by_its_sensitivity_and_no_more(statistic, rows):
    claimed, found = STATISTICS[statistic][1](HALF, rows), farthest(statistic, rows)
    assert found <= claimed
    if rows <= MOST - 1:  # the worst pair has so many rows, or one fewer: all of them were looked at
        assert found > claimed * Fraction(99, 100) - Fraction(1, 2**18)


def test_other_sizes_than_the_released_one_are_covered():
    rng = np.random.default_rng(1)
    for rows in (3, 40, 200):
        for n in (0, 1, rows - 1, rows, rows + 1, 3 * rows):
            for width in (1, 100):
                values = np.clip(rng.integers(-width, width + 1, n), -100, 100)
                for more in (-100, 0, 100):
                    both = [
                        TrimmedSample.from_values(v, trim=0, half_range=100) for v in (values, np.append(values, more))
                    ]
                    for value, sensitivity in STATISTICS.values():
                        assert abs(value(both[1], rows) - value(both[0], rows)) <= sensitivity(100, rows)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_law_of_a_release_keeps_epsilon_for_every_neighbour(monkeypatch, statistic):
    epsilon, rows = 0.8, 3

    def worst():
        plan = plan_smooth(statistic, law=PureLaplace(), epsilon=epsilon, trim=0, half_range=HALF, beta=0, fineness=4,
                           rows=rows)  # fmt: skip
        lower, upper = plan.limits
        value, sensitivity = (
            getattr(counted, f"{name}") for name in (f"counted_{statistic}", f"{statistic}_sensitivity")
        )
        scale = sensitivity(HALF, rows) / plan.divisor
        losses = []
        for x in itertools.combinations_with_replacement((-2, 0, 2), 2):
            pair = [value(sample(v), rows) for v in (x, (*x, 2), (*x, -2))]
            laws = [[cell_probability(k, c, scale, plan.law, lower=lower, upper=upper) for k in range(lower, upper + 1)]
                    for c in pair]  # fmt: skip
            losses += [abs(np.log(float(a[1] / b[1]))) for p, q in itertools.permutations(laws, 2) if p is laws[0]
                       for a, b in zip(p, q, strict=True)]  # fmt: skip
        return max(losses)

    assert 0.5 * epsilon < worst() <= epsilon * (1 + 1e-9)
    whole = getattr(counted, f"{statistic}_sensitivity")
    monkeypatch.setattr(counted, f"{statistic}_sensitivity", lambda half, rows: whole(half, rows) * Fraction(1, 2))
    assert worst() > epsilon


def test_releases_are_drawn_at_the_planned_scale(monkeypatch):
    """What production hands to the sampler: the sensitivity at the released rows over epsilon."""
    seen = {}

    def note(center, scale, law, **rest):
        seen[len(seen)] = (center, scale, law)
        return 0

    monkeypatch.setattr("discreet.mechanisms.smooth_plan.draw_rounded", note)
    values = sample((-2, 0, 2, 2))
    for statistic, (value, sensitivity) in STATISTICS.items():
        plan = plan_smooth(statistic, law=PureLaplace(), epsilon=0.5, trim=0, half_range=HALF, beta=0, rows=7)
        release_smooth(values, plan)
        center, scale, law = seen[len(seen) - 1]
        assert center == value(values, 7) and isinstance(law, PureLaplace)
        assert scale * plan.divisor == sensitivity(HALF, 7) and plan.divisor == Fraction(1, 2)
    drawn = simulate_smooth(values, plan, size=50, rng=np.random.default_rng(1))
    assert drawn.min() >= 0 and drawn.max() <= HALF
