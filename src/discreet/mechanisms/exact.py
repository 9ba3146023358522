"""Exact draws from rational parameters: coins of chance e^−γ and geometric numbers, with no float anywhere."""

from __future__ import annotations

from fractions import Fraction
from secrets import SystemRandom
from typing import Any

# Anything with the methods of `random.Random`: the operating system, or a seeded generator in a simulation.
Source = Any


def system() -> Source:
    """The operating system's randomness."""
    return SystemRandom()


def coin_exp(gamma: Fraction, source: Source) -> bool:
    """True with chance e^−gamma, gamma ≥ 0.

    For gamma ≤ 1: of coins with chances gamma/1, gamma/2, … the first failure has an odd place with that chance.
    """
    while gamma > 1:
        if not _coin_small(Fraction(1), source):
            return False
        gamma -= 1
    return _coin_small(gamma, source)


def _coin_small(gamma: Fraction, source: Source) -> bool:
    place = 1
    while source.randrange(gamma.denominator * place) < gamma.numerator:
        place += 1
    return bool(place % 2)


def geometric(rate: Fraction, source: Source) -> int:
    """A whole number x ≥ 0 with chance proportional to e^−(rate·x).

    A number with rate 1/denominator is drawn as remainder and quotient; every `numerator` of its steps make one.
    """
    steps, pieces = rate.numerator, rate.denominator
    while True:
        rest = source.randrange(pieces)
        if coin_exp(Fraction(rest, pieces), source):
            break
    turns = 0
    while _coin_small(Fraction(1), source):
        turns += 1
    return int((rest + pieces * turns) // steps)
