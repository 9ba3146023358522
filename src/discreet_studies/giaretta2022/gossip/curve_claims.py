"""What giaretta2022 says about figures 6 and 7: accuracy and parameters of gossiping nodes by iteration."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from discreet_studies.claims import Claims, Finding, attempt, finding, reading, undecided, verdict_of, within
from discreet_studies.giaretta2022.federated.experiments import DATA
from discreet_studies.giaretta2022.gossip.bench import KINDS
from discreet_studies.giaretta2022.gossip.experiments import LONG
from discreet_studies.giaretta2022.gossip.trials import POINT
from discreet_studies.results import Estimate, MissingResultsError, Results, difference

CLAIMS = Claims("giaretta2022")
_NEAR = (
    "nodes within a point of the federated accuracy after 35 iterations, of which three quarters are a vast majority"
)
ABOUT = 35  # "around 30"
MOST = 0.75  # "a vast majority of the nodes": three quarters at least
OFF = 0.005  # a deviation that is off by half a per cent has not arrived
VERSIONS = {"push-sum": "push-sum", "published": "published rule", "paper": "paper in all"}


def mean_list(results: Results, column: str, **spot: Any) -> list[Any]:
    """The JSON lists of a column, one per repeat."""
    found = [json.loads(row[column]) for row in results.where(**spot)]
    if not found:
        raise MissingResultsError(f"no {column} of {spot}")
    return found


def _flag(rows: list[Any]) -> str:
    """A word of warning where everybody agrees on a model that is of no use."""
    goal = sum(row["federated"] for row in rows) / len(rows)
    majority = rows[0]["majority"]
    return (
        f", and the goal itself is useless: {goal:.3f} where the majority has {majority:.3f}" if goal < majority else ""
    )


def near_at(rows: list[Any], step: int) -> Estimate:
    """The share of nodes within a point of the federated accuracy after so many iterations."""
    return Estimate.of(json.loads(row["near"])[json.loads(row["steps"]).index(step)] for row in rows)


def mostly_near(shares: Iterable[Estimate], what: str) -> bool:
    """Whether a vast majority of nodes is near, everywhere; not known as long as errors leave three quarters open."""
    return within(shares, MOST, math.inf, f"a vast majority from fewer by {what}")


def thirty(results: Results, version: str, model: str, measured: dict[str, Any], words: list[str]) -> bool:
    """Section 4.3, figure 6: after around 30 iterations a vast majority of the nodes has the federated accuracy."""
    rows = results.where(experiment="curve", method=version, model=model)
    if not rows:
        raise MissingResultsError(f"no curve of {VERSIONS[version]}")
    late = [math.inf if row.get("reached") is None else float(row["reached"]) for row in rows]
    near, off = near_at(rows, ABOUT), Estimate.of(row["at_30"] - row["federated"] for row in rows)
    name = f"{VERSIONS[version]}, {model} model"
    measured[name] = {"near": near, "median at 30": off, "iterations": max(late)}
    turns = "never in some run" if math.isinf(max(late)) else f"after {max(late):.0f} in every run"
    words.append(
        f"{name}: {near.mean:.0%} ± {near.error:.0%} of the nodes ({turns} three quarters; at 30 the median node is "
        f"{off} off{_flag(rows)})"
    )
    return mostly_near([near], name)


@CLAIMS.says("Around 30 iterations bring 1000 nodes to the federated accuracy: the published rule.")
def thirty_published(results: Results) -> Finding:
    """The claim about the paper's own rule, with its bell curves; by sound updates and by its own."""
    measured: dict[str, Any] = {}
    words: list[str] = []
    sound, paper = (
        attempt(partial(thirty, results, version, "gaussian", measured, words)) for version in ("published", "paper")
    )
    told = "; ".join(words)
    beside = reading(
        "The library's default model by that rule", lambda: thirty(results, "published", "default", {}, [])
    )
    return finding(sound, paper, measured, f"{_NEAR}: {told}. {beside}")


@CLAIMS.ours("Around 30 iterations bring 1000 nodes to the federated accuracy by push-sum.")
def thirty_push_sum(results: Results) -> Finding:
    """The same of push-sum, for both models."""
    measured: dict[str, Any] = {}
    words: list[str] = []
    models = results.values("model", experiment="curve", method="push-sum") or ["gaussian"]
    passed = [thirty(results, "push-sum", model, measured, words) for model in models]
    return Finding(verdict_of(all(passed)), measured, f"{_NEAR}: {'; '.join(words)}")


Gaps = dict[str, Estimate]


def kind_gaps(results: Results, version: str, step: int) -> Gaps:
    """The median gap of nodes' parameters at one iteration, as a share of the typical size of that kind."""
    lists = mean_list(results, "kinds", experiment="curve", method=version, model="gaussian")
    steps = mean_list(results, "steps", experiment="curve", method=version, model="gaussian")[0]
    return {kind: Estimate.of(one[steps.index(step)][kind]["gap"] for one in lists) for kind in KINDS}


