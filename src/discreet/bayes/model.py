"""The model: a released Naive Bayes classifier with its certificate; it never saw an exact statistic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods import GaussianLikelihood, Likelihood, TableLikelihood, from_dict
from discreet.bayes.score import joint_log_probability, most_probable
from discreet.errors import ModelError
from discreet.models import Floats, ReleasedModel, class_probabilities, normalised
from discreet.privacy.certificate import Certificate
from discreet.schema import Numeric, Schema
from discreet.sources import Progress, Rows


class NaiveBayesModel(ReleasedModel):
    """log P(class) and one likelihood per feature of a schema; classes stand in the schema's order."""

    FORMAT = "discreet/naive-bayes"
    NAME = "a Naive Bayes model"
    log_prior: Floats

    def __init__(
        self, schema: Schema, log_prior: Any, likelihoods: Sequence[Likelihood], certificate: Certificate
    ) -> None:
        super().__init__(schema, certificate)
        self.log_prior = class_probabilities(schema, log_prior)
        self.likelihoods = tuple(likelihoods)
        if [likelihood.name for likelihood in self.likelihoods] != list(schema.names):
            raise ModelError("the model's features are not those of its schema")
        for likelihood, feature in zip(self.likelihoods, schema.features, strict=True):
            likelihood.check(feature, len(schema.classes))

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""
        return [{"name": one.name, "kind": str(one.to_dict()["kind"])} for one in self.likelihoods]

    def joint_rows(self, rows: Rows) -> Floats:
        """log P(class, features) of rows as a source delivers them."""
        return joint_log_probability(rows, self.log_prior, self.likelihoods)

    def best_rows(self, rows: Rows) -> NDArray[np.int64]:
        """The place of the most probable class of each row."""
        return most_probable(rows, self.log_prior, self.likelihoods)

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> NaiveBayesModel:
        """The same kind of model fitted without noise: for comparison, never for release."""
        from discreet.bayes.evaluation import twin_of

        return twin_of(self, data, y, progress=progress)

    def sample(self, size: int, *, rng: np.random.Generator) -> dict[str, list[Any]]:
        """Synthetic rows drawn from the model, target included: as private as the model itself."""
        groups = rng.choice(len(self.log_prior), size=size, p=np.exp(normalised(self.log_prior[None, :]))[0])
        columns: dict[str, list[Any]] = {}
        for feature, likelihood in zip(self.schema.features, self.likelihoods, strict=True):
            if isinstance(likelihood, GaussianLikelihood):
                columns[feature.name] = _draw_gaussian(feature, likelihood, groups, rng)
                continue
            levels = np.cumsum(np.exp(likelihood.log_prob), axis=1)
            spots = rng.random(size) * levels[groups, -1]
            codes = (spots[:, None] >= levels[groups]).sum(axis=1).clip(0, feature.cells - 1)
            columns[feature.name] = decode(feature, codes, rng)
        columns[self.schema.target] = [self.schema.classes[group] for group in groups]
        return columns

    def _fields(self) -> dict[str, Any]:
        return {"features": [likelihood.to_dict() for likelihood in self.likelihoods]}

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> NaiveBayesModel:
        return cls(schema, fields["log_prior"], [from_dict(feature) for feature in fields["features"]], certificate)

    def __repr__(self) -> str:
        return f"<NaiveBayesModel: {len(self.likelihoods)} features, {len(self.log_prior)} classes>"


def _draw_gaussian(
    feature: Any, likelihood: GaussianLikelihood, groups: NDArray[Any], rng: np.random.Generator
) -> list[Any]:
    draws = rng.normal(likelihood.mean[groups], np.sqrt(likelihood.variance[groups]))
    draws = np.clip(draws, feature.lower, feature.upper)
    values = _numbers(feature, draws)
    if likelihood.present is not None:
        gone = rng.random(len(draws)) < np.exp(likelihood.present[groups, 1])
        values = [None if lost else value for value, lost in zip(values, gone, strict=True)]
    return values


def _numbers(feature: Numeric, draws: Floats) -> list[Any]:
    return [int(v) for v in np.rint(draws)] if feature.integer else [float(v) for v in draws]


def decode(feature: Any, codes: NDArray[Any], rng: np.random.Generator) -> list[Any]:
    """Values that fall into the given cells: a category, or a number drawn evenly from its bin."""
    if isinstance(feature, Numeric):
        edges = np.array(feature.edges)
        inside = np.minimum(codes, len(edges) - 2)
        low, high = edges[inside], edges[inside + 1]
        if feature.integer:
            last = np.where(inside == len(edges) - 2, high, high - 1)
            draws = np.floor(low + rng.random(len(codes)) * (last - low + 1))
        else:
            draws = low + rng.random(len(codes)) * (high - low)
        values = _numbers(feature, draws)
    else:
        labels = (*feature.categories, feature.other)
        values = [labels[min(code, len(labels) - 1)] for code in codes]
    gone = feature.missing_code
    return values if gone is None else [None if c == gone else v for c, v in zip(codes, values, strict=True)]


__all__ = ["NaiveBayesModel", "TableLikelihood", "normalised"]
