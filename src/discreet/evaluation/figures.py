"""Figures out of noisy tables: post-processing only, it knows neither rows nor exact counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain import text
from discreet.evaluation.edges import Scale
from discreet.evaluation.intervals import Level, count, mean, ordering, share
from discreet.evaluation.plan import EvaluationPlan
from discreet.evaluation.release import NoisyTable, set_counts
from discreet.privacy.measured import Curve, CurveBin, PrivateEvaluation, Share
from discreet.schema import Schema

Floats = NDArray[np.float64]


def figures(
    noisy: list[NoisyTable],
    plan: EvaluationPlan,
    schema: Schema,
    *,
    probabilistic: bool,
    confidence: float,
    **fields: Any,
) -> PrivateEvaluation:
    """All figures with their intervals."""
    level, names = Level(confidence), tuple(text(label) for label in schema.classes)
    two = plan.classes == 2
    sets, tables = set_counts(noisy, plan), len(plan.scales)
    curves = noisy[:tables] if two else noisy[1 : 1 + tables]
    if two:
        scale = plan.scales[0]
        cut = int(scale.place(0.0)) + 1  # bins up to the threshold answer the first class
        table = np.stack([noisy[0].counts[:, :cut].sum(axis=1), noisy[0].counts[:, cut:].sum(axis=1)], axis=1)
        cells = np.array([cut, scale.bins - cut])
    else:
        table, cells = noisy[0].counts, np.ones(plan.classes, np.int64)
    variance = noisy[0].variance
    every = int(cells.sum())
    recall = tuple(
        share(float(row[k]), float(row.sum()), (int(cells[k]), every - int(cells[k])), variance, level)
        for k, row in enumerate(table)
    )
    areas = [_area(one, scale, level) for one, scale in zip(curves, plan.scales, strict=True)]
    right = int(cells.sum())  # cells on the diagonal: one column's worth of each class
    return PrivateEvaluation(
        confidence=confidence,
        classes=names,
        rows=count(float(table.sum()), plan.classes * every, variance, level),
        accuracy=share(
            float(np.trace(table)), float(table.sum()), (right, plan.classes * every - right), variance, level
        ),
        balanced_accuracy=mean(recall, apart=True),
        auc=areas[0] if two else mean(areas, apart=False),
        recall=recall,
        confusion=tuple(
            tuple(count(float(value), int(cells[k]), variance, level) for k, value in enumerate(row)) for row in table
        ),
        calibration=tuple(
            _curve(one, scale, names[k + 1] if two else names[k], probabilistic, level)
            for k, (one, scale) in enumerate(zip(curves, plan.scales, strict=True))
        ),
        sets=sets,
        **fields,
    )


def _area(table: NoisyTable, scale: Scale, level: Level) -> Share:
    other, own = table.counts
    within = scale.within(_slope(own, other, scale.centres()))
    return ordering(own, other, within, table.variance, level, scale.mixed())


def _slope(own: Floats, other: Floats, centres: Floats) -> float:
    """How fast the log-odds of the class rise with the score: logistic regression on the counts that are positive."""
    size = float(np.abs(centres).max(initial=0.0))
    if not size > 0:
        return 0.0
    own, other = np.maximum(own, 0.0), np.maximum(other, 0.0)
    if not (own.sum() > 0 and other.sum() > 0):
        return 0.0
    X = np.stack([np.ones(len(centres)), centres / size], axis=1)
    weights = np.array([np.log(own.sum() / other.sum()), 0.0])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(X @ weights, -30.0, 30.0)))
        gradient = X.T @ (own - (own + other) * chance) - 1e-3 * weights
        bend = (X * ((own + other) * chance * (1 - chance))[:, None]).T @ X + 1e-3 * np.eye(2)
        weights = weights + np.clip(np.linalg.solve(bend, gradient), -3.0, 3.0)
    return float(np.clip(weights[1], -200.0, 200.0)) / size


def _curve(table: NoisyTable, scale: Scale, name: str, probabilistic: bool, level: Level) -> Curve:
    ends: list[float | None] = [None, *(float(edge) for edge in scale.edges), None]
    if probabilistic:
        ends = [None if end is None else float(1 / (1 + np.exp(-np.clip(end, -700, 700)))) for end in ends]
    bins = tuple(
        CurveBin(
            above=ends[i],
            upto=ends[i + 1],
            rows=count(float(own + other), 2, table.variance, level),
            share=share(float(own), float(own + other), (1, 1), table.variance, level),
        )
        for i, (other, own) in enumerate(table.counts.T)
    )
    return Curve(of=name, score="probability" if probabilistic else "margin", bins=bins)
