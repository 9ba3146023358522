"""Private choices: the exact law against the definition, its privacy by enumeration, and what is drawn."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chisquare

from discreet.errors import BudgetError
from discreet.mechanisms.choose import CHOICES, choice_rate, choose, coins_of, concentrated_cost
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.noise import ExactSampler, SimulationSampler
from tests.laws import exponential_law, permute_and_flip_law

LAWS = {"permute-and-flip": permute_and_flip_law, "exponential": exponential_law}
SCORES = [np.array(s) for s in itertools.product(range(5), repeat=3)]


def worst(law, rate, moves):
    """The largest log ratio between the laws of scores and of scores moved by a neighbour."""
    return max(
        np.abs(np.log(LAWS[law](scores, rate)) - np.log(LAWS[law](scores + np.array(move), rate))).max()
        for scores in SCORES
        for move in moves
    )


@pytest.mark.parametrize("law", CHOICES)
@pytest.mark.parametrize("monotone", [False, True])
def test_every_neighbour_costs_at_most_epsilon_and_some_cost_nearly_all(law, monotone):
    epsilon = Fraction(3, 2)
    rate = float(choice_rate(epsilon, monotone=monotone))
    moves = [
        move
        for move in itertools.product((-1, 0, 1), repeat=3)
        if not monotone or min(move) >= 0  # the other direction is the same pair seen from the other side
    ]
    found = worst(law, rate, moves)
    assert found <= float(epsilon) + 1e-12
    assert worst(law, rate * 1.25, moves) > float(epsilon)  # a sensitivity cut by a fifth is found out


def test_a_score_of_larger_sensitivity_is_paid_for():
    rate = float(choice_rate(Fraction(1), 3))
    assert worst("permute-and-flip", rate, list(itertools.product((-3, 0, 3), repeat=3))) <= 1 + 1e-12


@pytest.mark.parametrize("scores", [(0, 0), (3, 1, 0), (2, 2, 1, 0), (0, 5)])
def test_permute_and_flip_is_the_noisy_maximum_with_exponential_noise(scores):
    rate, law = 0.7, permute_and_flip_law(scores, 0.7)
    for i, own in enumerate(scores):

        def density(z, i=i, own=own):
            others = [s for j, s in enumerate(scores) if j != i]
            below = [max(0.0, 1 - math.exp(-rate * max(own + z - s, 0.0))) for s in others]
            return rate * math.exp(-rate * z) * math.prod(below)

        kinks = sorted({max(0.0, s - own) for s in scores})
        total = sum(quad(density, a, b)[0] for a, b in itertools.pairwise([*kinks, 60.0]))
        assert law[i] == pytest.approx(total, abs=1e-7)
    assert law.sum() == pytest.approx(1)


@pytest.mark.parametrize("law", CHOICES)
def test_draws_follow_the_law_and_would_not_follow_one_of_a_rate_a_third_off(law):
    # Each draw is exact; 20,000 of them and a threshold of 1e-7 make a false alarm one in ten million runs.
    scores, rate, size = (4, 3, 0, 1), Fraction(2, 5), 20_000
    coins = Coins()
    counts = Counter(choose(scores, rate, law=law, coins=coins) for _ in range(size))
    seen = np.array([counts[i] for i in range(4)])
    assert chisquare(seen, LAWS[law](scores, float(rate)) * size).pvalue > 1e-7
    for factor in (0.7, 1.3):
        assert chisquare(seen, LAWS[law](scores, float(rate) * factor) * size).pvalue < 1e-7


def test_huge_gaps_and_rates_are_no_trouble():
    coins = Coins()
    assert choose([10**15, 0], Fraction(10**12), coins=coins) == 0
    assert choose([0, 1], None, coins=coins) == 1
    assert choose([1, 1, 0], None, coins=coins) == 0
    assert choose([7], Fraction(1, 10**15), coins=coins) == 0


def test_a_seed_repeats_a_choice_and_the_system_does_not_need_one():
    drawn = [
        [choose([0, 0, 0, 0], Fraction(1), coins=coins_of(SimulationSampler(3))) for _ in range(5)] for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    assert coins_of(ExactSampler()).bits(128) != coins_of(ExactSampler()).bits(128)


def test_mistakes_are_one_sentence():
    with pytest.raises(BudgetError, match="nothing to choose"):
        choose([], Fraction(1), coins=Coins())
    with pytest.raises(BudgetError, match="drawn by one of"):
        choose([1], Fraction(1), law="best", coins=Coins())
    with pytest.raises(BudgetError, match="above zero"):
        choice_rate(Fraction(0))


def test_concentrated_costs():
    assert concentrated_cost(Fraction(1), "exponential") == Fraction(1, 8)
    assert concentrated_cost(Fraction(1), "permute-and-flip") == Fraction(1, 2)
