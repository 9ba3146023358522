"""Figures of explanations: bars of importances, steps with bands for numbers, bars for categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.domain import text
from discreet.errors import ModelError

if TYPE_CHECKING:
    from discreet.explanation.shapes import Explanation, Shape

COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b", "#17becf", "#d62728")
DENSITY = "how many rows have a value is private and not drawn"
WORDS = 18  # letters of a label
CATEGORIES = 16  # bars of one panel


def draw(found: Explanation, path: Any, most: int) -> Any:
    """The figure; it is written to `path` if that is given."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ModelError("figures need matplotlib: install it by pip install 'discreet[plot]'") from None
    shapes = found.shapes[:most]
    if found.contributions is not None:
        figure = Figure(figsize=(7.5, 1.6 + 0.3 * min(len(found.contributions) + 1, 26)), layout="constrained")
        _row(figure.subplots(), found)
    else:
        width = 3 if len(shapes) > 1 else 2
        height = -(-(len(shapes) + 1) // width)
        figure = Figure(figsize=(4.2 * width, 3.1 * height), layout="constrained")
        panels = np.atleast_1d(figure.subplots(height, width)).ravel()
        _importances(panels[0], found)
        for panel, shape in zip(panels[1:], shapes, strict=False):
            _shape(panel, shape, found)
        for panel in panels[len(shapes) + 1 :]:
            panel.set_axis_off()
        figure.suptitle(f"{found.target}: {found.model}", fontsize=11)
        figure.supxlabel(f"bands: {found.bands}; {DENSITY}", fontsize=8, color="#555555")
    FigureCanvasAgg(figure)
    if path is not None:
        try:
            figure.savefig(path)
        except ValueError as error:
            raise ModelError(f"{path}: {str(error).splitlines()[0]}") from None
    return figure


def _short(value: Any) -> str:
    words = "missing" if value is None else text(value)
    return words if len(words) <= WORDS else words[: WORDS - 1] + "…"


def _importances(panel: Any, found: Explanation) -> None:
    sizes = list(found.importances.items())[:15][::-1]
    panel.barh([_short(name) for name, _ in sizes], [size for _, size in sizes], color=COLOURS[0])
    panel.set_title("importance", fontsize=10)
    panel.set_xlabel(f"mean |effect| on the {found.unit}", fontsize=8)
    _plain(panel)


def _shape(panel: Any, shape: Shape, found: Explanation) -> None:
    panel.axhline(0, color="#999999", linewidth=0.8)
    (_number if shape.numeric else _category)(panel, shape, found)
    panel.set_title(_short(shape.name), fontsize=10)
    panel.set_ylabel(
        found.unit if len(found.classes) > 1 else f"{found.unit} of {_short(found.classes[0])}", fontsize=8
    )
    if len(found.classes) > 1:
        panel.legend([_short(name) for name in found.classes[: len(COLOURS)]], fontsize=6, frameon=False)
    _plain(panel)


def _number(panel: Any, shape: Shape, found: Explanation) -> None:
    there = [i for i, value in enumerate(shape.at) if value is not None]
    at = np.array([shape.at[i] for i in there], float)
    lines = []
    for line, colour in zip(range(len(shape.values)), COLOURS, strict=False):
        values = shape.values[line, there]
        lines += panel.step(at, values, where="mid", color=colour, linewidth=1.6)
        if shape.error is not None:
            error = shape.error[line, there]
            panel.fill_between(at, values - error, values + error, step="mid", color=colour, alpha=0.2, linewidth=0)
    for line in range(min(len(shape.values), len(COLOURS))):
        if len(there) < len(shape.at):  # the missing cell, as a mark at the right edge
            panel.plot([at[-1]], [shape.values[line, -1]], marker="x", color=COLOURS[line], linestyle="")
    if len(there) < len(shape.at):
        panel.annotate("missing ×", (0.99, 0.02), xycoords="axes fraction", ha="right", fontsize=7, color="#555555")


def _category(panel: Any, shape: Shape, found: Explanation) -> None:
    sizes = np.abs(shape.values).max(axis=0)
    shown = np.sort(np.argsort(-sizes, kind="stable")[:CATEGORIES])
    count = min(len(shape.values), len(COLOURS))
    for line in range(count):
        place = np.arange(len(shown)) + (line - (count - 1) / 2) * 0.8 / count
        error = None if shape.error is None else shape.error[line, shown]
        panel.bar(place, shape.values[line, shown], width=0.8 / count, color=COLOURS[line], yerr=error, capsize=2,
                  error_kw={"linewidth": 0.8})  # fmt: skip
    long = len(shown) > 4
    panel.set_xticks(np.arange(len(shown)), [_short(shape.at[i]) for i in shown], rotation=60 if long else 0,
                     ha="right" if long else "center", rotation_mode="anchor" if long else "default")  # fmt: skip
    if len(shown) < len(shape.at):
        panel.annotate(f"{len(shown)} largest of {len(shape.at)}", (0.99, 0.97), xycoords="axes fraction", ha="right",
                       va="top", fontsize=7, color="#555555")  # fmt: skip


def _row(panel: Any, found: Explanation) -> None:
    assert found.contributions is not None and found.row is not None
    line = int(
        np.argmax([abs(sum(part[k] for part in found.contributions.values())) for k in range(len(found.classes))])
    )
    order = sorted(found.contributions.items(), key=lambda one: abs(one[1][line]))[-25:]
    values = [part[line] for _, part in order]
    names = [f"{_short(name)} = {_short(found.row[name])}" for name, _ in order]
    panel.barh(names, values, color=[COLOURS[0] if value < 0 else COLOURS[1] for value in values])
    panel.axvline(0, color="#999999", linewidth=0.8)
    total = found.start[line] + sum(part[line] for part in found.contributions.values())
    panel.set_title(
        f"{found.unit} of {_short(found.classes[line])}: {total:.3g}, of which {found.start[line]:.3g} is the start",
        fontsize=10,
    )
    panel.set_xlabel(f"what each value adds to the {found.unit}", fontsize=8)
    _plain(panel)


def _plain(panel: Any) -> None:
    panel.tick_params(labelsize=7)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
