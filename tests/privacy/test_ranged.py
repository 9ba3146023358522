"""Choices of bounded range: the bound on all of them together, against exact laws of small and large compositions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.privacy import ranged
from discreet.privacy.calibrate import zcdp_delta
from discreet.privacy.ranged import MOST, ranged_delta, ranged_epsilon
from tests.laws import exponential_law

DELTA = Fraction(1, 10**6)


def alike(each, times, epsilon):
    """δ at ε of the worst law with losses t and t − each, drawn so many times: the exact binomial sum."""
    found = 0.0
    for t in np.linspace(0, each, 201)[1:-1]:
        chance = (math.exp(each) - math.exp(t)) / math.expm1(each)
        uppers = np.arange(times + 1)
        steps = np.log((times - uppers[:-1]) / (uppers[:-1] + 1)) + math.log(chance) - math.log1p(-chance)
        logs = times * math.log1p(-chance) + np.concatenate([[0.0], np.cumsum(steps)])
        losses = times * (t - each) + uppers * each
        found = max(found, float((np.exp(logs) * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)).sum()))
    return found


def adaptive(each, times, epsilon, points):
    """δ at ε where every choice is the worst of some laws given all losses so far: by recursion, without a grid."""
    ends = [
        (t, (math.exp(each) - math.exp(t)) / math.expm1(each)) for t in np.linspace(0, each, points + 2)[1:-1].tolist()
    ]

    def worst(left, loss):
        if not left:
            return max(0.0, -math.expm1(min(epsilon - loss, 0.0)))
        return max(p * worst(left - 1, loss + t) + (1 - p) * worst(left - 1, loss + t - each) for t, p in ends)

    return worst(times, 0.0)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("times", [5, 10, 40, 300])
def test_it_covers_the_worst_laws_and_hardly_more(epsilon, times):
    """Of the δ that is allowed the worst single law takes up a part; at a fifth more ε each, it is past all of it."""
    each = ranged_epsilon(Fraction(epsilon), DELTA, times)
    assert each >= max(Fraction(epsilon) / times, 0)
    worst = alike(float(each), times, float(epsilon))
    assert 0.75 * float(DELTA) < worst <= float(DELTA)
    assert alike(float(each) / 0.8, times, float(epsilon)) > 10 * float(DELTA)


@pytest.mark.parametrize(("each", "times", "epsilon"), [(0.4, 3, 0.5), (0.8, 4, 1.2), (1.5, 3, 2.0), (0.3, 4, 0.0)])
def test_it_covers_choices_that_follow_earlier_ones(each, times, epsilon):
    found = adaptive(each, times, epsilon, 11)
    assert alike(each, times, epsilon) <= ranged_delta(each, times, epsilon)
    assert found <= ranged_delta(each, times, epsilon) < 1.1 * found + 1e-3


def test_exponential_mechanisms_with_any_votes_are_covered():
    """Two answers one after another, the votes of the second chosen by the first: every way with few votes."""
    rate, epsilon = 0.7, 0.8
    each = 2 * rate  # a vote leaves one class and comes to another
    moves = [(v, tuple(np.add(v, m))) for v in itertools.product(range(3), repeat=3) for m in [(-1, 1, 0), (0, -1, 1)]]
    laws = list({(tuple(exponential_law(a, rate)), tuple(exponential_law(b, rate))) for a, b in moves})
    pairs = laws + [(b, a) for a, b in laws]
    worst = 0.0
    for p, q in pairs:
        total = 0.0
        for one, other in zip(p, q, strict=True):
            total += max(
                float(np.maximum(one * np.array(a) - math.exp(epsilon) * other * np.array(b), 0).sum())
                for a, b in pairs
            )
        worst = max(worst, total)
    assert 0.6 * ranged_delta(each, 2, epsilon) < worst <= ranged_delta(each, 2, epsilon)
    assert worst > ranged_delta(0.8 * each, 2, epsilon)  # as if scores moved by a fifth less


def test_it_is_never_below_what_is_proved_otherwise():
    for epsilon, times in itertools.product((Fraction(1, 10), Fraction(1), Fraction(9)), (1, 2, 3, 7, MOST, MOST + 1)):
        each = ranged_epsilon(epsilon, DELTA, times)
        assert each >= epsilon / times
        rho = float(each**2 / 8 * times)
        assert each == epsilon / times or zcdp_delta(rho, float(epsilon)) >= 0.98 * float(DELTA)
        assert times <= MOST or zcdp_delta(rho, float(epsilon)) <= float(DELTA)
    assert ranged_epsilon(Fraction(1), DELTA, 1) == 1
    assert ranged_epsilon(Fraction(10**6), DELTA, 2) >= 5 * 10**5  # no overflow


def test_a_grid_that_is_cut_short_still_covers():
    """Losses below the grid are read as its lowest point: here it ends at once."""
    value = np.maximum(-np.expm1(0.5 - np.linspace(-3, 3, 61)), 0)  # points a tenth apart
    chance, none = (math.e - np.exp(np.arange(11) / 10)) / math.expm1(1), np.zeros(10)
    for _ in range(2):
        value = ranged._step(value, chance, none, none)
    whole = ranged._step(value, chance, none, none)
    for cut in (20, 30, 40):
        assert (ranged._step(value[cut:], chance, none, none) >= whole[cut:]).all()


def test_a_grid_that_ends_below_the_largest_loss_still_covers():
    """Losses above the grid count in full, whatever its highest point holds: here that is far below one."""
    value = np.maximum(-np.expm1(0.5 - np.linspace(-3, 3, 61)), 0)  # points a tenth apart
    chance, none = (math.e - np.exp(np.arange(11) / 10)) / math.expm1(1), np.zeros(10)
    whole = ranged._step(value, chance, none, none)
    for cut in (38, 42, 46):
        short = value[:cut]
        assert short[-1] < 0.7
        assert (ranged._step(short, chance, none, none) >= whole[:cut]).all()


def test_small_ranges_lose_no_digits(monkeypatch):
    """Chances of the two ends are those of a law to the last digits, however narrow the range is."""
    seen = []
    monkeypatch.setattr(ranged, "_step", lambda value, chance, *_: (seen.append(chance), value)[1])
    for each in (1e-9, 1e-6, 1e-3, 1.0):
        ranged_delta(each, 5, each)
        apart = [Fraction(each) * j / ranged.FINE for j in range(ranged.FINE + 1)]
        top, whole = series(Fraction(each)), series(Fraction(each)) - 1
        exact = [float((top - series(t)) / whole) for t in apart]
        np.testing.assert_allclose(seen[-1], exact, rtol=0, atol=2e-15)


def series(value):
    """The exponential of a number up to one, to some forty digits."""
    term, total = Fraction(1), Fraction(1)
    for n in range(1, 40):
        term = term * value / n
        total += term
    return total


def test_what_is_impossible_has_no_chance():
    assert ranged_delta(0.1, 10, 1.01) < 1e-12
    assert ranged_delta(0.1, 10, 0.0) < 0.7
    assert ranged_delta(50.0, 3, 1.0) == 1.0


@pytest.mark.parametrize("cells", [1, 2, 3])
def test_ends_between_the_points_of_a_grid_are_covered(monkeypatch, cells):
    """On grids so coarse that the worst ends of a law lie between their points, the bound still holds."""
    monkeypatch.setattr(ranged, "FINE", cells)
    tight = []
    for each, times, share in itertools.product((0.1, 1.0, 3.0), (1, 2, 3), np.linspace(0, 0.95, 20)):
        epsilon = share * each * times
        worst, bound = alike(each, times, epsilon), ranged_delta(each, times, epsilon)
        assert worst <= bound
        tight.append(worst / bound)
    assert max(tight) > 0.9


def test_each_of_the_two_terms_is_needed(monkeypatch):
    """Without either the bound would miss some law: by one choice on the coarsest grids."""
    step = ranged._step
    for gone in ("turned", "opened"):

        def short(value, chance, turned, opened, gone=gone):
            return step(value, chance, turned * (gone != "turned"), opened * (gone != "opened"))

        missed = 0
        monkeypatch.setattr(ranged, "_step", short)
        for cells, share in itertools.product((1, 2, 3), np.linspace(0, 0.95, 40)):
            monkeypatch.setattr(ranged, "FINE", cells)
            missed += alike(3.0, 1, share * 3) > ranged_delta(3.0, 1, share * 3)
        assert missed, gone
