"""From single fits to figures: means with standard errors, and who is ahead of whom on the same splits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.bars import bars
from benchmarks.peers.former import Former
from benchmarks.peers.tasks import FAMILY, OURS, PEERS

Row = Mapping[str, Any]
LEADERS = ("auto", "nb")  # the estimator that a user who chooses nothing gets: the first of these that was measured
SEPARATED = 2.0  # standard errors
FEWEST = 3  # seeds that a verdict needs
LARGE = 5_000


def summarise(
    rows: Sequence[Row], sets: Mapping[str, Mapping[str, Any]], former: Former | None = None
) -> dict[str, Any]:
    """All that the report says, from the lines of the journal and the facts of the data sets.

    Methods keep the cells of a former report on data sets on which no line is about them.
    """
    former = former or Former.none()
    fits = _by_cell(rows)
    fresh = {(name, method) for name, method, _ in fits}
    kept = former.kept(fresh, sets)
    cells = [_cell(key, found, sets[key[0]]) for key, found in fits.items()] + kept
    if kept:
        cells.sort(key=lambda cell: _place(cell["data"], cell["method"], cell["epsilon"]))
    ours = next((name for name in LEADERS if any(cell["method"] == name for cell in cells)), None)
    contests = [] if ours is None else list(_contests(ours, fits, cells, sets, former))
    told = former.editions({cell["method"] for cell in kept})
    editions = sorted({row["edition"] for row in rows}.union(*told.values()))
    found = {"editions": editions, "ours": ours, "datasets": dict(sets), "cells": cells, "contests": contests}
    if not kept:
        return found
    partly = {method for _, method in fresh}
    where: dict[str, list[str]] = {}
    for cell in kept:
        if cell["method"] in partly and cell["data"] not in where.setdefault(cell["method"], []):
            where[cell["method"]].append(cell["data"])
    return found | {"kept": told, "kept_on": where}


Key = tuple[str, str, float | None]
Fits = dict[Key, list[Row]]


def _by_cell(rows: Iterable[Row]) -> Fits:
    """The fits of every data set, method and ε, in the order of the seeds."""
    result: Fits = {}

    def place(row: Row) -> tuple[Any, ...]:
        return *_place(row["data"], row["method"], row["epsilon"]), row["seed"]

    for row in sorted(rows, key=place):
        result.setdefault((row["data"], row["method"], row["epsilon"]), []).append(row)
    return result


def _place(data: str, method: str, epsilon: float | None) -> tuple[str, int, float]:
    """Where a cell stands among others."""
    return data, list(FAMILY).index(method), math.inf if epsilon is None else epsilon


def _cell(key: Key, rows: list[Row], facts: Mapping[str, Any]) -> dict[str, Any]:
    good = [row for row in rows if row["error"] is None]
    cell: dict[str, Any] = {"data": key[0], "method": key[1], "epsilon": key[2], "seeds": len(good)}
    for metric in ("accuracy", "auc"):
        figures = [row[metric] for row in good if row[metric] is not None]
        mean, error = mean_and_error(figures)
        cell |= {metric: mean, f"{metric}_error": error}
    if good:
        cell["seconds"] = float(f"{np.median([row['seconds'] for row in good]):.3g}")
    notes = Counter(row["note"] for row in good if row.get("note"))
    if notes:
        cell["chose"] = dict(notes.most_common())
    bar = reached(cell, metric_of(facts)) if key[1] in OURS else None
    if bar is not None:
        cell |= {"goal": bar[0], "reached": bar[1]}
    errors = sorted({row["error"] for row in rows if row["error"] is not None})
    return cell | ({"failed": errors} if errors else {})


def mean_and_error(figures: Sequence[float]) -> tuple[float | None, float | None]:
    """The mean and its standard error, which a single figure does not have."""
    if not figures:
        return None, None
    error = np.std(figures, ddof=1) / math.sqrt(len(figures)) if len(figures) > 1 else None
    return round(float(np.mean(figures)), 5), None if error is None else round(float(error), 5)


def metric_of(facts: Mapping[str, Any]) -> str:
    """AUC for two classes, accuracy for more."""
    return "auc" if facts["classes"] == 2 else "accuracy"


def _contests(
    ours: str, fits: Fits, cells: list[dict[str, Any]], sets: Mapping[str, Mapping[str, Any]], former: Former
) -> Iterable[dict[str, Any]]:
    """Our estimator against itself with a δ, the best model of each other library, and Naive Bayes without privacy."""
    means = {(cell["data"], cell["method"], cell["epsilon"]): cell for cell in cells}

    def held(one: Key, other: Key, against: str, metric: str) -> dict[str, Any]:
        if one in fits and other in fits:
            return _contest(fits, one, other, against, metric)
        known = former.contest(one, other, against) if one not in fits and other not in fits else None
        return known or _apart(means, one, other, against, metric)

    for name, method, epsilon in means:
        if method != ours:
            continue
        metric = metric_of(sets[name])
        if (name, "auto-delta", epsilon) in means and ours == "auto":
            yield held((name, "auto-delta", epsilon), (name, ours, epsilon), "pure", metric)
        for library in PEERS:
            best = _best(cells, name, library, epsilon, metric)
            if best is not None:
                yield held((name, ours, epsilon), (name, best, epsilon), library, metric)
        best = _best(cells, name, "sklearn/bayes", None, "accuracy")
        if best is not None:
            yield held((name, ours, epsilon), (name, best, None), "bayes", "accuracy")


def _best(cells: list[dict[str, Any]], name: str, library: str, epsilon: float | None, metric: str) -> str | None:
    """The library's method with the highest mean: the choice by test scores is to the other side's advantage."""
    there = [
        cell
        for cell in cells
        if (cell["data"], cell["epsilon"]) == (name, epsilon)
        and cell["method"].startswith(library)
        and cell[metric] is not None
    ]
    return max(there, key=lambda cell: cell[metric])["method"] if there else None


def _contest(fits: Fits, one: Key, other: Key, against: str, metric: str) -> dict[str, Any]:
    """The mean difference over the seeds that both have; a fit without noise on a fixed split stands for all seeds."""
    left, right = ({r["seed"]: r[metric] for r in fits[key] if r["error"] is None} for key in (one, other))
    if other[2] is None and len(right) == 1:
        right = dict.fromkeys(left, next(iter(right.values())))
    gaps = [left[seed] - right[seed] for seed in left if seed in right]
    return _told(one, other, against, metric, *mean_and_error(gaps), len(gaps))


def _apart(means: Mapping[Key, Mapping[str, Any]], one: Key, other: Key, against: str, metric: str) -> dict[str, Any]:
    """The difference of two means of which one is a former report's, with the errors of both as independent.

    Where both have the same random splits that error is larger than that of the differences seed by seed.
    """
    left, right = means[one], means[other]
    alone = other[2] is None and right["seeds"] == 1  # without noise on a fixed split, it stands for all seeds
    errors = [left[f"{metric}_error"], 0.0 if alone else right[f"{metric}_error"]]
    known = left[metric] is not None and right[metric] is not None
    mean = round(left[metric] - right[metric], 5) if known else None
    error = None if None in errors else round(math.hypot(*errors), 5)
    seeds = left["seeds"] if alone else min(left["seeds"], right["seeds"])
    return _told(one, other, against, metric, mean, error, seeds) | {"paired": False}


def _told(
    one: Key, other: Key, against: str, metric: str, mean: float | None, error: float | None, seeds: int
) -> dict[str, Any]:
    return {
        "data": one[0],
        "epsilon": one[2],
        "against": against,
        "method": other[1],
        "metric": metric,
        "difference": mean,
        "error": error,
        "verdict": verdict(mean, error) if seeds >= FEWEST else "unknown",
    }


def verdict(difference: float | None, error: float | None) -> str:
    """Ahead, behind or level: told apart by two standard errors of the difference, or not."""
    if difference is None or error is None:
        return "unknown"
    if abs(difference) <= SEPARATED * error or difference == 0:
        return "level"
    return "ahead" if difference > 0 else "behind"


def reached(cell: Mapping[str, Any], metric: str) -> tuple[float, bool] | None:
    """The figure aimed at in a cell, and whether ours is there within two standard errors."""
    kind = "goal-delta" if cell.get("method") == "auto-delta" else "goal"
    bar = bars().get((cell["data"], cell["epsilon"]), {}).get(kind)
    if bar is None:
        return None
    if cell[metric] is None:
        return bar, False
    # The bars have three digits.
    return bar, round(cell[metric] + SEPARATED * (cell[f"{metric}_error"] or 0.0), 3) >= bar
