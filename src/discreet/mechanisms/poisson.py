"""Exact Poisson draws around their mode, however large the mean: rejection decided by certified enclosures."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.intervals import Interval, context, enclose, ends, table
from discreet.mechanisms.noise import ExactSampler

SMALL = 32
LARGEST = 2**90
_FACTORIAL = 256
_TERMS = 100


@dataclass(frozen=True)
class Proposal:
    """A discrete Laplace law that, times exp(constant), lies above the Poisson law over its value at the mode."""

    mean: Fraction
    mode: int
    scale: Fraction
    constant: Fraction


@functools.lru_cache(256)
def propose(mean: Fraction) -> Proposal:
    """The proposal for a mean of at least 32 (proof: docs/proofs/noise-shares.md)."""
    turn = math.isqrt(math.ceil(mean)) + 1
    scale = Fraction(1 / math.log1p((turn - 0.5) / float(mean)))
    ctx = context(256)
    low = ends(ctx.log(enclose(ctx, 1 + (turn - 1) / mean)))[1]
    high = ends(ctx.log(enclose(ctx, 1 + turn / mean)))[0]
    if not low <= 1 / scale <= high:
        raise ArithmeticError("no double lies between the two slopes: the mean is too large")
    # Σ_{i<turn} ln(1 + i/mean) ≥ Σ (i/mean − i²/(2·mean²))
    floor = Fraction(turn * (turn - 1), 2) / mean - Fraction(turn * (turn - 1) * (2 * turn - 1), 12) / mean**2
    return Proposal(mean, math.floor(mean), scale, turn / scale - floor)


def _stirling(ctx: Any) -> list[Interval]:
    """The coefficients B_2i/(2i(2i − 1)) of Stirling's series."""

    def build() -> list[Any]:
        bernoulli = import_module("mpmath").bernfrac  # the library carries no types
        numbers = [(2 * i, *(int(part) for part in bernoulli(2 * i))) for i in range(1, _TERMS + 1)]
        return [enclose(ctx, Fraction(top, bottom * n * (n - 1))) for n, top, bottom in numbers]

    found: list[Interval] = table(ctx, ("stirling",), build)
    return found


def log_factorial(ctx: Any, value: int) -> Interval:
    """Enclose ln(value!): exactly if it is short, else by Stirling's series, whose error is below its next term."""
    if value < _FACTORIAL:
        return ctx.log(ctx.mpf(math.factorial(value)))
    x = ctx.mpf(value)
    total = (x + ctx.mpf(0.5)) * ctx.log(x) - x + ctx.log(2 * ctx.pi) / 2
    # Terms fall by a factor of about (i/(π·value))² each: this many reach the precision, if so many exist.
    count = min(_TERMS - 1, 1 + ctx.prec // (2 * (value.bit_length() - 5)))
    power, square, coefficients = 1 / x, 1 / (x * x), _stirling(ctx)
    for coefficient in coefficients[:count]:
        total, power = total + coefficient * power, power * square
    return total + ctx.mpf([-1, 1]) * coefficients[count] * power


def log_acceptance(ctx: Any, offset: int, plan: Proposal) -> Interval:
    """Enclose the logarithm of the probability to accept the mode plus `offset`."""

    def build() -> list[Any]:
        return [ctx.log(enclose(ctx, plan.mean)), log_factorial(ctx, plan.mode)]

    log_mean, at_mode = table(ctx, ("poisson", plan), build)
    ratio = offset * log_mean + at_mode - log_factorial(ctx, plan.mode + offset)
    return ratio + enclose(ctx, abs(offset) / plan.scale - plan.constant)


def accepted(offset: int, plan: Proposal, coins: Coins) -> bool:
    """Compare a uniform number, as many bits of it as it takes, with the probability to accept."""
    if plan.mode + offset < 0:
        return False
    size = plan.mode.bit_length() + 16  # the logarithms that cancel are that much larger than what is left
    drawn, bits = coins.bits(24), 24
    while True:
        ctx = context(bits + size)
        low, high = ends(ctx.exp(log_acceptance(ctx, offset, plan)))
        if drawn + 1 <= low * 2**bits:
            return True
        if drawn >= high * 2**bits:
            return False
        drawn, bits = drawn << 64 | coins.bits(64), bits + 64


def centred_poisson(mean: Fraction, size: int, coins: Coins) -> list[int]:
    """Draws of a Poisson variable minus the whole part of its mean."""
    if mean < SMALL:
        whole = math.floor(mean)
        return [coins.poisson(mean) - whole for _ in range(size)]
    if mean > LARGEST:
        raise ArithmeticError("the noise would leave the range of 64-bit integers")
    plan, kept = propose(mean), list[int]()
    while len(kept) < size:
        zeros = np.zeros(size - len(kept), np.int64)
        # OpenDP draws exactly at the double it is given, and this scale is one.
        offsets = ExactSampler().laplace(zeros, plan.scale)
        kept += [offset for offset in offsets.tolist() if accepted(offset, plan, coins)]
    return kept
