"""The best of a random number of runs in ε and δ: against every base of a grid, the library, and what is left out."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent, RepeatAndSelectDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.stats import norm

from discreet.errors import BudgetError
from discreet.mechanisms.stopping import runs_law
from discreet.privacy.calibrate import zcdp_delta, zcdp_rho
from discreet.privacy.repeated import mean_runs, profile_shift, renyi_shift, repeated_delta, repeated_rho
from tests.mechanisms.test_stopping import best_law

ETAS = [Fraction(0), Fraction(1), Fraction(-1, 2)]
GAMMAS = [Fraction(1, 50), Fraction(1, 3)]
DELTA = Fraction(1, 10**6)
ORDERS = 1 + np.exp(np.linspace(math.log(1e-4), math.log(1e4), 200))

NEAR = [(Fraction(0), (0.93453481, 2.9095598e-6, 0.06546228), (0.90761592, 1.3152091e-6, 0.09238276))]


def rho_of(one, two):
    """The least ρ for which two laws are ρ-zCDP neighbours, from below: the largest divergence over its order."""
    worst = 0.0
    for a, b in ((one, two), (two, one)):
        logs = ORDERS[:, None] * np.log(a) + (1 - ORDERS[:, None]) * np.log(b)
        top = logs.max(axis=1)
        divergences = (top + np.log(np.exp(logs - top[:, None]).sum(axis=1))) / (ORDERS - 1)
        worst = max(worst, float((divergences / ORDERS).max()))
    return worst * (1 + 1e-3)  # between two orders


def hockey(one, two, epsilon):
    return float(np.maximum(one - math.exp(epsilon) * two, 0).sum())


def bases():
    """Pairs of laws of three outputs, worst to best: rare ones, and neighbours that tilt them either way."""
    for weight in itertools.product((1e-3, 0.05, 1.0), repeat=3):
        left = np.array(weight) / sum(weight)
        for signs in itertools.product((-1.0, 0.0, 1.0), repeat=3):
            right = left * np.exp(0.4 * np.array(signs))
            if len(set(signs)) > 1:
                yield left, right / right.sum()


def counts(rho, size=60):
    """A count with Gaussian noise and that of one row more, cut far out, in rising and in falling order."""
    places = np.arange(-size, size + 1)
    left, right = (np.exp(-np.square(places - spot) * rho) for spot in (0, 1))
    for step in (1, -1):
        yield (left / left.sum())[::step], (right / right.sum())[::step]


def worst(eta, gamma, bound, pairs):
    """By how much the exact δ of the best run exceeds a bound (ρ, ε) → δ at most."""
    found = -1.0
    for left, right in pairs:
        rho = rho_of(left, right)
        one, two = best_law(left, eta, float(gamma)), best_law(right, eta, float(gamma))
        for epsilon in (0.05, 0.2, 0.5, 1.0):
            exact = max(hockey(one, two, epsilon), hockey(two, one, epsilon))
            found = max(found, exact - bound(rho, epsilon) - 1e-12)
    return found


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_no_base_costs_more_than_the_bound(eta, gamma):
    def bound(rho, epsilon):
        return repeated_delta(rho, epsilon, float(eta), float(gamma))

    assert worst(eta, gamma, bound, [*bases(), *counts(0.02), *counts(0.2)]) <= 0


def tilted(left, right, rho):
    """The law on the way from one to the other, or beyond, that is a ρ-zCDP neighbour of the first."""
    way, low, high = np.log(right / left), 0.0, 3.0
    for _ in range(40):
        middle = (low + high) / 2
        found = left * np.exp(middle * way)
        low, high = (middle, high) if rho_of(left, found / found.sum()) < rho else (low, middle)
    found = left * np.exp(low * way)
    return found / found.sum()


@pytest.mark.parametrize(("eta", "left", "right"), NEAR)
def test_a_run_with_a_fifth_less_noise_is_found_out(eta, left, right):
    """A run that comes within a factor of four of its bound at ε = 1, δ = 1e-6: of noise cut by a fifth δ is exceeded.

    The best outputs are ordered by their place; a search for the worst law of three outputs found these.
    """
    gamma, exact = Fraction(1, 30), []
    left, right = (np.array(law) / sum(law) for law in (left, right))
    rho = float(repeated_rho(Fraction(1), DELTA, eta, gamma))
    for each in (rho, rho / 0.8):
        laws = (best_law(law, eta, float(gamma)) for law in (left, tilted(left, right, each)))
        one, two = laws
        exact.append(max(hockey(one, two, 1.0), hockey(two, one, 1.0)))
    assert 0.2 * DELTA < exact[0] <= DELTA < exact[1]


@pytest.mark.parametrize("eta", ETAS)
def test_each_of_the_two_shifts_bounds_the_best_run(eta):
    for shift in (renyi_shift, profile_shift):

        def bound(rho, epsilon, shift=shift):
            run = zcdp_delta(rho, epsilon - shift(rho, float(eta), 0.02))
            return min(1.0, mean_runs(float(eta), 0.02) * run)

        assert worst(eta, Fraction(1, 50), bound, [*bases(), *counts(0.05)]) <= 0


@pytest.mark.parametrize("eta", ETAS[:2])
def test_a_best_run_that_is_charged_once_is_found_out(eta):
    """Neither that many runs are made (E[K]) nor that a better one may come (the shift) can be left out."""
    gamma = Fraction(1, 50)
    assert worst(eta, gamma, zcdp_delta, [*bases(), *counts(0.02)]) > 0
    assert worst(eta, gamma, lambda rho, e: mean_runs(float(eta), float(gamma)) * zcdp_delta(rho, e) / 8,
                 [*bases(), *counts(0.02)]) > 0  # fmt: skip


@pytest.mark.parametrize("eta", ETAS)
@pytest.mark.parametrize(("rho", "gamma"), [(0.01, 1 / 30), (0.5, 1e-4), (0.001, 0.2)])
def test_the_shift_is_that_of_normal_noise_and_little_more(eta, rho, gamma):
    """Of normal noise the chance u of a better output grows to Φ(Φ⁻¹(u) + √(2ρ)), exactly."""
    chances = np.exp(np.linspace(math.log(1e-9), math.log(1 - 1e-9), 20_000))
    grown = norm.cdf(norm.ppf(chances) + math.sqrt(2 * rho))
    least = (1 + float(eta)) * math.log(((gamma + (1 - gamma) * grown) / (gamma + (1 - gamma) * chances)).max())
    assert least < profile_shift(rho, float(eta), gamma) < 1.6 * least
    assert least < renyi_shift(rho, float(eta), gamma)
    for epsilon in (1.0, 4.0):  # and δ is that of all runs that are made
        run = zcdp_delta(rho, epsilon - least)
        assert repeated_delta(rho, epsilon, float(eta), gamma) >= min(1.0, mean_runs(float(eta), gamma) * run)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("rho", "epsilon"), [(0.01, 1.5), (0.1, 5.0), (0.001, 0.5)])
def test_the_theorem_is_that_of_the_library_and_ours_is_below(eta, rho, epsilon):
    gamma = 1 / 30
    orders = 1 + np.exp(np.linspace(math.log(1e-2), math.log(2e3), 3000))
    event = RepeatAndSelectDpEvent(GaussianDpEvent(1 / math.sqrt(2 * rho)), mean_runs(eta, gamma), eta)
    theirs = RdpAccountant(orders).compose(event).get_delta(epsilon)
    theorem = mean_runs(eta, gamma) * zcdp_delta(rho, epsilon - renyi_shift(rho, eta, gamma))
    assert theorem == pytest.approx(theirs, rel=0.02)
    assert repeated_delta(rho, epsilon, eta, gamma) < theirs


@pytest.mark.parametrize("eta", ETAS)
def test_the_mean_is_that_of_the_law(eta):
    law = np.array(runs_law(float(eta), 0.1, 5000))
    assert mean_runs(float(eta), 0.1) == pytest.approx(law @ np.arange(1, len(law) + 1))


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(8), Fraction(1000)])
@pytest.mark.parametrize("eta", ETAS)
def test_the_rho_of_a_run_is_the_most_that_keeps_within_the_budget(epsilon, eta):
    gamma = Fraction(1, 30)
    rho = repeated_rho(epsilon, DELTA, eta, gamma)
    terms = float(epsilon), float(eta), float(gamma)
    assert repeated_delta(float(rho), *terms) <= DELTA < repeated_delta(float(rho) * 1.001, *terms)
    assert repeated_delta(float(rho) * 1.25, *terms) > 2 * DELTA or epsilon == 1000  # noise cut by a fifth
    assert rho < zcdp_rho(epsilon, DELTA)


@pytest.mark.parametrize("gamma", [1e-6, 1 / 30, 0.9, 1 - 1e-9])
@pytest.mark.parametrize("eta", [0.0, 1.7e-17, 1e-15, -1e-9, 1e-9, 1e-3, -0.5, 1.0])
def test_the_mean_keeps_its_digits_where_eta_vanishes(eta, gamma):
    with mpmath.workdps(60):
        e, g = mpmath.mpf(eta), mpmath.mpf(gamma)
        exact = e * (1 - g) / (g * (1 - g**e)) if eta else (1 / g - 1) / -mpmath.log(g)
        assert abs(mean_runs(eta, gamma) / exact - 1) < 1e-12


@pytest.mark.parametrize(
    ("eta", "gamma", "rho"), [(-0.5, 0.012221, 11.0515), (0.0, 1.6e-26, 65.88), (1.0, 7.4e-16, 40.9)]
)
def test_the_shift_by_profiles_is_above_that_of_any_chance(eta, gamma, rho):
    """Between the ends of cells, too, where the bound of one takes over from the other."""
    shift, chances = profile_shift(rho, eta, gamma), np.exp(np.linspace(math.log(gamma) - 8, 0, 20_001))
    epsilons = np.linspace(0, 2 * math.sqrt(-rho * math.log(gamma)) + rho, 200)
    tails = np.array([zcdp_delta(rho, epsilon) for epsilon in epsilons])
    grown = np.minimum((np.exp(epsilons) * chances[:, None] + tails).min(axis=1), 1)
    highest = ((gamma + (1 - gamma) * grown) / (gamma + (1 - gamma) * chances)).max()
    assert shift >= (1 + eta) * math.log(highest)


def test_what_floats_cannot_tell_from_nothing_is_refused():
    for epsilon, gamma in ((Fraction(1), 1 - Fraction(1, 10**20)), (Fraction(1, 10**9), Fraction(1, 30))):
        with pytest.raises(BudgetError, match="random number of runs"):
            repeated_rho(epsilon, DELTA, Fraction(0), gamma)
