"""What a task of thesis2015's selection part does: blocks of selections and trainings on binary data."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.bernoulli import thresholded_estimate
from discreet.bayes.estimate import estimate
from discreet.bayes.likelihoods import TableLikelihood
from discreet.bayes.plan import make_plan
from discreet.bayes.release import release
from discreet.domain import exact
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.odds import Odds
from discreet.mechanisms.subsets import draw_mask
from discreet.privacy.budget import Adjacency, Budget
from discreet.selection.classifier import SelectiveNB
from discreet.selection.plan import make_selection_plan
from discreet.selection.select import reduced_schema, reduced_statistics, select
from discreet_studies.controls import found_epsilon
from discreet_studies.published.thesis2015_selection import mask_by_tables
from discreet_studies.tasks import Task
from discreet_studies.thesis2015.selection.data import Bench, bench, made
from discreet_studies.thesis2015.selection.portraits import features

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LEVEL = 0.65
OURS = {"count-sharp", "hits-flip", "hits-joint", "auto", "all-ours"}


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One block of trials."""
    if task.experiment == "audit":
        name = "mask-without-t" if task.method == "count-no-t" else "iterative"
        return {"epsilon_found": found_epsilon(f"thesis2015-{name}", seed)}
    held = bench(directory, task.data)
    if task.experiment == "table":
        return {
            "train_rows": len(held.labels),
            "test_rows": len(held.truth),
            "features": len(held.schema.features),
            "majority": held.majority,
            "information": float(np.sort(held.information)[-1]),
        }
    rng = np.random.default_rng(seed)
    if task.experiment == "features":
        return features(directory, task.data, rng)
    trial = _TRIALS.get(task.experiment, _accuracy)
    found = [trial(task, held, rng) for _ in range(int(task.option("trials")))]
    values = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return {**values, "count": len(found), "private": task.method not in {"plain", "oracle", "count-no-t", "mi-no-t"}}


def choose(method: str, held: Bench, k: int, epsilon: float, rng: np.random.Generator) -> Integers:
    """k features by one of the methods, at ε for the choice."""
    size = len(held.schema.features)
    if k >= size:
        return np.arange(size)
    if method == "random":
        return rng.choice(size, k, replace=False)
    if method == "oracle":
        return np.argsort(-held.information, kind="stable")[:k]
    if method in {"count-mask", "count-no-t"}:
        plan = make_selection_plan(held.schema, Budget(epsilon), k, score="count", selector="mask")
        scores = plan.score.values(held.statistics)
        rate = exact(epsilon) / (2 * plan.score.sensitivity * (k if method == "count-mask" else 1))
        return draw_mask(scores, k, rate, odds=Odds(rng.bytes))
    if method in {"mi-mask", "mi-no-t"}:
        return mask_by_tables(held.information, k, _mi_rate(held, epsilon, k if method == "mi-mask" else 1), rng=rng)
    score, selector = {
        "count-sharp": ("count", "mask"),
        "hits-flip": ("hits", "permute-and-flip"),
        "hits-joint": ("hits", "joint"),
        "tables": ("mutual-information", "noisy-tables"),
        "scores-mi": ("mutual-information", "noisy-scores"),
    }[method]
    rows = len(held.labels)
    # Algorithms 2 and 3 count neighbours of a public size for the mutual information, as the thesis does.
    adjacency = Adjacency.REPLACE if method == "scores-mi" else Adjacency.ADD_REMOVE
    plan = make_selection_plan(
        held.schema, Budget(epsilon), k, score=score, selector=selector, adjacency=adjacency, max_rows=rows
    )
    sampler = SimulationSampler(rng)
    return np.array(select(held.statistics, plan, sampler=sampler, odds=Odds(rng.bytes)).chosen)