def drawn_gaps(results: Results, version: str, step: int, *, panels: bool = True) -> Gaps:
    """How far the lines of figure 7 are from the federated value: quartiles over nodes of some parameters, as drawn.

    Each kind has a panel of its own, which reaches up to its largest federated value: gaps are shares of that. Without
    panels they are gaps of probabilities, and of numbers as shares of their feature's range.
    """
    lists = mean_list(results, "shown", experiment="curve", method=version, model="gaussian")
    steps = mean_list(results, "steps", experiment="curve", method=version, model="gaussian")[0]
    found = {}
    for kind in KINDS:
        tables = [one[steps.index(step)][kind] for one in lists]
        found[kind] = Estimate.of(
            float(np.mean(np.abs(np.array(table["quartiles"]) - np.array(table["goal"]))))
            / (float(np.max(np.abs(table["goal"]))) if panels else 1.0)
            for table in tables
        )
    return found


EARLY, LATE = 20, 100


def in_order(gaps: Callable[[int], Gaps], measured: dict[str, Any], words: list[str], name: str) -> bool:
    """Priors nearest early on, deviations farthest off in the end."""
    early, late = gaps(EARLY), gaps(LATE)
    measured[name] = {f"at {EARLY}": early, f"at {LATE}": late}
    more = {f"{kind} - prior at {EARLY}": difference(early[kind], early["prior"]) for kind in ("conditional", "mean")}
    more |= {
        f"deviation - {kind} at {LATE}": difference(late["deviation"], late[kind]) for kind in ("conditional", "mean")
    }
    words.append(f"{name}: " + ", ".join(f"{what} {one}" for what, one in more.items()))
    if any(one.below for one in more.values()):
        return False
    unclear = [(one, (0.0,)) for one in more.values() if not one.above]
    if unclear:
        raise undecided(f"the order by {name}", unclear)
    return True


@CLAIMS.says(
    "Priors converge fastest, conditional probabilities and means slightly slower, and deviations are the farthest off "
    "in the end (figure 7)."
)
def priors_first(results: Results) -> Finding:
    """Figure 7: priors converge very quickly, conditional probabilities and means slightly slower, deviations stay off.

    The text compares kinds of parameters by what a reader sees in the panels of figure 7, so gaps are shares of the
    panel; two other scales are told beside it.
    """
    measured: dict[str, Any] = {}
    words: list[str] = []
    scales: dict[str, Callable[[str, int], Gaps]] = {
        "in plain units": lambda version, step: drawn_gaps(results, version, step, panels=False),
        "as shares of the typical parameter of each kind": lambda version, step: kind_gaps(results, version, step),
    }

    def ordered(version: str) -> bool:
        return in_order(lambda step: drawn_gaps(results, version, step), measured, words, VERSIONS[version])

    sound, paper = (attempt(partial(ordered, version)) for version in ("published", "paper"))
    told, others = "; ".join(words), []
    for scale, gaps in scales.items():
        for version in ("published", "paper"):
            others.append(
                reading(
                    f"{scale}, {VERSIONS[version]}",
                    partial(in_order, partial(gaps, version), {}, [], version),
                )
            )
    return finding(
        sound, paper, measured,
        f"distance of quartiles from the federated value as a share of the panel of figure 7, which is what the text "
        f"describes and where kinds of different units can be compared: {told}. Other readings: {'; '.join(others)}",
    )  # fmt: skip


@CLAIMS.says("Standard deviations stay off after convergence.")
def deviations_stay_off(results: Results) -> Finding:
    """Figure 7: standard deviations are off after convergence."""
    measured: dict[str, Any] = {}
    for version in VERSIONS:
        lists = mean_list(results, "kinds", experiment="long", method=version)
        measured[VERSIONS[version]] = {
            step: {name: Estimate.of(one[i]["deviation"][name] for one in lists) for name in ("gap", "bias")}
            for i, step in enumerate(LONG)
        }
    words = "; ".join(
        f"{v}: " + ", ".join(f"{one['gap'].mean:.2%} (all nodes together {one['bias'].mean:.2%}) at {step}"
                             for step, one in found.items())
        for v, found in measured.items()
    )  # fmt: skip
    last = LONG[1]

    def stays(name: str) -> bool:
        return within([measured[name][last]["bias"]], OFF, math.inf, f"{OFF:.1%} from less by {name}")

    sound, paper = (attempt(partial(stays, VERSIONS[version])) for version in ("published", "paper"))
    exact = measured[VERSIONS["push-sum"]][last]["gap"]
    clean = f"; half a per cent of all nodes together counts; push-sum leaves {exact.mean:.1e} at {last}"
    return finding(sound, paper, measured, f"median error of standard deviations: {words}{clean}")


def _curves(results: Results, column: str) -> dict[str, tuple[list[int], list[Any]]]:
    """Steps and a column of figure 6's curves, by version."""
    found = {}
    for version in ("published", "paper"):
        spot = {"experiment": "curve", "method": version, "model": "gaussian"}
        found[VERSIONS[version]] = (mean_list(results, "steps", **spot)[0], mean_list(results, column, **spot))
    return found


