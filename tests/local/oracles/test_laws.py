"""Exact laws: every report's chance under every value, by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.local.chances import WHOLE, exp_bounds
from discreet.local.geometric import SLACK
from discreet.local.mechanism import worst_ratio
from discreet.local.oracles import OLH, ORACLES, SHE, THE, HadamardResponse, SubsetSelection
from tests.local.oracles.common import KINDS, listed


@pytest.mark.parametrize("kind", KINDS)
def test_no_report_is_more_than_e_to_the_epsilon_times_likelier_under_another_value(kind) -> None:
    for oracle in kind.listed():
        laws = list(oracle.laws())
        assert len(laws) == oracle.d and all(sum(law.values()) == 1 for law in laws)
        worst = worst_ratio(laws)  # by listing all reports
        low, high = exp_bounds(oracle.epsilon)
        assert worst == oracle.worst <= low
        if kind.tight:
            assert worst >= high * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_are_unbiased_with_the_stated_variance_by_the_law(kind) -> None:
    """By listing all reports: no bias for any value, and the mean variance by which the choice is made."""
    for oracle in kind.listed():
        if oracle.epsilon < 1:  # estimates of a size at which floats say little
            continue
        spread = 0.0
        for value in range(oracle.d):
            law = oracle.law(value)
            reports, chances = listed(oracle, law), np.array([float(one) for one in law.values()])
            said = np.array([oracle.estimate(oracle.support(reports[i : i + 1]), 1) for i in range(len(reports))])
            mean = chances @ said
            assert mean == pytest.approx(np.eye(oracle.d)[value], abs=1e-9)
            spread += float((chances @ said**2 - mean**2).mean()) / oracle.d
        assert spread == pytest.approx(oracle.variance(1, 1 / oracle.d), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_support_is_the_sum_of_what_each_report_says(kind) -> None:
    oracle = kind(7, 1)
    reports = oracle.perturb(np.arange(500) % 7, rng=np.random.default_rng(5))
    said = oracle.says(reports)
    assert said.shape == (500, 7)
    assert said.sum(axis=0, dtype=np.int64).tolist() == oracle.support(reports).tolist()


def test_thresholded_histograms_spend_less_whatever_the_threshold() -> None:
    for theta in (0.001, 0.5, 1):
        for epsilon in (0.01, 1, 5):
            assert THE(3, epsilon, theta).worst <= (2 * exp_bounds(Fraction(str(epsilon)) / 4)[1] - 1) ** 2


@pytest.mark.parametrize("epsilon", [1, 5, 20, 30])
def test_histogram_noise_is_within_epsilon_for_every_component(epsilon) -> None:
    oracle = SHE(3, epsilon)
    assert sum(oracle.component_law(1).values()) == 1
    assert exp_bounds(oracle.epsilon)[1] * (1 - Fraction(1, 10**6)) <= oracle.worst <= exp_bounds(oracle.epsilon)[0]


def test_clamping_farther_out_would_break_the_claim() -> None:
    # The shortest tail that is left decides: with the clamps 16 steps farther out, cutting off shows in the ratio.
    sound, wide = SHE(2, 15.25), SHE(2, 15.25)
    wide.low, wide.high = -wide.noise.reach, 16 + wide.noise.reach
    assert sound.worst <= exp_bounds(sound.epsilon)[0] < exp_bounds(sound.epsilon)[1] < wide.worst


def test_histogram_noise_of_two_values_by_listing_whole_reports() -> None:
    oracle = SHE(2, 20)
    mine, other = oracle.law(0), oracle.law(1)
    assert sum(mine.values()) == 1
    assert max(mine[one] / other[one] for one in mine) == oracle.worst


@pytest.mark.parametrize("epsilon", ["1e-6", 0.01, 0.1, 1, 8, 30])
def test_histogram_noise_has_digits_precise_enough_for_its_slack(epsilon) -> None:
    # For any ε: the odds of every digit are so close to e^(−2ⁱ/scale) that two magnitudes' chances are in the ideal
    # ratio up to e^(SLACK/2), and so are two clamped tails, of which at least `reach` magnitudes are left.
    oracle = SHE(2, epsilon)
    noise, error = oracle.noise, Fraction(0)
    for i, threshold in enumerate(noise.thresholds):
        odds = Fraction(threshold, (1 << 128) - threshold)
        low, high = exp_bounds(-Fraction(1 << i) / noise.scale)
        error += max(abs(odds / low - 1), abs(odds / high - 1))
    assert error < SLACK / 4
    assert len(noise.thresholds) == noise.reach.bit_length()
    cut = exp_bounds(-Fraction(noise.reach) / noise.scale)[1]
    assert cut <= Fraction(1, 1 << 44)
    assert oracle.high - oracle.low == 2 * noise.reach - 16 and oracle.high <= noise.reach
    assert 2 * noise.reach - oracle.high >= noise.reach  # magnitudes beyond the clamp of the farthest value
    assert oracle.low < 0 and oracle.high > 16


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not SHE])
def test_p_and_q_are_those_of_the_law(kind) -> None:
    for oracle in kind.listed():
        for value in range(oracle.d):
            law = oracle.law(value)
            supports = oracle.says(listed(oracle, law)) > 0
            for other in range(oracle.d):
                pairs = zip(law.values(), supports[:, other], strict=True)
                inside = sum((share for share, yes in pairs if yes), Fraction(0))
                if other == value:
                    assert inside == oracle.p
                elif kind is not HadamardResponse or other % oracle.blocks == value % oracle.blocks:
                    assert inside == oracle.q
                else:
                    assert inside == Fraction(oracle.half * oracle.low, WHOLE)


@pytest.mark.parametrize("epsilon", ["1e-6", 0.5, 3, 30])
@pytest.mark.parametrize("name", ["grr", "sue", "oue", "the", "olh", "subset", "hadamard"])
def test_chances_are_those_of_the_published_formulas(name, epsilon) -> None:
    oracle, e = ORACLES[name](12, epsilon), math.exp(float(epsilon))
    root, d = math.sqrt(e), 12
    wanted = {
        "grr": lambda: (e / (e + d - 1), 1 / (e + d - 1)),
        "sue": lambda: (root / (root + 1), 1 / (root + 1)),
        "oue": lambda: (0.5, 1 / (e + 1)),
        "the": lambda: (1 - root ** (float(oracle.theta) - 1) / 2, root ** -float(oracle.theta) / 2),
        "olh": lambda: (e / (e + oracle.buckets - 1), 1 / oracle.buckets),
        "subset": lambda: _subset(oracle.size, d, e),
        "hadamard": lambda: _hadamard(oracle.half, oracle.reports, e),
    }[name]()
    # OLH: two values collide a little less often than 1/g, by a share g/2³¹ of it.
    near = oracle.buckets / 2.1e9 if isinstance(oracle, OLH) else 1e-5 if epsilon == 30 else 1e-9
    assert float(oracle.p) == pytest.approx(wanted[0], rel=1e-9)
    assert float(oracle.q) == pytest.approx(wanted[1], rel=near)


def _subset(size: int, d: int, e: float) -> tuple[float, float]:
    p = size * e / (size * e + d - size)
    return p, (p * (size - 1) + (1 - p) * size) / (d - 1)


def _hadamard(half: int, reports: int, e: float) -> tuple[float, float]:
    whole = half * e + reports - half
    return half * e / whole, half * (e + 1) / 2 / whole


def test_subset_sizes_are_the_best_there_are() -> None:
    for d in (2, 3, 7, 20, 50):
        for epsilon in (0.1, 0.5, 1, 2, 4):
            oracle, other, means = SubsetSelection(d, epsilon), SubsetSelection(d, epsilon), []
            for size in range(1, d):
                other._set(size)
                means.append(other.variance(1, 1 / d))
            assert min(means) == pytest.approx(oracle.variance(1, 1 / d), rel=1e-12)


def test_the_threshold_of_lowest_variance_is_found() -> None:
    for d, epsilon in ((2, 0.1), (10, 1), (50, 4)):
        best = THE(d, epsilon).variance(1, 1 / d)
        assert all(THE(d, epsilon, Fraction(k, 1000)).variance(1, 1 / d) >= best for k in range(1, 1001, 7))
