"""The one-run bound: exact enumeration, the best possible adversary by linear programming, and limits."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_matrix
from scipy.stats import binom

from discreet.audit import AuditError, audit_one_run, canary_lower_bound, clopper_pearson_lower, guess_tail
from discreet.audit.controls import discrete_laplace
from discreet.audit.onerun import guess


def best_adversary(canaries, guesses, correct, epsilon, delta):
    """Maximise the chance of enough right guesses over all (epsilon, delta)-DP maps from coins to guesses."""
    inputs = list(itertools.product([-1, 1], repeat=canaries))
    outputs = [t for t in itertools.product([-1, 0, 1], repeat=canaries) if np.abs(t).sum() <= guesses]
    rows, width = len(inputs), len(outputs)
    links = [(i, j) for i in range(rows) for j in range(rows) if np.not_equal(inputs[i], inputs[j]).sum() == 1]
    variables = width * (rows + len(links))
    gain = np.zeros(variables)
    for (i, s), (k, t) in itertools.product(enumerate(inputs), enumerate(outputs)):
        gain[i * width + k] = -float(np.equal(s, t).sum() >= correct) / rows
    limits = lil_matrix((len(links) * (width + 1), variables))
    right = np.zeros(limits.shape[0])
    for link, (i, j) in enumerate(links):
        # The auxiliary variables are the positive parts of P_i - e^eps P_j; they sum to delta at most.
        for k in range(width):
            row, extra = link * (width + 1) + k, (rows + link) * width + k
            limits[row, i * width + k], limits[row, j * width + k], limits[row, extra] = (
                1,
                -math.exp(epsilon),
                -1,
            )
            limits[link * (width + 1) + width, extra] = 1
        right[link * (width + 1) + width] = delta
    whole = lil_matrix((rows, variables))
    for i in range(rows):
        whole[i, i * width : (i + 1) * width] = 1
    found = linprog(gain, limits.tocsr(), right, whole.tocsr(), np.ones(rows), bounds=(0, None))
    assert found.success
    return -found.fun


SMALL = [(m, r, v) for m in (1, 2, 3) for r in range(1, m + 1) for v in range(1, r + 1)]


@pytest.mark.parametrize("delta", [0.0, 0.003, 0.05])
@pytest.mark.parametrize(("canaries", "guesses", "correct"), SMALL)
def test_no_mechanism_beats_the_bound_and_one_meets_it(canaries, guesses, correct, delta):
    for epsilon in (0.1, 1.0):
        best = best_adversary(canaries, guesses, correct, epsilon, delta)
        assert guess_tail(correct, guesses, canaries, epsilon, delta) == pytest.approx(best, abs=1e-6)


def published(canaries, guesses, correct, epsilon, delta):
    """Return the tail bound as printed by Steinke, Nasr and Jagielski (2023)."""
    q = 1 / (1 + math.exp(-epsilon))
    below = np.cumsum(binom.pmf(np.arange(correct - 1, -1, -1), guesses, q))
    slope = (below / np.arange(1, correct + 1)).max()
    return min(1.0, binom.sf(correct - 1, guesses, q) + 2 * canaries * delta * slope)


@pytest.mark.parametrize("canaries", [10, 100, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_bound_is_at_least_as_sharp_as_the_published_one_where_it_matters(canaries, epsilon):
    q = 1 / (1 + math.exp(-epsilon))
    for guesses in (canaries, canaries // 2):
        for correct in range(int(binom.isf(0.2, guesses, q)) + 1, guesses + 1):
            mine = guess_tail(correct, guesses, canaries, epsilon, 1e-4)
            assert binom.sf(correct - 1, guesses, q) < mine < published(canaries, guesses, correct, epsilon, 1e-4)
    assert guess_tail(canaries, canaries, canaries, epsilon) == pytest.approx(q**canaries)


def test_published_expression_is_exceeded_far_below_the_mean():
    # Of no use to an audit, but the proof note says so.
    best = best_adversary(2, 2, 1, 1.0, 0.1)
    assert best == pytest.approx(0.9618, abs=1e-4) and published(2, 2, 1, 1.0, 0.1) == pytest.approx(0.9566, abs=1e-4)


def test_published_examples():
    # The paper prints 0.673 for these counts and 2.675 for the next; a sharper bound says no less.
    assert published(1000, 100, 75, 0.673, 1e-4) == pytest.approx(0.05, abs=1e-3)
    assert 0.673 <= canary_lower_bound(75, 100, 1000, delta=1e-4) <= canary_lower_bound(75, 100, 1000)
    assert 2.675 <= canary_lower_bound(1439, 1510, 100_000, delta=1e-5) <= canary_lower_bound(1439, 1510, 1510)
    low = clopper_pearson_lower(75, 100, 0.05)
    assert canary_lower_bound(75, 100, 100) == pytest.approx(math.log(low / (1 - low)), abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("canaries", [40, 300])
def test_randomised_response_is_never_flagged_beyond_the_level(canaries, epsilon):
    counts = np.arange(canaries + 1)
    mass = binom.pmf(counts, canaries, 1 / (1 + math.exp(-epsilon)))
    bounds = np.array([canary_lower_bound(v, canaries, canaries) for v in counts])
    flagged = mass[bounds > epsilon].sum()
    assert 0.01 < flagged <= 0.05


def test_bound_approaches_epsilon_with_many_canaries():
    q = 1 / (1 + math.exp(-1.0))
    gaps = [1.0 - canary_lower_bound(int(q * m), m, m) for m in (100, 10_000, 1_000_000)]
    # The gap shrinks like one over the root of the number of canaries.
    assert 0 < gaps[2] < 0.005 and gaps[1] == pytest.approx(10 * gaps[2], rel=0.1)
    with_delta = [canary_lower_bound(int(q * m), m, m, delta=1e-8) for m in (10_000, 1_000_000)]
    assert 1.0 - gaps[1] - 1e-3 < with_delta[0] < 1.0 - gaps[1] and with_delta[1] > 0.99


def test_tail_increases_with_epsilon_until_it_is_one():
    for delta in (0.0, 1e-5, 1e-2):
        tails = [guess_tail(80, 100, 200, e, delta) for e in np.linspace(0, 6, 200)]
        below = [t for t in tails if t < 1]
        assert below == sorted(below) and tails[len(below) :] == [1.0] * (len(tails) - len(below))


def test_extreme_counts_do_not_break_down():
    assert canary_lower_bound(50_000, 50_000, 50_000) > 9
    assert 6 < canary_lower_bound(50_000, 50_000, 50_000, delta=1e-7) < canary_lower_bound(50_000, 50_000, 50_000)
    assert canary_lower_bound(0, 10, 10) == 0.0
    assert guess_tail(900, 1000, 1000, 0.0, 1e-6) == pytest.approx(1e-3 / 900 * 1.0, rel=0.3)


class Counter:
    """Scores each canary by its own noisy count, as a naive Bayes table with a cell per canary would."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, included, *, rng):
        return included + discrete_laplace(self.scale, len(included), rng=rng)


