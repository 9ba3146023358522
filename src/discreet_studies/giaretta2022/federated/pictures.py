"""The figures of giaretta2022's federated part, and the same curves under secure aggregation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet_studies.figures import Line, accuracy_against_epsilon, add_legend, axes_of, draw_lines, save_figure
from discreet_studies.giaretta2022.federated.experiments import DATA, KEPT, NODES, SIZES
from discreet_studies.results import Estimate, Results

LABELS = {
    "federated": "sound",
    "paper": "as published",
    "secure": "sound, secure aggregation",
    "inverse-variance": "sound, inverse-variance weights",
    "cut-off": "sound cut-off",
}


def curve(results: Results, name: str, metric: str = "accuracy", dashed: bool = False, **spot: Any) -> Line:
    """A measurement over ε."""
    points = [(e, results.estimate(metric, epsilon=e, **spot)) for e in results.values("epsilon", **spot)]
    return Line(name, points, dashed)


def draw(results: Results, out: Path) -> list[Path]:
    """All figures there are results for."""
    files: list[Path] = []
    for name in DATA:
        spot: dict[str, Any] = {"experiment": "sweep", "data": name}
        if not results.where(method="plain", **spot):
            continue
        levels = {"without privacy": results.estimate(method="plain", **spot).mean}
        central = curve(results, "centralised (Vaidya et al.)", dashed=True, method="vaidya", **spot)
        for method, file in (("paper", "figure2-published"), ("federated", "figure2"), ("secure", "figure2-secure"),
                             ("inverse-variance", "figure2-weighted")):  # fmt: skip
            loose = method == "paper"
            lines = [curve(results, f"N = {n}", dashed=loose, method=method, nodes=n, **spot) for n in NODES]
            if method in {"secure", "inverse-variance"}:
                lines[0] = curve(results, "N = 1", method="federated", nodes=1, **spot)
            title = f"{name}: {LABELS[method]}"
            files += accuracy_against_epsilon(out, f"{file}-{name}", title, [*lines, central], levels)
    return [*files, *_sensitivity(results, out), *_sizes(results, out), *_cuts(results, out), *_shares(results, out)]


def _sensitivity(results: Results, out: Path) -> list[Path]:
    boxes = []
    for row in results.where(experiment="sensitivity"):
        marks = {"whislo": row["q5"], "q1": row["q25"], "med": row["q50"], "q3": row["q75"], "whishi": row["q95"]}
        boxes.append({"label": f"{row['data']}\nN = {row['nodes']}", "fliers": [], **marks})
    if not boxes:
        return []
    figure, axes = axes_of("Largest local value beside that of all rows (5 %, quartiles, 95 %)", "", "ratio to N = 1")
    axes.bxp(boxes, showfliers=False)
    axes.tick_params(axis="x", labelsize="x-small")
    return save_figure(figure, out, "figure3")


def _sizes(results: Results, out: Path) -> list[Path]:
    files: list[Path] = []
    for name in DATA:
        for metric, label in (("accuracy", "mean accuracy"), ("spread", "standard deviation of accuracy")):
            lines = []
            for method in ("paper", "federated"):
                for partition in SIZES:
                    spot = {"experiment": "sizes", "data": name, "method": method, "partition": partition}
                    if results.where(**spot):
                        lines.append(
                            curve(results, f"{LABELS[method]}, {partition}", metric, method == "paper", **spot)
                        )
            if lines:
                figure, axes = axes_of(f"figure 4: {name}, N = 1000, laws of node sizes", "ε of each node", label)
                draw_lines(axes, lines)
                axes.set_xscale("log")
                add_legend(figure, axes)
                files += save_figure(figure, out, f"figure4-{name}-{metric}")
    return files


def _cuts(results: Results, out: Path) -> list[Path]:
    files: list[Path] = []
    for name in DATA:
        spot = {"experiment": "cut-off", "data": name}
        lines = []
        for method in ("paper", "cut-off"):
            for metric in ("median", "lowest"):
                points = [(100 * k, results.estimate(metric, method=method, kept=k, **spot)) for k in KEPT
                          if results.where(method=method, kept=k, **spot)]  # fmt: skip
                lines.append(Line(f"{LABELS[method]}, {metric}", points, method == "paper"))
        if not any(line.points for line in lines):
            continue
        figure, axes = axes_of(f"{name}: nodes below the cut-off", "% of the nodes kept, least noisy first", "accuracy")
        draw_lines(axes, lines)
        if results.where(method="inverse-variance", **spot):
            level = results.estimate("median", method="inverse-variance", **spot).mean
            axes.axhline(level, color="#555555", linewidth=1, linestyle=":", label=LABELS["inverse-variance"])
        add_legend(figure, axes)
        files += [*save_figure(figure, out, f"figure5-{name}"), *_scatter(results, out, name)]
    return files


def _scatter(results: Results, out: Path, name: str) -> list[Path]:
    found = results.where(experiment="nodes", data=name)
    if not found:
        return []
    import numpy as np

    files: list[Path] = []
    for key, label in (("errors", "error by equation 28"), ("levels", "noise level that a coordinator knows")):
        sizes, budgets, levels = (json.loads(found[0][column]) for column in ("sizes", "epsilons", key))
        figure, axes = axes_of(f"figure 5, left: {name}, size and ε of the nodes", "rows", "ε")
        points = axes.scatter(sizes, budgets, c=np.log10(levels), cmap="viridis", s=24)
        axes.set_xscale("log")
        axes.set_yscale("log")
        figure.colorbar(points, label=f"log10 of the {label}")
        files += save_figure(figure, out, f"figure5-nodes-{key}-{name}")
    return files


def _shares(results: Results, out: Path) -> list[Path]:
    files: list[Path] = []
    for model in ("gaussian", "default"):
        lines = []
        for epsilon in (0.1, 1.0):
            for method, label in (("central", "one curator"), ("secure", "secure aggregation"),
                                  ("secure-half", "secure, half may collude or drop"),
                                  ("federated", "every node its own noise")):  # fmt: skip
                spot: dict[str, Any] = {"experiment": "shares", "model": model, "epsilon": epsilon, "method": method}
                points: list[tuple[float, Estimate]] = [
                    (float(n), results.estimate(nodes=n, **spot)) for n in results.values("nodes", **spot)
                ]
                lines.append(Line(f"{label}, ε = {epsilon:g}", points, method == "central"))
        if not any(line.points for line in lines):
            continue
        figure, axes = axes_of(f"adult, {model} model: what N nodes cost", "nodes", "accuracy")
        draw_lines(axes, lines)
        axes.set_xscale("log")
        add_legend(figure, axes)
        files += save_figure(figure, out, f"secure-{model}")
    return files
