"""The constants of the automatic choice: measured on held-back training rows, chosen leave-one-table-out."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks import collected
from benchmarks.common import data_dir, line
from benchmarks.decisions import ARMS, PLENTY, RULES, Cell, Constants, Rule, forced
from benchmarks.peers import environments, splits
from discreet import PrivateClassifier
from discreet.additive import plan as additive
from discreet.auto import rule as auto
from discreet.errors import DataError, DiscreetError
from discreet.selection.kinds import WIDE
from discreet_studies.data import DataSet, load

MOST = 40_000  # rows of a table that are looked at: larger ones are far from all thresholds
HELD = 0.25  # of the training rows are scored; the test rows are left for the tables of docs/utility.md
LEVELS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)  # twice as dense as those of docs/utility.md: thresholds lie between


def run(
    data: str | None = None, seeds: int | None = None, folder: Path = Path("results"), datasets: Sequence[str] = (),
    epsilons: Sequence[float] = LEVELS, methods: Sequence[str] = (), report: bool = False, **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure what the journal in `folder` lacks, then choose constants: on all tables, and without each of them.

    `methods` are the decisions that are looked at, all of them by default; only their arms are fitted.
    Tables are those that `benchmarks collected` has written, and of the reference data those that come with a split:
    of the others every row is in some seed's test rows.
    """
    unknown = sorted(set(methods) - set(RULES))
    if unknown:
        raise DataError(f"there is no decision {unknown[0]!r}; there are {', '.join(RULES)}")
    rules = {what: rule for what, rule in RULES.items() if not methods or what in methods}
    wanted = [name for name in ARMS if any(name in rule.arms for rule in rules.values())]
    own, more = data_dir(data), folder / collected.NAME
    places = [place for place in (own, more) if place is not None and (place / "datasets.json").exists()]
    journal = folder / "thresholds.jsonl"
    if not places and not report:
        return [line("all data sets", None, "the data are not here: pass --data DIR, or run 'benchmarks collected'")]
    if report and not journal.exists():
        return [line("all data sets", None, f"nothing was measured yet: there is no {journal}")]
    folder.mkdir(parents=True, exist_ok=True)
    known = [json.loads(one) for one in journal.read_text().splitlines()] if journal.exists() else []
    done = {(one["data"], one["epsilon"], one["seed"], arm) for one in known for arm in one["asked"]}
    tables = [
        (place, name) for place in places for name, one in splits.entries(place).items() if place == more or one.fixed
    ]
    edition = environments.edition("discreet")
    for seed, (place, name) in itertools.product(range(seeds or 5), tables if not report else ()):
        todo = {e: [arm for arm in wanted if (name, e, seed, arm) not in done] for e in epsilons}
        if not any(todo.values()) or (datasets and name not in datasets):
            continue
        table = load(place, name)
        for epsilon, arms in todo.items():
            if not arms:
                continue
            found = _measured(place, table, epsilon, seed, arms)
            known.append({"data": name, "epsilon": epsilon, "seed": seed, "edition": edition, "asked": arms, **found})
            with journal.open("a") as file:
                file.write(json.dumps(known[-1]) + "\n")
    names = {one["data"] for one in known} if report else {name for _, name in tables}
    known = [one for one in known if one["data"] in names]
    editions = len({one.get("edition") for one in known})
    cells = _cells(known)
    told = line(f"fits by {editions} version(s) of the code, tables", len(names & {c["data"] for c in cells}), "tables")
    return [told] + [found for what, rule in rules.items() for found in _chosen(what, rule, cells)]


def _measured(place: Path, table: DataSet, epsilon: float, seed: int, arms: Sequence[str]) -> Cell:
    """What is public of a fit, and the score of each arm on training rows that were held back."""
    fit, test = held_back(place, table, seed)
    X, y, schema = table.X, table.y, table.schema
    scores: dict[str, float] = {}
    facts: Constants = {"numbers": len(schema.numeric)}
    for name in arms:
        arm = ARMS[name]
        if not _asked(name, schema, len(fit) * epsilon):
            continue
        try:
            with forced(arm.forced), _promised(facts):
                made = PrivateClassifier(epsilon, schema, arm.kind, random_state=seed, delta=arm.delta)
                P = made.fit(X[fit], y[fit]).predict_proba(X[test])
        except DiscreetError:  # this kind of model has no room for such a table
            continue
        ranks, hits = ranked(P, made.classes_, y[test])
        # A calibration of two classes leaves ranks as they are: what it is for counts as much as what it takes away.
        scores[name] = (ranks + hits) / 2 if name.startswith("calibrated") else ranks
        if name.startswith("counted, blunt"):  # probabilities are what that is about
            sure = np.clip(P[np.arange(len(test)), np.searchsorted(made.classes_, y[test])], 1e-6, 1)
            scores[name] += float(np.log(sure).mean())
        facts |= {**made.choice_.facts, "largest": made.counts_.largest(auto.DOUBT)}
    return {"scores": scores, "facts": facts}


