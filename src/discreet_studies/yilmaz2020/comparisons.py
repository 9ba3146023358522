"""Comparisons that the claims of yilmaz2020 rest on: paired differences, averaged over ε, two errors to count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from discreet_studies.claims import Attempt, Finding, Found, attempt, best_of, better, finding, words
from discreet_studies.results import Estimate, MissingResultsError, Results, average

# The paper's five oracles, estimated as the library does and as published: one report per person either way.
FAMILIES = {
    "library": {"de": "grr", "sue": "sue", "oue": "oue", "she": "she", "the": "the"},
    "as published": {name: f"paper-{name}" for name in ("de", "sue", "oue", "she", "the")},
}
# The reading in which everybody reports every input with the whole ε each, which costs (number of features + 1)·ε.
EVERY = "every input from everybody, (n+1)·ε"
EVERY_FAMILY = {name: f"paper-all-{name}" for name in FAMILIES["library"]}


def epsilons(results: Results, spot: dict[str, Any], keep: Callable[[float], bool] = lambda e: True) -> list[float]:
    """The ε of some measurements, or an error if there are none."""
    found = [e for e in results.values("epsilon", **spot) if math.isfinite(e) and keep(e)]
    if not found:
        for row in results.failures:
            if all(row.get(name) == value for name, value in spot.items()):
                raise MissingResultsError(f"{spot.get('method')} failed on {spot.get('data')}: {row['error']}")
        raise MissingResultsError(f"no results of {', '.join(f'{k} {v}' for k, v in spot.items())}")
    return found


def gain(
    results: Results, first: dict[str, Any], second: dict[str, Any], keep: Callable[[float], bool] = lambda e: True,
    **both: Any,
) -> Estimate:  # fmt: skip
    """Accuracy of one kind of measurement less another's on the same splits, averaged over ε."""
    chosen = epsilons(results, {**both, **second}, keep)
    return average(results.paired(first, second, epsilon=epsilon, **both) for epsilon in chosen)


def mean(results: Results, keep: Callable[[float], bool] = lambda e: True, **spot: Any) -> float:
    """Mean accuracy over ε."""
    return average(results.estimate(epsilon=e, **spot) for e in epsilons(results, spot, keep)).mean


Check = Callable[[str, dict[str, str]], bool]


def either(check: Check) -> tuple[Attempt, str]:
    """Whether a claim about oracles shows in the library's estimates or in the published ones, and where."""
    outcomes = {name: attempt(lambda n=name, f=family: check(n, f)) for name, family in FAMILIES.items()}  # type: ignore[misc]
    shown = [name for name, one in outcomes.items() if one.passed]
    where = f"shown by the estimates: {' and '.join(shown)}" if shown else "shown by neither way to estimate"
    return best_of(outcomes.values()), where


def every(check: Check) -> Attempt:
    """Whether a claim about oracles shows where everybody reports every input with the whole ε."""
    return attempt(lambda: check(EVERY, EVERY_FAMILY))


def compared(
    compare: Callable[[dict[str, str]], Found], text: str, passes: Callable[[Found], bool] = better
) -> Finding:
    """The finding of a claim about oracles from the differences that a family of estimates shows."""
    measured: dict[str, Any] = {}

    def check(label: str, family: dict[str, str]) -> bool:
        measured[label] = compare(family)
        return passes(measured[label])

    (passed, where), unsound = either(check), every(check)
    reason = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(passed, unsound, measured, f"{where}{text}: {reason}")
