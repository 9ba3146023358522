"""What a task of giaretta2022's federated part does: blocks of trials on one data set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.bayes.estimate import estimate
from discreet.bayes.likelihoods import Likelihood, TableLikelihood
from discreet.bayes.plan import Plan
from discreet.federated.stack import Stack
from discreet.federated.weights import weighted_estimate
from discreet.nodes.members import noise_level
from discreet.nodes.partition import assign, node_budgets
from discreet.nodes.settings import node_plan
from discreet.nodes.site import noised_rows
from discreet.privacy.budget import Budget
from discreet.schema import Numeric, Schema
from discreet.selection.released import best_features
from discreet.selection.select import reduced_schema, reduced_statistics
from discreet.sources import HeldRows, collect
from discreet.statistics import Statistics
from discreet_studies.data import DataSet, declared_split, load, monte_carlo
from discreet_studies.giaretta2022.federated.experiments import MODELS, TEST_SHARE
from discreet_studies.giaretta2022.linear import Linear, as_published
from discreet_studies.giaretta2022.simulate import Secure, noised_stack, summed_releases
from discreet_studies.methods import Setting
from discreet_studies.published.giaretta2022 import LocalRows, Updates, local_maxima, local_updates, summed
from discreet_studies.published.zafarani2021 import fit_vaidya
from discreet_studies.tasks import Task, seed_of

Floats = NDArray[np.float64]
DEALS = 2  # ways to deal the rows out in a block of as-published trials


@dataclass(frozen=True, eq=False)
class Bench:
    """A data set made ready: exact statistics of the training rows by model, and the test rows."""

    data: DataSet
    train: DataSet
    test: DataSet
    rows: LocalRows
    coded: HeldRows
    statistics: dict[str, Statistics]

    @property
    def schema(self) -> Schema:
        """The data's schema."""
        return self.data.schema

    @property
    def majority(self) -> float:
        """What guessing the larger class of the training rows is right for, by a coin where two are as large.

        A model below it is of no use.
        """
        counts = np.bincount(self.train.y)
        return float(np.mean([(self.test.y == c).mean() for c in np.flatnonzero(counts == counts.max())]))


@lru_cache(maxsize=2)
def bench(directory: Path, name: str) -> Bench:
    """The data set's own split, or a tenth of the rows for the test, always the same."""
    data = load(directory, name)
    split = declared_split(directory, name) or monte_carlo(data, 42, TEST_SHARE)
    train, test = data.take(split.train), data.take(split.test)
    statistics = {
        model: collect(train.X, data.schema, train.y, detail=node_plan(data.schema, s, Budget(1), "auto").detail)
        for model, s in MODELS.items()
    }
    coded = sources.open(train.X, data.schema, train.y).held()
    return Bench(data, train, test, LocalRows(data.schema, train.X, train.y), coded, statistics)


class Judge:
    """Accuracy on the test rows, with what does not change from trial to trial worked out once."""

    def __init__(self, held: Bench) -> None:
        self.schema, self.truth = held.schema, held.test.y
        coded = sources.open(held.test.X, held.schema, held.test.y).held()
        self.cells = list(coded.cells.T.astype(np.int64))
        self.values = [
            held.test.X[:, i] if isinstance(f, Numeric) else np.empty(0) for i, f in enumerate(held.schema.features)
        ]

    def accuracy(self, prior: Floats, likelihoods: list[Likelihood], names: tuple[str, ...] | None = None) -> float:
        """The share of test rows whose most probable class is theirs, by all features or the named ones."""
        total = np.tile(prior, (len(self.truth), 1))
        used = [i for i, f in enumerate(self.schema.features) if names is None or f.name in names]
        for i, likelihood in zip(used, likelihoods, strict=True):
            feature, cells, values = self.schema.features[i], self.cells[i], self.values[i]
            if isinstance(likelihood, TableLikelihood):
                total += likelihood.log_prob.T[cells]
            else:
                likelihood.add_scores(feature, values, total)
        return float((total.argmax(axis=1) == self.truth).mean())


@lru_cache(maxsize=2)
def judge_of(directory: Path, name: str) -> Judge:
    """The judge of a data set."""
    return Judge(bench(directory, name))


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """One block of trials."""
    if task.experiment == "audit":
        return _audit(seed)
    held = bench(directory, task.data)
    rng = np.random.default_rng(seed)
    if task.experiment == "sensitivity":
        return _sensitivity(held, int(task.option("nodes")))
    if task.experiment == "nodes":
        return _nodes(held, rng)
    judge = judge_of(directory, task.data)
    if task.method == "plain":
        statistics = held.statistics["gaussian"]
        plan = node_plan(held.schema, MODELS["gaussian"], Budget(math.inf), "auto")
        release = next(summed_releases(statistics, [plan], 1, rng=rng))
        found = [judge.accuracy(*estimate(release))]
    elif task.experiment == "cut-off":
        found = list(_cut_trials(task, held, judge, directory))
    elif task.experiment == "selection":
        found = list(_chosen(task, held, judge, rng))
    else:
        found = list(_trials(task, held, judge, rng, directory))
    values = np.array(found)
    return {
        "accuracy": float(values.mean()),
        "spread": float(values.std(ddof=1)) if len(values) > 1 else None,
        "majority": held.majority,
        "lowest": float(values.min()),
        "median": float(np.median(values)),
        "count": len(values),
        "train_rows": len(held.train),
        "test_rows": len(held.test),
        "private": task.method not in {"plain", "paper", "paper-left-out", "vaidya"},
    }


