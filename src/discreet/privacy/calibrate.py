"""Calibration: exact scales from exact costs, and conversion between zCDP and (ε, δ)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetError

COUNTING_FACTOR = Fraction(8, 5)  # how far above the conversion `counting_rho` looks
Moves = tuple[tuple[Fraction, int, int], ...]  # see `moving_rho`
_SAFETY = 1e-9  # covers the rounding of the floating-point formulas below


def float_up(value: Fraction) -> float:
    """The least double that is not below an exact fraction."""
    result = float(value)
    return result if Fraction(result) >= value else math.nextafter(result, math.inf)


def sqrt_up(value: Fraction) -> float:
    """A double, at most a few units above the square root, whose square is not below an exact fraction."""
    result = math.sqrt(float_up(value))
    while Fraction(result) ** 2 < value:
        result = math.nextafter(result, math.inf)
    return result


def root_down(square: Fraction) -> Fraction:
    """A fraction just below a root, with few digits, so that coins of its odds are cheap."""
    return Fraction(math.isqrt((square.numerator << 60) // square.denominator), 1 << 30)


def fraction_down(value: float) -> Fraction:
    """A fraction with a denominator of 2**64 that is not above a double."""
    return Fraction(math.floor(Fraction(value) * 2**64), 2**64)


def halved(holds: Callable[[float], bool], low: float, high: float, rounds: int) -> tuple[float, float]:
    """(low, high) drawn together round by round: what holds at `low` and not at `high` still does not beyond."""
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def step_delta(delta: Fraction, epsilon: Fraction, steps: int) -> Fraction:
    """The δ of one step: k steps of (ε, δ) are (kε, δ(1 + e^ε + … + e^{(k−1)ε})), rounded down."""
    if (steps - 1) * float(epsilon) > 700:
        raise BudgetError("the budget is too large for a delta shared by several rows: lower epsilon or contributions")
    growth = sum(math.exp(j * float(epsilon)) for j in range(steps))
    return delta if steps == 1 else fraction_down(float(delta) / growth * (1 - 1e-9))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """δ of (ε, δ)-DP for a ρ-zCDP mechanism: the tight conversion through Rényi divergences.

    Any order a > 1 gives a valid δ = exp((a − 1)(aρ − ε)) · (1 − 1/a)^a / (a − 1); the search finds a good one.
    """
    if rho <= 0:
        return 0.0
    from scipy.optimize import minimize_scalar  # slow to import, and needed for δ alone

    def logarithm(order: float) -> float:
        return (order - 1) * (order * rho - epsilon) + order * math.log1p(-1 / order) - math.log(order - 1)

    # The optimum of the first term lies at (ε/ρ + 1)/2; the others move it a little, or for ε below √(2ρ) to 1/√(2ρ).
    middle = max((epsilon / rho + 1) / 2, 1 / math.sqrt(2 * rho), 1.01)
    best = minimize_scalar(
        lambda t: logarithm(1 + math.exp(t)),
        bounds=(math.log(1e-4), math.log(10 * middle + 10)),
        method="bounded",
    )
    return min(1.0, math.exp(float(best.fun)) * (1 + _SAFETY))


@functools.cache
def zcdp_epsilon(rho: float, delta: float) -> float:
    """The least ε (from above) at which a ρ-zCDP mechanism is (ε, δ)-DP."""
    most = rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-6
    return halved(lambda epsilon: zcdp_delta(rho, epsilon) > delta, 0.0, most, 80)[1] * (1 + _SAFETY)


@functools.cache
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ (from below) whose conversion stays within (ε, δ)."""
    target, tail = float(epsilon), float(delta)
    high = target + 1.0
    while zcdp_delta(high, target) <= tail:
        high *= 2
    low, _ = halved(lambda rho: zcdp_delta(rho, target) <= tail, 0.0, high, 100)
    return fraction_down(low * (1 - _SAFETY))


