"""Optimal local hashing: a random hash into few buckets, and the value's bucket by direct encoding."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.local.bits import blockwise, streamed
from discreet.local.chances import WHOLE, exp_bounds, share_up
from discreet.local.entropy import Source, below
from discreet.local.kernels import compiled
from discreet.local.oracles.base import Integers, Oracle, Raw, Reports, from_bytes, to_bytes, width_of
from discreet.local.slots import Slots

PRIME = (1 << 31) - 1
MOST_BUCKETS = 1 << 30


class OLH(Oracle):
    """Report a hash drawn at random and the bucket of the value under it, kept with the chance of direct encoding.

    The hash is h(v) = ((a·v + b) mod P) mod g with P = 2³¹ − 1, a from 1 to P − 1, b from 0 to P − 1. Two different
    values are then an even draw of two different numbers below P, so the chance that they collide is known exactly,
    and with it q: the buckets' being uneven by one number in P/g leaves no bias. Privacy holds for any hash.

    >>> OLH(1000, 1).buckets
    4
    """

    name: ClassVar[str] = "olh"
    code: ClassVar[int] = 6
    prime: ClassVar[int] = PRIME

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
        self.each = width_of(self.prime)
        self.width = 2 * self.each + width_of(self.buckets - 1)

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

    def perturb(self, values: Any, *, rng: np.random.Generator | None = None) -> Reports:
        true = self.check(values)
        result = np.empty((len(true), 3), np.uint32)

        def fill(rows: slice) -> None:
            size = rows.stop - rows.start
            drawn = self.slots.draw(size, rng)
            streamed(compiled().hashed, 4, size, rng, true[rows], self.prime, self.buckets, drawn, result[rows])

        blockwise(fill, len(true), rng)
        return result

    def packed(self, report: tuple[int, ...]) -> bytes:
        return self.encode(np.array([report], np.uint32)).tobytes()

    def encode(self, reports: Reports) -> Raw:
        table = self._rows(reports)
        parts = [to_bytes(table[:, j], self.each) for j in range(2)]
        return np.concatenate([*parts, to_bytes(table[:, 2], self.width - 2 * self.each)], axis=1)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        cuts = (slice(0, self.each), slice(self.each, 2 * self.each), slice(2 * self.each, self.width))
        a, b, bucket = (from_bytes(np.asarray(raw, np.uint8)[:, cut]) for cut in cuts)
        fine = (a > 0) & (a < self.prime) & (b < self.prime) & (bucket < self.buckets)
        table = np.stack([a, b, bucket], axis=1)
        return np.where(fine[:, None], table, np.array([1, 0, 0], np.uint64)).astype(np.uint32), fine

    def law(self, value: int) -> dict[tuple[int, ...], Fraction]:
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

    def constants(self) -> dict[str, Any]:
        return {"prime": self.prime, "buckets": self.buckets, "true": str(self.true), "other": str(self.other)}

    def support(self, reports: Reports) -> Integers:
        table = self._rows(reports)

        def count(rows: slice) -> Integers:
            counts = np.zeros(self.d, np.int64)
            compiled().hash_support(table[rows], np.uint32(self.prime), np.uint32(self.buckets), counts)
            return counts

        parts = blockwise(count, len(table), None)
        return np.asarray(sum(parts, start=np.zeros(self.d, np.int64)), np.int64)

    def _rows(self, reports: Reports) -> NDArray[np.uint32]:
        array = np.asarray(reports)
        if array.ndim != 2 or array.shape[1] != 3 or array.dtype != np.uint32:
            raise DataError(f"reports of {self!r} are rows of three whole numbers: a, b and a bucket")
        return array
