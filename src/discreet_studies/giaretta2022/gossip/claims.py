"""The claims of giaretta2022's gossip part and how measurements decide them: growth with N, links, and liars."""

from __future__ import annotations

import math
from typing import Any

from discreet_studies.claims import Claims, Finding, verdict_of
from discreet_studies.giaretta2022.gossip import curve_claims
from discreet_studies.giaretta2022.gossip.experiments import LIARS, LINKS, NODES, RULES
from discreet_studies.results import Estimate, MissingResultsError, Results, difference

CLAIMS = Claims("giaretta2022")
CLAIMS += curve_claims.CLAIMS
CLOSE = 0.2  # of the average, for nine of ten nodes


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
