"""Noise shares by enumeration: the very code that draws them is run along every branch, with exact weights."""

import math
from collections import defaultdict
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import poisson, skellam

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.intervals import context, ends
from discreet.mechanisms.poisson import log_acceptance, log_factorial, propose
from discreet.mechanisms.shares import laplace_jumps
from discreet.privacy.skellam import SkellamPart, skellam_rdp


class Branch(Exception):  # noqa: N818
    def __init__(self, options):
        self.options = options


class Scripted(Coins):
    """Coins that follow a script of outcomes; where it ends, they ask for all continuations with their odds."""

    def __init__(self, script):
        super().__init__()
        self.script, self.at, self.weight = script, 0, Fraction(1)

    def choose(self, options):
        options = [(value, odds) for value, odds in options if odds]
        if len(options) == 1:
            return options[0][0]
        if self.at == len(self.script):
            raise Branch(options)
        value, odds = self.script[self.at]
        self.at += 1
        self.weight *= odds
        return value

    def bits(self, count):
        return self.choose([(value, Fraction(1, 1 << count)) for value in range(1 << count)])

    def below(self, bound):
        return self.choose([(value, Fraction(1, bound)) for value in range(bound)])

    def odds(self, part, whole):
        chance = min(Fraction(part, whole), Fraction(1))
        return self.choose([(True, chance), (False, 1 - chance)])


def law(function, least=1e-13):
    """The probability of each outcome of a function of coins, and the mass of branches that were not followed."""
    found, lost, waiting = defaultdict(float), 0.0, [()]
    while waiting:
        script = waiting.pop()
        coins = Scripted(script)
        try:
            outcome = function(coins)
        except Branch as branch:
            for value, odds in branch.options:
                if float(coins.weight * odds) < least:
                    lost += float(coins.weight * odds)
                else:
                    waiting.append((*script, (value, odds)))
            continue
        found[outcome] += float(coins.weight)
    return found, lost


@pytest.mark.parametrize(("part", "whole"), [(0, 1), (1, 3), (1, 1), (5, 2)])
def test_exponential_odds(part, whole):
    found, lost = law(lambda coins: coins.exp_minus(part, whole))
    assert lost < 1e-9 and found[True] == pytest.approx(math.exp(-part / whole), abs=1e-9)


def test_two_over_e():
    found, lost = law(lambda coins: coins.two_over_e())
    assert lost < 1e-10 and found[True] == pytest.approx(2 / math.e, abs=1e-10)


def test_uniform_draws_below_a_bound():
    """One round of rejection over the bits themselves: every value is as likely, the rest starts anew."""

    class Once(Scripted):
        below = Coins.below

    for bound in (1, 2, 3, 5, 8, 13):
        found, waiting = defaultdict(float), [()]
        while waiting:
            script = waiting.pop()
            if len(script) > 1:
                continue
            try:
                found[Once(script).below(bound)] += float(math.prod(odds for _, odds in script))
            except Branch as branch:
                waiting += [(*script, option) for option in branch.options]
        assert set(found) == set(range(bound)) and len(set(found.values())) == 1


@pytest.mark.parametrize("mean", [Fraction(1, 7), Fraction(1, 2), Fraction(1)])
def test_small_poisson_draws(mean):
    """Rejection repeats until it accepts: what one pass accepts is proportional to the Poisson law."""
    found, lost = law(lambda coins: coins.try_poisson(*mean.as_integer_ratio()), least=1e-9)
    assert lost < 1e-7 and found[None] == pytest.approx(1 - math.exp(mean) / 4, abs=1e-7)
    for k in range(8):
        assert 4 * found[k] == pytest.approx(float(mean) ** k / math.factorial(k), abs=1e-6)


