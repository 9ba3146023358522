"""Drawn subsets follow the laws of their definitions, with floats deciding and without.

Seeds are fixed, so nothing here is left to chance; the threshold of the χ² tests is 1e-6.
"""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.errors import BudgetError
from discreet.mechanisms.joint import MOST_EVENTS, draw_joint
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.odds import Odds
from discreet.mechanisms.subsets import draw_above, draw_flipped, draw_mask, draw_peeled, draw_ranked, shuffled
from tests.mechanisms.selection_laws import LAWS, sparse_law

DRAWS = {"mask": draw_mask, "gumbel": draw_peeled, "permute-and-flip": draw_flipped, "joint": draw_joint}
SCORES = np.array([3, 1, 4, 1, 5, 9, 2, 6])
LEVEL = 1e-6


def improbable(counts, law, size):
    """The p-value of counts under a law; cells expected to hold fewer than five are pooled."""
    assert set(counts) <= {key for key, chance in law.items() if chance > 0}
    cells = [(counts.get(key, 0), size * chance) for key, chance in law.items()]
    large = [cell for cell in cells if cell[1] >= 5]
    small = [cell for cell in cells if cell[1] < 5]
    if small:
        large.append((sum(c for c, _ in small), sum(e for _, e in small)))
    statistic = sum((count - expected) ** 2 / expected for count, expected in large)
    return float(chi2.sf(statistic, len(large) - 1))


def tally(draw, size):
    counts = {}
    for _ in range(size):
        key = tuple(draw())
        counts[key] = counts.get(key, 0) + 1
    return counts


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("margin", [2.0**-40, 0.5])
def test_the_drawn_law_is_the_defined_one(name, margin):
    # A margin of one half leaves every coin to intervals and lazily drawn bits.
    scores, k, rate = SCORES[:5], 2, Fraction(1, 3)
    odds = Odds(np.random.default_rng(7).bytes, margin)
    size = 3500 if margin < 0.1 else 600
    counts = tally(lambda: DRAWS[name](scores, k, rate, odds=odds).tolist(), size)
    assert improbable(counts, LAWS[name](scores.tolist(), k, float(rate)), size) > LEVEL
    if margin < 0.1:  # and the check can fail
        for factor in (1.3, 0.7):
            assert improbable(counts, LAWS[name](scores.tolist(), k, factor * float(rate)), size) < LEVEL


def test_masks_of_twelve_features():
    scores = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])
    odds = Odds(np.random.default_rng(11).bytes)
    counts = tally(lambda: draw_mask(scores, 4, Fraction(1, 4), odds=odds).tolist(), 3000)
    assert improbable(counts, LAWS["mask"](scores.tolist(), 4, 0.25), 3000) > LEVEL


def test_peeling_is_gumbel_noise_once():
    rng = np.random.default_rng(3)
    noisy = SCORES[:5] / 3 + rng.gumbel(size=(20000, 5))
    counts = {}
    for key in map(tuple, np.argsort(-noisy, axis=1)[:, :2].tolist()):
        counts[key] = counts.get(key, 0) + 1
    assert improbable(counts, LAWS["gumbel"](SCORES[:5].tolist(), 2, 1 / 3), 20000) > LEVEL


def test_the_sparse_vector_law(monkeypatch):
    scores, k, threshold, fence, query = np.array([5, 0, 8, 3]), 2, 4, Fraction(2), Fraction(3)
    import discreet.mechanisms.subsets as subsets

    monkeypatch.setattr(subsets, "shuffled", lambda size, odds: np.arange(size))
    law = {}
    for pattern, chance in sparse_law(scores, k, threshold, 2.0, 3.0).items():
        passed, failed = np.flatnonzero(pattern), np.flatnonzero(~np.array(pattern))
        key = tuple(np.concatenate([passed, failed])[:k].tolist())
        law[key] = law.get(key, 0.0) + chance
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    sampler, odds = SimulationSampler(5), Odds(np.random.default_rng(5).bytes)
    counts = tally(
        lambda: draw_above(scores, k, threshold, fence=fence, query=query, sampler=sampler, odds=odds).tolist(), 8000
    )
    assert improbable(counts, law, 8000) > LEVEL


def test_uniform_orders_and_integers():
    odds = Odds(np.random.default_rng(2).bytes)
    orders = tally(lambda: shuffled(4, odds=odds).tolist(), 6000)
    assert improbable(orders, dict.fromkeys(LAWS["joint"]([0] * 4, 4, 1.0), 1 / 24), 6000) > LEVEL
    drawn = np.bincount(odds.integers(7, 7000), minlength=7)
    assert improbable(dict(enumerate(drawn.tolist())), dict.fromkeys(range(7), 1 / 7), 7000) > LEVEL


def test_ties_of_a_noisy_ranking_are_broken_at_random():
    odds = Odds(np.random.default_rng(2).bytes)
    first = {int(draw_ranked(np.array([1, 5, 5]), 1, odds=odds)[0]) for _ in range(60)}
    assert first == {1, 2}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("reach", [900, 10**9])
def test_ten_thousand_features_in_a_second(name, reach):
    scores = np.random.default_rng(1).integers(0, reach, 10_000)
    DRAWS[name](scores[:50], 2, Fraction(1, 200), odds=Odds())
    start = time.process_time()  # what others do on the machine is not counted
    chosen = DRAWS[name](scores, 100, Fraction(1, 200), odds=Odds())
    assert time.process_time() - start < 1.0
    assert len(set(chosen.tolist())) == 100
    if reach == 10**9:  # gaps of a hundred thousand leave no doubt
        assert set(chosen.tolist()) == set(np.argsort(-scores)[:100].tolist())


def test_all_items_and_ties_of_all():
    odds = Odds()
    for draw in DRAWS.values():
        assert sorted(draw(np.array([4, 0, 9]), 3, Fraction(1), odds=odds).tolist()) == [0, 1, 2]
        assert len(set(draw(np.zeros(9, np.int64), 4, Fraction(1), odds=odds).tolist())) == 4


def test_a_hopeless_item_is_chosen_as_rarely_as_it_should():
    # 2^-60 is beyond the 53 bits a float decides: the source is made to ask for that coin, and more bits follow.
    gap = np.array([math.ceil(60 * math.log(2))])
    assert Odds(bytes).exponential(gap, Fraction(1)).tolist() == [True]
    blocks = iter([bytes, lambda size: b"\xff" * size])
    assert Odds(lambda size: next(blocks)(size)).exponential(gap, Fraction(1)).tolist() == [False]


def test_the_joint_mechanism_says_what_is_too_large():
    with pytest.raises(BudgetError, match="joint"):
        draw_joint(np.zeros(MOST_EVENTS // 2, np.int64), 3, Fraction(1), odds=Odds())
