"""Noise shares: what each of several nodes adds so that the sum over enough of them has the claimed law."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.poisson import centred_poisson

Integers = NDArray[np.int64]
_WORD = 1 << 64


class ShareSampler(Protocol):
    """Adds shares of noise to integers modulo 2^64; `part` is the share of one node, such as 1/N."""

    name: str
    simulation: bool

    def laplace(self, values: Integers, scale: Fraction, part: Fraction) -> Integers:
        """values + a share of discrete Laplace noise: the difference of two negative binomials of shape `part`."""

    def skellam(self, values: Integers, variance: Fraction, part: Fraction) -> Integers:
        """values + a share of Skellam noise: the difference of two Poisson variables of mean part·variance/2."""


def wrapped(values: Any) -> Integers:
    """Whole numbers of any size modulo 2^64, as signed 64-bit integers."""
    return np.array([int(value) % _WORD for value in values], dtype=np.uint64).view(np.int64)


class ExactShares:
    """Exact shares from bits of the operating system (proof: docs/proofs/noise-shares.md)."""

    name = "discreet noise shares: exact, seeded by the operating system"
    simulation = False

    def __init__(self, coins: Coins | None = None) -> None:
        self.coins = Coins() if coins is None else coins

    def laplace(self, values: Integers, scale: Fraction, part: Fraction) -> Integers:
        flat = [int(value) for value in values.ravel()]
        for place, jump in laplace_jumps(len(flat), scale, part, self.coins):
            flat[place] += jump
        return wrapped(flat).reshape(values.shape)

    def skellam(self, values: Integers, variance: Fraction, part: Fraction) -> Integers:
        up, down = (centred_poisson(variance * part / 2, values.size, self.coins) for _ in range(2))
        return wrapped(int(v) + a - b for v, a, b in zip(values.ravel(), up, down, strict=True)).reshape(values.shape)


def laplace_jumps(size: int, scale: Fraction, part: Fraction, coins: Coins) -> list[tuple[int, int]]:
    """The jumps (place, ±k) whose sums at `size` places are shares of discrete Laplace noise.

    Jumps of size k come at rate part·exp(−k/scale)/k, up and down: a Poisson process. Sizes are grouped into
    [2^j, 2^(j+1)); each group gets candidates at rate `part`, uniform in the group, which are then thinned. All groups
    from the first with 2^j ≥ scale on share one rate `part`, the i-th of them with weight 2^−(i+1).
    """
    if not size or not part:
        return []
    top, bottom = scale.as_integer_ratio()
    last = max(0, (-(-top // bottom) - 1).bit_length())  # the least j with 2^j ≥ scale
    groups = last + 1
    jumps = []
    for _ in range(coins.poisson(2 * size * groups * part)):
        where, group = divmod(coins.below(2 * size * groups), groups)
        extra = 0
        if group == last:
            while coins.bits(1):
                extra += 1
        jump = (1 << (group + extra)) + coins.bits(group + extra)
        if not coins.odds(1 << (group + extra), jump):
            continue
        exponent = jump * bottom  # over top: exp(−jump/scale)
        if group == last:
            # 2^(extra+1)·exp(−x) = (2/e)^(extra+1)·exp(−(x − extra − 1)), and x ≥ 2^extra ≥ extra + 1.
            if not all(coins.two_over_e() for _ in range(extra + 1)):
                continue
            exponent -= (extra + 1) * top
        if coins.exp_minus(exponent, top):
            place, sign = divmod(where, 2)
            jumps.append((place, jump if sign else -jump))
    return jumps


class SimulationShares:
    """The same laws from a seeded pseudo-random generator: reproducible, hence not for releases."""

    name = "numpy noise shares: pseudo-random simulation"
    simulation = True

    def __init__(self, seed: Any = None) -> None:
        self.rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)

    def laplace(self, values: Integers, scale: Fraction, part: Fraction) -> Integers:
        stop = -math.expm1(-1 / float(scale))
        up, down = (self.rng.negative_binomial(float(part), stop, values.shape) for _ in range(2))
        return np.asarray(values + up - down)

    def skellam(self, values: Integers, variance: Fraction, part: Fraction) -> Integers:
        mean = float(variance * part / 2)
        if mean > 1e15:  # the two laws differ by less than a double can hold
            return np.asarray(
                values + np.rint(self.rng.standard_normal(values.shape) * math.sqrt(2 * mean)).astype(np.int64)
            )
        up, down = (self.rng.poisson(mean, values.shape) for _ in range(2))
        return np.asarray(values + up - down)
