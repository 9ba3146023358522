"""Draws per second of the simulation sampler."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import best_of, line
from discreet.mechanisms.noise import discrete_gaussian, discrete_laplace


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """One line per law and size of scale."""
    rng, draws, results = np.random.default_rng(0), 10_000_000, []
    for name, law, parameter in (
        ("discrete Laplace, scale 14", discrete_laplace, 14.0),
        ("discrete Laplace, scale 1e9", discrete_laplace, 1e9),
        ("discrete Gaussian, sigma 10", discrete_gaussian, 100.0),
        ("discrete Gaussian, sigma 1e6", discrete_gaussian, 1e12),
    ):
        speed = draws / best_of(repeats, lambda law=law, parameter=parameter: law(draws, parameter, rng=rng)) / 1e6
        results.append(line(name, speed, "million draws/s", ">= 10", speed >= 10))
    return results