@CLAIMS.says(
    "In the first iterations accuracy is low and scatters over nodes, which later iterations lessen (figure 6)."
)
def low_at_first(results: Results) -> Finding:
    """Section 4.3: accuracy is very low at first, the quartiles are wide apart, and both improve with iterations."""
    measured: dict[str, Any] = {}

    def lessened(name: str, steps: list[int], lists: list[Any]) -> bool:
        last = steps.index(100)
        found = measured[name] = {
            "median gained": Estimate.of(one[last][1] - one[0][1] for one in lists),
            "width lost": Estimate.of((one[0][2] - one[0][0]) - (one[last][2] - one[last][0]) for one in lists),
        }
        unclear = [(one, (0.0, POINT)) for one in found.values() if not one.above and one.mean + 2 * one.error > POINT]
        if unclear and not any(one.below for one in found.values()):
            raise undecided(f"a point from none by {name}", unclear)
        return all(one.above for one in found.values())

    sound, paper = (attempt(partial(lessened, name, *curve)) for name, curve in _curves(results, "quartiles").items())
    words = (f"{name}: {what} {one}" for name, found in measured.items() for what, one in found.items())
    text = f"quartiles of accuracy over nodes from iteration 1 to 100: {', '.join(words)}"
    return finding(sound, paper, measured, text)


@CLAIMS.says("Deviations that stay off do not affect the accuracy (figures 6 and 7).")
def deviations_harmless(results: Results) -> Finding:
    """Section 4.3: "these deviations do not affect the overall accuracy of the model"."""
    measured: dict[str, Any] = {}
    for name, (steps, lists) in _curves(results, "quartiles").items():
        version = next(key for key, title in VERSIONS.items() if title == name)
        goals = [row["federated"] for row in results.where(experiment="curve", method=version, model="gaussian")]
        last = steps.index(100)
        measured[name] = Estimate.of(one[last][1] - goal for one, goal in zip(lists, goals, strict=True))
    text = "median accuracy of the nodes at 100 iterations less the federated, a point counts: " + ", ".join(
        f"{name} {one}" for name, one in measured.items()
    )

    def harmless(name: str) -> bool:
        return within([measured[name]], -POINT, POINT, f"a point from none by {name}")

    sound, paper = (attempt(partial(harmless, name)) for name in measured)
    return finding(sound, paper, measured, text)


@CLAIMS.says("Results are similar on all data sets.")
def same_everywhere(results: Results) -> Finding:
    """Section 4.3: similar results were achieved on all datasets, which is about the published rule.

    The sentence stands within the description of figure 6 and names no measure of its own. So similar is what that
    paragraph says of Adult: around 30 iterations bring a vast majority of the nodes to the federated accuracy. That a
    federated model is of no use is said beside it; the sentence does not speak of it.
    """
    measured: dict[str, Any] = {}
    words = []
    if not results.where(experiment="data"):
        raise MissingResultsError("no data sets were compared")

    def curves(version: str) -> dict[str, list[Any]]:
        found = {name: results.where(experiment="data", data=name, method=version) for name in DATA}
        missing = [name for name, rows in found.items() if not rows]
        if missing:
            raise MissingResultsError(f"{VERSIONS[version]} was not run on {', '.join(missing)}")
        return found

    def off(rows: list[Any]) -> Estimate:
        return Estimate.of(row["at_30"] - row["federated"] for row in rows)

    def near(version: str) -> bool:
        shares = {}
        for name, rows in curves(version).items():
            at = {step: near_at(rows, step) for step in (ABOUT, 100)}
            shares[name] = at[ABOUT]
            measured[f"{name}, {VERSIONS[version]}"] = {"near": at, "median less federated at 30": off(rows)}
            words.append(
                f"{name}, {VERSIONS[version]} {at[ABOUT].mean:.0%} ± {at[ABOUT].error:.0%} (at 100 {at[100].mean:.0%}; "
                f"the median at 30 less the federated {off(rows)}){_flag(rows)}"
            )
        return mostly_near(shares.values(), VERSIONS[version])

    def median_near(version: str) -> bool:
        return within(map(off, curves(version).values()), -2 * POINT, 2 * POINT, "two points from none")

    sound, paper = attempt(lambda: near("published")), attempt(lambda: near("paper"))
    attempt(lambda: near("push-sum"))

    def later(version: str) -> bool:
        return mostly_near([near_at(rows, 100) for rows in curves(version).values()], VERSIONS[version])

    others = [
        reading(f"{what}, {VERSIONS[version]}", partial(check, version))
        for version in ("published", "paper")
        for what, check in (
            ("the line of the median within two points at 30", median_near),
            ("the same majority at 100 iterations", later),
        )
    ]
    text = (
        f"nodes within a point of the federated accuracy after {ABOUT} iterations, or within one test row if that is "
        f"more (Congress), of which three quarters are a vast majority, because that is what the paragraph says of "
        f"Adult: {', '.join(words)}. Other readings: {'; '.join(others)}"
    )
    return finding(sound, paper, measured, text)
