"""The kernels for few rows, by NumPy: to load what is compiled would take longer than to add them up.

The same arguments and meaning as in `kernels`. Scores are the same to the last bit, and sums are compensated.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from discreet.linear import few


def scores(codes: Any, values: Any, weights: Any, out: Any) -> None:
    for k in range(weights.shape[1]):
        few.margins(codes, values, weights[:, k], out[:, k])


def exact_scores(codes: Any, values: Any, weights: Any, out: Any) -> None:
    width = codes.shape[1]
    wide = 134217729.0 * weights
    highs = wide - (wide - weights)
    lows = weights - highs
    for k in range(weights.shape[1]):
        total, rest = 0.0, 0.0
        for j in range(width + 1):
            spot = len(weights) - 1 if j == width else codes[:, j]
            term = highs[spot, k] * values[:, j]
            new = total + term
            other = new - total
            rest += ((total - (new - other)) + (term - other)) + lows[spot, k] * values[:, j]
            total = new
        out[:, k] = total + rest


def gather(codes: Any, values: Any, rates: Any, out: Any, rest: Any) -> None:
    for k in range(out.shape[1]):
        few.gather(codes, values, rates[:, k], out[:, k], rest[:, k])


def collect(codes: Any, values: Any, rates: Any, out: Any) -> None:
    for k in range(out.shape[1]):
        out[:, k] += few.summed(codes, values, rates[:, k], len(out))


LOOPS = SimpleNamespace(scores=scores, exact_scores=exact_scores, gather=gather, collect=collect)