class OnePath(Coins):
    """Follows the one path that ends in a given jump, and multiplies the odds of every step of it."""

    def __init__(self, uniforms):
        super().__init__()
        self.uniforms, self.chance = list(uniforms), mpmath.mpf(1)

    def poisson(self, mean):
        return 1

    def below(self, bound):
        value = self.uniforms.pop(0)
        assert 0 <= value < bound
        self.chance /= bound
        return value

    def bits(self, count):
        return self.below(1 << count)

    def odds(self, part, whole):
        assert 0 < part <= whole
        self.chance *= mpmath.mpf(part) / whole
        return True

    def exp_minus(self, part, whole):
        assert part >= 0
        self.chance *= mpmath.exp(-mpmath.mpf(part) / whole)
        return True

    def two_over_e(self):
        self.chance *= 2 / mpmath.e
        return True


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(1), Fraction(3), Fraction(7, 2), Fraction(8), Fraction(300)]
)
def test_the_rate_of_every_jump(scale):
    """One candidate at one of two integers becomes ±k with probability exp(−k/scale)/(4·groups·k), for every k.

    Candidates come at rate 4·groups·part, so jumps of ±k come at rate part·exp(−k/scale)/k at each integer: the Lévy
    measure of the negative binomial law of shape `part`. Each k, sign and place has exactly one path.
    """
    last = max(0, math.ceil(math.log2(scale)))
    groups = last + 1
    for k in [*range(1, 70), 255, 256, 1000]:
        level = k.bit_length() - 1
        group = min(level, last)
        tail = [1] * (level - last) + [0] if group == last else []
        for place, up in ((0, 0), (0, 1), (1, 1)):
            coins = OnePath([(2 * place + up) * groups + group, *tail, k - (1 << level)])
            assert laplace_jumps(2, scale, Fraction(1, 5), coins) == [(place, k if up else -k)]
            assert not coins.uniforms
            expected = mpmath.exp(-mpmath.mpf(k) * scale.denominator / scale.numerator) / (4 * groups * k)
            assert abs(coins.chance / expected - 1) < 1e-12


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3)])
def test_the_number_of_candidates(scale):
    """Candidates are a Poisson number of mean 2·integers·groups·part."""
    means = []

    class Asked(Coins):
        def poisson(self, mean):
            means.append(mean)
            return 0

    assert laplace_jumps(7, scale, Fraction(1, 5), Asked()) == []
    assert means == [Fraction(14, 5) * (1 if scale < 1 else 3)]


def share_law(shape, scale, size=1 << 14):
    """The law of one share on −size/2 .. size/2 by its characteristic function."""
    angle = 2 * np.pi * np.arange(size) / size
    q = math.exp(-1 / scale)
    transform = ((1 - q) ** 2 / np.abs(1 - q * np.exp(1j * angle)) ** 2) ** shape
    return np.fft.fftshift(np.fft.ifft(transform).real)


@pytest.mark.parametrize("count", [1, 2, 5, 100])
@pytest.mark.parametrize("scale", [0.5, 3.0, 40.0])
def test_shares_add_up_to_discrete_laplace_noise(count, scale):
    """Independent of the sampler: negative binomial probabilities, convolved `count` times, are geometric."""
    k = np.arange(600)
    q, shape = math.exp(-1 / scale), 1 / count
    share = np.exp(gammaln(shape + k) - gammaln(shape) - gammaln(k + 1) + shape * math.log1p(-q) + k * math.log(q))
    whole = np.array([1.0])
    for _ in range(count):
        whole = np.convolve(whole, share)[:600]
    assert whole == pytest.approx((1 - q) * q**k, rel=1e-8, abs=1e-14)
    difference = np.convolve(share, share[::-1])[599 - 20 : 599 + 21]
    middle = 1 << 13
    assert share_law(shape, scale)[middle - 20 : middle + 21] == pytest.approx(
        difference, abs=1e-5 if scale > 9 else 1e-9
    )


