"""The variance of estimated counts against the closed form, for every oracle, from whole reports.

Each run draws the reports of 500 people and scores the squared errors of all counts by the closed form. Runs are
independent, so the mean score lies within 6 of its standard errors but for a chance of 2e-9 each; runs go on until
6 standard errors are below 3 %, so that a mean outside 1 ± 3 % is no accident (below 1e-6 in all).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.common import line
from discreet.local.oracles import ORACLES, HadamardResponse, Oracle

CASES = ((4, 0.5), (24, 1.0), (50, 3.0))
PEOPLE, BATCH, SIGMAS, BAR = 500, 500, 6, 0.03


def run(**_: Any) -> list[dict[str, Any]]:
    """One line per oracle and case: the ratio of variances, and how sure it is."""
    lines = []
    for name, kind in ORACLES.items():
        for d, epsilon in CASES:
            scores = measure(kind(d, epsilon))
            ratio, doubt = scores.mean(), scores.std(ddof=1) / math.sqrt(len(scores))
            what = (
                f"{name}, d = {d}, epsilon = {epsilon:g}: variance over closed form, ± {doubt:.4f}, {len(scores)} runs"
            )
            lines.append(line(what, ratio, "times", "within 3 %", bool(abs(ratio - 1) <= BAR)))
    return lines


def measure(oracle: Oracle) -> np.ndarray:
    """Mean squared scores of runs, until their mean is known to 3 % at 6 standard errors."""
    shares = np.arange(oracle.d, 0, -1.0)
    counts = np.floor(PEOPLE * shares / shares.sum()).astype(int)
    counts[0] += PEOPLE - counts.sum()
    closed = variances(oracle, counts)
    values = np.tile(np.repeat(np.arange(oracle.d), counts), BATCH)
    scores = np.empty(0)
    while len(scores) < 2000 or SIGMAS * scores.std(ddof=1) / math.sqrt(len(scores)) > BAR:
        reports = oracle.perturb(values)
        estimates = np.array([oracle.aggregate(part) for part in np.split(reports, BATCH)])
        scores = np.append(scores, ((estimates - counts) ** 2 / closed).mean(axis=1))
    return scores


def variances(oracle: Oracle, counts: np.ndarray) -> np.ndarray:
    """The closed form for each value; Hadamard response is told how many people share the value's block."""
    people = int(counts.sum())
    if not isinstance(oracle, HadamardResponse):
        return np.array([oracle.variance(people, n / people) for n in counts])
    place = np.arange(oracle.d) % oracle.blocks
    mates = np.bincount(place, weights=counts, minlength=oracle.blocks)[place] - counts
    return np.array([oracle.variance(people, n / people, block=k / people) for n, k in zip(counts, mates, strict=True)])
