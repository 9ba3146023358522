"""Comparison: the accuracy of every kind of model against ε, on rows that are public or given up for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BudgetError, DataError
from discreet.kinds import find, kinds
from discreet.privacy.payer import PAID
from discreet.schema import Schema
from discreet.sources import CodedTable, RowTable, keep_rows

MAJORITY = "majority"


@dataclass(frozen=True)
class Figure:
    """Mean accuracy and balanced accuracy of one model at one ε, with the standard error over the repeats."""

    model: str
    epsilon: float
    accuracy: float
    error: float
    balanced: float
    repeats: int


def compare_models(
    data: Any,
    schema: Schema,
    y: Any = None,
    *,
    models: Sequence[str] | None = None,
    epsilons: Sequence[float] = (0.1, 1.0),
    repeats: int = 3,
    test_share: float = 0.3,
    seed: int = 0,
    progress: Callable[[int, int | None], None] | None = None,
    delta: float = 0.0,
    unexpected: str = "refuse",
) -> list[Figure]:
    """Fit every model at every ε (and without privacy) on part of the rows and measure it on the rest; all share a δ.

    Models go by their names in the registry of kinds; None are all of them. With `unexpected="absorb"` what has no
    place in the schema is absorbed, and of each person one row stays. Each repeat draws the `test_share` of the
    rows to test on anew. The figures are exact statistics of the rows and the noise is simulated: nothing of this is
    private.
    """
    if repeats < 1 or not 0 < test_share < 1:
        raise BudgetError("a comparison needs at least one repeat and a test share between 0 and 1")
    levels = list(dict.fromkeys([*(float(e) for e in epsilons), math.inf]))
    models = [kind.name for kind in kinds()] if models is None else models
    for name in models:
        for epsilon in levels:
            _made(name, epsilon, delta, schema=schema).plan()  # mistakes show before any work is done
    rows = keep_rows(data, schema, y, exact=bool(schema.unsettled), unexpected=unexpected)
    tasks = [(repeat, name, epsilon) for repeat in range(repeats) for name in models for epsilon in levels]
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for done, (key, result) in enumerate(_measure(rows, tasks, test_share, seed, delta), start=1):
        found.setdefault(key, []).append(result)
        if progress:
            progress(done, len(tasks) + repeats)
    return [_figure(name, epsilon, results) for (name, epsilon), results in found.items()]


def _measure(
    rows: RowTable | CodedTable, tasks: list[tuple[int, str, float]], share: float, seed: int, delta: float
) -> Iterator[tuple[tuple[str, float], tuple[float, float]]]:
    classes, last = len(rows.schema.classes), -1
    for repeat, name, epsilon in tasks:
        if repeat != last:
            last = repeat
            order = np.random.default_rng([seed, repeat]).permutation(rows.size)
            size = round(share * rows.size)
            if not 0 < size < rows.size:
                raise DataError("there are too few rows to train and to test on")
            train, test = np.sort(order[size:]), np.sort(order[:size])
            truth, labels = rows.truth(test), rows.truth(train)
            common = np.full(len(test), int(np.bincount(labels, minlength=classes).argmax()))
            yield (MAJORITY, math.inf), _rates(truth, common, classes)
        fitted = _made(name, epsilon, delta, schema=rows.schema, random_state=seed + repeat)
        fitted.fit(*rows.take(train), ledger=PAID)  # the rows were given up
        label = rows.schema.label.lookup
        answers = np.array([label.find(one) for one in fitted.predict(rows.take(test)[0]).tolist()])
        yield (name, epsilon), _rates(truth, answers, classes)


def _made(name: str, epsilon: float, delta: float, **settings: Any) -> Any:
    """The estimator of a kind at (ε, δ); kinds of plug-ins may know no δ, and pure ε is valid for every one."""
    found = find(name).make(epsilon=epsilon, **settings)
    return found.set_params(delta=delta) if delta and "delta" in found.get_params(deep=False) else found


def _rates(truth: Any, answers: Any, classes: int) -> tuple[float, float]:
    right = truth == answers
    recalls = [right[truth == k].mean() for k in range(classes) if (truth == k).any()]
    return float(right.mean()), float(np.mean(recalls))


def _figure(name: str, epsilon: float, results: list[tuple[float, float]]) -> Figure:
    values = np.array(results)
    error = float(values[:, 0].std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Figure(name, epsilon, float(values[:, 0].mean()), error, float(values[:, 1].mean()), len(values))
