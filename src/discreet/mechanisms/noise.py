"""Samplers of discrete noise: an exact one for releases, OpenDP's or our own, and a fast twin of it for studies."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.geometric import laplaces
from discreet.mechanisms.knorm import KNorm
from discreet.privacy.calibrate import float_up, sqrt_up
from discreet.statistics import saturated_add

Integers = NDArray[np.int64]
_LIMIT = 2.0**62
LONG = 64  # integers that are worth a draw of our own
WIDEST = 1 << 40  # scale of one


class Sampler(Protocol):
    """Adds noise to integers."""

    name: str
    simulation: bool

    def laplace(self, values: Integers, scale: Fraction) -> Integers:
        """values + discrete Laplace noise."""

    def gaussian(self, values: Integers, variance: Fraction) -> Integers:
        """values + discrete Gaussian noise with parameter σ² = variance."""

    def tables(self, values: list[Integers], rate: Fraction) -> list[Integers]:
        """The count tables of one class, each with its part of one K-norm draw with weight exp(−rate·norm)."""


class ExactSampler:
    """Exact noise, seeded by the operating system: OpenDP's, but for long vectors, which take it seconds."""

    name = "opendp, and draws of this library for long vectors: exact, seeded by the operating system"
    simulation = False

    def laplace(self, values: Integers, scale: Fraction) -> Integers:
        if values.size >= LONG and scale < WIDEST:
            return saturated_add(values, laplaces(scale, values.size, Coins()).reshape(values.shape))
        return _through(_opendp("laplace", float_up(scale)), values)

    def gaussian(self, values: Integers, variance: Fraction) -> Integers:
        return _through(_opendp("gaussian", sqrt_up(variance)), values)

    def tables(self, values: list[Integers], rate: Fraction) -> list[Integers]:
        return _together(values, rate, Coins())


def _together(values: list[Integers], rate: Fraction, coins: Coins) -> list[Integers]:
    noise = KNorm([len(block) for block in values]).draw(rate, coins)
    return [saturated_add(block, extra) for block, extra in zip(values, noise, strict=True)]


def _through(measurement: Any, values: Integers) -> Integers:
    flat = np.ascontiguousarray(values, dtype=np.int64).ravel()
    return np.array(measurement(flat.tolist()), dtype=np.int64).reshape(values.shape) if flat.size else values


@functools.lru_cache(256)
def _opendp(law: str, scale: float) -> Any:
    """A vector measurement over 64-bit integers; its sums saturate instead of wrapping."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    domain = vector_domain(atom_domain(T="i64"))
    if law == "laplace":
        return make_laplace(domain, l1_distance(T="i64"), scale=scale)
    return make_gaussian(domain, l2_distance(T=float), scale=scale)


class SimulationSampler:
    """The same laws from a seeded pseudo-random generator: reproducible, hence not for releases."""

    name = "numpy: pseudo-random simulation"
    simulation = True

    def __init__(self, seed: Any = None) -> None:
        self.rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)

    def laplace(self, values: Integers, scale: Fraction) -> Integers:
        noise = discrete_laplace(values.size, float(scale), rng=self.rng)
        return saturated_add(values, noise.reshape(values.shape))

    def gaussian(self, values: Integers, variance: Fraction) -> Integers:
        return saturated_add(
            values, discrete_gaussian(values.size, float(variance), rng=self.rng).reshape(values.shape)
        )

    def tables(self, values: list[Integers], rate: Fraction) -> list[Integers]:
        return _together(values, rate, Coins(self.rng.bytes))


def sampler_for(random_state: Any, stream: int = 0) -> Sampler:
    """Exact noise, unless a seed asks for a simulation; each `stream` of a seed draws anew."""
    seed = random_state
    if seed is None:
        return ExactSampler()
    if isinstance(seed, np.random.RandomState):
        seed = seed.randint(2**31)
    if isinstance(seed, np.random.Generator):
        return SimulationSampler(seed)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or int(seed) < 0:
        raise BudgetError(f"random_state must be None, a seed of at least 0 or a NumPy generator, not {seed!r}")
    return SimulationSampler([int(seed), stream])


def bytes_of(sampler: Sampler) -> Callable[[int], bytes] | None:
    """Random bytes of a simulation's seed; None where the operating system is to be asked."""
    return sampler.rng.bytes if isinstance(sampler, SimulationSampler) else None


