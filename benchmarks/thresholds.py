"""The constants of the automatic choice: measured on held-back training rows, chosen leave-one-table-out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.common import data_dir, line
from benchmarks.peers import splits
from benchmarks.peers.bars import EPSILONS
from discreet import PrivateClassifier
from discreet.auto import choose
from discreet_studies.data import DataSet, load

KINDS = ("naive-bayes", "selective", "additive")
MOST = 40_000  # rows of a table that are looked at: larger ones are far from all thresholds
HELD = 0.25  # of the training rows are scored; the test rows are left for the tables of docs/utility.md
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "selective": {
        "WIDE": (12, 18, 24, 32),
        "LOST": (0.5, 1, 2),
        "SCARCE": (2, 4, 8, 12, 16),
        "LOPSIDED": (0.55, 0.6, 0.68, 0.8, 1.0),
    },
    "additive": {
        "BINARY": (6, 8, 10, 15, 20, 25, 30),
        "SEVERAL": (8, 12, 20, 30, 40, 60),
        "BINARY_NUMBERS": (6, 8, 10, 15, 20, 25),
        "SEVERAL_NUMBERS": (8, 12, 20, 30, 40),
    },
}
Cell = dict[str, Any]


def run(
    data: str | None = None, seeds: int | None = None, folder: Path = Path("results"), datasets: Sequence[str] = (),
    report: bool = False, **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure what the journal in `folder` lacks, then choose constants: on all tables, and without each of them."""
    place = data_dir(data)
    if place is None:
        return [line("all data sets", None, "the data are not here: pass --data DIR")]
    folder.mkdir(parents=True, exist_ok=True)
    journal = folder / "thresholds.jsonl"
    known = [json.loads(one) for one in journal.read_text().splitlines()] if journal.exists() else []
    done = {(one["data"], one["epsilon"], one["seed"]) for one in known}
    for name in splits.entries(place) if not report else ():
        todo = [(e, s) for e in EPSILONS for s in range(seeds or 5) if (name, e, s) not in done]
        if not todo or (datasets and name not in datasets):
            continue
        table = load(place, name)
        for epsilon, seed in todo:
            known.append({"data": name, "epsilon": epsilon, "seed": seed, **_measured(place, table, epsilon, seed)})
            with journal.open("a") as file:
                file.write(json.dumps(known[-1]) + "\n")
    cells = _cells(known)
    return [found for what, rule in RULES.items() for found in _chosen(what, GRIDS[what], rule, cells)]


def _measured(place: Path, table: DataSet, epsilon: float, seed: int) -> Cell:
    """What is public of a fit, and the score of each kind on training rows that were held back."""
    own = splits.split(place, table.name, len(table), seed)[0]
    fit, test = (part[:MOST] for part in train_test_split(own, test_size=HELD, random_state=seed))
    X, y, schema = table.X, table.y, table.schema
    scores, facts = {}, {}
    for kind in KINDS:
        made = PrivateClassifier(epsilon, schema, kind, random_state=seed).fit(X[fit], y[fit])
        P = made.predict_proba(X[test])
        if len(schema.classes) == 2:
            scores[kind] = float(roc_auc_score(y[test], P[:, 1]))
        else:
            scores[kind] = float((made.classes_[P.argmax(axis=1)] == y[test]).mean())
        facts = {**made.choice_.facts, "numbers": len(schema.numeric), "largest": float(made.counts_.shares.max())}
    auto = choose(schema, made.counts_, epsilon * 0.96).model
    return {"scores": scores, "facts": facts, "auto": auto}


def _cells(known: list[Cell]) -> list[Cell]:
    """The means over seeds, without cells that other kinds take: joint grids, trees of pairs, weights of pairs."""
    groups: dict[tuple[str, float], list[Cell]] = {}
    for one in known:
        groups.setdefault((one["data"], one["epsilon"]), []).append(one)
    found = []
    for (name, epsilon), some in groups.items():
        if some[0]["auto"] in KINDS:
            means = {kind: float(np.mean([one["scores"][kind] for one in some])) for kind in KINDS}
            facts = {key: float(np.mean([one["facts"][key] for one in some])) for key in some[0]["facts"]}
            found.append({"data": name, "epsilon": epsilon, "scores": means, "facts": facts})
    return found


def chosen_first(facts: dict[str, float], WIDE: float, LOST: float, SCARCE: float, LOPSIDED: float) -> str:
    """The line of `discreet.selection.kinds`."""
    each = facts["rows"] * facts["epsilon"] / facts["features"]
    worth = facts["features"] >= WIDE and (each < LOST or (each < SCARCE and facts["largest"] < LOPSIDED))
    return "selective" if worth else "naive-bayes"


def fitted_together(
    facts: dict[str, float], BINARY: float, SEVERAL: float, BINARY_NUMBERS: float, SEVERAL_NUMBERS: float
) -> str:
    """The line of `discreet.additive.kinds`."""
    two, numbers = facts["classes"] == 2, 2 * facts["numbers"] >= facts["features"]
    bar = (BINARY_NUMBERS if two else SEVERAL_NUMBERS) if numbers else (BINARY if two else SEVERAL)
    return "additive" if facts["support"] >= bar else "naive-bayes"


RULES: dict[str, Callable[..., str]] = {"selective": chosen_first, "additive": fitted_together}


def _regret(what: str, rule: Callable[..., str], constants: dict[str, float], cells: list[Cell]) -> float:
    """How much the better of two kinds is ahead of the chosen one: the mean over tables of the mean over ε."""
    lost: dict[str, list[float]] = {}
    for cell in cells:
        scores = cell["scores"]
        gap = max(scores["naive-bayes"], scores[what]) - scores[rule(cell["facts"], **constants)]
        lost.setdefault(cell["data"], []).append(gap)
    return float(np.mean([np.mean(one) for one in lost.values()])) if lost else 0.0


def _chosen(
    what: str, grid: dict[str, tuple[float, ...]], rule: Callable[..., str], cells: list[Cell]
) -> list[dict[str, Any]]:
    """The constants that lose least on all tables, and what those chosen without a table lose on it."""
    tried = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]

    def best(some: list[Cell]) -> dict[str, float]:
        losses = [_regret(what, rule, one, some) for one in tried]
        good = [one for one, loss in zip(tried, losses, strict=True) if loss <= min(losses) + 1e-12]
        return good[len(good) // 2]  # of those that are level, one in the middle

    held = []
    results = []
    for name in sorted({cell["data"] for cell in cells}):
        others = best([cell for cell in cells if cell["data"] != name])
        held.append(_regret(what, rule, others, [cell for cell in cells if cell["data"] == name]))
        results.append(line(f"{what}, without {name}: {_words(others)}", held[-1], "held-out regret"))
    everything = best(cells)
    results.append(line(f"{what}, held out", float(np.mean(held or [0.0])), "mean held-out regret"))
    results.append(line(f"{what}, all: {_words(everything)}", _regret(what, rule, everything, cells), "fitted regret"))
    return results


def _words(constants: dict[str, float]) -> str:
    return " ".join(f"{key} {value:g}" for key, value in constants.items())