def _mi_rate(held: Bench, epsilon: float, factor: int) -> float:
    """ε over twice the published sensitivity of the mutual information (N public, one row changed)."""
    rows = len(held.labels)
    reach = math.log2(rows) / rows + (rows - 1) / rows * math.log2(rows / (rows - 1))
    return epsilon / (2 * reach * factor)


def train(
    held: Bench,
    chosen: Integers,
    epsilon: float,
    rng: np.random.Generator,
    level: float | None,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> tuple[Floats, Floats, dict[str, float]]:
    """Prior and log-probabilities (feature, class, value) from noisy tables of the chosen features."""
    schema, statistics = held.schema, held.statistics
    if len(chosen) < len(schema.features):
        schema = reduced_schema(schema, tuple(schema.names[i] for i in chosen))
        statistics = reduced_statistics(statistics, schema)
    # Tables of two cells share the budget evenly, and class counts, which every table has, cost nothing: noise of D/ε.
    plan = make_plan(schema, Budget(epsilon), adjacency=adjacency)
    released = release(statistics, plan, SimulationSampler(rng))
    prior, likelihoods = estimate(released) if level is None else thresholded_estimate(released, 1.0, level)
    tables = np.stack([one.log_prob for one in likelihoods if isinstance(one, TableLikelihood)])
    if level is None:
        return prior, tables, {}
    on = np.stack([released.values[item.key][:, 1] for item in plan.items])
    raised = on < len(chosen) / epsilon * -math.log(2 * (1 - level))
    return prior, tables, {"silenced": float(raised.all(axis=1).sum()), "thresholded": float(raised.any(axis=1).sum())}


def scored(held: Bench, chosen: Integers, prior: Floats, tables: Floats, *, train: bool = False) -> float:
    """The share of test rows, or training rows, whose most probable class is theirs."""
    rise = tables[:, :, 1] - tables[:, :, 0]
    rows, truth = (held.train, held.labels) if train else (held.test, held.truth)
    scores = prior + tables[:, :, 0].sum(axis=0) + rows[:, np.sort(chosen)] @ rise
    return float((scores.argmax(axis=1) == truth).mean())


def _accuracy(task: Task, held: Bench, rng: np.random.Generator) -> dict[str, float]:
    everything = np.arange(len(held.schema.features))
    if task.method == "plain":
        return {"accuracy": scored(held, everything, *train(held, everything, math.inf, rng, None)[:2])}
    if task.method in {"all", "all-ours"}:
        level = None if task.method == "all-ours" else _level(task, len(everything))
        prior, tables, extra = train(held, everything, task.epsilon, rng, level)
        return {"accuracy": scored(held, everything, prior, tables), **extra}
    if task.method == "auto":
        fitted = SelectiveNB(task.epsilon, held.schema, random_state=rng).fit_statistics(held.statistics)
        tables = np.stack([one.log_prob for one in fitted.model_.likelihoods if isinstance(one, TableLikelihood)])
        chosen = np.array(fitted.selection_.chosen)
        return {"accuracy": scored(held, chosen, fitted.model_.log_prior, tables), "chosen": float(len(chosen))}
    # Non-private selection leaves the whole budget to training, as in the thesis.
    half = float(Fraction(exact(task.epsilon)) / 2)
    k = int(task.option("k"))
    chosen = choose(task.method, held, k, half, rng)
    spent = task.epsilon if task.method == "oracle" else half
    # The published sensitivity of the mutual information is for a changed row, so training must be too.
    adjacency = Adjacency.REPLACE if task.method == "mi-mask" else Adjacency.ADD_REMOVE
    prior, tables, _ = train(held, chosen, spent, rng, None if task.method in OURS else LEVEL, adjacency)
    return {"accuracy": scored(held, chosen, prior, tables)}


def _level(task: Task, width: int) -> float:
    """The quantile of the noise that counts are raised to; a threshold in rows is one, too."""
    if task.option("rows") is None:
        return float(task.option("level", round(100 * LEVEL))) / 100
    rows = math.log(2) / task.epsilon if task.option("rows") < 0 else float(task.option("rows"))
    return 1 - math.exp(-rows * task.epsilon / width) / 2


def _top(task: Task, held: Bench, rng: np.random.Generator) -> dict[str, float]:
    """Figure 3.7: the k most informative features, chosen without privacy, with and without noise on their counts."""
    chosen = np.sort(np.argsort(-held.information, kind="stable")[: int(task.option("k"))])
    prior, tables, _ = train(held, chosen, task.epsilon, rng, LEVEL if math.isfinite(task.epsilon) else None)
    least = float(held.information[chosen].min())
    return {
        "accuracy": scored(held, chosen, prior, tables),
        "train_accuracy": scored(held, chosen, prior, tables, train=True),
        "least": least,
    }


def _some(held: Bench, rows: Integers) -> Bench:
    """The same data set with some of its training rows."""
    labels, kept = held.labels[rows], held.train[rows]
    return made(held.schema, kept, labels, held.test, held.truth)


def _halves(task: Task, held: Bench, rng: np.random.Generator) -> dict[str, float]:
    """Section 3.6: all rows at ε, or half of them at twice that."""
    here = held if task.method == "budget" else _some(held, rng.permutation(len(held.labels))[: len(held.labels) // 2])
    everything = np.arange(len(held.schema.features))
    prior, tables, _ = train(here, everything, task.epsilon, rng, LEVEL)
    return {
        "accuracy": scored(held, everything, prior, tables),
        "train_accuracy": scored(held, everything, prior, tables, train=True),
    }


def _steps(task: Task, held: Bench, rng: np.random.Generator) -> dict[str, float]:
    """Features chosen and counted on all rows with half the budget each, or on half the rows with all of it each."""
    first = second = held
    spent = task.epsilon / 2
    if task.method == "count-mask-rows":
        order, spent = rng.permutation(len(held.labels)), task.epsilon
        first, second = (_some(held, part) for part in np.array_split(order, 2))
    chosen = choose("count-mask", first, int(task.option("k")), spent, rng)
    prior, tables, _ = train(second, chosen, spent, rng, LEVEL)
    return {"accuracy": scored(held, chosen, prior, tables)}


def _overlap(task: Task, held: Bench, rng: np.random.Generator) -> dict[str, float]:
    """The share of the k most informative features that a choice finds."""
    k = int(task.option("k"))
    best = np.argsort(-held.information, kind="stable")[:k]
    chosen = choose(task.method, held, k, task.epsilon, rng)
    return {"overlap": float(np.isin(best, chosen).mean()), "gathered": float(held.information[chosen].sum())}


def _parted(task: Task, held: Bench, rng: np.random.Generator) -> dict[str, float]:
    """The k most informative features, each counted on all rows or on a part of its own."""
    from discreet.bayes import PrivateNB

    k = int(task.option("k"))
    chosen = np.sort(np.argsort(-held.information, kind="stable")[:k])
    schema = reduced_schema(held.schema, tuple(held.schema.names[i] for i in chosen))
    epsilon = math.inf if task.method.startswith("plain") else task.epsilon
    strategy = "partition" if task.method.endswith("partition") else "together"
    fitted = PrivateNB(
        epsilon, schema=schema, strategy=strategy, random_state=rng, mechanism="laplace", reading="plain"
    )  # fmt: skip
    model = fitted.fit(held.train[:, chosen], held.labels).model_
    prior, likelihoods = model.log_prior, list(model.likelihoods)
    if task.method.startswith("thesis"):
        prior, likelihoods = thresholded_estimate(fitted.release_, 1.0, LEVEL)
    tables = np.stack([one.log_prob for one in likelihoods if isinstance(one, TableLikelihood)])
    return {"accuracy": scored(held, chosen, prior, tables)}


_TRIALS = {"ranking": _overlap, "partition": _parted, "top": _top, "halves": _halves, "steps": _steps}
