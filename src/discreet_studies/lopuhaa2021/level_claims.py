"""What lopuhaa2021 says of small and medium privacy budgets in its third research question."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discreet_studies.claims import Claims, better, reading, within
from discreet_studies.lopuhaa2021.experiments import DATA
from discreet_studies.lopuhaa2021.levels import ahead, at, compared, level, levels, ratio, resampled
from discreet_studies.results import Estimate, Results, UndecidedError, average, difference

CLAIMS = Claims("lopuhaa2021")
POOR = ("nursery", "votes", "skin")  # as the paper names them
TINY = 0.001
Found = tuple[bool, dict[str, Any]]


def quartiles(values: Any) -> float:
    """The length of the box of a box plot."""
    return float(np.subtract(*np.quantile(values, [0.75, 0.25])))


@CLAIMS.says("SVM is poor on Nursery, Congress and Skin for very small ε (RQ3).")
@compared("mean of the two others less SVM at ε ≤ 0.001, because the sentence goes on to compare SVM with them")
def svm_poor_at_tiny(results: Results, names: Sequence[str]) -> Found:
    """RQ3: SVM classifiers perform poorly for these three when trained using very small values of ε."""
    small = [e for e in levels(results) if e <= TINY]
    gaps: dict[str, Estimate] = {}
    shares = []
    for data in POOR:
        svm, *others = (average(level(results, n, data, e) for e in small) for n in (names[1], names[0], names[2]))
        gaps[data] = difference(average(others), svm)
        shares.append(ratio(svm, at(results, names[1], data, float("inf"))))
    other = reading("no more than two thirds kept of what it has without privacy", lambda: within(shares, 0, 2 / 3, ""))
    try:
        return better(gaps), {**gaps, "another reading": other}
    except UndecidedError as error:
        raise UndecidedError(f"{error}; another reading, {other}", gaps) from None


@CLAIMS.says("Trees show sudden increments of accuracy for some ε (RQ3).")
@compared("largest rise from one printed ε to the next, mean over data sets: sudden means larger than the others'")
def trees_jump(results: Results, names: Sequence[str]) -> Found:
    """RQ3: Decision Tree classifiers, and not the two others, show sudden increments for some ε values."""
    jumps = {}
    for name in names:
        steps = []
        for data in DATA:
            found = [(level(results, name, data, low), level(results, name, data, high))
                     for low, high in pairwise(levels(results))]  # fmt: skip
            steps.append(max((difference(high, low) for low, high in found), key=lambda one: one.mean))
        jumps[name] = average(steps)
    return ahead((difference(jumps[names[2]], jumps[n]) for n in names[:2]), "whether trees jump most"), jumps


@CLAIMS.says("From ε = 0.005 to 0.25 the share of accuracy that is kept varies more than above (figure 5b).")
@compared("between the quartiles of 18 ratios, mean over ε")
def middle_varies_more(results: Results, names: Sequence[str]) -> Found:
    """RQ3 and figure 5b: for 0.005 ≤ ε < 0.25 the result shows more variation than for ε ≥ 0.25."""

    def box(epsilon: float) -> Estimate:
        found = [ratio(level(results, n, d, epsilon), at(results, n, d, float("inf"))) for n in names for d in DATA]
        return resampled(found, quartiles)

    middle = average(box(e) for e in levels(results) if 0.005 <= e < 0.25)
    above = average(box(e) for e in levels(results) if e >= 0.25)
    return ahead([difference(middle, above)], "whether the middle varies more"), {"middle": middle, "above": above}
