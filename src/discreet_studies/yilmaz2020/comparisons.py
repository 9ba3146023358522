"""Comparisons that the claims of yilmaz2020 rest on: paired differences, averaged over ε, two errors to count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from discreet_studies.claims import Finding, Verdict, attempt, verdict_of
from discreet_studies.results import Estimate, MissingResultsError, Results, average

SANE = 0.01  # a point of accuracy
# The paper's five oracles, estimated as the library does and as published: one report per person either way.
FAMILIES = {
    "library": {"de": "grr", "sue": "sue", "oue": "oue", "she": "she", "the": "the"},
    "as published": {name: f"paper-{name}" for name in ("de", "sue", "oue", "she", "the")},
}
Found = dict[str, Estimate]


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


def better(found: Found) -> bool:
    """Better by two standard errors in most cases, and worse by that much in none.

    Where too many differences are neither, although a point could still hide in their errors, nothing is known.
    """
    if any(one.below for one in found.values()):
        return False
    clear = sum(one.above for one in found.values())
    hidden = sum(not one.above and one.mean + 2 * one.error > SANE for one in found.values())
    if 2 * clear > len(found):
        return True
    if 2 * (clear + hidden) > len(found):
        raise MissingResultsError(f"too few repeats to tell a gain of {SANE} from none: {words(found)}")
    return False


def words(found: Found) -> str:
    """Differences in accuracy, for a sentence."""
    return "; ".join(f"{name} {one}" for name, one in found.items())


def either(check: Callable[[str, dict[str, str]], bool]) -> tuple[bool | None, str, str]:
    """Whether a claim about oracles shows in the library's estimates or in the published ones, where, or why not."""
    outcomes = {name: attempt(lambda n=name, f=family: check(n, f)) for name, family in FAMILIES.items()}  # type: ignore[misc]
    shown = [name for name, (passed, _) in outcomes.items() if passed]
    if shown:
        return True, f"shown by the estimates: {' and '.join(shown)}", ""
    gaps = [gap for passed, gap in outcomes.values() if passed is None]
    return (None, "", gaps[0]) if gaps else (False, "shown by neither way to estimate", "")


def finding(
    passed: bool | None, measured: dict[str, Any], reason: str, gap: str, unsound: bool | None = None
) -> Finding:
    """The verdict with its reason, or with the gap in the measurements."""
    verdict = verdict_of(passed, unsound)
    return Finding(verdict, measured, gap if verdict is Verdict.UNTESTED else reason)
