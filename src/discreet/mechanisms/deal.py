"""Dealing: each row gets a hand by a random draw of its own, so that hands hold different rows whatever these say."""

from __future__ import annotations

import os

import numpy as np

from discreet.mechanisms.noise import Integers, Sampler, SimulationSampler

FINE = 1 << 50


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
