"""What the claims of giaretta2022's federated part are judged by: accuracies with their errors, and likeness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from discreet_studies.claims import Finding, attempt, best_of, finding, undecided
from discreet_studies.results import Estimate, MissingResultsError, Results

NEAR = 0.02  # two points of accuracy from the non-private model is "reaching" it
ALIKE = 0.01  # a point of accuracy is no difference that matters
SOUND, PUBLISHED = "federated", "paper"


def both(
    check: Callable[[str], tuple[bool, Any, str]],
    note: str = "",
    *,
    sound: str = SOUND,
    published: Sequence[str] = (PUBLISHED,),
) -> Finding:
    """Judge a claim for the sound and for the as-published version, of whose readings the one that suits it counts."""
    measured: dict[str, Any] = {}
    words: list[str] = []

    def run(method: str) -> bool:
        passed, numbers, text = check(method)
        measured[method] = numbers
        words.append(f"{method}: {text}")
        return passed

    here = attempt(lambda: run(sound))
    there = best_of([attempt(lambda one=one: run(one)) for one in published])  # type: ignore[misc]
    return finding(here, there, measured, note + "; ".join(words))


def accuracy(results: Results, data: str, method: str, nodes: int, epsilon: float) -> Estimate:
    """Mean accuracy of the sweep."""
    return results.estimate(experiment="sweep", data=data, method=method, nodes=nodes, epsilon=epsilon)


def plain(results: Results, data: str) -> float:
    """Accuracy without privacy."""
    return results.estimate(experiment="sweep", data=data, method="plain").mean


def by_trials(results: Results, **spot: Any) -> Estimate:
    """Mean accuracy with the standard error that the spread of single trials implies: blocks are few, trials many."""
    found = results.where(**spot)
    counts = [row["count"] for row in found if row.get("spread") is not None]
    if not counts:
        raise MissingResultsError(f"no trials of {spot.get('method')} in {spot.get('experiment')}")
    mean = sum(row["accuracy"] * row["count"] for row in found) / sum(counts)
    freedom = sum(counts) - len(counts)
    variance = sum(row["spread"] ** 2 * (row["count"] - 1) for row in found) / freedom
    return Estimate(mean, (variance / sum(counts)) ** 0.5, sum(counts))


def alike(gaps: list[Estimate], tolerance: float) -> bool:
    """Whether no difference exceeds the tolerance; where the errors are too large to tell, nothing is known."""
    if any(abs(gap.mean) - 4 * gap.error > tolerance for gap in gaps):
        return False
    if any(abs(gap.mean) + gap.error > 2 * tolerance for gap in gaps):
        worst = max(gaps, key=lambda gap: abs(gap.mean) + gap.error)
        raise undecided(
            f"a difference of {tolerance} from none, {worst}", [(worst, (math.copysign(2 * tolerance, worst.mean),))]
        )
    return True


def epsilons(results: Results, data: str, method: str) -> list[float]:
    """The ε of the sweep."""
    found = results.values("epsilon", experiment="sweep", data=data, method=method)
    if not found:
        raise MissingResultsError(f"no sweep of {method} on {data}")
    return found


def reached(results: Results, data: str, method: str, nodes: int) -> float:
    """The least ε from which on accuracy stays within two points of the non-private model's; infinite if none."""
    goal, least = plain(results, data) - NEAR, float("inf")
    for epsilon in reversed(epsilons(results, data, method)):
        if accuracy(results, data, method, nodes, epsilon).mean < goal:
            break
        least = epsilon
    return least
