"""Kernels: the loops that score rows, compiled when data are large; `sweep` has the one that codes and counts them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from discreet.loops import machine_code


def add_scores(index: Any, scores: Any, out: Any) -> None:
    """out[i, :] += scores[index[i], :]."""
    for i in range(len(index)):
        for k in range(out.shape[1]):
            out[i, k] += scores[index[i], k]


def add_gaussian(
    values: Any, lower: float, upper: float, mean: Any, weight: Any, constant: Any, absent: Any, out: Any
) -> None:
    """out[i, :] += constant − weight·(value − mean)²; `absent` where missing, NaN where infinite."""
    for i in range(len(out)):
        value = float(values[i])
        if value - value == 0.0:
            value = min(max(value, lower), upper)
            for k in range(out.shape[1]):
                gap = value - mean[k]
                out[i, k] += constant[k] - weight[k] * (gap * gap)
        else:
            for k in range(out.shape[1]):
                out[i, k] += absent[k] if value != value else np.nan


def argmax(scores: Any, out: Any) -> None:
    """out[i] = the first column with the largest score."""
    for i in range(len(out)):
        best = 0
        for k in range(1, scores.shape[1]):
            if scores[i, k] > scores[i, best]:
                best = k
        out[i] = best


@functools.cache
def compiled() -> Any:
    """The same loops as machine code."""
    return machine_code(add_scores, add_gaussian, argmax)
