"""Features chosen from a released model: what its tables say about the classes, at no cost beyond the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods import Likelihood
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import BudgetError
from discreet.schema import Schema
from discreet.selection.plan import feature_count
from discreet.selection.select import WHAT, reduced_schema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReleasedChoice:
    """Features that a released model finds worth counting, and the schema of them, which says what the model cost."""

    names: tuple[str, ...]
    bits: dict[str, float]
    schema: Schema


def model_bits(prior: Floats, likelihoods: Sequence[Likelihood], schema: Schema) -> Floats:
    """The mutual information of every feature and the class by the model's own tables, in bits."""
    share = np.exp(prior - np.logaddexp.reduce(prior))[:, None]
    found = []
    for feature, one in zip(schema.features, likelihoods, strict=True):
        if one.by_cell is None:
            raise BudgetError(
                f"{feature.name!r} is modelled by a curve, which has no table to choose by: make the first model with "
                "numeric='histogram'"
            )
        table = np.exp(one.by_cell)
        joint = share * table / table.sum(axis=1, keepdims=True)
        apart = joint.sum(axis=0) * share
        some = joint > 0
        found.append(float((joint[some] * np.log2(joint[some] / apart[some])).sum()))
    return np.array(found)


def best_features(prior: Floats, likelihoods: Sequence[Likelihood], schema: Schema, k: int) -> tuple[str, ...]:
    """The k features of the most bits, in the schema's order; of equals the first."""
    kept = np.argsort(-model_bits(prior, likelihoods, schema), kind="stable")[: feature_count(k, schema)]
    return tuple(schema.names[int(i)] for i in np.sort(kept))


def choose_from_model(model: NaiveBayesModel, k: int) -> ReleasedChoice:
    """The k features that a released Naive Bayes model finds most telling.

    The model was paid for when it was released, and this looks at nothing else: a first round of a federation, at a
    part of the budget, finds the features, and a second counts those alone.
    """
    bits = model_bits(model.log_prior, list(model.likelihoods), model.schema)
    names = best_features(model.log_prior, list(model.likelihoods), model.schema, k)
    reduced = reduced_schema(model.schema, names)
    paid = model.certificate
    if not paid.private:
        schema = reduced.having(inferred=True)
    else:
        stated = (*reduced.provenance, paid.provenance(WHAT))
        schema = reduced.having(provenance=stated, inferred=reduced.inferred or paid.simulation)
    return ReleasedChoice(names, dict(zip(model.schema.names, bits.tolist(), strict=True)), schema)
