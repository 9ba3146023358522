"""What each part of the automatic choice's budget costs: fits in which it is bought for nothing, or with less."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import collected
from benchmarks.common import data_dir, line
from benchmarks.decisions import forced
from benchmarks.peers import environments, splits
from benchmarks.regret import FEW
from benchmarks.thresholds import held_back, ranked
from discreet import PrivateClassifier
from discreet.auto import classifier
from discreet.calibration import plan as calibration
from discreet.errors import DataError, DiscreetError
from discreet.estimators.counts import SHARE, ClassCounts, CountPlan, bought_counts
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import Budget
from discreet.resolution import fine
from discreet_studies.data import DataSet, load

LEVELS = (0.1, 0.5, 1.0, 4.0)
USUAL = "as it is"
FREE = 1 / (1 - float(SHARE))  # so many times ε leaves the model what it would have if counts cost nothing


@dataclass(frozen=True)
class Way:
    """A way to spend a budget: so many times ε, constants and functions that are forced, and settings of the fit."""

    times: float = 1.0
    forced: Mapping[tuple[Any, str], Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def _exact(values: Any, plan: CountPlan, sampler: Sampler) -> ClassCounts:
    """Counts without their noise under the certificate of noisy ones, to see what the noise costs: never a release."""
    return replace(bought_counts(values, plan, sampler), values=values.astype(np.float64))


WAYS = {
    USUAL: Way(),
    "counts for nothing": Way(FREE),
    "counts without noise": Way(forced={(classifier, "bought_counts"): _exact}),
    "no calibration": Way(forced={(calibration, "START"): math.inf}),
    "looks for nothing": Way(forced={(fine, "shared"): lambda epsilon, share: (Budget(epsilon * share), epsilon)}),
    "bins of the schema": Way(settings={"bins": "schema"}),
}
WAYS |= {
    f"counts by {share:.1%}": Way(forced={(classifier, "SHARE"): Fraction(str(share))}) for share in (0.01, 0.02, 0.08)
}


def run(
    data: str | None = None, seeds: int | None = None, folder: Path = Path("results"), datasets: Sequence[str] = (),
    epsilons: Sequence[float] = LEVELS, methods: Sequence[str] = (), report: bool = False, **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure what the journal in `folder` lacks on the tables of `benchmarks thresholds`: training rows held back.

    `methods` are the parts that are looked at. A difference is that of means over seeds, its error is over tables.
    """
    unknown = sorted(set(methods) - set(WAYS))
    if unknown:
        raise DataError(f"there is no part {unknown[0]!r}; there are {', '.join(WAYS)}")
    own, more = data_dir(data), folder / collected.NAME
    places = [place for place in (own, more) if place is not None and (place / "datasets.json").exists()]
    if not places and not report:
        return [line("all data sets", None, "the data are not here: pass --data DIR, or run 'benchmarks collected'")]
    journal, edition = folder / "spending.jsonl", environments.edition("discreet")
    folder.mkdir(parents=True, exist_ok=True)
    known = [json.loads(one) for one in journal.read_text().splitlines()] if journal.exists() else []
    done = {(one["data"], one["epsilon"], one["seed"], one["way"]) for one in known if one["edition"] == edition}
    tables = [
        (place, name) for place in places for name, one in splits.entries(place).items() if place == more or one.fixed
    ]
    wanted = [way for way in WAYS if not methods or way in methods or way == USUAL]
    for seed, (place, name) in itertools.product(range(seeds or 5), () if report else tables):
        todo = [task for task in itertools.product(epsilons, wanted) if (name, task[0], seed, task[1]) not in done]
        if not todo or (datasets and name not in datasets):
            continue
        table = load(place, name)
        with journal.open("a") as file:
            for epsilon, way in todo:
                found = _measured(place, table, epsilon, seed, way)
                known.append({"data": name, "epsilon": epsilon, "seed": seed, "way": way, "edition": edition, **found})
                file.write(json.dumps(known[-1]) + "\n")
    return judged([one for one in known if report or one["edition"] == edition])


def _measured(place: Path, table: DataSet, epsilon: float, seed: int, name: str) -> dict[str, Any]:
    """The score of one fit, how many rows it had and what was chosen."""
    fit, test = held_back(place, table, seed)
    way = WAYS[name]
    try:
        with forced(dict(way.forced)):
            made = PrivateClassifier(epsilon * way.times, table.schema, random_state=seed, **way.settings)
            made.fit(table.X[fit], table.y[fit])
            score = ranked(made, table, test)[0]
    except DiscreetError as error:
        return {"score": None, "rows": len(fit), "why": str(error)}
    return {"score": score, "rows": len(fit), "chose": made.choice_.model}


def judged(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far each way to spend is ahead of the usual one, by ε, on tables of few rows and of many."""
    told = [one for one in known if one["score"] is not None]
    scores = {(one["way"], one["data"], one["epsilon"], one["seed"]): one["score"] for one in told}
    gaps: dict[tuple[str, bool, float], dict[str, list[float]]] = {}
    for one in told:
        usual = scores.get((USUAL, one["data"], one["epsilon"], one["seed"]))
        if one["way"] != USUAL and usual is not None:
            place = (one["way"], one["rows"] >= FEW, one["epsilon"])
            gaps.setdefault(place, {}).setdefault(one["data"], []).append(one["score"] - usual)
    results = []
    for (way, large, epsilon), by_table in sorted(gaps.items()):
        means = [float(np.mean(some)) for some in by_table.values()]
        spread = means if len(means) > 1 else next(iter(by_table.values()))  # of one table, over seeds
        error = float(np.std(spread, ddof=1)) / math.sqrt(len(spread)) if len(spread) > 1 else math.nan
        which = f"{len(means)} tables of {'at least' if large else 'less than'} {FEW:,} rows"
        results.append(line(f"{way}, {which}, epsilon {epsilon:g}", float(np.mean(means)), f"gained ± {error:.4f}"))
    return results or [line("all data sets", None, "nothing was measured yet")]
