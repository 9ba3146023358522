"""Exact random draws from fair bits: Bernoulli variables with rational or exponential odds, and Poisson variables."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Coins:
    """Fair bits of the operating system and what can be made of them without rounding anything."""

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._pool = b""
        self._at = 0
        self._forks = _forks

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""
        size = (count + 7) // 8
        if self._at + size > len(self._pool) or self._forks != _forks:  # parent and child must not share bits
            self._pool, self._at, self._forks = self._source(max(4096, size)), 0, _forks
        at, self._at = self._at, self._at + size
        if size == 1:  # as nearly all are
            return self._pool[at] >> (8 - count)
        return int.from_bytes(self._pool[at : at + size], "little") >> (8 * size - count)

    def words(self, count: int) -> NDArray[np.uint16]:
        """As many uniform integers of 16 bits; none of them is kept, so that no process shares them."""
        return np.frombuffer(self._source(2 * count), "<u2")

    def below(self, bound: int) -> int:
        """A uniform integer from 0 to bound − 1."""
        count = (bound - 1).bit_length()
        while True:
            value = self.bits(count)
            if value < bound:
                return value

    def odds(self, part: int, whole: int) -> bool:
        """True with probability part/whole."""
        return part >= whole or self.below(whole) < part

    def _alternating(self, part: int, whole: int, first: int) -> bool:
        """Stop at the first k ≥ first where a coin of odds part/(k·whole) fails; True if that k is odd.

        From first = 1 the probability is exp(−part/whole), for part ≤ whole: its alternating series.
        """
        k = first
        while self.odds(part, k * whole):
            k += 1
        return k % 2 == 1

    def exp_minus(self, part: int, whole: int) -> bool:
        """True with probability exp(−part/whole)."""
        while part > whole:
            if not self._alternating(1, 1, 1):
                return False
            part -= whole
        return self._alternating(part, whole, 1)

    def sample(self, size: int, count: int) -> list[int]:
        """Different whole numbers below `size`, in an even random order of which none is preferred."""
        moved: dict[int, int] = {}
        chosen = []
        for i in range(count):
            spot = i + self.below(size - i)
            chosen.append(moved.get(spot, spot))
            moved[spot] = moved.get(i, i)
        return chosen

    def two_over_e(self) -> bool:
        """True with probability 2/e.

        The series of exp(−1) always passes k = 1 and passes k = 2 with probability 1/2; what is left from k = 3 on
        must then have probability 2·exp(−1).
        """
        return self._alternating(1, 1, 3)

    def poisson(self, mean: Fraction) -> int:
        """A Poisson variable, in time proportional to its mean."""
        pieces = max(1, -(-mean.numerator // mean.denominator))
        part, whole = (mean / pieces).as_integer_ratio()
        return sum(self._poisson(part, whole) for _ in range(pieces)) if part else 0

    def _poisson(self, part: int, whole: int) -> int:
        """A Poisson variable of mean part/whole ≤ 1."""
        while True:
            found = self.try_poisson(part, whole)
            if found is not None:
                return found

    def try_poisson(self, part: int, whole: int) -> int | None:
        """One pass of rejection from a count of heads before the first tail; None if it rejects.

        Heads come k times with probability 2^−(k+1); the target has weight m^k/k!, so m^k·2^(k−1)/k! ≤ 1 is the
        probability to accept.
        """
        k = 0
        while self.bits(1):
            k += 1
        if k == 0:
            return 0 if self.bits(1) else None
        # 2^(k−1)/k! is the product of 2/i for i = 2..k: each factor is at most 1.
        accept = all(self.odds(part, whole) for _ in range(k)) and all(self.odds(2, i) for i in range(3, k + 1))
        return k if accept else None
