"""The rule: which kind of model promises most, from ε, the schema and noisy rows per class alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.estimators.counts import ClassCounts
from discreet.privacy.budget import Adjacency
from discreet.privacy.plan import moved_rows
from discreet.schema import Schema

MODELS = ("auto", "naive-bayes", "additive", "additive-pairs", "tan", "joint")
MANY = 20  # features, from which on one tree of pairs sees too little of them
BINARY = 25.0  # rows times ε for each free weight of a model of two classes
SEVERAL = 40.0  # and of a model of more classes, whose residuals get half the rate each
PAIRED = 400.0  # and where pairs of features are worth their many cells
CLEAR = 0.15  # noise beside rows in a mean cell of a pair table
PLENTY = 100.0  # the ε that stands for a fit without privacy


@dataclass(frozen=True)
class Choice:
    """A kind of model and why it was chosen; nothing in it was read off the rows but the bought counts."""

    model: str
    reason: str
    facts: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.model}: {self.reason}"


def choose(
    schema: Schema,
    counts: ClassCounts,
    epsilon: Any,
    *,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    contributions: int = 1,
    model: str = "auto",
) -> Choice:
    """The kind of model for this budget, schema and number of rows.

    Neighbours that change a row, and people with several rows, cost as much as a smaller ε would.
    """
    from discreet.dependence import joint_cells, suits_joint, tan_noise

    steps = moved_rows(adjacency, contributions)
    worth = min(float(epsilon), PLENTY) / steps
    rows, classes, features = counts.rows, len(schema.classes), len(schema.features)
    weights = sum(cells - 1 for cells in _cells(schema, rows, worth))
    facts = {
        "rows": rows,
        "epsilon": worth,
        "features": features,
        "classes": classes,
        "weights": weights,
        "support": rows * worth / max(weights * (1 if classes == 2 else classes), 1),
    }
    if model != "auto":
        return Choice(model, "as asked for", facts)
    support = facts["support"]
    if suits_joint(schema, rows, worth):
        side = joint_cells(schema, rows, worth)
        why = f"{features} feature(s) and about {rows:.0f} rows fill a grid of {side} cells a side at this budget"
        return Choice("joint", why, facts | {"side": side})
    if classes == 2:
        if support >= BINARY:
            return Choice("additive", _enough(rows, weights, support, BINARY), facts)
        return Choice("naive-bayes", _scarce(rows, weights, support, BINARY), facts)
    if support >= PAIRED:
        return Choice("additive-pairs", _enough(rows, weights * classes, support, PAIRED), facts)
    noise = tan_noise(schema, rows, worth)
    if noise <= CLEAR and features <= MANY and not schema.numeric:
        why = f"tables of pairs carry noise of {noise:.1%} of a mean cell, so features may lean on each other"
        return Choice("tan", why, facts | {"noise": noise})
    facts = facts | {"noise": noise} if math.isfinite(noise) else facts
    if support >= SEVERAL:
        return Choice("additive", _enough(rows, weights * classes, support, SEVERAL), facts)
    return Choice("naive-bayes", _scarce(rows, weights * classes, support, SEVERAL), facts)


def _cells(schema: Schema, rows: float, epsilon: float) -> tuple[int, ...]:
    """Cells of each feature as an additive model would cut it."""
    from discreet.additive.blocks import place_knots
    from discreet.additive.fit import gaps_for

    per_feature = rows * epsilon / len(schema.features)
    return place_knots(schema, gaps_for(per_feature), finer=per_feature > 1000).sizes


def _enough(rows: float, weights: float, support: float, needed: float) -> str:
    return (
        f"about {rows:.0f} rows give each of {weights:.0f} weights a support of {support:.3g} rows times epsilon, "
        f"and {needed:g} suffice"
    )


def _scarce(rows: float, weights: float, support: float, needed: float) -> str:
    return (
        f"about {rows:.0f} rows give each of {weights:.0f} weights a support of {support:.3g} rows times epsilon; "
        f"below {needed:g} counting is surer than fitting weights"
    )