def held_back(place: Path, table: DataSet, seed: int) -> tuple[Any, Any]:
    """Training rows to fit on, and those that are held back to score."""
    own = splits.split(place, table.name, len(table), seed)[0]
    fit, test = (part[:MOST] for part in train_test_split(own, test_size=HELD, random_state=seed))
    return fit, test


def ranked(P: Any, classes: Any, y: Any) -> tuple[float, float]:
    """AUC of two classes, else accuracy; and accuracy."""
    hits = float((classes[P.argmax(axis=1)] == y).mean())
    return (float(roc_auc_score(y, P[:, 1])) if len(classes) == 2 else hits), hits


@contextmanager
def _promised(facts: Constants) -> Iterator[None]:
    """Note what normal noise promises in the first fit of weights that compares it."""
    compared = additive.gain

    def noted(*errors: float) -> float:
        found = compared(*errors)
        facts.setdefault("gain", found)
        return found

    with forced({(additive, "gain"): noted}):
        yield


def _asked(name: str, schema: Any, weight: float) -> bool:
    """Whether an arm may decide anything on such a table; `weight` is rows times ε."""
    two, numbers = len(schema.classes) == 2, len(schema.numeric)
    if name.endswith((" bins", " edges")) or name.startswith(("counted, read", "counted, blunt")):
        return numbers > 0
    if name.endswith(" apart"):
        return numbers > 0 and not two
    if name.startswith("share less"):
        return len(schema.features) >= WIDE
    if "more from" in name:
        return numbers > 0 and weight >= PLENTY[0] * len(schema.classes) * len(schema.features)
    if "fine" in name:
        return numbers > 0 and weight >= (1000 if two else 500) * numbers
    if "pooled" in name:
        return numbers > 1 and 2 * numbers >= len(schema.features)
    if name in {"fitted, K-norm", "fitted, normal", "with a delta"} or name.startswith("shapes"):
        return two
    return True


def _cells(known: list[Cell]) -> list[Cell]:
    """The means over seeds."""
    fits: dict[tuple[str, float, int], Cell] = {}
    for one in known:
        fit = fits.setdefault((one["data"], one["epsilon"], one["seed"]), {"scores": {}, "facts": {}})
        fit["scores"] |= one["scores"]
        fit["facts"] |= one["facts"]
    groups: dict[tuple[str, float], list[Cell]] = {}
    for (name, epsilon, _), fit in fits.items():
        groups.setdefault((name, epsilon), []).append(fit)
    found = []
    for (name, epsilon), some in groups.items():
        arms = [arm for arm in ARMS if all(arm in one["scores"] for one in some)]
        means = {arm: float(np.mean([one["scores"][arm] for one in some])) for arm in arms}
        facts = {key: float(np.mean([one["facts"].get(key, 0.0) for one in some])) for key in some[0]["facts"]}
        found.append({"data": name, "epsilon": epsilon, "scores": means, "facts": facts})
    return found


def _chosen(what: str, rule: Rule, every: list[Cell]) -> list[dict[str, Any]]:
    """The constants that lose least on all tables, and what those chosen without a table lose on it."""
    cells = [cell for cell in every if sum(arm in cell["scores"] for arm in rule.arms) > 1]
    names, tried = sorted({cell["data"] for cell in cells}), rule.tried()
    if not names:
        return []
    of = {name: [cell for cell in cells if cell["data"] == name] for name in names}
    lost = np.array([rule.losses(of[name], tried) for name in names])
    usual = [max(c["scores"][a] for a in rule.arms if a in c["scores"]) - c["scores"][rule.arms[0]] for c in cells]
    weights = [1 / len(of[cell["data"]]) for cell in cells]
    in_use = float(np.mean([rule.losses(of[name], [rule.own()])[0] for name in names]))

    def best(sums: np.ndarray) -> int:
        """The point that loses least; of those that are level, one in the middle."""
        level = np.flatnonzero(sums <= sums.min() + 1e-12)
        return int(level[len(level) // 2])

    held, results = [], []
    for name, own in zip(names, lost, strict=True):
        point = best(lost.sum(axis=0) - own)
        held.append(float(own[point]))
        results.append(line(f"{what}, without {name}: {_words(tried[point])}", held[-1], "held-out regret"))
    point = best(lost.sum(axis=0))
    results.append(line(f"{what}, held out", float(np.mean(held)), "mean held-out regret"))
    results.append(line(f"{what}, all: {_words(tried[point])}", float(lost[:, point].mean()), "fitted regret"))
    results.append(line(f"{what}, in use: {_words(rule.own())}", in_use, "regret"))
    results.append(line(f"{what}, never", float(np.average(usual, weights=weights)), "regret"))
    return results


def _words(constants: Constants) -> str:
    return " ".join(f"{key} {value:g}" for key, value in constants.items())
