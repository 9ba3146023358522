"""Tuning: how much is trimmed and how smooth the bound is, from public or released quantities only."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.heavy import LaplaceLogNormal, NoiseLaw, StudentT
from discreet.mechanisms.heavy_approx import Gaussian, Laplace
from discreet.mechanisms.heavy_normal import ArsinhNormal, UniformLogNormal
from discreet.mechanisms.smooth import ROUNDING
from discreet.mechanisms.smooth_plan import Statistic

Floats = NDArray[np.float64]
UNKNOWN_RATIO = 1 / 64  # spread over half range where nobody knows it: too small only trims a little more
_TAIL = {1: 6.3138, 2: 2.92, 3: 2.3534}  # |t| stays below this nine times out of ten
_BETAS = np.geomspace(1e-3, 1.0, 25)


@dataclass(frozen=True)
class Tuned:
    """The law, rows trimmed at each end, β, and the errors to expect of a normal sample (half range 1)."""

    law: NoiseLaw
    trim: int
    beta: float
    noise: float
    error: float
    rows: int = 0  # above zero: noise follows the public bounds at so many rows, and nothing is trimmed


def tune(
    statistic: Statistic,
    laws: tuple[NoiseLaw, ...],
    epsilon: float,
    rows: float,
    ratio: float,
    trim: int | None = None,
) -> Tuned:
    """The least expected error for a normal sample of this size whose spread is `ratio` times the half range.

    Sizes and ratios are rounded, so that the classes and features of one fit share most of the work.
    """
    size = max(1, round(2.0 ** (round(8 * math.log2(max(rows, 1.0))) / 8)))
    share = 2.0 ** (round(4 * math.log2(min(max(ratio, 1e-5), 1.0))) / 4)
    found = min((_tuned(statistic, law, epsilon, size, share, trim) for law in laws), key=lambda one: one.error)
    most = max(int((rows - 1) // 2), 0)
    return found if trim is not None or found.trim <= most else replace(found, trim=most)


@lru_cache(maxsize=4096)
def _tuned(statistic: Statistic, law: NoiseLaw, epsilon: float, rows: int, ratio: float, trim: int | None) -> Tuned:
    betas, scales = _unit_noise(law, epsilon)
    if trim is None:
        top = max(0.4 * rows, 1.0)
        trims = np.unique(np.concatenate([[0], np.geomspace(1, top, 20).astype(np.int64)]))
    else:
        trims = np.array([trim])
    best = None
    for m in trims.tolist():
        noise = relative_bound(statistic, m, rows, np.array([ratio]), betas)[0] * scales
        spot = int(np.argmin(noise))
        size = float(noise[spot])
        error = math.sqrt(min(size, 1e6) ** 2 + _trimming_variance(statistic, m, rows, ratio))
        if best is None or error < best.error:
            best = Tuned(law, m, float(betas[spot]), size, error)
    assert best is not None
    return best


@lru_cache(maxsize=1024)
def _unit_noise(law: NoiseLaw, epsilon: float) -> tuple[Floats, Floats]:
    """Values of β and, for each, the typical noise per unit of the bound."""
    betas = _BETAS * (law.beta_limit(epsilon) * (1 - 1e-6) - 2 * float(ROUNDING))
    return betas, np.array([unit_noise(law, epsilon, float(beta)) for beta in betas])


def unit_noise(law: NoiseLaw, epsilon: float, beta: float) -> float:
    """Typical noise per unit of the bound, in floats: good enough to compare one β with another."""
    rate = beta + float(ROUNDING)
    if isinstance(law, StudentT):
        d = law.degrees
        opposite = (2 * epsilon - (d - 1) * rate) / (d + 1)
        # 2(cosh D − cosh β) = 4·sinh((D+β)/2)·sinh((D−β)/2), which keeps its digits for small arguments.
        stretched = 4 * math.exp(rate) * math.sinh((opposite + rate) / 2) * math.sinh((opposite - rate) / 2)
        divisor = math.sqrt(d * max(min((2 * math.sinh(epsilon / (d + 1))) ** 2, stretched), 0.0))
        return _TAIL.get(d, law.typical) / divisor if divisor > 0 else math.inf
    if isinstance(law, LaplaceLogNormal):
        tuned = law.tuned(epsilon, rate)
        sigma = float(tuned.sigma)
        divisor = math.exp(-1.5 * sigma**2) * (epsilon - rate / sigma)
        return tuned.typical / divisor if divisor > 0 else math.inf
    if isinstance(law, UniformLogNormal | ArsinhNormal):
        return law.tuned(epsilon, rate).unit_noise(epsilon, rate)
    assert isinstance(law, Laplace | Gaussian)
    divisor = law.approximate_divisor(epsilon, rate)
    return law.typical / divisor if divisor > 0 else math.inf


def relative_bound(statistic: Statistic, trim: int, rows: int, ratios: Floats, betas: Floats) -> Floats:
    """The smooth bound of normal samples at their expected quantiles, half range 1: a row per ratio, a column per β."""
    from scipy.special import ndtri

    kept, power = rows - 2 * trim, 1 if statistic == "mean" else 2
    steps = np.unique(np.concatenate([np.arange(min(trim, 6)), np.geomspace(1, max(trim, 1), 22).astype(np.int64)]))
    steps = steps[steps < trim]
    share = np.clip((trim - steps - 0.5) / max(rows, 2 * trim + 1), 1e-300, 0.5)
    reach = np.minimum(ratios[:, None] * -ndtri(share), 1.0)
    reach = np.concatenate([reach, np.ones((len(ratios), 1))], axis=1)
    steps = np.append(steps, trim)
    first, second = np.triu_indices(len(steps))
    far = steps[first] + steps[second]
    with np.errstate(divide="ignore"):
        width = power * np.log(reach[:, first] + reach[:, second])
    widest = np.exp((width[:, None, :] - betas[None, :, None] * far).max(axis=2))
    if statistic == "variance":
        sizes = {2, min(3, kept), kept} if kept >= 2 else {2}
        weight = np.max([(k - 1) / k**2 * np.exp(-betas * max(kept - k, 0)) for k in sizes], axis=0)
        return np.asarray(widest * weight)
    jump = np.exp(-betas * max(kept - 1, -kept))
    if kept < 2:
        return np.asarray(np.broadcast_to(jump, widest.shape))
    weight = np.maximum(1 / kept, np.exp(-betas * (kept - 2)) / 2)
    return np.asarray(np.minimum(1.0, np.maximum(jump, widest * weight)))


def _trimming_variance(statistic: Statistic, trim: int, rows: int, ratio: float) -> float:
    """What trimming adds to the sampling variance of a normal sample's mean or (corrected) variance, roughly."""
    kept = 1 - 2 * trim / max(rows, 1)
    if kept <= 0:
        return 1.0
    if statistic == "mean":
        return ratio**2 / rows * (math.pow(kept, -0.3) - 1)
    return 2 * ratio**4 / rows * (math.pow(kept, -1.5) - 1)


def kept_variance(shares: Floats) -> Floats:
    """The variance of a standard normal cut by a share at each end: what a trimmed variance has to be divided by."""
    from scipy.special import ndtri

    part = np.clip(shares, 0.0, 0.45)
    edge = -ndtri(np.maximum(part, 1e-300))
    density = np.exp(-np.square(edge) / 2) / math.sqrt(2 * math.pi)
    return np.asarray(np.where(part > 0, 1 - 2 * edge * density / (1 - 2 * part), 1.0))
