"""Draws: word by word and in batches, both follow the exact law. Together they raise a false alarm below 1e-6."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.local.bits import Slots, coins
from discreet.local.chances import WHOLE
from discreet.local.entropy import GivenSource, SystemSource
from discreet.local.oracles import OLH, HadamardResponse, SubsetSelection
from tests.local.oracles.common import KINDS, follows, small, tally


@pytest.mark.parametrize("kind", KINDS)
def test_single_draws_follow_the_law(kind) -> None:
    oracle, source = small(kind), SystemSource()
    for value in (0, oracle.d - 1):
        assert follows(Counter(oracle.draw(value, source) for _ in range(10_000)), oracle.law(value))


@pytest.mark.parametrize("simulated", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_batches_follow_the_law(kind, simulated) -> None:
    rng = np.random.default_rng(7) if simulated else None
    oracle = small(kind)
    for size in (20_000, 300_000):  # below and above where batches take words apart
        values = np.arange(size) % oracle.d
        reports = oracle.perturb(values, rng=rng)
        for value in (0, oracle.d - 1):
            assert follows(tally(reports[values == value]), oracle.law(value))


def test_hadamard_response_of_several_blocks_follows_the_law() -> None:
    oracle, source = HadamardResponse(24, 2), SystemSource()
    assert oracle.blocks > 1 and oracle.block > 2
    for value in (0, 7):
        assert follows(Counter(oracle.draw(value, source) for _ in range(20_000)), oracle.law(value))
        assert follows(tally(oracle.perturb(np.full(100_000, value))), oracle.law(value))


def test_a_false_law_is_told_from_the_true_one() -> None:
    honest, short = SubsetSelection(5, 1.5), SubsetSelection(5, 1.6)
    assert not follows(tally(honest.perturb(np.zeros(100_000, int))), short.law(0))
    assert not follows(tally(honest.perturb(np.zeros(100_000, int))), honest.law(1))


@pytest.mark.parametrize("kind", [SubsetSelection, HadamardResponse, OLH])
def test_wide_domains_keep_p_and_q(kind) -> None:
    # d = 9,000 takes the branches for wide domains; a share of n = 40,000 lies within 6.5 deviations (2e-10 each).
    oracle, size = kind(9_000, 2), 40_000
    value = 8_191
    support = oracle.support(oracle.perturb(np.full(size, value)))
    estimate = oracle.estimate(support, size)
    spread = oracle.variance(size, 1.0) ** 0.5
    assert abs(estimate[value] - size) < 6.5 * spread
    others = np.delete(estimate, value)
    near = oracle.variance(size, 0.0, block=1.0) if kind is HadamardResponse else oracle.variance(size)
    assert np.abs(others).max() < 7.5 * near**0.5  # 9,000 values at 7e-14 each


@pytest.mark.parametrize("threshold", [1, 1 << 62, (1 << 63) + 12345, WHOLE - 1, WHOLE // 3, 0, WHOLE])
def test_coins_have_their_chance_and_no_pattern(threshold) -> None:
    drawn = coins(threshold, 20_000)
    ones = int(np.bitwise_count(drawn).sum())
    share = threshold / WHOLE
    assert abs(ones - drawn.size * 64 * share) <= 7 * (drawn.size * 64 * share * (1 - share)) ** 0.5 + 20
    if 0.1 < share < 0.9:
        lanes = np.unpackbits(drawn.view(np.uint8)).reshape(-1, 64).astype(float) - share
        mixed = lanes.T @ lanes / len(lanes) / (share * (1 - share))
        assert np.abs(mixed - np.eye(64)).max() < 8 / len(lanes) ** 0.5  # 8 deviations


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 11])
def test_coins_read_every_digit_of_their_threshold(bits) -> None:
    # With few digits the last one weighs enough to be seen; 64·n coins stay within 6.5 deviations (8e-11 each).
    size = 64 * 60_000
    for threshold in sorted({1, 2, (1 << bits) // 3, (1 << bits) - 1}):
        share = threshold / (1 << bits)
        ones = int(np.bitwise_count(coins(threshold, size // 64, bits=bits)).sum())
        assert abs(ones - size * share) < 6.5 * (size * share * (1 - share)) ** 0.5


def test_slots_follow_their_table_and_the_rest_of_the_word() -> None:
    share = WHOLE // 1000 + 1
    slots = Slots(1, WHOLE - 999 * share, share)
    assert slots.count == 1000
    drawn = np.bincount(slots.draw(2_000_000), minlength=1000)
    law = {(k,): Fraction(slots.high if k == 0 else slots.low, WHOLE) for k in range(1000)}
    assert follows(Counter({(k,): int(n) for k, n in enumerate(drawn)}), law)
    assert (slots.table < 0).sum() == 999  # every border falls inside one unit
    edges = np.flatnonzero(np.diff(slots.table[slots.table >= 0]) < 0)
    assert edges.size == 0


@pytest.mark.parametrize("kind", KINDS)
def test_values_outside_the_domain_are_refused(kind) -> None:
    oracle = kind(3, 1)
    for bad in ([3], [-1], [0.5], [[0, 1]], ["a"]):
        with pytest.raises(DataError):
            oracle.perturb(bad)
    assert len(oracle.perturb(np.array([], int))) == 0
    assert oracle.aggregate(oracle.perturb(np.array([], int))).tolist() == pytest.approx([0, 0, 0])


def test_the_same_bytes_give_the_same_report() -> None:
    raw = bytes(range(256)) * 40
    for kind in KINDS:
        oracle = kind(6, 1)
        first, again = GivenSource(raw), GivenSource(raw)
        assert oracle.draw(4, first) == oracle.draw(4, again)
        assert first.used == again.used > 0
