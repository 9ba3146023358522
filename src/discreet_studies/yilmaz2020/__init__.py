"""yilmaz2020: Naive Bayes under local privacy, run again with one report per person."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from discreet_studies.figures import Line, accuracy_against_epsilon
from discreet_studies.published.yilmaz2020 import THETA
from discreet_studies.results import Results
from discreet_studies.study import Study
from discreet_studies.yilmaz2020.claims import CLAIMS
from discreet_studies.yilmaz2020.experiments import CONTINUOUS_DATA, DATA, DISCRETE_DATA, FEATURES, execute, tasks
from discreet_studies.yilmaz2020.methods import (
    METHODS,
    OURS_BUCKETS,
    OURS_DISCRETE,
    OURS_GAUSSIAN,
    PAPER_ALL,
    PAPER_BUCKETS,
    PAPER_DISCRETE,
    PAPER_GAUSSIAN,
    PUBLIC_SHARE,
)

PROJECTED = {"none": "all features", "pca": "PCA", "dca": "DCA"}
CHANGES = (
    "One report per person about one of n + 1 inputs, as the paper's text has it. Its printed accuracies are out of "
    "reach that way; they appear if everybody reports every input with the whole ε each, which costs (n + 1)·ε. Those "
    "runs are marked as not private.",
    "The library combines the class prior from all inputs by inverse variance, moves every table to it and projects it "
    "on the simplex; as published the prior comes from its own input alone and negative estimates (here zero too) "
    "become 1.",
    f"THE uses p = 1 − ½·e^((ε/2)(θ−1)) with θ = {THETA}; the printed exponent has the wrong sign.",
    "Oracles beyond the paper: OLH, subset selection, Hadamard response, and per input the one of lowest variance.",
    "Feature ranges are known, as in the paper: numbers are scaled by them at no cost. As published the directions of "
    "PCA and DCA come from the private rows, and projections are scaled by their own extremes. "
    f"The sound methods take bounds and directions from {PUBLIC_SHARE:.0%} of the training rows, treated "
    "as public and left out of the reports.",
    "Approach 2 hides the class by one bit for each element of the vector of classes: ε-private as it stands, because "
    "the two elements that a changed class touches share the ratio e^ε. The library's one-bit mechanism reports the "
    "sign together with the class instead.",
    "A variance that comes out negative is not mentioned in the paper: as published it becomes 1e-4 (of numbers in "
    "−1 … 1). The paper reports squares in −1 … 1 although they fill half of that; the library stretches them.",
    "All 14 columns of Australian are read as numbers, as in the paper, categories by their code.",
    "The figures' values are not in the paper's text, so only its sentences are judged.",
    "DCA: ridge of 1 % of the mean variance within classes; dimensions beyond (classes − 1) are principal ones of what "
    "is left over.",
    "80 % of the rows train and 20 % test, drawn anew for every repeat; all methods meet the same splits.",
)


def lines(results: Results, names: tuple[str, ...], label: str = "", **spot: Any) -> list[Line]:
    """Accuracy over ε of some methods."""
    found = []
    for name in names:
        at = {"method": name, **spot}
        points = [(e, results.estimate(epsilon=e, **at)) for e in results.values("epsilon", **at) if math.isfinite(e)]
        title = METHODS[name].title + (f", {label}" if label else "")
        found.append(Line(title, points, dashed=not METHODS[name].private or name.startswith("paper")))
    return [line for line in found if line.points]


def levels(results: Results, names: tuple[str, ...], **spot: Any) -> dict[str, float]:
    """The accuracy of the baselines."""
    return {
        METHODS[name].title: results.estimate(method=name, **spot).mean
        for name in names
        if results.where(method=name, **spot)
    }


def draw(results: Results, out: Path) -> list[Path]:
    """Figures 2 to 4, and accuracy by dimensions, as far as there are results for them."""
    files: list[Path] = []
    for data in DISCRETE_DATA:
        spot: dict[str, Any] = {"experiment": "discrete", "data": data}
        base = levels(results, ("plain", "majority"), **spot)
        paper = lines(results, (*PAPER_DISCRETE, *PAPER_ALL), **spot)
        if paper:
            files += accuracy_against_epsilon(out, f"figure2-{data}", f"{data}: as published", paper, base)
        ours = lines(results, OURS_DISCRETE, **spot)
        if ours:
            files += accuracy_against_epsilon(out, f"oracles-{data}", f"{data}: the library's estimates", ours, base)
    for data in CONTINUOUS_DATA:
        for experiment, number, paper_names, our_names, plain in (
            ("buckets", 3, PAPER_BUCKETS, OURS_BUCKETS, "plain"),
            ("gaussian", 4, PAPER_GAUSSIAN, OURS_GAUSSIAN, "plain-gaussian"),
        ):
            for projection, label in PROJECTED.items():
                spot = {"experiment": experiment, "data": data, "projection": projection}
                shown = lines(results, (*paper_names, *our_names), **spot)
                if shown:
                    title = f"{data}: {experiment}, {label}"
                    name = f"figure{number}-{data}-{projection}"
                    files += accuracy_against_epsilon(out, name, title, shown, levels(results, (plain,), **spot))
    return files


def tables(results: Results) -> str:
    """Accuracy of every method per data set and ε, and the best dimensions."""
    text: list[str] = []
    for data in DISCRETE_DATA:
        names = ("plain", "majority", *PAPER_DISCRETE, *PAPER_ALL, *OURS_DISCRETE)
        text += _table(results, f"Accuracy on {data}", names, {"experiment": "discrete", "data": data})
    for data in CONTINUOUS_DATA:
        for projection, label in PROJECTED.items():
            text += _table(results, f"Buckets on {data}, {label}", ("plain", *PAPER_BUCKETS, *OURS_BUCKETS),
                           {"experiment": "buckets", "data": data, "projection": projection})  # fmt: skip
            text += _table(results, f"Bell curves on {data}, {label}",
                           ("plain-gaussian", *PAPER_GAUSSIAN, *OURS_GAUSSIAN),
                           {"experiment": "gaussian", "data": data, "projection": projection})  # fmt: skip
        text += _dimensions(results, data)
    text += _options(results, "theta", "THE by θ", "θ")
    text += _options(results, "rows", "Accuracy by share of the training rows", "share", "share")
    return "\n".join(text)


def _options(results: Results, experiment: str, title: str, label: str, option: str = "theta") -> list[str]:
    values = results.values(option, experiment=experiment)
    if not values:
        return []
    text = [f"## {title}", "", "| data, method | " + " | ".join(f"{label} = {v:g}" for v in values) + " |"]
    text.append("|---" * (len(values) + 1) + "|")
    for data in DISCRETE_DATA:
        for method in results.values("method", experiment=experiment, data=data):
            for epsilon in results.values("epsilon", experiment=experiment, data=data, method=method):
                spot: dict[str, Any] = {"experiment": experiment, "data": data, "method": method, "epsilon": epsilon}
                cells = [results.cell(**spot, **{option: value}) for value in values]
                text.append(f"| {data}, {METHODS[method].title}, ε = {epsilon:g} | " + " | ".join(cells) + " |")
    return [*text, ""]


def _table(results: Results, title: str, names: tuple[str, ...], spot: dict[str, Any]) -> list[str]:
    epsilons = [e for e in results.values("epsilon", **spot) if math.isfinite(e)]
    rows = []
    for name in names:
        cells = [_cell(results, {**spot, "method": name}, e) for e in epsilons]
        if any(cells):
            mark = "" if METHODS[name].private else " (not private)"
            rows.append(f"| {METHODS[name].title}{mark} | " + " | ".join(cells) + " |")
    if not rows:
        return []
    head = "| method | " + " | ".join(f"ε = {e:g}" for e in epsilons) + " |"
    return [f"## {title}", "", head, "|---" * (len(epsilons) + 1) + "|", *rows, ""]


def _cell(results: Results, spot: dict[str, Any], epsilon: float) -> str:
    return results.cell(**spot, epsilon=epsilon) or results.cell(**spot, epsilon=math.inf)


def _dimensions(results: Results, data: str) -> list[str]:
    spot: dict[str, Any] = {"experiment": "dimensions", "data": data}
    epsilons, rows = results.values("epsilon", **spot), []
    for method in ("paper-buckets-de", "buckets-auto"):
        for projection in ("pca", "dca"):
            at = {**spot, "method": method, "projection": projection}
            for epsilon in epsilons:
                cells = [_cell(results, {**at, "dims": dims}, epsilon)[:6] for dims in range(1, FEATURES[data] + 1)]
                if any(cells):
                    label = f"{METHODS[method].title}, {PROJECTED[projection]}, ε = {epsilon:g}"
                    rows.append(f"| {label} | " + " | ".join(cells) + " |")
    if not rows:
        return []
    head = "| method | " + " | ".join(str(dims) for dims in range(1, FEATURES[data] + 1)) + " |"
    return [f"## Buckets on {data} by dimensions", "", head, "|---" * (FEATURES[data] + 1) + "|", *rows, ""]


STUDY = Study(
    "yilmaz2020", data=DATA, tasks=tasks, execute=execute, claims=CLAIMS, draw=draw, tables=tables, changes=CHANGES,
    unsound="audit:control-yilmaz2020-every-input audit:control-yilmaz2020-projection",
)  # fmt: skip
