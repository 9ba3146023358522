"""The claims of giaretta2022's gossip part and how measurements decide them."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from discreet_studies.claims import Attempt, Claims, Finding, attempt, best_of, finding, undecided, verdict_of
from discreet_studies.giaretta2022.federated.experiments import DATA
from discreet_studies.giaretta2022.gossip.bench import KINDS
from discreet_studies.giaretta2022.gossip.experiments import LIARS, LINKS, LONG, NODES, RULES
from discreet_studies.giaretta2022.gossip.trials import POINT
from discreet_studies.results import Estimate, MissingResultsError, Results, difference

CLAIMS = Claims("giaretta2022")
ABOUT = 35  # "around 30"
MOST = 0.75  # "a vast majority of the nodes": three quarters at least
CLOSE = 0.2  # of the average, for nine of ten nodes
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


def thirty(results: Results, versions: tuple[str, ...]) -> Finding:
    """Section 4.3, figure 6: after around 30 iterations most nodes have the federated accuracy."""
    measured: dict[str, Any] = {}
    words = []
    for version in versions:
        for model in ("gaussian", "default"):
            rows = results.where(experiment="curve", method=version, model=model)
            if rows:
                late = [math.inf if row.get("reached") is None else float(row["reached"]) for row in rows]
                near = Estimate.of(row["near_30"] for row in rows)
                off = Estimate.of(row["at_30"] - row["federated"] for row in rows)
                name = f"{VERSIONS[version]}, {model} model"
                measured[name] = {"iterations": max(late), "near at 30": near, "median at 30": off}
                turns = "never" if math.isinf(max(late)) else f"{max(late):.0f}"
                words.append(
                    f"{name}: {turns} (at 30 the median node is {off} off and {near.mean:.0%} ± {near.error:.0%} of "
                    f"nodes are within a point{_flag(rows)})"
                )
    if not measured:
        raise MissingResultsError("no curve of these versions")
    good = all(one["iterations"] <= ABOUT for one in measured.values())
    text = f"iterations until three quarters of {NODES} nodes are within a point of the federated accuracy"
    return Finding(verdict_of(good), measured, f"{text}: {'; '.join(words)}")


@CLAIMS.says("Around 30 iterations bring 1000 nodes to the federated accuracy: the published rule.")
def thirty_published(results: Results) -> Finding:
    """The claim about the paper's own rule."""
    return thirty(results, ("published", "paper"))


@CLAIMS.ours("Around 30 iterations bring 1000 nodes to the federated accuracy by push-sum.")
def thirty_push_sum(results: Results) -> Finding:
    """The same of push-sum."""
    return thirty(results, ("push-sum",))


def kind_gaps(results: Results, version: str, step: int) -> dict[str, Estimate]:
    """The median gap of nodes' parameters at one iteration, as a share of the typical size of that kind."""
    lists = mean_list(results, "kinds", experiment="curve", method=version, model="gaussian")
    steps = mean_list(results, "steps", experiment="curve", method=version, model="gaussian")[0]
    return {kind: Estimate.of(one[steps.index(step)][kind]["gap"] for one in lists) for kind in KINDS}


def drawn_gaps(results: Results, version: str, step: int) -> dict[str, Estimate]:
    """How far the lines of figure 7 are from the federated value: quartiles over nodes of some parameters, as drawn."""
    lists = mean_list(results, "shown", experiment="curve", method=version, model="gaussian")
    steps = mean_list(results, "steps", experiment="curve", method=version, model="gaussian")[0]
    found = {}
    for kind in KINDS:
        tables = [one[steps.index(step)][kind] for one in lists]
        found[kind] = Estimate.of(
            float(np.mean(np.abs(np.array(table["quartiles"]) - np.array(table["goal"])))) for table in tables
        )
    return found