@functools.cache
def normal_rho(epsilon: Fraction, delta: float) -> Fraction:
    """ρ = μ²/2, from below, of the normal noise of ratio μ that is (ε, δ)-DP; ratios of several steps add up in it."""
    target = float(epsilon)
    high = target + 1.0
    while normal_delta(math.sqrt(2 * high), target) <= delta:
        high *= 2
    low, _ = halved(lambda rho: normal_delta(math.sqrt(2 * rho), target) <= delta * (1 - _SAFETY), 0.0, high, 100)
    return fraction_down(low * (1 - _SAFETY))


@functools.cache
def counting_rho(epsilon: Fraction, delta: Fraction, parts: tuple[tuple[Fraction, int], ...]) -> Fraction:
    """ρ for discrete Gaussian noise on count tables alone, by composing exact privacy loss distributions.

    `parts` holds (share, cells): that share of ρ is spent on noise with σ² = cells/(2·share·ρ), where a neighbour
    moves exactly `cells` cells by one each. Never below the zCDP conversion.
    """
    return moving_rho(epsilon, delta, (_unit_moves(parts),))


def counting_delta(rho: float, epsilon: float, parts: Sequence[tuple[Fraction, int]]) -> float:
    """δ at ε for discrete Gaussian noise on count tables; see `counting_rho`."""
    return moving_delta(rho, epsilon, _unit_moves(parts))


def _unit_moves(parts: Sequence[tuple[Fraction, int]]) -> Moves:
    return tuple((cells / (2 * share), 1, cells) for share, cells in parts)


@functools.cache
def moving_rho(epsilon: Fraction, delta: Fraction, cases: tuple[Moves, ...]) -> Fraction:
    """ρ for discrete Gaussian noise on integers, whatever neighbours of the given cases move, by exact losses.

    A case holds (v, by, times): noise with σ² = v/ρ on `times` integers that a neighbour moves by `by` each, up or
    down. Whoever moves less, or fewer of them, is covered. Never below the zCDP conversion.
    """
    floor = zcdp_rho(epsilon, delta)

    def holds(factor: float) -> bool:
        return all(
            moving_delta(float(floor) * factor, float(epsilon), case) <= float(delta) * (1 - _SAFETY) for case in cases
        )

    # Wide noise is all but normal, so the first guess is nearly always right; it is nothing but a guess.
    guess, _ = halved(
        lambda factor: normal_delta(math.sqrt(2 * float(floor) * factor), float(epsilon)) <= float(delta),
        1.0, float(COUNTING_FACTOR), 20,
    )  # fmt: skip
    low = guess * (1 - 2.0**-8)
    if low <= 1 or not holds(low):
        low, _ = halved(holds, 1.0, float(COUNTING_FACTOR), 9)
    return floor if low == 1.0 else fraction_down(float(floor) * low)


def normal_delta(ratio: float, epsilon: float) -> float:
    """δ at ε of normal noise whose deviation is what neighbours differ by, over `ratio` (Balle and Wang 2018)."""
    from scipy.special import log_ndtr, ndtr

    return float(ndtr(ratio / 2 - epsilon / ratio) - math.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio)))


def moving_delta(rho: float, epsilon: float, moves: Moves) -> float:
    """δ at ε for discrete Gaussian noise on integers that a neighbour moves; see `moving_rho`."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    whole: Any = None
    draws = 0
    grouped: dict[tuple[float, int], int] = {}
    for variance, by, times in moves:
        kind = math.sqrt(float(variance) / rho) * (1 - _SAFETY), by
        grouped[kind] = grouped.get(kind, 0) + times
    if sum(sigma for sigma, _ in grouped) > 20_000 or any(by > 20 * sigma for sigma, by in grouped):
        return 1.0  # exact tables of the laws would be too long, or have too little of them
    for (sigma, by), times in grouped.items():
        loss = pld.from_discrete_gaussian_mechanism(
            sigma, sensitivity=by, value_discretization_interval=1e-3 * min(1.0, epsilon), use_connect_dots=True
        )
        loss = loss.self_compose(times) if times > 1 else loss
        whole, draws = loss if whole is None else whole.compose(loss), draws + times
    # The library cuts each law where its tails hold 1e-30: that mass is added back here.
    return float(whole.get_delta_for_epsilon(epsilon)) + draws * 2e-30
