"""Repeated runs: what the best of a random number of runs costs in ε and δ, if one of them costs ρ of zCDP.

The number of runs is truncated negative binomial with η and γ. Proof: docs/proofs/choose.md.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.privacy.calibrate import _SAFETY, fraction_down, halved, zcdp_delta

Floats = NDArray[np.float64]
CELLS = 400  # of the chances of a better output, on each of which one (ε, δ) of a run holds
STEPS = 200  # values of ε to take it from
ORDERS = 400


def mean_runs(eta: float, gamma: float) -> float:
    """E[K], the slope of E[x^K] at one; by `expm1`, since 1 - γ^η would lose all its digits where η is small."""
    far = -math.log(gamma)
    return max(1.0, (1 - gamma) / gamma * (eta / -math.expm1(-eta * far) if eta else 1 / far))


def renyi_shift(rho: float, eta: float, gamma: float) -> float:
    """The c for which δ(ε) ≤ E[K]·δ₁(ε − c), δ₁ of one run, by Rényi divergences (Papernot and Steinke 2022)."""
    far = -math.log(gamma)
    order = max(1.0, math.sqrt(far / rho))
    return (1 + eta) * ((order - 1) * rho + far / order)


def profile_shift(rho: float, eta: float, gamma: float) -> float:
    """Another such c, by what (ε, δ) say of the chance u of a better output: it grows to e^ε·u + δ at most.

    Between two chances the ratio that is wanted is monotone for each (ε, δ) and for the bound of one: its
    ends bound it.
    """
    epsilons = np.linspace(0.0, 2 * math.sqrt(-rho * math.log(gamma)) + rho, STEPS)
    tails = _zcdp_deltas(rho, epsilons)
    chances = np.concatenate([[0.0], np.exp(np.linspace(math.log(gamma * 1e-3), 0.0, CELLS))])[:, None]
    grown = np.exp(np.minimum(epsilons, 700.0)) * chances + tails
    below = gamma + (1 - gamma) * chances
    ratios = (gamma + (1 - gamma) * grown) / below
    ends = np.maximum(ratios[1:], ratios[:-1]).min(axis=1)
    worst = float(np.minimum(ends, 1 / below[:-1, 0]).max())  # no chance exceeds one
    return (1 + eta) * math.log(worst * (1 + _SAFETY))


def _zcdp_deltas(rho: float, epsilons: Floats) -> Floats:
    """`zcdp_delta` at many ε, from a grid of orders, each of which gives a valid δ."""
    orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e3 / math.sqrt(rho) + 1e3), ORDERS))
    logs = (
        (orders - 1) * (orders * rho - epsilons[:, None])
        + orders * np.log1p(-1 / orders)
        - np.log(orders - 1)
    )  # fmt: skip
    found: Floats = np.minimum(np.exp(logs.min(axis=1)) * (1 + _SAFETY), 1.0)
    return found


def repeated_delta(rho: float, epsilon: float, eta: float, gamma: float) -> float:
    """δ at ε of the best of K runs that are ρ-zCDP each."""
    shift = min(renyi_shift(rho, eta, gamma), profile_shift(rho, eta, gamma))
    return min(1.0, mean_runs(eta, gamma) * zcdp_delta(rho, epsilon - shift - _SAFETY) * (1 + _SAFETY))


@functools.cache
def repeated_rho(epsilon: Fraction, delta: Fraction, eta: Fraction, gamma: Fraction) -> Fraction:
    """The largest ρ of one run (from below) with which the best of K stays within (ε, δ)."""
    terms: Any = float(epsilon), float(eta), float(gamma)
    if not (terms[0] > 1e-8 and 0 < terms[2] < 1):
        raise BudgetError("a random number of runs takes an epsilon above 1e-8 and a gamma that is not next to 0 or 1")

    def holds(rho: float) -> bool:
        return repeated_delta(rho, *terms) <= float(delta)

    high = float(epsilon)
    while holds(high):
        high *= 2
    low = high
    while not holds(low):  # a first bracket: the scale of ρ is not known
        low /= 2
    return fraction_down(halved(holds, low, 2 * low, 40)[0] * (1 - _SAFETY))
