"""The report as pictures: each data set by ε, and how far methods get on the way to boosting without privacy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.peers.summary import metric_of
from benchmarks.peers.tables import CEILING, FLOOR, NAMES, Report
from benchmarks.peers.tasks import PEERS

STYLES: dict[str, dict[str, Any]] = {
    "auto": {"color": "#1b6ca8", "marker": "o"},
    "auto-delta": {"color": "#1b6ca8", "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    "dp-ebm": {"color": "#d1495b", "marker": "^"},
    "aim": {"color": "#8f5bb5", "marker": "v"},
    "diffprivlib": {"color": "#8a8a8a", "marker": "D"},
}
TITLES = {"auto": "this package, pure ε", "auto-delta": "this package, δ = 1e-6"}
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "discreet", "font.size": 9, "path.simplify": True}


def draw(report: Report, folder: Path) -> list[Path]:
    """Write one picture per data set and `summary.svg`; the same results give the same files."""
    import matplotlib
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with matplotlib.rc_context(SETTINGS):
        for name in report.names:
            figure = Figure(figsize=(4.2, 3.0), layout="constrained")
            _data_set(figure.subplots(), report, name)
            files.append(_saved(figure, folder / f"{name}.svg"))
        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        _summary(figure.subplots(), report)
        files.append(_saved(figure, folder / "summary.svg"))
    return files


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    text = path.read_text(encoding="utf-8")  # lines end where their text does
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")
    return path


def _methods() -> list[tuple[str, str, dict[str, Any]]]:
    return [(name, TITLES.get(name) or NAMES[name], STYLES[name]) for name in ("auto", "auto-delta", *PEERS)]


def _axis(axes: Any, report: Report) -> None:
    axes.set_xscale("log")
    axes.set_xticks(report.epsilons, [f"{epsilon:g}" for epsilon in report.epsilons])
    axes.minorticks_off()
    axes.set_xlabel("ε")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=7.5)


def _data_set(axes: Any, report: Report, name: str) -> None:
    """Means with two standard errors, between the larger class and the ceiling."""
    metric = metric_of(report.results["datasets"][name])
    for method, title, style in _methods():
        found = [(epsilon, report.best(name, epsilon, method)) for epsilon in report.epsilons]
        points = [(epsilon, cell[metric], cell[f"{metric}_error"] or 0.0) for epsilon, cell in found if cell]
        if points:
            levels, means, errors = zip(*points, strict=True)
            axes.errorbar(levels, means, [2 * error for error in errors], label=title, markersize=4, lw=1.2, **style)
    for method, line in ((CEILING, "-"), (FLOOR, ":")):
        value = report.cells.get((name, method, None), {}).get(metric)
        if value is not None:
            label = "boosting, no privacy" if method == CEILING else "larger class"
            axes.axhline(value, color="black", lw=0.8, linestyle=line, label=label)
    axes.set_ylabel("AUC" if metric == "auc" else "accuracy")
    axes.set_title(report.results["datasets"][name]["title"])
    _axis(axes, report)


def _summary(axes: Any, report: Report) -> None:
    """The mean share of the way over the data sets on which a method was measured at every ε."""
    for method, title, style in _methods():
        by_level = [report.shares(method, epsilon) for epsilon in report.epsilons]
        names = set(by_level[0]).intersection(*by_level[1:]) if by_level else set()
        if names:
            means = [sum(shares[name] for name in names) / len(names) for shares in by_level]
            axes.plot(report.epsilons, means, label=f"{title} ({len(names)} data sets)", markersize=4, lw=1.2, **style)
    axes.axhline(1.0, color="black", lw=0.8)
    axes.set_ylabel("share of the way from the larger class\nto boosting without privacy")
    _axis(axes, report)
