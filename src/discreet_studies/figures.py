"""Figures: accuracy against ε with error bars and run time against n on log-log axes, as PNG and SVG."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.files import replacing
from discreet_studies import StudyError
from discreet_studies.results import Estimate

Points = Sequence[tuple[float, Estimate]]
# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#999999", "#5E3C99")
MARKERS = "osD^vPX*<>"


@dataclass(frozen=True)
class Line:
    """A named series; a dashed one is of a method that is not private."""

    name: str
    points: Points
    dashed: bool = False


def require_matplotlib() -> None:
    """Raise the error that names the extra if figures cannot be drawn."""
    if importlib.util.find_spec("matplotlib") is None:
        raise StudyError("figures need matplotlib, which is not installed: pip install 'discreet[plot]'")


def axes_of(title: str, x: str, y: str) -> tuple[Any, Any]:
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, which="major", alpha=0.3)
    return figure, axes


def draw_lines(axes: Any, lines: Sequence[Line]) -> None:
    for index, line in enumerate(lines):
        if not line.points:
            continue
        xs = [x for x, _ in line.points]
        means = [one.mean for _, one in line.points]
        errors = [one.error if math.isfinite(one.error) else 0.0 for _, one in line.points]
        axes.errorbar(
            xs, means, yerr=errors, label=line.name, capsize=2, markersize=4, linewidth=1.2,
            color=COLOURS[index % len(COLOURS)], marker=MARKERS[index % len(MARKERS)],
            linestyle="--" if line.dashed else "-",
        )  # fmt: skip


def save_figure(figure: Any, out: Path, name: str) -> list[Path]:
    import matplotlib as mpl

    files = [out / f"{name}.png", out / f"{name}.svg"]
    for file in files:  # the same results make the same file, and text in it stays text
        date = {"metadata": {"Date": None}} if file.suffix == ".svg" else {}
        with replacing(file) as temporary, mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
            figure.savefig(temporary, format=file.suffix[1:], dpi=150, **date)
    return files


def accuracy_against_epsilon(
    out: Path, name: str, title: str, lines: Sequence[Line], levels: Mapping[str, float] | None = None
) -> list[Path]:
    """Accuracy over a logarithmic ε axis, one standard error either way; `levels` are horizontal references."""
    figure, axes = axes_of(title, "ε in all", "accuracy")
    draw_lines(axes, lines)
    for style, (label, level) in zip((":", "-.", "--"), (levels or {}).items(), strict=False):
        axes.axhline(level, color="#555555", linewidth=1, linestyle=style, label=label)
    axes.set_xscale("log")
    add_legend(figure, axes)
    return save_figure(figure, out, name)


def time_against_rows(out: Path, name: str, title: str, lines: Sequence[Line]) -> list[Path]:
    """Seconds over rows, both axes logarithmic."""
    figure, axes = axes_of(title, "rows", "seconds to fit")
    draw_lines(axes, lines)
    axes.set_xscale("log")
    axes.set_yscale("log")
    add_legend(figure, axes)
    return save_figure(figure, out, name)


def add_legend(figure: Any, axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        figure.legend(fontsize="x-small", loc="outside right upper")
