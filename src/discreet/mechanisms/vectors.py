"""Noise vectors of a continuous law with a bound on how far the doubles returned are from an exact draw.

Each double is computed from random bits that are the leading bits of an exact uniform number, so there is an exact
draw of the law (its other bits are never looked at) within the stated distance: no tail is cut off. Whoever uses
such a vector must cover that distance; `discreet.linear` does so by exact noise on its final lattice.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError

Floats = NDArray[np.float64]
_LEAD = np.uint64(1 << 56)  # a uniform number whose first 64 bits reach this far is known to 2^−56 of itself
_ULP = 2.0**-50  # four units in the last place of a double: more than any logarithm, root or cosine is off by
LAWS = ("laplace", "spherical")


@dataclass(frozen=True)
class Drawn:
    """A noise vector, and a bound on its Euclidean distance from an exact draw."""

    vector: Floats
    error: float


class Bits(Protocol):
    """Where uniform 64-bit words come from."""

    def words(self, size: int) -> NDArray[np.uint64]:
        """Independent uniform words."""


class SystemBits:
    """The operating system's randomness."""

    name = "bits of the operating system"
    simulation = False

    def words(self, size: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * size), np.uint64)


class SeededBits:
    """A pseudo-random generator's words: reproducible, hence not for releases."""

    name = "numpy: pseudo-random simulation"
    simulation = True

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def words(self, size: int) -> NDArray[np.uint64]:
        return self.rng.integers(0, 2**64, size, dtype=np.uint64)


def exponentials(size: int, bits: Bits) -> Floats:
    """Standard exponential variables; each is within 2^−50·(1 + itself) of an exact one."""
    words = bits.words(size)
    result = np.empty(size)
    clear = words >= _LEAD
    result[clear] = -np.log((words[clear].astype(np.float64) + 0.5) * 2.0**-64)
    for i in np.flatnonzero(~clear):  # one in 256: more bits until the number is known to 2^−56 of itself
        value, shift = int(words[i]), 64
        while value < 1 << 56:
            value, shift = value << 64 | int(bits.words(1)[0]), shift + 64
        # Of a logarithm of the whole number most would cancel, and its rounding would stay.
        part, power = math.frexp(value)
        result[i] = (shift - power) * math.log(2) - math.log(part)
    return np.maximum(result, 0.0)


def laplace_vector(size: int, scale: float, bits: Bits) -> Drawn:
    """Independent Laplace variables: density ∝ exp(−‖v‖₁/scale)."""
    sizes = exponentials(size, bits)
    signs = (bits.words(size) & np.uint64(1)).astype(np.float64) * 2 - 1
    error = 4 * _ULP * scale * float(np.linalg.norm(1 + sizes))
    return Drawn(signs * sizes * scale, error)


def _normals(size: int, bits: Bits) -> tuple[Floats, Floats]:
    """Standard normal variables, and how far each may be from an exact one."""
    doubled = 2 * exponentials(size, bits)
    turns = bits.words(size).astype(np.float64) * 2.0**-64
    radius = np.sqrt(doubled)
    # A root of a small number is off by more than its last bits; the bound says by how much.
    slack = 4 * _ULP * (1 + doubled)
    off = 2 * slack / np.sqrt(np.maximum(doubled, slack)) + 16 * _ULP * radius
    return radius * np.cos(2 * np.pi * turns), off


def normal_vector(size: int, deviation: float, bits: Bits) -> Drawn:
    """Independent normal variables of that standard deviation."""
    normal, off = _normals(size, bits)
    return Drawn(normal * deviation, deviation * float(np.linalg.norm(off + _ULP * np.abs(normal))) * (1 + 1e-9))


def spherical_vector(size: int, scale: float, bits: Bits) -> Drawn:
    """A direction at random and a length of a Gamma law: density ∝ exp(−‖v‖₂/scale)."""
    if size == 1:
        return laplace_vector(1, scale, bits)
    steps = exponentials(size, bits)
    length = math.fsum(steps)
    normal, off = _normals(size, bits)
    norm = float(np.linalg.norm(normal))
    if norm <= 0:
        raise BudgetError("the random direction came out as zero: fit again")
    error = scale * (length * 2 * float(np.linalg.norm(off)) / norm + 2 * _ULP * float(np.sum(1 + steps)))
    return Drawn(normal * (scale * length / norm), error + 4 * _ULP * scale * length * math.sqrt(size))


def noise_vector(law: str, size: int, scale: float, bits: Bits) -> Drawn:
    """A vector of one of the two laws."""
    if law not in LAWS:
        raise BudgetError(f"the law of a noise vector is 'laplace' or 'spherical', not {law!r}")
    return laplace_vector(size, scale, bits) if law == "laplace" else spherical_vector(size, scale, bits)


def bits_of(sampler: Any) -> SystemBits | SeededBits:
    """The bits that belong to a sampler of discrete noise: the system's for releases, its generator's in a study."""
    return SeededBits(sampler.rng) if sampler.simulation else SystemBits()