@pytest.mark.parametrize("scale", [1.0, 2.5, 6.0])
@pytest.mark.parametrize("least", [1, 3, 8])
def test_the_privacy_loss_of_sums_of_shares(scale, least):
    """Shares sized for `least` nodes: with that many the loss of a step is at most 1/scale, with fewer it is above."""
    middle = 1 << 13
    for survivors in range(1, 2 * least + 2):
        law = share_law(survivors / least, scale)[middle - 400 : middle + 401]
        likely = (law[1:] > 1e-10) & (law[:-1] > 1e-10)
        loss = np.abs(np.log(law[1:][likely] / law[:-1][likely])).max()
        if survivors < least:
            assert loss > (1 + 1e-3) / scale
        else:
            assert loss <= (1 + 1e-4) / scale


@pytest.mark.parametrize("mean", [Fraction(32), Fraction(257, 8), Fraction(100), Fraction(1001, 3), Fraction(10**5)])
def test_the_proposal_lies_above_the_poisson_law_and_acceptance_makes_it_that_law(mean):
    plan = propose(mean)
    reach = int(12 * math.sqrt(mean)) + 20
    step = max(1, reach // 400)
    ctx, heights = context(160), []
    for offset in range(-reach, reach + 1, step):
        if plan.mode + offset < 0:
            continue
        low, high = ends(log_acceptance(ctx, offset, plan))
        assert high <= 0 and high - low < Fraction(1, 10**20)
        target = poisson.logpmf(plan.mode + offset, float(mean))
        heights.append(float(low) - abs(offset) / float(plan.scale) - target)
    # Proposal times acceptance is the Poisson law up to one factor.
    assert np.ptp(heights) < 1e-6 * max(1.0, math.log(float(mean)))


@pytest.mark.parametrize("mean", [Fraction(10**9), Fraction(2**60), Fraction(2**88) + Fraction(1, 3)])
def test_the_proposal_of_a_large_mean(mean):
    """Probability to accept at the mode and a few standard deviations away: at most 1, and not small in the middle."""
    plan, sigma = propose(mean), math.isqrt(int(mean))
    for spread in range(-10, 11):
        ctx = context(320)
        low, high = ends(log_acceptance(ctx, spread * sigma, plan))
        assert high <= 0 and high - low < Fraction(1, 2**40)
        away = spread * sigma / math.sqrt(mean)
        skew = away**3 / (6 * math.sqrt(mean))
        assert float(low) == pytest.approx(-(away**2) / 2 + skew + abs(away) - 0.5, abs=5e-4)


@pytest.mark.parametrize("value", [0, 1, 255, 256, 1000, 10**6])
def test_enclosures_of_log_factorials(value):
    for bits in (60, 200):
        low, high = ends(log_factorial(context(bits), value))
        mpmath.mp.prec = 300
        true = mpmath.loggamma(value + 1)
        assert mpmath.mpf(low.numerator) / low.denominator <= true <= mpmath.mpf(high.numerator) / high.denominator
        assert high - low < Fraction(1, 1 << (bits - 30))


@pytest.mark.parametrize("variance", [1, 4, 30, 400])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_renyi_bound_of_skellam_noise_holds(variance, shift):
    """The divergence itself, summed over the law, is never above the bound (and comes near it for large variances)."""
    reach = int(60 * math.sqrt(variance)) + 60
    points = np.arange(-reach, reach + 1)
    log_p = skellam.logpmf(points, variance / 2, variance / 2)
    log_q = skellam.logpmf(points - shift, variance / 2, variance / 2)
    inside = np.isfinite(log_p) & np.isfinite(log_q) & (log_p > -600) & (log_q > -600)
    part = SkellamPart(Fraction(shift), Fraction(shift**2), Fraction(variance))
    for order in (2, 3, 5, 10):
        terms = order * log_p[inside] - (order - 1) * log_q[inside]
        top = terms.max()
        divergence = (top + math.log(np.exp(terms - top).sum())) / (order - 1)
        bound = skellam_rdp(order, [part])
        assert divergence <= bound
        if variance == 400:
            assert divergence > 0.95 * bound