def test_a_noisy_table_is_judged_rightly():
    honest = audit_one_run(Counter(1.0), 20_000, 1.0, confidence=1 - 1e-7, seed=1)
    assert 0.8 < honest.lower_bound <= 1.0 and not honest.violated
    liar = audit_one_run(Counter(0.5), 20_000, 1.0, seed=1)
    # Over 60 seeds: 0.911 with standard deviation 0.018 above, 1.941 with 0.025 here.
    assert liar.lower_bound > 1.8 and liar.violated and liar.method == "one run"
    assert "guesses right" in liar.event and liar.to_dict()["verdict"] == "violated"


def test_rare_certainty_needs_abstention():
    def mostly_silent(included, *, rng):
        told = rng.random(len(included)) < 0.02
        return np.where(told, np.where(included, 1.0, -1.0), 0.0)

    forced = audit_one_run(mostly_silent, 20_000, 1.0, guesses=20_000, seed=2)
    choosy = audit_one_run(mostly_silent, 20_000, 1.0, guesses=200, seed=2)
    assert forced.lower_bound < 0.2 and choosy.lower_bound > 3


def test_trying_several_widths_shares_the_level():
    both = audit_one_run(Counter(1.0), 4000, 1.0, guesses=(4000, 1000), seed=3)
    right, _, width = both.event.split()[:3]
    assert both.lower_bound == canary_lower_bound(int(right), int(width), 4000, confidence=0.975)


def test_guesses_take_both_ends_and_break_ties_at_random():
    made = guess([5, 1, 4, 2, 3], 3, rng=np.random.default_rng(0))
    assert made.values.tolist() == [1, -1, 1, 0, 0] and made.count == 3
    assert made.correct(np.array([True, False, False, True, True])) == 2
    ties = {tuple(guess([0, 0, 0, 0], 2, rng=np.random.default_rng(s)).values) for s in range(40)}
    # Twelve arrangements are equally likely: seeing only one has chance 12^-39.
    assert len(ties) > 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: guess_tail(5, 4, 10, 1.0),
        lambda: guess_tail(1, 11, 10, 1.0),
        lambda: canary_lower_bound(1, 2, 3, confidence=1.0),
        lambda: audit_one_run(Counter(1.0), 0, 1.0),
        lambda: audit_one_run(Counter(1.0), 10, 1.0, guesses=11),
        lambda: audit_one_run(lambda included, rng: [1.0], 10, 1.0),
    ],
)
def test_nonsense_is_refused(call):
    with pytest.raises(AuditError):
        call()