def discrete_laplace(size: int, scale: float, *, rng: np.random.Generator) -> Integers:
    """Draws of the discrete Laplace law: the difference of two geometric variables.

    The whole part of a standard exponential times `scale` is geometric with ratio exp(−1/scale).
    """
    result = np.empty(size, np.int64)
    for start in range(0, size, 1 << 16):  # blocks stay in the cache
        block = result[start : start + (1 << 16)]
        first, second = (rng.standard_exponential(len(block)) for _ in range(2))
        np.floor(np.minimum(np.multiply(first, scale, out=first), _LIMIT, out=first), out=first)
        np.floor(np.minimum(np.multiply(second, scale, out=second), _LIMIT, out=second), out=second)
        block[:] = first - second
    return result


@functools.lru_cache(64)
def _guide(variance: float) -> tuple[int, NDArray[np.float64], NDArray[np.int64]]:
    """Walker's alias table of a discrete Gaussian cut off at 12 standard deviations (mass below 1e-32)."""
    reach = int(12 * math.sqrt(variance)) + 2
    points = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-(points**2) / (2 * variance))
    scaled = weights / weights.sum() * len(points)
    keep, alias = np.ones(len(points)), np.arange(len(points))
    small = [i for i in range(len(points)) if scaled[i] < 1]
    large = [i for i in range(len(points)) if scaled[i] >= 1]
    while small and large:
        low, high = small.pop(), large.pop()
        keep[low], alias[low] = scaled[low], high
        scaled[high] -= 1 - scaled[low]
        (small if scaled[high] < 1 else large).append(high)
    return reach, keep, alias


def discrete_gaussian(size: int, variance: float, *, rng: np.random.Generator) -> Integers:
    """Draws of the discrete Gaussian law: an alias table while it fits the cache, rejection beyond."""
    if variance <= 250.0**2:
        reach, keep, alias = _guide(variance)
        result = np.empty(size, np.int64)
        for start in range(0, size, 1 << 16):
            block = result[start : start + (1 << 16)]
            spot = rng.random(len(block)) * len(keep)
            column = spot.astype(np.int64)
            block[:] = np.where(spot - column < keep[column], column, alias[column]) - reach
        return result
    # A rounded normal is the proposal: the ratio of the two laws is 1 − O(1/σ²), computed by its series.
    sigma = math.sqrt(variance)
    if variance > 1e15:  # the two laws differ by less than a double can hold
        return np.clip(np.rint(rng.standard_normal(size) * sigma), -_LIMIT, _LIMIT).astype(np.int64)
    result = np.empty(size, np.int64)
    for start in range(0, size, 1 << 16):
        block, filled = result[start : start + (1 << 16)], 0
        while filled < len(block):
            draw = np.rint(rng.standard_normal(len(block) - filled) * sigma)
            # P(rounded = z) / density(z) = 1 + (u² − 1)/(24σ²) + O(σ⁻⁴) with u = z/σ; accept with its inverse
            # over the bound at u = 0. The remainder is below 1e-9 for σ > 250.
            u2 = (draw / sigma) ** 2
            tilt = (u2 - 1) / (24 * variance)
            accept = (1 - 1 / (24 * variance)) / (1 + tilt)
            kept = draw[rng.random(len(draw)) < accept]
            block[filled : filled + len(kept)] = kept
            filled += len(kept)
    return result


# ---- the variances of discrete noise, by its exact laws


def laplace_variance(scale: float) -> float:
    """The variance of the discrete Laplace law: 2q/(1 − q)² with q = exp(−1/scale)."""
    return 0.5 / math.sinh(0.5 / scale) ** 2 if 0.5 / scale < 300 else 0.0


def gaussian_variance(variance: float) -> float:
    """The variance of the discrete Gaussian law, which is a little below its parameter."""
    if variance > 25:
        return variance
    points = np.arange(-210.0, 211.0)
    weights = np.exp(-(points**2) / (2 * variance))
    return float((weights * points**2).sum() / weights.sum())
