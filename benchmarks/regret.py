"""The automatic choice beside each of the library's own kinds of models: what it loses against the best of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks import collected
from benchmarks.common import data_dir, line
from benchmarks.peers import environments, splits
from benchmarks.thresholds import HELD, MOST
from discreet import kinds
from discreet.errors import DataError, DiscreetError
from discreet_studies.data import DataSet, load

AUTO = "auto"
LEVELS = (0.1, 0.5, 1.0, 4.0)
FEW = 1_000  # rows: below, chance decides which kind is best
MEAN, WORST = 0.008, 0.05
Cell = dict[str, dict[int, float]]  # the scores of one table at one ε, by kind and seed


def run(
    data: str | None = None, seeds: int | None = None, folder: Path = Path("results"), datasets: Sequence[str] = (),
    epsilons: Sequence[float] = LEVELS, report: bool = False, **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure what the journal in `folder` lacks: AUC of two classes, else accuracy, on training rows held back.

    The tables are those of `benchmarks thresholds`. The best kind of a cell is found on half of the seeds and scored on
    the other half, and the other way round: the best of many noisy means is not as good as it looks.
    """
    own, more = data_dir(data), folder / collected.NAME
    places = [place for place in (own, more) if place is not None and (place / "datasets.json").exists()]
    if not places and not report:
        return [line("all data sets", None, "the data are not here: pass --data DIR, or run 'benchmarks collected'")]
    seeds = seeds or 4
    if seeds < 2:
        raise DataError("the best kind is found on half of the seeds and scored on the rest: --seeds must be 2 or more")
    journal, edition = folder / "regret.jsonl", environments.edition("discreet")
    folder.mkdir(parents=True, exist_ok=True)
    known = [json.loads(one) for one in journal.read_text().splitlines()] if journal.exists() else []
    done = {(one["data"], one["epsilon"], one["seed"], one["kind"]) for one in known if one["edition"] == edition}
    tables = [
        (place, name) for place in places for name, one in splits.entries(place).items() if place == more or one.fixed
    ]
    for seed, (place, name) in itertools.product(range(seeds), () if report else tables):
        todo = [
            task for task in itertools.product(epsilons, kinds.names()) if (name, task[0], seed, task[1]) not in done
        ]
        if not todo or (datasets and name not in datasets):
            continue
        table = load(place, name)
        with journal.open("a") as file:
            for epsilon, kind in todo:
                found = _measured(place, table, epsilon, seed, kind)
                known.append(
                    {"data": name, "epsilon": epsilon, "seed": seed, "kind": kind, "edition": edition, **found}
                )
                file.write(json.dumps(known[-1]) + "\n")
                file.flush()
    return _judged([one for one in known if report or one["edition"] == edition])


def _measured(place: Path, table: DataSet, epsilon: float, seed: int, kind: str) -> dict[str, Any]:
    """The score of one fit, or why there is none, and how many rows it had."""
    own = splits.split(place, table.name, len(table), seed)[0]
    fit, test = (part[:MOST] for part in train_test_split(own, test_size=HELD, random_state=seed))
    X, y = table.X, table.y
    try:
        made = kinds.find(kind).make(epsilon=epsilon, schema=table.schema, random_state=seed)
        made.fit(X[fit], y[fit])
        if hasattr(made, "predict_proba"):
            P = made.predict_proba(X[test])
        else:
            side = made.decision_function(X[test])
            P = np.column_stack([-side, side]) if side.ndim == 1 else side
    except DiscreetError as error:  # this kind of model has no room for such a table
        return {"score": None, "rows": len(fit), "why": str(error)}
    if len(table.schema.classes) == 2:
        return {"score": float(roc_auc_score(y[test], P[:, 1])), "rows": len(fit)}
    return {"score": float((made.classes_[P.argmax(axis=1)] == y[test]).mean()), "rows": len(fit)}


def _judged(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The regret of each cell, of all together, and the worst where there are rows enough."""
    cells: dict[tuple[str, float], Cell] = {}
    rows: dict[str, int] = {}
    for one in known:
        rows[one["data"]] = one["rows"]
        if one["score"] is not None:
            cells.setdefault((one["data"], one["epsilon"]), {}).setdefault(one["kind"], {})[one["seed"]] = one["score"]
    results, found = [], {}
    for (name, epsilon), cell in sorted(cells.items()):
        regret = crossed(cell)
        if regret is None:
            continue
        found[name, epsilon] = regret
        if regret > 0.02:
            best = max((kind for kind in cell if kind != AUTO), key=lambda kind: np.mean(list(cell[kind].values())))
            results.append(line(f"{name}, {rows[name]:,} rows, epsilon {epsilon:g}: {best}", regret, "regret"))
    if not found:
        return [line("all data sets", None, "nothing was measured yet")]
    many = {place: regret for place, regret in found.items() if rows[place[0]] >= FEW}
    mean = float(np.mean(list(found.values())))
    results.append(line(f"mean of {len(found)} cells", mean, "regret", f"<= {MEAN}", mean <= MEAN))
    if many:
        place, worst = max(many.items(), key=lambda one: one[1])
        what = f"worst of {len(many)} cells with {FEW:,} rows or more: {place[0]}, epsilon {place[1]:g}"
        results.append(line(what, worst, "regret", f"<= {WORST}", worst <= WORST))
    return results


def crossed(cell: Cell) -> float | None:
    """The best kind of half of the seeds against the automatic choice on the other half; the mean of both ways."""
    auto = cell.get(AUTO, {})
    seeds = sorted(auto)
    others = {kind: scores for kind, scores in cell.items() if kind != AUTO and sorted(scores) == seeds}
    if len(seeds) < 2 or not others:
        return None
    lost = []
    for these, those in ((seeds[::2], seeds[1::2]), (seeds[1::2], seeds[::2])):
        best = max(others, key=lambda kind: np.mean([others[kind][seed] for seed in these]))
        lost += [others[best][seed] - auto[seed] for seed in those]
    return float(np.mean(lost))
