"""Optimal local hashing: a random hash into few buckets, and the value's bucket by direct encoding."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import Slots, streamed
from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source, below
from discreet.local.mechanism import Law, Reports
from discreet.local.oracles.base import ORACLES, Oracle
from discreet.local.wire.integers import Integers, Run
from discreet.loops import kernel

PRIME = (1 << 31) - 1
MOST_BUCKETS = 1 << 30


@kernel
def hashed(units: Any, first: int, values: Any, prime: int, buckets: int, drawn: Any, out: Any) -> int:
    """Local hashing: a random hash, and the value's bucket under it by direct encoding (slots as in `grr`)."""
    used = 0
    for i in range(first, len(out)):
        a, b = np.int64(0), np.int64(prime)
        while a == 0 or a == prime or b == prime:
            if used + 4 > len(units):
                return i
            a = np.int64(units[used]) | np.int64(units[used + 1]) << 16
            b = np.int64(units[used + 2]) | np.int64(units[used + 3]) << 16
            a, b = a & prime, b & prime
            used += 4
        bucket, place = ((a * values[i] + b) % prime) % buckets, np.int64(drawn[i]) - 1
        if place >= 0:
            bucket = place + (place >= bucket)
        out[i, 0], out[i, 1], out[i, 2] = a, b, bucket
    return len(out)


@kernel
def hash_support(reports: Any, prime: Any, buckets: Any, counts: Any) -> None:
    """For each value, in how many reports it falls into the bucket reported."""
    for i in range(len(reports)):
        step, point, bucket = np.uint32(reports[i, 0]), np.uint32(reports[i, 1]), np.uint32(reports[i, 2])
        for value in range(len(counts)):
            counts[value] += point % buckets == bucket
            point += step  # below 2³², since both are below 2³¹
            if point >= prime:
                point -= prime


@ORACLES.register
class OLH(Oracle):
    """Report a hash drawn at random and the bucket of the value under it, kept with the chance of direct encoding.

    The hash is h(v) = ((a·v + b) mod P) mod g with P = 2³¹ − 1, a from 1 to P − 1, b from 0 to P − 1. Two different
    values are then an even draw of two different numbers below P, so the chance that they collide is known exactly,
    and with it q: the buckets' being uneven by one number in P/g leaves no bias. Privacy holds for any hash.

    >>> OLH(1000, 1).buckets
    4
    """

    name, code, script = "olh", 6, "hashing"
    literals: ClassVar[dict[str, str]] = {"PRIME": f"{PRIME}"}
    shape = (3,)
    dtype = np.dtype(np.uint32)

    def __init__(self, d: int, epsilon: Any, *, prime: int = PRIME) -> None:
        self.prime = prime  # only tests have a reason to give a smaller one, with which all hashes can be listed
        super().__init__(d, epsilon)

    @classmethod
    def listed(cls) -> Iterable[Self]:
        return [cls(one.d, one.epsilon, prime=7) for one in super().listed()]

    def _prepare(self) -> None:
        least = exp_bounds(self.epsilon)[0]
        self.buckets = min(MOST_BUCKETS, self.prime, max(2, round(least) + 1))
        self.other = share_up(least + self.buckets - 1)
        self.true = WHOLE - (self.buckets - 1) * self.other
        self.slots = Slots(1, self.true, self.other)
        self.p = Fraction(self.true, WHOLE)
        fewer, more = divmod(self.prime, self.buckets)
        pairs = more * (fewer + 1) * fewer + (self.buckets - more) * fewer * (fewer - 1)
        self.collision = Fraction(pairs, self.prime * (self.prime - 1))
        self.q = self.collision * self.p + (1 - self.collision) * Fraction(self.other, WHOLE)
        self.runs = Run(1, self.prime - 1), Run(0, self.prime - 1), Run(0, self.buckets - 1)

    def bucket(self, value: int, a: int, b: int) -> int:
        """The bucket of a value under one hash."""
        return (a * value + b) % self.prime % self.buckets

    def draw(self, value: int, source: Source) -> tuple[int, ...]:
        a = 1 + below(source, self.prime - 1)
        b = below(source, self.prime)
        bucket, word = self.bucket(value, a, b), source.word()
        if word >= self.true:
            place = (word - self.true) // self.other
            bucket = place + (place >= bucket)
        return a, b, bucket

    def fill(self, values: Integers, out: Reports, rng: np.random.Generator | None) -> None:
        drawn = self.slots.draw(len(values), rng)
        streamed(hashed, 4, len(values), rng, values, self.prime, self.buckets, drawn, out)

    def law(self, value: int) -> Law:
        if self.prime > 128:
            raise ValueError("the hashes are too many to be listed")
        share = Fraction(1, self.prime * (self.prime - 1))
        other = Fraction(self.other, WHOLE)
        return {
            (a, b, one): share * (self.p if one == self.bucket(value, a, b) else other)
            for a in range(1, self.prime)
            for b in range(self.prime)
            for one in range(self.buckets)
        }

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio: the hash does not depend on the value, and given the hash this is direct encoding."""
        return Fraction(self.true, self.other)

    @property
    def variation(self) -> Fraction:
        return self.p - self.q

    def constants(self) -> dict[str, Any]:
        return {"prime": self.prime, "buckets": self.buckets, "true": str(self.true), "other": str(self.other)}

    def says(self, reports: Reports) -> NDArray[Any]:
        a, b, bucket = (self.rows(reports)[:, j, None].astype(np.int64) for j in range(3))
        return np.asarray((a * np.arange(self.d) + b) % self.prime % self.buckets == bucket)

    def counted(self, rows: Reports) -> Integers:
        counts = np.zeros(self.d, np.int64)
        hash_support(rows, np.uint32(self.prime), np.uint32(self.buckets), counts)
        return counts