@lru_cache(maxsize=2)
def linear_of(directory: Path, name: str) -> tuple[Linear, Floats]:
    """The test rows for models of bell curves and tables, scored many at once."""
    held = bench(directory, name)
    line = Linear(held.schema, held.test.X, held.test.y, len(held.test))
    return line, line.design(True)


@lru_cache(maxsize=32)
def local_scales(
    directory: Path, name: str, nodes: int, partition: str, block: int, turn: int
) -> dict[str, NDArray[np.float64]]:
    """The largest values at the nodes of one way to deal the rows out, which all ε of a block share."""
    held = bench(directory, name)
    rng = np.random.default_rng(seed_of("dealt", name, nodes, partition, block, turn))
    cells = held.coded.cells if partition == "clustered" else None
    where = assign(held.train.y, nodes, partition, rng=rng, cells=cells)
    return {
        feature.name: local_maxima(held.rows, column, where, nodes)
        for column, feature in enumerate(held.schema.features)
        if isinstance(feature, Numeric)
    }


def _trials(task: Task, held: Bench, judge: Judge, rng: np.random.Generator, directory: Path) -> Iterator[float]:
    trials, nodes = int(task.option("trials")), int(task.option("nodes", 1))
    partition = str(task.option("partition", "uniform"))
    schema = held.schema
    if task.method == "vaidya":
        for _ in range(trials):
            setting = Setting(schema, task.epsilon, 0.0, len(held.train), int(rng.integers(2**62)))
            model = fit_vaidya(setting, held.train.X, held.train.y)
            yield float((model.scores(held.test.X).argmax(axis=1) == held.test.y).mean())
        return
    if task.method == "paper":
        line, design = linear_of(directory, task.data)
        for turn in range(DEALS):
            most = local_scales(directory, task.data, nodes, partition, task.repeat, turn)
            here = trials // DEALS + (turn < trials % DEALS)
            summary = summed(held.rows, most, nodes, task.epsilon, here, rng=rng)
            yield from line.accuracies(as_published(schema, summary)[0], design).tolist()
        return
    model_name = str(task.option("model", "gaussian"))
    plan = node_plan(schema, MODELS[model_name], Budget(task.epsilon), "auto")
    if task.method == "inverse-variance":
        for _ in range(trials):
            cells = held.coded.cells if partition == "clustered" else None
            where = assign(held.train.y, nodes, partition, rng=rng, cells=cells)
            stack = noised_stack(held.coded.parts(where, nodes, plan.detail), [plan] * nodes, rng=rng)
            yield judge.accuracy(*weighted_estimate(stack)[:2])
        return
    secure = {"secure": Secure(nodes, nodes), "secure-half": Secure(nodes, nodes // 2 or 1)}.get(task.method)
    count = 1 if task.method == "central" else nodes
    for release in summed_releases(held.statistics[model_name], [plan] * count, trials, rng=rng, secure=secure):
        yield judge.accuracy(*estimate(release))


def uneven_nodes(held: Bench, rng: np.random.Generator) -> tuple[NDArray[np.int64], list[float]]:
    """Log-uniform sizes from 2 to a fifth of the rows until all rows are dealt out, and a log-uniform ε for each."""
    rows = len(held.train)
    sizes: list[int] = []
    while sum(sizes) < rows:
        sizes.append(round(math.exp(rng.uniform(math.log(2), math.log(rows / 5)))))
    sizes[-1] -= sum(sizes) - rows
    where = np.repeat(np.arange(len(sizes)), sizes)[rng.permutation(rows)]
    return where, node_budgets("log-uniform", len(sizes), 1.0, rng=rng)


def _plans(held: Bench, epsilons: list[float]) -> list[Plan]:
    return [node_plan(held.schema, MODELS["gaussian"], Budget(float(f"{e:.6g}")), "auto") for e in epsilons]


@lru_cache(maxsize=64)
def _uneven(directory: Path, name: str, block: int, trial: int) -> tuple[NDArray[np.int64], list[float]]:
    """The nodes of one trial, the same for every method and cut-off, so that their differences are theirs alone."""
    rng = np.random.default_rng(seed_of("uneven nodes", name, block, trial))
    return uneven_nodes(bench(directory, name), rng)


@lru_cache(maxsize=64)
def _published_nodes(directory: Path, name: str, block: int, trial: int, empty: str) -> tuple[Updates, Floats]:
    """The paper's updates of a trial, and its nodes' errors by one reading of equation 28."""
    where, epsilons = _uneven(directory, name, block, trial)
    rng = np.random.default_rng(seed_of("updates", name, block, trial))
    updates = local_updates(bench(directory, name).rows, where, np.array(epsilons), rng=rng)
    return updates, updates.errors(empty=empty)


@lru_cache(maxsize=64)
def _sound_nodes(directory: Path, name: str, block: int, trial: int) -> tuple[Stack, list[float]]:
    """The sound updates of a trial, and their nodes' noise levels."""
    held, (where, epsilons) = bench(directory, name), _uneven(directory, name, block, trial)
    plans = _plans(held, epsilons)
    rng = np.random.default_rng(seed_of("sound updates", name, block, trial))
    stack = noised_stack(held.coded.parts(where, len(plans), plans[0].detail), plans, rng=rng)
    return stack, [noise_level(plan, noised_rows(stack.one(i, plan))) for i, plan in enumerate(plans)]


LEFT_OUT = {"paper": "one", "paper-left-out": "out"}  # what becomes of terms of equation 28 that divide by zero


def _cut_trials(task: Task, held: Bench, judge: Judge, directory: Path) -> Iterator[float]:
    line, design = linear_of(directory, task.data)
    for trial in range(int(task.option("trials"))):
        spot = (directory, task.data, task.repeat, trial)
        if task.method in LEFT_OUT:
            updates, errors = _published_nodes(*spot, LEFT_OUT[task.method])
            summary = updates.kept(np.isin(np.arange(len(errors)), _best(errors, task)))
            yield float(line.accuracies(as_published(held.schema, summary)[0][None], design)[0])
            continue
        stack, levels = _sound_nodes(*spot)
        if task.method == "inverse-variance":
            yield judge.accuracy(*weighted_estimate(stack)[:2])
        else:
            yield judge.accuracy(*estimate(stack.sum(_best(levels, task))))


def _best(levels: Floats | list[float], task: Task) -> NDArray[np.int64]:
    """The nodes below the cut-off: a share of all, and one at least."""
    keep = max(1, round(float(task.option("kept")) * len(levels)))
    return np.argsort(levels, kind="stable")[:keep]


def _chosen(task: Task, held: Bench, judge: Judge, rng: np.random.Generator) -> Iterator[float]:
    """A round of tables at half the budget, the features that tell most by its sum, and a round of those alone."""
    nodes, k = int(task.option("nodes")), int(task.option("k"))
    settings, statistics = MODELS["default"], held.statistics["default"]
    budget = Budget(task.epsilon if not k else task.epsilon / 2)
    first = node_plan(held.schema, settings, budget, "auto")
    for release in summed_releases(statistics, [first] * nodes, int(task.option("trials")), rng=rng):
        if not k:
            yield judge.accuracy(*estimate(release))
            continue
        names = best_features(*estimate(release), held.schema, k)
        schema = reduced_schema(held.schema, names)
        second = node_plan(schema, settings, budget, "auto")
        again = next(summed_releases(reduced_statistics(statistics, schema), [second] * nodes, 1, rng=rng))
        yield judge.accuracy(*estimate(again), names)


def _sensitivity(held: Bench, nodes: int) -> dict[str, Any]:
    """Local maxima at the nodes as shares of the whole data's, over all numbers, classes and nodes."""
    rng = np.random.default_rng(seed_of("sensitivity", held.data.name, nodes))
    where = assign(held.train.y, nodes, "uniform", rng=rng)
    ratios: list[Floats] = []
    for column, feature in enumerate(held.schema.features):
        if isinstance(feature, Numeric):
            alone = local_maxima(held.rows, column, np.zeros_like(where), 1)
            local = local_maxima(held.rows, column, where, nodes)
            ratios.append((local / np.maximum(alone, 1e-300)).ravel())
    values = np.concatenate(ratios)
    marks = {f"q{level}": float(np.quantile(values, level / 100)) for level in (5, 25, 50, 75, 95)}
    return {"ratio": float(values.mean()), **marks}


def _nodes(held: Bench, rng: np.random.Generator) -> dict[str, Any]:
    """Size, ε and error of every node of one federation, for the left side of figure 5."""
    where, epsilons = uneven_nodes(held, rng)
    updates = local_updates(held.rows, where, np.array(epsilons), rng=rng)
    errors, others = updates.errors(), updates.errors(empty="out")
    undefined = sum(bool(any((exact[i] == 0).any() for exact in updates.exact.values())) for i in range(len(errors)))
    sizes = np.bincount(where, minlength=len(epsilons))
    levels = [noise_level(plan, int(n)) for plan, n in zip(_plans(held, epsilons), sizes, strict=True)]
    listed = {"sizes": sizes.tolist(), "errors": errors.tolist(), "epsilons": epsilons, "levels": levels,
              "errors_left_out": others.tolist()}  # fmt: skip
    return {"undefined": undefined, **{name: json.dumps(values) for name, values in listed.items()}}


def _audit(seed: int) -> dict[str, Any]:
    """The lower bound on ε that an audit finds for the as-published sum, which claims ε = 1."""
    from discreet_studies.controls import found_epsilon

    return {"epsilon_found": found_epsilon("giaretta2022-as-published", seed)}
