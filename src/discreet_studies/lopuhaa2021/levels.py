"""Measured accuracies of lopuhaa2021 by method, data set and ε, with their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from discreet_studies.claims import Finding, attempt, finding, undecided
from discreet_studies.lopuhaa2021.experiments import DATA, NUMBERS, PRINTED
from discreet_studies.lopuhaa2021.methods import BINNED, THREE
from discreet_studies.lopuhaa2021.methods import PAPER as PUBLISHED
from discreet_studies.results import Estimate, MissingResultsError, Results, average, difference

Check = Callable[[Results, Sequence[str]], tuple[bool, dict[str, Any]]]
CLEAR = 0.005  # half a point of accuracy


def named(method: str, data: str) -> str:
    """Bell curves and bins are the same model where there are no numbers, and were measured once."""
    return "nb" if method == "bell" and data not in NUMBERS else method


def level(results: Results, method: str, data: str, epsilon: float, metric: str = "accuracy") -> Estimate:
    """Mean accuracy of a method on a data set at one ε."""
    return results.estimate(metric, experiment="sweep", method=named(method, data), data=data, epsilon=epsilon)


def at(results: Results, method: str, data: str, epsilon: float) -> float:
    """The same without its error."""
    return level(results, method, data, epsilon).mean


def levels(results: Results, printed: bool = True) -> list[float]:
    """The measured ε: those of the paper's set, or all finite ones."""
    found = [e for e in results.values("epsilon", experiment="sweep") if math.isfinite(e)]
    kept = [e for e in found if not printed or e in PRINTED]
    if not kept:
        raise MissingResultsError("no ε of the paper's set was measured")
    return kept


def over_data(results: Results, method: str, epsilon: float) -> Estimate:
    """Accuracy averaged over the data sets, as in figure 3."""
    return average(level(results, method, data, epsilon) for data in DATA)


def over_epsilon(results: Results, method: str, data: str) -> Estimate:
    """Accuracy averaged over the paper's ε, as in table 2."""
    return average(level(results, method, data, e) for e in levels(results))


def ratio(one: Estimate, by: float) -> Estimate:
    """An estimate over a number that is known much better."""
    return Estimate(one.mean / by, one.error / by, one.count)


def kept(results: Results, method: str, data: str) -> Estimate:
    """Accuracy with privacy, averaged over the paper's ε, over that without."""
    return ratio(over_epsilon(results, method, data), at(results, method, data, math.inf))


def ahead(gaps: Iterable[Estimate], what: str) -> bool:
    """Whether every gap is above zero; False if one is clearly not, undecided as long as errors hide it."""
    listed = list(gaps)
    if any(one.mean + 2 * one.error < CLEAR for one in listed):
        return False
    open_ = [one for one in listed if not one.above]
    if open_:
        raise undecided(what, [(one, (0.0, CLEAR)) for one in open_])
    return True


def resampled(found: Sequence[Estimate], statistic: Callable[[Any], Any], draws: int = 2000) -> Estimate:
    """A statistic of several estimates, with the error that theirs leave it: the spread over draws of them all."""
    means, errors = (np.array([getattr(one, name) for one in found]) for name in ("mean", "error"))
    drawn = np.random.default_rng(0).normal(means, np.where(np.isfinite(errors), errors, 1.0), (draws, len(found)))
    spread = np.std([float(statistic(row)) for row in drawn])
    return Estimate(float(statistic(means)), float(spread), min(one.count for one in found))


def lead(results: Results, names: Sequence[str], who: int, epsilon: float) -> Estimate:
    """By how much one of three is ahead of the better of the two others, on average over the data."""
    means = [over_data(results, name, epsilon) for name in names]
    best = max((one for i, one in enumerate(means) if i != who), key=lambda one: one.mean)
    return difference(means[who], best)


def words(value: Any) -> str:
    """Measured numbers in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {words(item)}" for key, item in value.items())
    return f"{value.mean:.3f} ± {value.error:.3f}" if isinstance(value, Estimate) else (
        str(value) if isinstance(value, int | str) else f"{value:.3f}"
    )  # fmt: skip


def compared(text: str) -> Callable[[Check], Callable[[Results], Finding]]:
    """A decorator: the check below is put to both the sound and the published classifiers, and judges the claim.

    The sound Naive Bayes models numbers by bell curves, as the paper does; what bins make of it stands beside.
    """

    def judging(check: Check) -> Callable[[Results], Finding]:
        @wraps(check)
        def judge(results: Results) -> Finding:
            measured: dict[str, Any] = {}

            def run(kind: str, names: Sequence[str]) -> bool:
                passed, measured[kind] = check(results, names)
                return passed

            sound, published = attempt(lambda: run("sound", THREE)), attempt(lambda: run("as published", PUBLISHED))
            binned = attempt(lambda: run("sound, numbers in bins", BINNED))
            said = {True: "holds as well", False: "does not hold"}.get(bool(binned.passed), "")
            beside = "is not decided" if binned.passed is not True and binned.passed is not False else said
            parts = "; ".join(f"{kind}: {words(table)}" for kind, table in measured.items() if "bins" not in kind)
            return finding(sound, published, measured, f"{text}; {parts}; with numbers in bins it {beside}")

        return judge

    return judging
