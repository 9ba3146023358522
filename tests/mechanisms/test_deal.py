"""Dealing: every row's hand is a draw of its own, whatever its place, the other rows and the call before."""

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.deal import deal, hold_out
from discreet.mechanisms.noise import ExactSampler, SimulationSampler

ALARM = 1e-8  # the false-alarm rate of each sampled check
SAMPLERS = [ExactSampler(), SimulationSampler(0)]
ROWS = 6000


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("hands", [2, 3, 10])
def test_hands_are_even_and_independent_of_place_and_call(sampler, hands):
    first, second = deal(ROWS, hands, sampler), deal(ROWS, hands, sampler)
    assert first.shape == (ROWS,)
    assert set(first) == set(range(hands))
    assert stats.chisquare(np.bincount(first, minlength=hands)).pvalue > ALARM
    # Against the place of the row, the same row in another call, and the row beside it: all pairs are as likely.
    for one, other in ((first, np.arange(ROWS) % hands), (first, second), (first[::2], first[1::2])):
        pairs = np.bincount(one * hands + other, minlength=hands**2)
        assert stats.chisquare(pairs).pvalue > ALARM


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_each_row_is_held_out_with_its_own_chance(sampler, share):
    held = np.zeros((2, ROWS), bool)
    for call in range(2):
        kept, out = hold_out(ROWS, share, sampler)
        assert np.array_equal(np.sort(np.concatenate([kept, out])), np.arange(ROWS))
        assert stats.binomtest(len(out), ROWS, share).pvalue > ALARM
        held[call, out] = True
    chances = np.outer([1 - share, share], [1 - share, share]).ravel()
    for one, two in ((held[0], held[1]), (held[0, ::2], held[0, 1::2])):
        seen = np.bincount(2 * one + two, minlength=4)
        assert stats.chisquare(seen, len(one) * chances).pvalue > ALARM
    early = int(held[0, : ROWS // 2].sum())  # the first rows are no likelier than the last
    assert stats.binomtest(early, ROWS // 2, share).pvalue > ALARM


def test_the_number_held_out_varies():
    """A fixed number would depend on how many rows there are: here each row decides for itself."""
    assert len({len(hold_out(ROWS, 0.25, ExactSampler())[1]) for _ in range(12)}) > 2
    assert [part.size for part in hold_out(0, 0.25, ExactSampler())] == [0, 0]
    assert deal(0, 3, ExactSampler()).size == 0
