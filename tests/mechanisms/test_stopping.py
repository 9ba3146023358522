"""Random stopping: the law of the number of runs, the cost of the best run by enumeration, and the loop itself."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.stopping import best_of_random_runs, draw_runs, repeated_cost, runs_law

ETAS = [Fraction(0), Fraction(1), Fraction(-1, 2)]


def generating(x, eta, gamma):
    """E[x^K] in closed form."""
    rest = 1 - (1 - float(gamma)) * np.asarray(x)
    if eta == 0:
        return np.log(rest) / math.log(gamma)
    return (rest ** -float(eta) - 1) / (float(gamma) ** -float(eta) - 1)


def best_law(base, eta, gamma):
    """The law of the best output, outputs being ordered by their place: E[F(y)^K] − E[F(y−)^K]."""
    return np.diff(generating(np.concatenate([[0.0], np.cumsum(base)]), eta, gamma))


@pytest.mark.parametrize("eta", ETAS)
def test_the_closed_form_is_that_of_the_law(eta):
    law = runs_law(float(eta), 0.3, 200)
    for x in (0.0, 0.2, 0.9):
        assert generating(x, eta, Fraction(3, 10)) == pytest.approx(sum(p * x**k for k, p in enumerate(law, start=1)))


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("gamma", [Fraction(1, 50), Fraction(1, 3)])
def test_the_best_run_costs_at_most_two_plus_eta_times_one_run(eta, gamma):
    epsilon = Fraction(1, 2)
    bound = float(repeated_cost(epsilon, eta))
    worst = 0.0
    weights = [np.array(w) for w in itertools.product((0.002, 0.3, 1.0), repeat=3)]
    for weight in weights:
        left = weight / weight.sum()
        for signs in itertools.product((-0.5, 0.0, 0.5), repeat=3):
            right = left * np.exp(np.array(signs) * float(epsilon))
            right /= right.sum()
            if np.abs(np.log(right / left)).max() > float(epsilon) + 1e-12:
                continue
            loss = np.abs(np.log(best_law(left, eta, gamma) / best_law(right, eta, gamma))).max()
            worst = max(worst, loss)
    assert worst <= bound + 1e-9


@pytest.mark.parametrize("eta", ETAS)
def test_some_neighbours_cost_nearly_the_bound(eta):
    """The output grows rarer while the better ones grow more frequent: all three factors of the proof at once."""
    epsilon, gamma, rare, better = 0.5, Fraction(1, 10**6), 1e-6, 0.01
    laws = []
    for sign in (-1, 1):
        y, above = rare * math.exp(sign * epsilon / 2), better * math.exp(-sign * epsilon / 2)
        laws.append(best_law(np.array([1 - y - above, y, above]), eta, gamma))
    loss = np.abs(np.log(laws[0] / laws[1])).max()
    assert 0.97 * (2 + float(eta)) * epsilon < loss <= (2 + float(eta)) * epsilon + 1e-9


@pytest.mark.parametrize("eta", ETAS)
def test_the_number_of_runs_follows_its_law(eta):
    # 20,000 draws against a threshold of 1e-8: a false alarm once in some ten million runs of this file.
    gamma, coins, size, most = Fraction(1, 5), Coins(), 20_000, 12
    drawn = Counter(min(draw_runs(eta, gamma, coins=coins), most + 1) for _ in range(size))
    for shape, passes in ((float(eta), True), (float(eta) + 0.4, False)):
        law = runs_law(shape, float(gamma), most)
        expected = np.array([*law, 1 - sum(law)]) * size
        found = chisquare([drawn[k] for k in range(1, most + 2)], expected).pvalue
        assert bool(found > 1e-8) is passes


def test_the_best_run_is_kept_and_ties_are_broken_at_random():
    scores = iter([3, 9, 4] * 400)
    kept, count = best_of_random_runs(lambda: (next(scores), "x"), Fraction(1), Fraction(1, 3), coins=Coins())
    assert kept == "x" and count >= 1
    names = itertools.cycle("ab")
    seen = {
        best_of_random_runs(lambda: (0, next(names)), Fraction(1), Fraction(1, 9), coins=Coins())[0] for _ in range(99)
    }
    assert seen == {"a", "b"}


@pytest.mark.parametrize(("eta", "gamma"), [(-1, 0.5), (2, 0.5), (0, 0), (0, 1)])
def test_laws_that_cannot_be_drawn_are_refused(eta, gamma):
    with pytest.raises(BudgetError):
        draw_runs(Fraction(eta), Fraction(gamma), coins=Coins())


@pytest.mark.parametrize(
    ("count", "eta", "part", "missed", "runs"),
    [
        (2, 0, 10, 0.215, 6), (5, 0, 10, 0.392, 13), (10, 0, 10, 0.481, 21),
        (2, 0, 1000, 0.091, 263), (5, 0, 1000, 0.189, 587), (10, 0, 1000, 0.250, 1086),
        (2, 1, 10, 0.048, 20), (5, 1, 10, 0.074, 50), (10, 1, 10, 0.083, 100),
    ],
)  # fmt: skip
def test_how_often_a_candidate_is_never_drawn(count, eta, part, missed, runs):
    """The table of docs/tuning.md, from the law of the number of runs."""
    law = np.array(runs_law(eta, 1 / (part * count), 300_000))
    number = np.arange(1, len(law) + 1)
    assert law @ (1 - 1 / count) ** number == pytest.approx(missed, abs=0.0006)
    assert law @ number == pytest.approx(runs, abs=0.6)
