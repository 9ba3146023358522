"""Where the knots and bins of numbers lie: looked for with a part of the budget where public facts say that it pays."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import sources
from discreet.additive.blocks import Level
from discreet.additive.fit import gaps_for
from discreet.bayes.bins import bin_count
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.noise import bytes_of, sampler_for
from discreet.models import ReleasedModel
from discreet.privacy.budget import LEAST, Adjacency
from discreet.privacy.certificate import Certificate
from discreet.privacy.plan import moved_rows
from discreet.resolution import fine, pooled
from discreet.schema import Schema
from discreet.selection.classifier import features_worth
from discreet.sources import Source

TOGETHER = "the shapes of numbers, then the model"
PLENTY = 100.0  # the ε that stands for a fit without privacy


@dataclass(frozen=True)
class Shaped:
    """A schema with knots or bins that suit its numbers, levels of some, the ε that is left, and what was spent."""

    schema: Schema
    levels: tuple[Level, ...]
    epsilon: Any
    certificate: Certificate | None

    def covering(self, model: ReleasedModel) -> ReleasedModel:
        """The model with a certificate of both steps."""
        if self.certificate is None or not self.certificate.private:
            return model
        return model.with_certificate(self.certificate.then(model.certificate, TOGETHER))


def features_for(counts: ClassCounts, epsilon: Any, features: int) -> int:
    """How many features a choice will come to at this ε, for bins that suit their tables."""
    return features_worth(int(counts.rows), Fraction(epsilon), 1, features)


def shaped(
    X: Source, y: Any, schema: Schema, counts: ClassCounts, epsilon: Any, *, weights: bool, bins: str = "auto",
    adjacency: str, contributions: int, unexpected: str, random_state: Any, progress: Any = None,
    selected: bool = False, **_: Any,
) -> Shaped:  # fmt: skip
    """Buy a look at the numbers, if one pays; `weights` says whether weights are fitted to knots, or bins counted.

    Bins are counted for all features, or for a few that are chosen first with half of the budget if `selected`.

    Whether one pays follows from the schema, noisy counts and ε, and none does where `bins` are as declared. The whole
    budget was charged before.
    """
    if bins != "auto":
        return Shaped(schema, (), epsilon, None)
    near = Adjacency.of(adjacency)
    steps = moved_rows(near, contributions)
    people: dict[str, Any] = {"adjacency": near, "contributions": contributions, "unexpected": unexpected}
    rows, features, classes = counts.rows, len(schema.features), counts.apart

    def worth(amount: Any) -> float:
        return max(min(float(amount), PLENTY) / steps, float(LEAST))

    def opened(public: Schema) -> Source:
        if weights:
            X.held()  # for the fit too
        return sources.open(
            X, public, y, contributions=contributions, unexpected=unexpected, draw=bytes_of(sampler), progress=progress
        )

    sampler = sampler_for(random_state)
    if weights and fine.worth_fine(schema, rows, worth(epsilon)):
        budget, left = fine.shared(epsilon, fine.SHARE)
        plan = fine.fine_plan(schema, budget, **people)
        gaps = max(3, gaps_for(rows * worth(left) / features))
        found = fine.buy_fine(opened(fine.finely(schema)), plan, schema, counts, worth(left), gaps, sampler)
        return Shaped(found.schema, found.levels, left, found.certificate)
    if pooled.worth_pooled(schema, rows, worth(epsilon)):
        budget, left = fine.shared(epsilon, pooled.SHARE)
        each = rows * worth(left)
        if weights:
            count = max(3, gaps_for(each / features))
        elif selected:
            count = bin_count(rows, worth(left) / 2, features_for(counts, worth(left) / 2, features), classes)
        else:
            count = bin_count(rows, worth(left), features, classes)
        parts = pooled.parts_for(rows, worth(epsilon))
        relative = pooled.pooled_plan(schema, budget, **people, parts=parts)
        look = pooled.buy_pooled(opened(pooled.relatively(schema, parts)), relative, schema, counts, count, sampler)
        return Shaped(look.schema, (), left, look.certificate)
    return Shaped(schema, (), epsilon, None)
