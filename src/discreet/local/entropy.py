"""Entropy: 64-bit words from the operating system, from given bytes, or from a seeded generator for simulations."""

from __future__ import annotations

import os
from itertools import count, pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.local.chances import WHOLE
from discreet.sources import in_threads, workers

Words = NDArray[np.uint64]
_CHUNK = 1 << 16  # words
_FEW = 1 << 10


class Source(Protocol):
    """Where a client takes its randomness from, one word at a time."""

    def word(self) -> int:
        """The next whole number below 2⁶⁴."""
        ...


class SystemSource:
    """Words from the operating system."""

    def word(self) -> int:
        """Eight fresh bytes, read as a little-endian number."""
        return int.from_bytes(os.urandom(8), "little")


class WordSource:
    """Words one by one out of arrays of them: of the operating system's, or of a seeded simulation's."""

    def __init__(self, rng: np.random.Generator | None) -> None:
        self._next = (int(word) for _ in count() for word in words(_FEW, rng))

    def word(self) -> int:
        """The next word."""
        return next(self._next)


class GivenSource:
    """Words from given bytes: what makes two implementations comparable."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.used = raw, 0

    def word(self) -> int:
        """The next eight of the given bytes, read as a little-endian number."""
        if self.used + 8 > len(self.raw):
            raise DataError("the given random bytes are used up")
        self.used += 8
        return int.from_bytes(self.raw[self.used - 8 : self.used], "little")


def below(source: Source, size: int) -> int:
    """A whole number drawn evenly from 0 … size − 1; size is at most 2⁶⁴."""
    limit = WHOLE - WHOLE % size
    while (word := source.word()) >= limit:
        pass
    return word % size


def chance(source: Source, threshold: int) -> bool:
    """True with probability threshold / 2⁶⁴. Always takes one word."""
    return source.word() < threshold


def words(size: int, rng: np.random.Generator | None = None) -> Words:
    """An array of random words: from the operating system, or from a generator in a simulation."""
    if rng is not None:
        return rng.integers(0, WHOLE, size=size, dtype=np.uint64, endpoint=False)
    if size < 4 * _CHUNK or workers() == 1:
        return np.frombuffer(os.urandom(8 * size), np.uint64)
    result = np.empty(size, np.uint64)

    def fill(part: Any) -> None:
        for start in range(part[0], part[1], _CHUNK):
            stop = min(start + _CHUNK, part[1])
            result[start:stop] = np.frombuffer(os.urandom(8 * (stop - start)), np.uint64)

    edges = np.linspace(0, size, workers() + 1).astype(int).tolist()
    in_threads(fill, list(pairwise(edges)))
    return result


def evenly(size: int, bound: int, rng: np.random.Generator | None) -> Words:
    """`size` whole numbers drawn evenly from 0 … bound − 1, by rejection of words."""
    last = WHOLE - WHOLE % bound - 1
    drawn = np.array(words(size, rng))
    while (bad := np.flatnonzero(drawn > np.uint64(last))).size:
        drawn[bad] = words(bad.size, rng)
    return drawn if bound == WHOLE else drawn % np.uint64(bound)
