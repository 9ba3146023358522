"""Figures of thesis2015's selection part: accuracy against the number of features, chosen or parted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet_studies.figures import Line, add_legend, axes_of, draw_lines, save_figure
from discreet_studies.results import Results
from discreet_studies.thesis2015.selection.data import REAL
from discreet_studies.thesis2015.selection.drawings import portraits, thresholds, top
from discreet_studies.thesis2015.selection.experiments import (
    BASELINES,
    PARTED,
    PARTED_DATA,
    SOUND,
    TITLES,
    UNSOUND,
)


def draw(results: Results, out: Path) -> list[Path]:
    """All figures that the results allow."""
    files: list[Path] = []
    for name in REAL:
        for epsilon in results.values("epsilon", experiment="selection", data=name, method="all"):
            files += _selection(results, out, name, epsilon)
    for name in PARTED_DATA:
        lines = [
            _line(results, method, method, method.startswith("plain"), experiment="partition", data=name)
            for method in PARTED
        ]
        files += _draw(
            out,
            f"partition-{name}",
            f"{name}: one feature per part of the rows, ε = {PARTED_DATA[name]:g}",
            "features",
            lines,
        )
    return [*files, *thresholds(results, out), *top(results, out), *portraits(results, out)]


def _line(results: Results, method: str, title: str, dashed: bool, **spot: Any) -> Line:
    grid = results.values("k", method=method, **spot)
    return Line(title, [(k, results.estimate(method=method, k=k, **spot)) for k in grid], dashed)


def _selection(results: Results, out: Path, data: str, epsilon: float) -> list[Path]:
    spot: dict[str, Any] = {"experiment": "selection", "data": data, "epsilon": epsilon}
    lines = [_line(results, method, TITLES[method], method in UNSOUND, **spot) for method in (*SOUND, *UNSOUND)]
    levels = {TITLES[method]: results.estimate(method=method, **spot).mean for method in BASELINES}
    for row in results.where(experiment="selection", data=data, method="plain"):
        levels[TITLES["plain"]] = row["accuracy"]
    title = f"{data}: features chosen and trained on at ε = {epsilon:g} in all (dashed: not private)"
    return _draw(out, f"selection-{data}-{epsilon:g}", title, "features", lines, levels)


def _draw(
    out: Path, name: str, title: str, x: str, lines: list[Line], levels: dict[str, float] | None = None,
    *, log: bool = True,
) -> list[Path]:  # fmt: skip
    if not any(line.points for line in lines):
        return []
    figure, axes = axes_of(title, x, "accuracy")
    draw_lines(axes, lines)
    for style, (label, height) in zip((":", "-.", "--"), (levels or {}).items(), strict=False):
        axes.axhline(height, color="#555555", linewidth=1, linestyle=style, label=label)
    if log:
        axes.set_xscale("log")
    add_legend(figure, axes)
    return save_figure(figure, out, name)
