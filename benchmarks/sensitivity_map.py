"""A map: looseness of the bounds × rows per class × ε, and which release of a mean and variance errs least there."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import line
from discreet import Numeric, PrivateNB, Schema, SmoothSettings, collect
from discreet.bayes.estimate import estimate
from discreet.bayes.smooth import release_staged
from discreet.mechanisms.noise import SimulationSampler

DELTA = 1e-6
METHODS: dict[str, dict[str, Any]] = {
    "global": {},
    "smooth, student-t": {"smooth": SmoothSettings()},
    "smooth, laplace-log-normal": {"smooth": SmoothSettings(noise="laplace-log-normal"), "delta": DELTA},
    "bun-steinke": {"smooth": SmoothSettings(estimator="bun-steinke")},
    "auto": {"smooth": SmoothSettings("auto")},
    "auto, spread declared": {"smooth": SmoothSettings("auto")},
}
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#8172b3")
SHAPES = ("bell", "zeros and a tail")
HELD_OUT = ("two humps", "lopsided")  # shapes that nobody looked at while the rule of "auto" was made
LOOSENESS = (4, 16, 64, 256)  # half range over standard deviation
ROWS = (200, 1000, 10_000, 100_000)
EPSILONS = (0.3, 1.0, 4.0)


def draw(shape: str, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of equal size; numbers of standard deviation about 1 whose means lie about 1 apart."""
    label = np.repeat([0, 1], rows)
    if shape == "bell":
        return rng.normal(size=2 * rows) + label, label
    if shape == "two humps":
        return rng.choice([-1.2, 1.2], 2 * rows, p=[0.6, 0.4]) + rng.normal(0, 0.4, 2 * rows) + label, label
    if shape == "lopsided":
        return rng.lognormal(0.0, 0.6, 2 * rows) * (1 + 0.8 * label), label
    # Like a capital gain: nine rows in ten are exactly zero, more of the others in class 1, with a long tail.
    paid = rng.random(2 * rows) < np.where(label == 1, 0.2, 0.05)
    return np.where(paid, rng.gamma(4.0, 0.6, 2 * rows), 0.0), label


def bounds(shape: str, looseness: int) -> tuple[float, float]:
    """Public bounds; the bell does not sit in their middle, and zeros sit at their lower end."""
    centred = shape in {"bell", "two humps"}
    return (-0.7 * looseness, 1.3 * looseness) if centred else (0.0, 2.0 * looseness)


def log_loss(prior: np.ndarray, bell: Any, values: np.ndarray, label: np.ndarray) -> float:
    """The mean log-loss of one bell curve per class."""
    joint = prior - 0.5 * np.log(bell.variance) - np.square(values[:, None] - bell.mean) / (2 * bell.variance)
    log_proba = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return float(-log_proba[np.arange(len(label)), label].mean())


def measure(shape: str, looseness: int, rows: int, epsilon: float, repeats: int) -> Iterator[dict[str, Any]]:
    """Median errors of mean and variance, and median and mean excess log-loss, of every method at one place."""
    rng = np.random.default_rng([(*SHAPES, *HELD_OUT).index(shape), looseness, rows])
    values, label = draw(shape, rows, rng)
    tests, answers = draw(shape, 5000, rng)
    lower, upper = bounds(shape, looseness)
    schema = Schema(features=[Numeric("x", lower, upper)], target="y", classes=[0, 1])
    tests = np.clip(tests, lower, upper)
    statistics = collect(values[:, None], schema, label, detail=("moments", "lattice"))
    plain = PrivateNB(math.inf, schema=schema, numeric="gaussian")
    prior, (twin,) = estimate(release_staged(statistics, plain.plan(), SimulationSampler(0)))
    floor = log_loss(prior, twin, tests, answers)
    for name, settings in METHODS.items():
        classifier = PrivateNB(epsilon, schema=schema, numeric="gaussian", **settings)
        if "declared" in name:
            classifier.set_params(smooth__spread={"x": float(np.sqrt(twin.variance.mean()))})
        plan = classifier.plan()
        errors = []
        for seed in range(repeats):
            released = release_staged(statistics, plan, SimulationSampler([seed, rows]))
            prior, (bell,) = estimate(released)
            errors.append(
                (
                    float(np.mean(np.abs(bell.mean - twin.mean) / np.sqrt(twin.variance))),
                    float(np.mean(np.abs(bell.variance / twin.variance - 1))),
                    log_loss(prior, bell, tests, answers) - floor,
                    float(bool(released.smooth)),
                )
            )
        table = np.array(errors)
        yield {
            "shape": shape, "looseness": looseness, "rows": rows, "epsilon": epsilon, "method": name,
            "mean error": float(np.median(table[:, 0])), "variance error": float(np.median(table[:, 1])),
            "excess log-loss": float(np.median(table[:, 2])), "mean excess log-loss": float(table[:, 2].mean()),
            "smooth chosen": float(table[:, 3].mean()),
        }  # fmt: skip


