"""The claims of giaretta2022's gossip part and how measurements decide them."""

from __future__ import annotations

import json
import math
from typing import Any

from discreet_studies.claims import Claim, Finding, Verdict
from discreet_studies.giaretta2022.federated.experiments import DATA
from discreet_studies.giaretta2022.gossip.experiments import LIARS, LINKS, LONG, NODES, RULES
from discreet_studies.results import MissingResultsError, Results

PAPER = "giaretta2022"
ABOUT = 35  # "around 30"
NEAR = 0.01  # a point of accuracy
VERSIONS = {"push-sum": "push-sum", "published": "published rule", "paper": "paper in all"}


def mean_list(results: Results, column: str, **spot: Any) -> list[Any]:
    """The JSON lists of a column, one per repeat."""
    found = [json.loads(row[column]) for row in results.where(**spot)]
    if not found:
        raise MissingResultsError(f"no {column} of {spot}")
    return found


def thirty(results: Results, versions: tuple[str, ...]) -> Finding:
    """Section 4.3, figure 6: after around 30 iterations most nodes have the federated accuracy."""
    measured: dict[str, Any] = {}
    for version in versions:
        for model in ("gaussian", "default"):
            rows = results.where(experiment="curve", method=version, model=model)
            if rows:
                late = [math.inf if row.get("reached") is None else float(row["reached"]) for row in rows]
                count = len(rows)
                measured[f"{VERSIONS[version]}, {model} model"] = {
                    "iterations": max(late),
                    "near at 30": sum(row["near_30"] for row in rows) / count,
                    "median at 30": sum(row["at_30"] - row["federated"] for row in rows) / count,
                }
    if not measured:
        raise MissingResultsError("no curve of these versions")
    words = "; ".join(
        f"{name}: {'never' if math.isinf(one['iterations']) else int(one['iterations'])} (at 30 the median node is "
        f"{one['median at 30']:+.4f} off and {one['near at 30']:.0%} of nodes are within a point)"
        for name, one in measured.items()
    )
    good = all(one["iterations"] <= ABOUT for one in measured.values())
    text = f"iterations until three quarters of {NODES} nodes are within a point of the federated accuracy: {words}"
    return Finding(Verdict.HOLDS if good else Verdict.FAILS, measured, text)


def thirty_published(results: Results) -> Finding:
    """The claim about the paper's own rule."""
    return thirty(results, ("published", "paper"))


def thirty_push_sum(results: Results) -> Finding:
    """The same of push-sum."""
    return thirty(results, ("push-sum",))


def priors_first(results: Results) -> Finding:
    """Figure 7: priors converge fastest, deviations last."""
    measured = {}
    for version in VERSIONS:
        lists = mean_list(results, "kinds", experiment="curve", method=version, model="gaussian")
        steps = mean_list(results, "steps", experiment="curve", method=version, model="gaussian")[0]
        at = steps.index(20)
        gaps = {k: sum(one[at][k]["gap"] for one in lists) / len(lists) for k in ("prior", "mean", "deviation")}
        measured[version] = gaps
    words = "; ".join(f"{VERSIONS[v]}: prior {g['prior']:.5f}, mean {g['mean']:.5f} of the range, "
                      f"deviation {g['deviation']:.2%}" for v, g in measured.items())  # fmt: skip
    good = all(one["prior"] < one["deviation"] for one in measured.values())
    return Finding(Verdict.HOLDS if good else Verdict.FAILS, measured, f"median gap at 20 iterations: {words}")


def deviations_stay_off(results: Results) -> Finding:
    """Figure 7: standard deviations are off after convergence; push-sum has no such bias."""
    measured: dict[str, Any] = {}
    for version in VERSIONS:
        lists = mean_list(results, "kinds", experiment="long", method=version)
        measured[version] = {
            step: {name: sum(one[i]["deviation"][name] for one in lists) / len(lists) for name in ("gap", "bias")}
            for i, step in enumerate(LONG)
        }
    words = "; ".join(
        f"{VERSIONS[v]}: " + ", ".join(f"{one['gap']:.2%} (all nodes together {one['bias']:.2%}) at {step}"
                                       for step, one in found.items())
        for v, found in measured.items()
    )  # fmt: skip
    last = LONG[1]
    off, exact = measured["published"][last]["bias"], measured["push-sum"][last]["gap"]
    verdict = Verdict.HOLDS if off > 0.005 and exact < 1e-4 else Verdict.FAILS
    return Finding(verdict, measured, f"median error of standard deviations: {words}")


def same_everywhere(results: Results) -> Finding:
    """Section 4.3: similar results were achieved on all datasets."""
    measured: dict[str, Any] = {}
    good = True
    for name in DATA:
        for version in VERSIONS:
            spot = {"experiment": "data", "data": name, "method": version}
            goal = results.estimate("federated", **spot).mean
            measured[f"{name}, {VERSIONS[version]}"] = {
                "at 30": results.estimate("at_30", **spot).mean - goal,
                "at 100": results.estimate("accuracy", **spot).mean - goal,
            }
        good = good and abs(measured[f"{name}, push-sum"]["at 30"]) <= NEAR
    words = ", ".join(f"{name} {one['at 30']:+.4f}" for name, one in measured.items())
    text = f"median accuracy at 30 iterations less the federated: {words}"
    return Finding(Verdict.HOLDS if good else Verdict.FAILS, measured, text)


