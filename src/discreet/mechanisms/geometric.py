"""Geometric numbers in bulk: exact, one binary digit at a time, each decided by random bits against a certified chance.

X ≥ 0 with weight e^(−rate·X) has independent binary digits, since the weight is the product of e^(−rate·2^i) over the
digits that are set: digit i is set with chance 1/(1 + e^(rate·2^i)). What is beyond the first few digits is a geometric
number again, of a rate so large that it is nearly always zero.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.coins import Coins
from discreet.mechanisms.intervals import context, enclose, ends

BITS = 16  # that a digit is compared by at first: one in 65,536 needs more
BEYOND = 32  # the least rate of what is beyond the digits
AT_ONCE = 1 << 20  # digits
WIDEST = 50  # digits that whole numbers of 64 bits have room for, and then some


def geometrics(rate: Fraction, count: int, coins: Coins) -> NDArray[np.int64]:
    """Independent whole numbers x ≥ 0, each with probability proportional to exp(−rate·x).

    Beyond about 10^15 they are Python's whole numbers, in an array of objects.
    """
    digits, floors = _digits(rate)
    kind = np.int64 if digits <= WIDEST else object
    powers = np.array([1 << i for i in range(digits)], kind)
    result = np.empty(count, kind)
    step = max(1, AT_ONCE // (digits + 1))
    for start in range(0, count, step):
        size = min(step, count - start)
        words = coins.words((digits + 1) * size).reshape(digits + 1, size)
        given = words < floors
        for i, j in zip(*np.nonzero(words == floors), strict=True):
            given[i, j] = _decided(rate, int(i), int(words[i, j]), coins)
        block = result[start : start + size]
        block[:] = powers @ given[:-1].astype(kind) if digits else 0
        for j in np.flatnonzero(given[-1]):
            times = 1
            while _decided(rate, digits, coins.bits(BITS), coins):
                times += 1
            block[j] += times << digits
    return result


def laplaces(scale: Fraction, count: int, coins: Coins) -> NDArray[np.int64]:
    """Independent discrete Laplace numbers: each the difference of two geometric ones of rate 1/scale."""
    drawn = geometrics(1 / scale, 2 * count, coins)
    return np.asarray(drawn[:count] - drawn[count:])


def _decided(rate: Fraction, digit: int, word: int, coins: Coins) -> bool:
    """Whether a uniform number that begins with these bits is below the chance of a digit: bits come until it shows."""
    bits = BITS
    while True:
        floor = _floor(rate, digit, bits)
        if word != floor:
            return word < floor
        word, bits = word << 64 | coins.bits(64), bits + 64


@lru_cache(256)
def _digits(rate: Fraction) -> tuple[int, NDArray[np.uint16]]:
    """How many digits are drawn by themselves, and of all chances the first bits, the one beyond the digits last."""
    digits = 0
    while rate * (1 << digits) < BEYOND:
        digits += 1
    return digits, np.array([[_floor(rate, i, BITS)] for i in range(digits + 1)], np.uint16)


@lru_cache(4096)
def _floor(rate: Fraction, digit: int, bits: int) -> int:
    """The first bits of the chance that a digit is set, or that there is anything beyond the last of them.

    The chance is no rational number, so that an enclosure which is narrow enough knows them.
    """
    exponent, precision = rate * (1 << digit), bits + 64
    while True:
        ctx = context(precision)
        power = ctx.exp(enclose(ctx, -exponent))
        low, high = ends(power / (1 + power) if exponent < BEYOND else power)
        if (found := int(low * (1 << bits))) == int(high * (1 << bits)):
            return found
        precision += 64
