"""Private choice: the best of several candidates by integer scores, drawn exactly from fair bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.noise import Sampler, SimulationSampler

CHOICES = ("permute-and-flip", "exponential")
MARGIN = 4.0  # between two candidates, in units of the noise, at which the laws are compared


def choice_rate(epsilon: Fraction, sensitivity: int = 1, *, monotone: bool = False) -> Fraction:
    """How fast the odds of a candidate fall with its score, for a choice that costs ε.

    A neighbour moves each score by at most `sensitivity`; `monotone` says that it moves all of them the same way,
    which halves how far two scores can drift apart.
    """
    if epsilon <= 0 or sensitivity < 1:
        raise BudgetError("a private choice needs an epsilon above zero and a sensitivity of at least one")
    return epsilon / (sensitivity if monotone else 2 * sensitivity)


def concentrated_cost(epsilon: Fraction, law: str) -> Fraction:
    """The ρ of a choice that costs ε: ε²/8 for the exponential mechanism, whose range is bounded; ε²/2 otherwise."""
    return epsilon**2 / (8 if law == "exponential" else 2)


def exponential_errs_less(times: Fraction) -> bool:
    """Whether the exponential mechanism at so many times the ε errs less than permute-and-flip.

    Of two candidates with a margin of h beside the noise the latter takes the wrong one in ½e^−h of cases, the former,
    to which the margin is `times` h, in 1/(1 + e^(times h)).
    """
    return float(times) * MARGIN > math.log(2 * math.exp(MARGIN) - 1)


def coins_of(sampler: Sampler) -> Coins:
    """Bits for choices beside a sampler of noise: of the operating system, or of its seed in a simulation."""
    return Coins(sampler.rng.bytes) if isinstance(sampler, SimulationSampler) else Coins()


def choose(scores: Sequence[int] | NDArray[Any], rate: Fraction | None, *, law: str = CHOICES[0], coins: Coins) -> int:
    """The index of one candidate; a rate of None takes the first best without any privacy."""
    whole = [int(score) for score in scores]
    if not whole:
        raise BudgetError("there is nothing to choose from")
    if rate is None:
        return whole.index(max(whole))
    if law not in CHOICES:
        raise BudgetError(f"a choice is drawn by one of {', '.join(CHOICES)}, not by {law!r}")
    return (permute_and_flip if law == CHOICES[0] else exponential)(whole, rate, coins=coins)


def permute_and_flip(scores: Sequence[int], rate: Fraction, *, coins: Coins) -> int:
    """Candidates in random order; each is taken with probability exp(−rate·(best − score)), the best for certain."""
    part, whole = rate.as_integer_ratio()
    best, order = max(scores), list(range(len(scores)))
    for last in range(len(order) - 1, -1, -1):
        spot = coins.below(last + 1)
        order[spot], order[last] = order[last], order[spot]
        if coins.exp_minus(part * (best - scores[order[last]]), whole):
            return order[last]
    raise AssertionError("the best candidate is always taken")


def exponential(scores: Sequence[int], rate: Fraction, *, coins: Coins) -> int:
    """The exponential mechanism, P(i) ∝ exp(rate·score), by rejection from the even law."""
    part, whole = rate.as_integer_ratio()
    best = max(scores)
    while True:
        spot = coins.below(len(scores))
        if coins.exp_minus(part * (best - scores[spot]), whole):
            return spot