def logarithmic(results: Results) -> Finding:
    """Section 3.3: O(log N) steps."""
    measured: dict[str, Any] = {}
    for protocol in ("push-sum", "published"):
        spot = {"experiment": "growth", "method": protocol}
        sizes = results.values("nodes", **spot)
        measured[protocol] = {}
        for close in ("within_0.1", "within_0.01", "within_1e-06"):
            points = {}
            for n in sizes:
                turns: list[Any] = [row.get(close) for row in results.where(nodes=n, **spot)]
                points[n] = None if None in turns else sum(turns) / len(turns)
            measured[protocol][close] = points
    tight = measured["push-sum"]["within_1e-06"]
    known = [(math.log2(n), turns) for n, turns in tight.items() if turns is not None]
    if len(known) < 3:
        raise MissingResultsError("too few sizes")
    per_doubling = (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])
    measured["turns per doubling"] = per_doubling

    def listed(points: dict[Any, Any]) -> str:
        return ", ".join(f"{turns:.0f} at N = {n:g}" if turns else f"never at N = {n:g}" for n, turns in points.items())

    text = (
        f"push-sum to 1e-6: {listed(tight)} ({per_doubling:.2f} more for each doubling of N); push-sum to 10 %: "
        f"{listed(measured['push-sum']['within_0.1'])}; published rule to 10 %: "
        f"{listed(measured['published']['within_0.1'])} (the last node)"
    )
    good = len(known) == len(tight) and per_doubling < 4
    return Finding(Verdict.HOLDS if good else Verdict.FAILS, measured, text)


def links(results: Results) -> Finding:
    """Beyond the paper: any connected network, lost messages, crashes."""
    measured: dict[str, Any] = {}
    for topology, loss in LINKS:
        rows = results.where(experiment="links", topology=topology, loss=loss)
        if not rows:
            raise MissingResultsError(f"no links of {topology}")
        turns = [row.get("reached") for row in rows]
        known = [turn for turn in turns if turn is not None]
        mean = sum(known) / len(known) if len(known) == len(turns) else None
        gap = sum(row["gap"] for row in rows) / len(rows)
        kept = all(row["conserved"] for row in rows)
        measured[f"{topology}, loss {loss:g}"] = {"turns": mean, "gap": gap, "conserved": kept}
    for share in results.values("crashed", experiment="crashes"):
        rows = results.where(experiment="crashes", crashed=share)
        measured[f"{share:.0%} crash for good"] = {
            "turns": None, "gap": sum(row["gap"] for row in rows) / len(rows),
            "conserved": all(row["conserved"] for row in rows),
        }  # fmt: skip
    words = "; ".join(
        f"{name}: " + (f"{one['turns']:.0f}" if one["turns"] else f"gap {one['gap']:.2g}")
        for name, one in measured.items()
    )
    good = all(one["conserved"] for one in measured.values())
    good = good and all(measured[f"complete, loss {loss:g}"]["turns"] for loss in (0.0, 0.1, 0.3))
    return Finding(
        Verdict.HOLDS if good else Verdict.FAILS, measured, f"turns until every node is within 1e-6: {words}"
    )


def liars(results: Results) -> Finding:
    """Beyond the paper, its open challenge: what a lying node does, and what robust rules buy."""
    measured: dict[str, Any] = {}
    for rule in RULES:
        measured[rule] = {
            count: results.estimate(experiment="liars", method=rule, liars=count).mean for count in LIARS
        }  # fmt: skip
    words = "; ".join(f"{rule}: " + ", ".join(f"{a:.3f} with {n}" for n, a in row.items())
                      for rule, row in measured.items())  # fmt: skip
    honest = measured["push-sum"][0]
    harmed = measured["push-sum"][1] < honest - 0.05
    saved = min(measured["median"][n] for n in (1, 10, 50))
    verdict = Verdict.HOLDS if harmed and saved > honest - 0.03 else Verdict.FAILS
    return Finding(verdict, measured, f"median accuracy of honest nodes by liars among {NODES}: {words}")


CLAIMS = (
    Claim(PAPER, "Around 30 iterations bring 1000 nodes to the federated accuracy: the published rule.",
          thirty_published),
    Claim(PAPER, "Around 30 iterations bring 1000 nodes to the federated accuracy: push-sum.", thirty_push_sum),
    Claim(PAPER, "Prior probabilities converge fastest, standard deviations last.", priors_first),
    Claim(PAPER, "Standard deviations stay off after convergence (published rule; push-sum must not).",
          deviations_stay_off),
    Claim(PAPER, "Results are similar on all data sets.", same_everywhere),
    Claim(PAPER, "The number of iterations grows with log N.", logarithmic),
    Claim("discreet", "Push-sum keeps its mass on every network and finds the sum through lost messages.",
          links),
    Claim("discreet", "One liar in a thousand ruins the sum, and the median of a few peers stands fifty.",
          liars),
)  # fmt: skip