def winners(cells: list[dict[str, Any]], by: str) -> dict[tuple[Any, ...], str]:
    """The fixed method with the smallest error at each place."""
    places: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        if not cell["method"].startswith("auto"):
            key = (cell["shape"], cell["looseness"], cell["rows"], cell["epsilon"])
            places.setdefault(key, []).append(cell)
    return {key: min(group, key=lambda one: one[by])["method"] for key, group in places.items()}


def regrets(cells: list[dict[str, Any]], method: str, by: str) -> dict[tuple[Any, ...], float]:
    """How much worse `method` is than the better of global and smooth, where either is of any use."""
    table = {(c["shape"], c["looseness"], c["rows"], c["epsilon"], c["method"]): c[by] for c in cells}
    found = {}
    for key in {key[:4] for key in table}:
        best = min(table[(*key, "global")], table[(*key, "smooth, student-t")])
        found[key] = table[(*key, method)] - best
    return found


def figure(cells: list[dict[str, Any]], folder: Path) -> None:
    """Who wins where, by the model's log-loss, the mean and the variance; PNG and SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    fixed = [name for name in METHODS if not name.startswith("auto")]
    measures = ("excess log-loss", "mean error", "variance error")
    chart, axes = plt.subplots(
        len(measures) * len(SHAPES), len(EPSILONS), figsize=(10, 15), squeeze=False, layout="constrained"
    )
    for (row, (shape, by)), (column, epsilon) in itertools.product(
        enumerate(itertools.product(SHAPES, measures)), enumerate(EPSILONS)
    ):
        best, axis = winners(cells, by), axes[row][column]
        grid = [[fixed.index(best[shape, loose, rows, epsilon]) for loose in LOOSENESS] for rows in ROWS]
        axis.imshow(grid, cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=len(fixed) - 0.5, origin="lower")
        value = {(c["looseness"], c["rows"], c["method"]): c[by] for c in cells
                 if c["shape"] == shape and c["epsilon"] == epsilon}  # fmt: skip
        for (j, rows), (i, loose) in itertools.product(enumerate(ROWS), enumerate(LOOSENESS)):
            number = f"{value[loose, rows, fixed[grid[j][i]]]:.1g}"
            axis.text(i, j, number, ha="center", va="center", color="white", fontsize=7)
        axis.set_xticks(range(len(LOOSENESS)), [str(loose) for loose in LOOSENESS])
        axis.set_yticks(range(len(ROWS)), [f"{rows:g}" for rows in ROWS])
        axis.set_title(f"{shape}, epsilon = {epsilon:g}: {by}", fontsize=9)
        if column == 0:
            axis.set_ylabel("rows per class")
        axis.set_xlabel("half range / standard deviation")
    chart.legend(
        handles=[Patch(color=colour, label=name) for colour, name in zip(COLOURS, fixed, strict=True)],
        loc="outside upper center", ncols=len(fixed),
    )  # fmt: skip
    for suffix in ("png", "svg"):
        chart.savefig(folder / f"sensitivity_map.{suffix}", dpi=110)
    plt.close(chart)


def run(map_repeats: int = 15, folder: Path | str = "results", **_: Any) -> list[dict[str, Any]]:
    """Measure, write JSON and figures, and report wins and the regret of `sensitivity="auto"`."""
    cells = [
        cell
        for place in itertools.product((*SHAPES, *HELD_OUT), LOOSENESS, ROWS, EPSILONS)
        for cell in measure(*place, repeats=map_repeats)
    ]
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "sensitivity_map.json").write_text(json.dumps(cells, indent=1) + "\n")
    with contextlib.suppress(ImportError):  # without the extra "plot" the numbers are written all the same
        figure(cells, place)
    results = []
    for by in ("excess log-loss", "mean error", "variance error"):
        best = list(winners(cells, by).items())
        for shape in SHAPES:
            here = [name for key, name in best if key[0] == shape]
            share = ", ".join(f"{name} {here.count(name)}" for name in METHODS if name in here)
            results.append(line(f"{shape}, smallest {by}: {share}", float(len(here)), "places"))
    for method in ("auto", "auto, spread declared"):
        for shape in (*SHAPES, *HELD_OUT):
            found = {k: v for k, v in regrets(cells, method, "excess log-loss").items() if k[0] == shape}
            worst = max(found, key=lambda key: found[key])
            note = f"{shape}, held out" if shape in HELD_OUT else shape
            what = f"{method}, {note}: worst regret (at looseness {worst[1]}, {worst[2]} rows, epsilon {worst[3]:g})"
            results.append(line(what, found[worst], "nats of log-loss, median fit"))
            results.append(line(f"{method}, {note}: mean regret", float(np.mean(list(found.values()))), "nats"))
    return results
