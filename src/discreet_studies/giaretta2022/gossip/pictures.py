"""Figures 6 and 7 of giaretta2022, growth with N, and what liars do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet_studies.figures import COLOURS, Line, add_legend, axes_of, draw_lines, save_figure
from discreet_studies.giaretta2022.gossip.bench import KINDS
from discreet_studies.giaretta2022.gossip.curve_claims import VERSIONS
from discreet_studies.giaretta2022.gossip.experiments import LIARS, NODES, RULES
from discreet_studies.results import Estimate, Results

UNITS = {"prior": "probability", "conditional": "probability", "mean": "share of the range",
         "deviation": "share of the range"}  # fmt: skip


def draw(results: Results, out: Path) -> list[Path]:
    """All figures there are results for."""
    files: list[Path] = []
    for version in VERSIONS:
        for model in ("gaussian", "default"):
            rows = results.where(experiment="curve", method=version, model=model)
            if rows:
                files += _figure6(rows, out, version, model)
                if model == "gaussian":
                    files += _figure7(rows[0], out, version)
    return [*files, *_growth(results, out), *_liars(results, out)]


def _figure6(rows: list[dict[str, Any]], out: Path, version: str, model: str) -> list[Path]:
    title = f"adult, N = {NODES}, ε = 10^0.5: {VERSIONS[version]}, {model} model"
    figure, axes = axes_of(title, "gossip iterations", "accuracy")
    steps = json.loads(rows[0]["steps"])
    low, middle, high = np.mean([json.loads(row["quartiles"]) for row in rows], axis=0).T
    axes.plot(steps, middle, color=COLOURS[0], label="median of the nodes")
    axes.fill_between(steps, low, high, color=COLOURS[0], alpha=0.25, label="quartiles of the nodes")
    level = float(np.mean([row["federated"] for row in rows]))
    axes.axhline(level, color="#555555", linestyle=":", label="federated, same updates")
    add_legend(figure, axes)
    return save_figure(figure, out, f"figure6-{version}-{model}")


def _figure7(row: dict[str, Any], out: Path, version: str) -> list[Path]:
    files: list[Path] = []
    steps, shown = json.loads(row["steps"]), json.loads(row["shown"])
    for kind in KINDS:
        if kind not in shown[0]:
            continue
        title = f"adult, N = {NODES}: {kind} parameters, {VERSIONS[version]}"
        figure, axes = axes_of(title, "gossip iterations", UNITS[kind])
        quartiles = np.array([one[kind]["quartiles"] for one in shown])  # step, quartile, parameter
        for index, goal in enumerate(shown[0][kind]["goal"]):
            colour = COLOURS[index % len(COLOURS)]
            axes.plot(steps, quartiles[:, 1, index], color=colour, linewidth=1.2)
            axes.fill_between(steps, quartiles[:, 0, index], quartiles[:, 2, index], color=colour, alpha=0.25)
            axes.axhline(goal, color=colour, linestyle=":", linewidth=1)
        files += save_figure(figure, out, f"figure7-{version}-{kind}")
    return files


def _growth(results: Results, out: Path) -> list[Path]:
    lines = []
    for protocol, close, label in (("push-sum", "within_1e-06", "push-sum to 1e-6"),
                                   ("push-sum", "within_0.1", "push-sum to 10 %"),
                                   ("published", "within_0.1", "published rule to 10 %")):  # fmt: skip
        spot = {"experiment": "growth", "method": protocol}
        points = []
        for nodes in results.values("nodes", **spot):
            turns = [row[close] for row in results.where(nodes=nodes, **spot) if row.get(close) is not None]
            if turns:
                points.append((float(nodes), Estimate.of(turns)))
        lines.append(Line(label, points, protocol == "published"))
    if not any(line.points for line in lines):
        return []
    figure, axes = axes_of("iterations until every node is close to the sum", "nodes", "iterations")
    draw_lines(axes, lines)
    axes.set_xscale("log")
    add_legend(figure, axes)
    return save_figure(figure, out, "growth")


def _liars(results: Results, out: Path) -> list[Path]:
    lines = []
    for rule in RULES:
        spot = {"experiment": "liars", "method": rule}
        points = [(float(n), results.estimate(liars=n, **spot)) for n in LIARS if results.where(liars=n, **spot)]
        lines.append(Line(rule, points, rule == "push-sum"))
    if not any(line.points for line in lines):
        return []
    figure, axes = axes_of(f"adult: lying nodes among {NODES}", "liars", "median accuracy of honest nodes")
    draw_lines(axes, lines)
    axes.set_xscale("symlog", linthresh=1)
    add_legend(figure, axes)
    return save_figure(figure, out, "liars")
