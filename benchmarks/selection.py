"""Choosing 100 of 10,000 features: exact draws beside the dynamic programme that the literature uses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.common import best_of, line
from discreet.mechanisms.joint import draw_joint
from discreet.mechanisms.odds import Odds
from discreet.mechanisms.subsets import draw_flipped, draw_mask, draw_peeled
from discreet_studies.published.thesis2015_selection import mask_by_tables

SIZE, CHOSEN, RATE = 10_000, 100, Fraction(1, 200)


def run(repeats: int = 3, **_: Any) -> list[dict[str, Any]]:
    """Seconds of each selector at counts up to a thousand and up to a billion."""
    rng, results = np.random.default_rng(0), []
    for most in (10**3, 10**9):
        scores = rng.integers(0, most, SIZE)
        published = best_of(1, lambda scores=scores: mask_by_tables(scores, CHOSEN, float(RATE), rng=rng))
        for name, draw in (
            ("mask", draw_mask), ("permute-and-flip", draw_flipped), ("gumbel", draw_peeled), ("joint", draw_joint),
        ):  # fmt: skip
            seconds = best_of(repeats, lambda draw=draw, scores=scores: draw(scores, CHOSEN, RATE, odds=Odds()))
            text = f"{name}, scores to {most:.0e} ({published / seconds:.1f} times the dynamic programme's speed)"
            results.append(line(text, seconds, "s", "< 1", seconds < 1))
    return results