@CLAIMS.says(
    "Priors converge fastest, conditional probabilities and means slightly slower, and deviations are the farthest off "
    "in the end (figure 7)."
)
def priors_first(results: Results) -> Finding:
    """Figure 7: priors converge very quickly, conditional probabilities and means slightly slower, deviations stay off.

    Judged by what the figure draws, the parameters themselves; gaps as shares of the typical size of their kind are
    another reading, in which conditional probabilities, most of them small, are farthest off.
    """
    measured: dict[str, Any] = {}
    words = []

    def ordered(version: str) -> bool:
        early, late = drawn_gaps(results, version, 20), drawn_gaps(results, version, 100)
        name = VERSIONS[version]
        measured[name] = {"at 20": early, "at 100": late}
        gaps = {f"{kind} - prior at 20": difference(early[kind], early["prior"]) for kind in ("conditional", "mean")}
        gaps |= {
            f"deviation - {kind} at 100": difference(late["deviation"], late[kind]) for kind in ("conditional", "mean")
        }
        words.append(f"{name}: " + ", ".join(f"{what} {one}" for what, one in gaps.items()))
        if any(one.below for one in gaps.values()):
            return False
        unclear = [(one, (0.0,)) for one in gaps.values() if not one.above]
        if unclear:
            raise undecided(f"the order by {name}", unclear)
        return True

    tried = [attempt(lambda one=one: ordered(one)) for one in ("published", "paper")]  # type: ignore[misc]
    worst = next((one for one in tried if one.passed is not True), tried[0])
    shares = {
        (version, step): kind_gaps(results, version, step) for version in ("published", "paper") for step in (20, 100)
    }
    measured |= {f"{VERSIONS[version]}, shares at {step}": gaps for (version, step), gaps in shares.items()}
    relative = [
        f"{VERSIONS[version]} at {step}: "
        + ", ".join(f"{kind} {one.mean:.2%} ± {one.error:.2%}" for kind, one in gaps.items())
        for (version, step), gaps in shares.items()
    ]
    shown = all(
        difference(gaps["deviation"], gaps[kind]).above
        for (_, step), gaps in shares.items() if step == 100 for kind in ("conditional", "mean")
    )  # fmt: skip
    reason = (
        f"distance of quartiles from the federated value, as figure 7 draws them: {'; '.join(words)}. As shares of the "
        f"typical parameter of each kind, the other reading, which {'shows it too' if shown else 'does not show it'}: "
        f"{'; '.join(relative)}"
    )
    return finding(worst, Attempt(False), measured, reason)


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
    off = [measured[VERSIONS[v]][last]["bias"] for v in ("published", "paper")]
    exact = measured[VERSIONS["push-sum"]][last]["gap"]
    verdict = verdict_of(all(one.mean > 0.005 for one in off))
    clean = f"; push-sum leaves {exact.mean:.1e} at {last}"
    return Finding(verdict, measured, f"median error of standard deviations: {words}{clean}")


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

    tried = [
        attempt(lambda n=name, c=curve: lessened(n, *c))  # type: ignore[misc]
        for name, curve in _curves(results, "quartiles").items()
    ]
    words = (f"{name}: {what} {one}" for name, found in measured.items() for what, one in found.items())
    text = f"quartiles of accuracy over nodes from iteration 1 to 100: {', '.join(words)}"
    return finding(best_of(tried), Attempt(False), measured, text)


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
    if any(abs(one.mean) - 2 * one.error > POINT for one in measured.values()):
        return Finding(verdict_of(False), measured, text)
    wide = [(one, (math.copysign(POINT, one.mean),)) for one in measured.values()
            if abs(one.mean) + 2 * one.error > 2 * POINT]  # fmt: skip
    if wide:
        raise undecided(f"a point from none, {text}", wide)
    return Finding(verdict_of(True), measured, text)


@CLAIMS.says("Results are similar on all data sets.")
def same_everywhere(results: Results) -> Finding:
    """Section 4.3: similar results were achieved on all datasets, which is about the published rule.

    Similar is what the section says of Adult, by the same measure as there: around 30 iterations bring a vast majority
    of the nodes to the federated accuracy. That a federated model is of no use is said beside it; the sentence does
    not speak of it.
    """
    measured: dict[str, Any] = {}
    words = []

    def near(version: str) -> bool:
        shares = {}
        for name in DATA:
            rows = results.where(experiment="data", data=name, method=version)
            if not rows:
                raise MissingResultsError(f"{VERSIONS[version]} was not run on {name}")
            spots = [json.loads(row["steps"]) for row in rows]
            curves = [json.loads(row["near"]) for row in rows]
            at = {
                step: Estimate.of(curve[spot.index(step)] for curve, spot in zip(curves, spots, strict=True))
                for step in (ABOUT, 100)
            }
            gap = Estimate.of(row["at_30"] - row["federated"] for row in rows)
            shares[name] = at[ABOUT]
            measured[f"{name}, {VERSIONS[version]}"] = {"near": at, "median less federated at 30": gap}
            words.append(
                f"{name}, {VERSIONS[version]} {at[ABOUT].mean:.0%} ± {at[ABOUT].error:.0%} (at 100 {at[100].mean:.0%}; "
                f"the median at 30 less the federated {gap}){_flag(rows)}"
            )
        if any(one.mean + 2 * one.error < MOST for one in shares.values()):
            return False
        unclear = [(one, (MOST,)) for one in shares.values() if abs(one.mean - MOST) <= 2 * one.error]
        if unclear:
            raise undecided(f"a vast majority from fewer by {VERSIONS[version]}", unclear)
        return True

    if not results.where(experiment="data"):
        raise MissingResultsError("no data sets were compared")
    tried = best_of([attempt(lambda: near("published")), attempt(lambda: near("paper"))])
    attempt(lambda: near("push-sum"))
    text = (
        f"nodes within a point of the federated accuracy after {ABOUT} iterations, or within one test row if that is "
        f"more (Congress), of which three quarters are a vast majority: {', '.join(words)}"
    )
    return finding(tried, Attempt(False), measured, text)


