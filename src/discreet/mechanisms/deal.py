"""Dealing: each row gets a hand by a random draw of its own, so that hands hold different rows whatever these say."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.noise import Integers, Sampler, SimulationSampler

FINE = 1 << 50
LEAST = 1 << 12  # coins that are drawn at a time
Bits = NDArray[np.bool_]


def _draws(size: int, sampler: Sampler) -> Integers:
    """Even whole numbers below 2⁵⁰, of the operating system or of the seed of a simulation."""
    if isinstance(sampler, SimulationSampler):
        return np.asarray(sampler.rng.integers(0, FINE, size))
    return (np.frombuffer(os.urandom(8 * size), np.uint64) >> np.uint64(14)).astype(np.int64)


def deal(size: int, hands: int, sampler: Sampler) -> Integers:
    """One of several hands for each row.

    Privacy needs the draw to ignore what the rows say and what others drew; that it is even is a courtesy.
    """
    return np.asarray(_draws(size, sampler) % hands)


def hold_out(size: int, share: float, sampler: Sampler) -> tuple[Integers, Integers]:
    """(kept, held): each row is held out with probability `share`."""
    held = _draws(size, sampler) < int(share * FINE)
    return np.flatnonzero(~held), np.flatnonzero(held)


class RowCoins:
    """A coin for every row of a source that is read in one order: drawn when the row is first met, kept as a bit.

    A second reading meets the same coins. No coin depends on what a row says or on how many follow.
    """

    keyed = False
    salt: bytes | None = None

    def __init__(self, share: Fraction, sampler: Sampler) -> None:
        if isinstance(sampler, SimulationSampler):  # coins of a seed must not wait on what else is drawn meanwhile
            sampler = SimulationSampler(int(sampler.rng.integers(FINE)))
        self._below, self._sampler, self._bits = int(share * FINE), sampler, bytearray()

    def held(self, start: int, size: int, keys: Sequence[bytes] | None = None) -> Bits:
        """Which of the rows `start` … `start + size − 1` are held out."""
        lacking = start + size - 8 * len(self._bits)
        if lacking > 0:
            fresh = _draws(-(-max(lacking, LEAST) // 8) * 8, self._sampler) < self._below
            self._bits += np.packbits(fresh).tobytes()
        first = start // 8
        bits = np.unpackbits(np.frombuffer(self._bits, np.uint8)[first : -(-(start + size) // 8)])
        return bits[start - 8 * first :][:size].astype(bool)


class KeyCoins:
    """A coin for every person, however often and wherever their rows stand: a keyed hash of who they are.

    The secret comes from the operating system, or from the seed of a simulation, and is forgotten with this object.
    """

    keyed = True

    def __init__(self, share: Fraction, sampler: Sampler) -> None:
        self._below = int(share * FINE)
        self._secret = sampler.rng.bytes(32) if isinstance(sampler, SimulationSampler) else os.urandom(32)
        # Those who code rows elsewhere get a salt for who people are: it tells nothing of the coins.
        self.salt: bytes | None = hashlib.blake2b(b"salt", digest_size=32, key=self._secret).digest()

    def held(self, start: int, size: int, keys: Sequence[bytes] | None = None) -> Bits:
        """Which of the rows are held out, by the keys of the people they belong to."""
        assert keys is not None and len(keys) == size
        return np.fromiter((self._coin(key) for key in keys), np.bool_, size)

    def _coin(self, key: bytes) -> bool:
        draw = hashlib.blake2b(key, digest_size=8, key=self._secret).digest()
        return int.from_bytes(draw, "big") >> 14 < self._below
