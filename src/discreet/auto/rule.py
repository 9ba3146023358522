"""The rule: which kind of model promises most, from ε, the schema and noisy rows per class alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.estimators.counts import ClassCounts
from discreet.kinds import Facts, Kind, find, kinds
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.plan import moved_rows
from discreet.schema import Schema

PLENTY = 100.0  # the ε that stands for a fit without privacy
DOUBT = 1.0  # deviations of noise that the share of the largest class is taken to be less


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
    delta: Any = 0,
    generative: bool = False,
) -> Choice:
    """The kind of model for this budget, schema and number of rows: the registered one that promises most.

    Neighbours that change a row, and people with several rows, cost as much as a smaller ε would. With `generative`
    only kinds are looked at from whose models rows can be drawn.
    """
    known = known_facts(schema, counts, epsilon, adjacency, contributions, delta)
    facts: dict[str, float] = {
        "rows": known.rows,
        "epsilon": known.epsilon,
        "features": known.features,
        "classes": known.classes,
        "weights": known.weights,
        "support": known.support,
        **({"clear": known.clear} if known.clear else {}),
    }
    asked = find(model)
    if asked.name != "auto":
        return Choice(asked.name, "as asked for", facts)
    offered = [kind for kind in kinds() if kind.promise is not None and (not generative or draws(kind))]
    offers = [(kind.promise(known), kind.name) for kind in offered if kind.promise is not None]
    merits = [(offer.merit, name, offer.reason) for offer, name in offers if offer.merit is not None]
    _, name, reason = max(merits, key=lambda one: one[0])
    return Choice(name, reason, facts | {key: value for offer, _ in offers for key, value in offer.facts.items()})


def draws(kind: Kind) -> bool:
    """Whether rows can be drawn from the models of a kind."""
    return bool(kind.model_class().generative)


def known_facts(
    schema: Schema, counts: ClassCounts, epsilon: Any, adjacency: Adjacency, contributions: int, delta: Any = 0
) -> Facts:  # fmt: skip
    """What a choice may go by."""
    steps = moved_rows(adjacency, contributions)
    worth = min(float(epsilon), PLENTY) / steps
    rows, classes = counts.rows, len(schema.classes)
    weights = sum(cells - 1 for cells in _cells(schema, rows, worth))
    largest = counts.largest()
    # Of two classes a row tells p(1 − p) about a weight: as much as fewer rows of classes of equal size.
    balance = 4 * largest * (1 - largest) if classes == 2 else 1.0
    support = rows * worth * balance / max(weights * (1 if classes == 2 else classes), 1)
    clear = table = 0.0
    if delta and not math.isinf(epsilon):
        # Tables share ρ evenly here, and a mean cell has its part of all rows.
        features = len(schema.features)
        noise = steps * math.sqrt(features / (2 * float(zcdp_rho(Fraction(epsilon), Fraction(delta)))))
        clear = rows * features / (weights + features) / noise
        table = min(_table_epsilon(Budget(epsilon, delta), adjacency, contributions), PLENTY)
    return Facts(schema, rows, worth, weights, support, counts.largest(DOUBT), clear, table)


def _table_epsilon(budget: Budget, adjacency: Adjacency, contributions: int) -> float:
    """The ε for one row at which pure noise is as loud as that on one table over all features."""
    from discreet.dependence.joint import PRIOR_SHARE, table_epsilon

    return table_epsilon(budget, 1 - PRIOR_SHARE, adjacency, contributions)


def _cells(schema: Schema, rows: float, epsilon: float) -> tuple[int, ...]:
    """Cells of each feature as an additive model would cut it."""
    from discreet.additive.blocks import place_knots
    from discreet.additive.fit import gaps_for

    per_feature = rows * epsilon / len(schema.features)
    return place_knots(schema, gaps_for(per_feature), finer=per_feature > 1000).sizes
