"""Geometric and Laplace numbers in bulk: every digit at its border, the law by enumeration, draws against the law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.mechanisms import geometric, noise
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.geometric import BITS, geometrics, laplaces
from discreet.mechanisms.noise import ExactSampler

RATES = [Fraction(3, 7), Fraction(1), Fraction(2, 45), Fraction(9, 2)]


def seeded(seed: int) -> Coins:
    return Coins(np.random.default_rng(seed).bytes)


def chance(rate: Fraction, digit: int, digits: int) -> mpmath.mpf:
    """The chance that a digit is set, or that there is anything beyond all digits."""
    power = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator * 2**digit)
    return power if digit == digits else power / (1 + power)


@pytest.mark.parametrize("rate", [*RATES, Fraction(1, 10**6), Fraction(40), Fraction(10**5)])
def test_digits_that_are_independent_make_the_geometric_law(rate: Fraction) -> None:
    """Enumerated over all numbers of up to eight digits: the product of the digits' chances is (1 − x)·xⁿ."""
    with mpmath.workprec(300):
        digits, floors = geometric._digits(rate)
        chances = [chance(rate, i, digits) for i in range(digits + 1)]
        assert chances[-1] <= mpmath.exp(-32)
        assert [int(mpmath.floor(p * 2**BITS)) for p in chances] == floors[:, 0].tolist()
        x = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
        for set_digits in itertools.product((0, 1), repeat=min(digits, 8)):
            rest = range(len(set_digits), digits + 1)
            law = mpmath.fprod(p if one else 1 - p for p, one in zip(chances, set_digits, strict=False))
            law *= mpmath.fprod(1 - chances[i] for i in rest)
            number = sum(one << i for i, one in enumerate(set_digits))
            assert mpmath.almosteq(law, (1 - x) * x**number, 1e-60)


class Tape:
    """Chosen random numbers: those of 16 bits, then those of 64."""

    def __init__(self, words: list[int], more: list[int]) -> None:
        self.parts = [b"".join(word.to_bytes(2, "little") for word in words)]
        self.parts += [one.to_bytes(8, "little") for one in more]

    def __call__(self, size: int) -> bytes:
        return self.parts.pop(0)


@pytest.mark.parametrize("rate", RATES)
def test_bits_that_do_not_decide_a_digit_are_followed_by_more(rate: Fraction) -> None:
    """A digit is set below its chance and not above; on its first bits the next 64 decide, and then 64 more."""
    digits, floors = geometric._digits(rate)
    high = [2**BITS - 1] * (digits + 1)
    with mpmath.workprec(400):
        for i in range(digits):
            exact = chance(rate, i, digits)
            near = [int(mpmath.floor(exact * mpmath.mpf(2) ** bits)) for bits in (BITS, BITS + 64, BITS + 128)]
            more, most = near[1] - (near[0] << 64), near[2] - (near[1] << 64)
            for word, then, expected in [
                (near[0] - 1, [], 1), (near[0] + 1, [], 0), (near[0], [more - 1], 1), (near[0], [more + 1], 0),
                (near[0], [more, most - 1], 1), (near[0], [more, most + 1], 0),
            ]:  # fmt: skip
                if min(word, *then, 0) < 0:
                    continue
                tape = Tape([*high[:i], word, *high[i + 1 :]], then)
                assert geometrics(rate, 1, Coins(tape)).tolist() == [expected << i]
                assert not tape.parts
    assert floors.shape == (digits + 1, 1)


def test_what_is_beyond_the_digits_is_added() -> None:
    """At rate 32 no digit is left: 0 for the first bits, then those of e^−32, which pass twice and fail once."""
    first = int(mpmath.floor(mpmath.exp(-32) * 2**80))
    tape = Tape([0], [first - 1])
    tape.parts += [(0).to_bytes(2, "little"), (0).to_bytes(8, "little"), (2**16 - 1).to_bytes(2, "little")]
    assert geometrics(Fraction(32), 1, Coins(tape)).tolist() == [2]


@pytest.mark.parametrize("rate", RATES)
def test_draws_follow_the_law(rate: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """χ² at 1e-9 in each of 8 tests; in pieces of a few numbers, as long vectors are drawn."""
    monkeypatch.setattr(geometric, "AT_ONCE", 100_000)
    size, x = 40_000, math.exp(-float(rate))
    drawn = geometrics(rate, size, seeded(5))
    top = max(2, int(math.log(size / 40) / float(rate)))
    law = np.array([(1 - x) * x**n for n in range(top)] + [x**top])
    assert chisquare(np.bincount(np.minimum(drawn, top), minlength=top + 1), size * law).pvalue > 1e-9
    both = laplaces(1 / rate, size, seeded(6))
    law = np.array(
        [x**top / (1 + x), *((1 - x) / (1 + x) * x ** abs(n) for n in range(1 - top, top)), x**top / (1 + x)]
    )
    found = np.bincount(np.clip(both, -top, top) + top, minlength=2 * top + 1)
    assert chisquare(found, size * law).pvalue > 1e-9


def test_very_wide_numbers_are_whole_and_neighbours_are_not_alike() -> None:
    wide = geometrics(Fraction(1, 10**30), 50, seeded(7))
    assert all(isinstance(one, int) for one in wide.tolist()) and len(set(wide.tolist())) == 50
    assert 10**28 < np.median(wide) < 10**31


def test_long_vectors_get_one_exact_number_each_at_the_scale_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def watched(scale: Fraction, count: int, coins: Coins) -> np.ndarray:
        asked.append((scale, count, coins._source))
        return np.arange(count) + 1

    monkeypatch.setattr(noise, "laplaces", watched)
    values = np.arange(200).reshape(2, 100) ** 2
    found = ExactSampler().laplace(values, Fraction(22, 7))
    assert (found - values == (np.arange(200) + 1).reshape(2, 100)).all()
    assert asked == [(Fraction(22, 7), 200, __import__("os").urandom)]
    ends = np.full(100, np.iinfo(np.int64).max)
    assert (ExactSampler().laplace(ends, Fraction(1)) == ends).all()


def test_short_vectors_get_noise_of_opendp_at_no_smaller_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(noise, "_opendp", lambda law, scale: asked.append((law, scale)))
    monkeypatch.setattr(noise, "_through", lambda _, values: values + 1)
    values = np.arange(noise.LONG - 1)
    assert (ExactSampler().laplace(values, Fraction(22, 7)) == values + 1).all()
    ((law, scale),) = asked
    assert law == "laplace" and Fraction(22, 7) <= Fraction(scale) < Fraction(22, 7) * (1 + Fraction(1, 10**12))