def _growth(results: Results, protocol: str, column: str) -> tuple[dict[Any, Estimate | None], Estimate | None]:
    """Turns by N until a mark is reached, None where it was not, and how many more each doubling of N takes."""
    spot: dict[str, Any] = {"experiment": "growth", "method": protocol}
    points: dict[Any, Estimate | None] = {}
    for n in results.values("nodes", **spot):
        turns: list[Any] = [row.get(column) for row in results.where(nodes=n, **spot)]
        points[n] = None if None in turns else Estimate.of(turns)
    known = [(math.log2(n), one) for n, one in points.items() if one is not None and n >= 100]
    if len(known) < 2:
        return points, None
    (low, first), (high, last) = known[0], known[-1]
    rise = difference(last, first)
    return points, Estimate(rise.mean / (high - low), rise.error / (high - low), rise.count)


def _said(points: dict[Any, Estimate | None], rise: Estimate | None) -> str:
    listed = ", ".join(f"{one.mean:.0f} at N = {n:g}" if one else f"never at N = {n:g}" for n, one in points.items())
    return f"{listed} ({rise} more for each doubling of N)" if rise else listed


@CLAIMS.says("O(log N) iterations are enough.")
def logarithmic(results: Results) -> Finding:
    """Section 3.3: O(log N) steps, which is about the published rule: nine of ten nodes within a fifth of the sum."""
    points, rise = _growth(results, "published", f"most_{CLOSE:g}")
    if not points:
        raise MissingResultsError("no growth was measured")
    measured = {"published rule": points, "for each doubling": rise}
    text = f"turns until nine of ten nodes are within {CLOSE:g} of the average, by the published rule: "
    good = rise is not None and None not in list(points.values())[-3:] and rise.mean - 2 * rise.error < 4
    return Finding(verdict_of(good), measured, text + _said(points, rise))


@CLAIMS.ours("By push-sum the number of iterations grows with log N.")
def logarithmic_push_sum(results: Results) -> Finding:
    """The same of push-sum, for every node and to 1e-6."""
    points, rise = _growth(results, "push-sum", "within_1e-06")
    if rise is None:
        raise MissingResultsError("too few sizes")
    good = None not in points.values() and rise.mean < 4
    measured = {"push-sum": points, "for each doubling": rise}
    return Finding(
        verdict_of(good),
        measured,
        f"turns until every node is within 1e-6: {_said(points, rise)}",
    )


@CLAIMS.ours("Push-sum keeps its mass on every network and finds the sum through lost messages.")
def links(results: Results) -> Finding:
    """Beyond the paper: any connected network, lost messages, crashes."""
    measured: dict[str, Any] = {}
    for topology, loss in LINKS:
        rows = results.where(experiment="links", topology=topology, loss=loss)
        if not rows:
            raise MissingResultsError(f"no links of {topology}")
        turns: list[Any] = [row.get("reached") for row in rows]
        mean = None if None in turns else Estimate.of(turns)
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
        f"{name}: " + (f"{one['turns'].mean:.0f}" if one["turns"] else f"gap {one['gap']:.2g}")
        for name, one in measured.items()
    )
    good = all(one["conserved"] for one in measured.values())
    good = good and all(measured[f"complete, loss {loss:g}"]["turns"] for loss in (0.0, 0.1, 0.3))
    return Finding(verdict_of(good), measured, f"turns until every node is within 1e-6: {words}")


@CLAIMS.ours("One liar in a thousand ruins the sum, and the median of a few peers stands fifty.")
def liars(results: Results) -> Finding:
    """Beyond the paper, its open challenge: what a lying node does, and what robust rules buy."""
    measured: dict[str, Any] = {}
    for rule in RULES:
        measured[rule] = {count: results.estimate(experiment="liars", method=rule, liars=count) for count in LIARS}
    words = "; ".join(f"{rule}: " + ", ".join(f"{a.mean:.3f} ± {a.error:.3f} with {n}" for n, a in row.items())
                      for rule, row in measured.items())  # fmt: skip
    honest = measured["push-sum"][0].mean
    harmed = measured["push-sum"][1].mean < honest - 0.05
    saved = min(measured["median"][n].mean for n in (1, 10, 50))
    verdict = verdict_of(harmed and saved > honest - 0.03)
    return Finding(verdict, measured, f"median accuracy of honest nodes by liars among {NODES}: {words}")
