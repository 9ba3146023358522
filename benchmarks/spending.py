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
from discreet.estimators import counts
from discreet.estimators.counts import ClassCounts, CountPlan, bought_counts
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import Budget
from discreet.resolution import fine
from discreet_studies.data import DataSet, load

LEVELS = (0.1, 0.5, 1.0, 4.0)
USUAL = "as it is"
FREE = float(1 / (1 - counts.FIRST - counts.MORE))  # times ε: the model has what it would have if counts cost nothing


@dataclass(frozen=True)
class Way:
    """A way to spend a budget: so many times ε, constants and functions that are forced, and settings of the fit.

    With several `kinds` each is fitted with an equal part of ε, and their probabilities are averaged.
    """

    times: float = 1.0
    kinds: tuple[str, ...] = ("auto",)
    forced: Mapping[tuple[Any, str], Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def _exact(values: Any, plan: CountPlan, sampler: Sampler) -> ClassCounts:
    """Counts without their noise under the certificate of noisy ones, to see what the noise costs: never a release."""
    return replace(bought_counts(values, plan, sampler), values=values.astype(np.float64))


WAYS = {
    USUAL: Way(),
    "counts for nothing": Way(FREE, forced={(counts, "ROUGH"): 0.0}),
    "counts without noise": Way(forced={(classifier, "bought_counts"): _exact}),
    "no calibration": Way(forced={(calibration, "START"): math.inf}),
    "looks for nothing": Way(forced={(fine, "shared"): lambda epsilon, share: (Budget(epsilon * share), epsilon)}),
    "bins of the schema": Way(settings={"bins": "schema"}),
    "two kinds averaged": Way(kinds=("naive-bayes", "additive")),
    "two fits averaged": Way(kinds=("auto", "auto")),
}
WAYS |= {
    f"counts by {float(share):.0%}": Way(forced={(classifier, "FIRST"): share, (counts, "ROUGH"): math.inf})
    for share in (Fraction(1, 100), Fraction(1, 50), Fraction(1, 25), Fraction(2, 25))
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
    rng, answers = np.random.default_rng([seed, 29]), []
    try:
        with forced(dict(way.forced)):
            for kind in way.kinds:
                state = seed if len(way.kinds) == 1 else rng  # fits of one way have noise of their own
                each = epsilon * way.times / len(way.kinds)
                made = PrivateClassifier(each, table.schema, kind, random_state=state, **way.settings)
                answers.append(made.fit(table.X[fit], table.y[fit]).predict_proba(table.X[test]))
    except DiscreetError as error:
        return {"score": None, "rows": len(fit), "why": str(error)}
    score = ranked(np.mean(answers, axis=0), made.classes_, table.y[test])[0]
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
    return results + worth(told) or [line("all data sets", None, "nothing was measured yet")]


def worth(told: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What counting with less is worth to a model, by how scores rise from one ε to the next."""
    scores: dict[tuple[str, bool], dict[float, list[float]]] = {}
    for one in told:
        if one["way"] == USUAL:
            scores.setdefault((one["data"], one["rows"] >= FEW), {}).setdefault(one["epsilon"], []).append(one["score"])
    levels, part, results = sorted({one["epsilon"] for one in told}), float(counts.SHARE - counts.FIRST), []
    for large, (low, high) in itertools.product((False, True), itertools.pairwise(levels)):
        cells = [found for (_, many), found in scores.items() if many == large and low in found and high in found]
        rises = [part * float(np.mean(one[high]) - np.mean(one[low])) / math.log(high / low) for one in cells]
        if len(rises) > 1:
            which = f"{len(rises)} tables of {'at least' if large else 'less than'} {FEW:,} rows"
            error = float(np.std(rises, ddof=1)) / math.sqrt(len(rises))
            what = f"{part:.0%} of epsilon between {low:g} and {high:g}, {which}"
            results.append(line(what, float(np.mean(rises)), f"worth ± {error:.5f}"))
    return results
