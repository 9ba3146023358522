"""Figures of thesis2015 about thresholds, single features and what noise makes of their scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet_studies.figures import Line, add_legend, axes_of, draw_lines, save_figure
from discreet_studies.results import MissingResultsError, Results
from discreet_studies.thesis2015.selection.data import REAL
from discreet_studies.thesis2015.selection.feature_claims import threshold_curve
from discreet_studies.thesis2015.selection.portraits import chances, information_reach

THREE = ("xwindows", "mushroom", "newsgroup")


def thresholds(results: Results, out: Path) -> list[Path]:
    """Figures 3.1 to 3.3: accuracy and thresholded features by threshold."""
    files: list[Path] = []
    for metric, label in (("accuracy", "accuracy"), ("thresholded", "features thresholded")):
        try:
            curves = {name: threshold_curve(results, name, metric) for name in THREE}
        except MissingResultsError:
            continue
        figure, axes = axes_of("figures 3.1 to 3.3: all features, ε = 0.1", "threshold", label)
        for name, curve in curves.items():
            means, errors = [one.mean for one in curve.values()], [one.error for one in curve.values()]
            axes.errorbar(range(len(curve)), means, errors, label=name, marker="o", markersize=3)
        axes.set_xticks(range(len(curve)), list(curve))
        axes.tick_params(axis="x", labelsize="x-small")
        add_legend(figure, axes)
        files += save_figure(figure, out, f"figure3.1-3.3-{metric}")
    return files


def top(results: Results, out: Path) -> list[Path]:
    """Figure 3.7: accuracy by the information of the least informative feature used."""
    files: list[Path] = []
    for name in ("xwindows", "mushroom"):
        lines = []
        for method, label in (("plain", "without privacy"), ("oracle", "ε = 0.1")):
            spot: dict[str, Any] = {"experiment": "top", "data": name, "method": method}
            for metric, part in (("accuracy", "test"), ("train_accuracy", "training")):
                points = [(results.where(k=k, **spot)[0]["least"], results.estimate(metric, k=k, **spot))
                          for k in results.values("k", **spot)]  # fmt: skip
                lines.append(Line(f"{label}, {part} rows", points, method == "plain"))
        if any(line.points for line in lines):
            title = f"figure 3.7: {name}, features in order of their information"
            figure, axes = axes_of(title, "bits of the least informative feature used", "accuracy")
            draw_lines(axes, lines)
            add_legend(figure, axes)
            files += save_figure(figure, out, f"figure3.7-{name}")
    return files


def _lists(results: Results, name: str) -> dict[str, Any] | None:
    found = results.where(experiment="features", data=name)
    if not found:
        return None
    keys = ("information", "scores", "rates", "thresholded", "ranked_tables", "ranked_scores")
    return {**{key: np.array(json.loads(found[0][f"each_{key}"])) for key in keys}, "rows": int(found[0]["train_rows"])}


def portraits(results: Results, out: Path) -> list[Path]:
    """Figures 3.4, 3.5, 3.9 to 3.13, 3.16, 3.18 and A.1."""
    held = {name: lists for name in REAL if (lists := _lists(results, name)) is not None}
    if len(held) < len(REAL):
        return []
    files: list[Path] = []
    for number, names in (("3.4", THREE), ("3.13", REAL)):
        figure, axes = axes_of(f"figure {number}: the 100 most informative features", "rank", "bits")
        for name in names:
            axes.plot(np.sort(held[name]["information"])[::-1][:100], label=name)
        add_legend(figure, axes)
        files += save_figure(figure, out, f"figure{number}")
    for name in ("mushroom", "newsgroup"):
        figure, axes = axes_of(f"figure 3.5: {name}, crosses were thresholded in one run", "feature", "bits")
        for value, mark, label in ((0, "o", "kept"), (1, "x", "thresholded")):
            at = np.flatnonzero(held[name]["thresholded"] == value)
            axes.scatter(at, held[name]["information"][at], marker=mark, s=12, label=label)
        add_legend(figure, axes)
        files += save_figure(figure, out, f"figure3.5-{name}")
    figure, axes = axes_of("figure 3.9: sensitivity of the mutual information", "rows", "bits")
    rows = np.unique(np.logspace(0.4, 5, 60).astype(int))
    axes.plot(rows, [information_reach(int(n)) for n in rows])
    axes.set_xscale("log")
    files += save_figure(figure, out, "figure3.9")
    for key, label in (("ranked_tables", "Algorithm 2"), ("ranked_scores", "Algorithm 3")):
        figure, axes = axes_of(f"figure 3.10: XWindows, scores with the noise of {label}", "feature by rank", "bits")
        order = np.argsort(-held["xwindows"]["information"])
        axes.plot(held["xwindows"][key][order], linewidth=0.6, label=label)
        axes.plot(held["xwindows"]["information"][order], label="true")
        add_legend(figure, axes)
        files += save_figure(figure, out, f"figure3.10-{key}")
    for number, names, epsilon in (("3.11-3.12", ("xwindows", "newsgroup2"), 0.005),
                                   ("3.18", ("xwindows", "mushroom", "adult"), 0.05)):  # fmt: skip
        for by, key in (("mutual information", "information"), ("counts", "scores")):
            figure, axes = axes_of(
                f"figure {number}: chance of a feature by {by}, ε = {epsilon:g} each", "score", "chance"
            )
            for name in names:
                reach = information_reach(held[name]["rows"]) if key == "information" else 1.0
                score = held[name][key]
                axes.scatter(
                    score / score.max(), chances(score, reach, epsilon), s=8, label=f"{name} (score / largest)"
                )
            add_legend(figure, axes)
            files += save_figure(figure, out, f"figure{number}-{key}")
    for name in ("adult", "newsgroup"):
        figure, axes = axes_of(f"figure 3.16: {name}, both scores over their sums", "feature", "share")
        for by, key in (("mutual information", "information"), ("counts", "scores")):
            axes.plot(held[name][key] / held[name][key].sum(), linewidth=0.8, label=by)
        add_legend(figure, axes)
        files += save_figure(figure, out, f"figure3.16-{name}")
    for name in ("adult", "mushroom", "newsgroup2"):
        figure, axes = axes_of(f"figure A.1: {name}, rates of features", "feature", "rate in the class")
        for c in (0, 1):
            axes.scatter(range(held[name]["rates"].shape[1]), held[name]["rates"][c], s=6, label=f"class {c}")
        add_legend(figure, axes)
        files += save_figure(figure, out, f"figureA.1-{name}")
    return files
