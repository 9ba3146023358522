"""The model: a released Naive Bayes classifier with its certificate; it never saw an exact statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods import Likelihood, parse
from discreet.bayes.score import joint_log_probability, most_probable
from discreet.errors import ModelError
from discreet.models import Floats, ReleasedModel, class_probabilities, normalised
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema
from discreet.sources import Progress, Rows


@dataclass(frozen=True, eq=False)
class Noise:
    """Noisy rows of each class, and by feature the standard deviation of the noise on a count of each class.

    `slope` is what a calibration made of the log-probabilities since.
    """

    rows: Floats
    deviation: dict[str, list[float]]
    slope: float = 1.0

    def check(self, schema: Schema) -> None:
        """Refuse what does not belong to the schema: files may come from anyone."""
        classes = len(schema.classes)
        lines = [self.rows, *(np.asarray(one, np.float64) for one in self.deviation.values())]
        fits = all(one.shape == (classes,) and np.isfinite(one).all() and one.min() > 0 for one in lines)
        if not fits or not set(self.deviation) <= set(schema.names) or not 0 < self.slope < 1e9:
            raise ModelError("what the model says of its noise does not fit the schema")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        found = {"rows": self.rows.tolist(), "deviation": self.deviation}
        return found if self.slope == 1 else {**found, "slope": self.slope}


class NaiveBayesModel(ReleasedModel):
    """log P(class) and one likelihood per feature of a schema; classes stand in the schema's order."""

    FORMAT = "discreet/naive-bayes"
    NAME = "a Naive Bayes model"
    generative = True
    separable = True
    log_prior: Floats

    def __init__(
        self, schema: Schema, log_prior: Any, likelihoods: Sequence[Likelihood], certificate: Certificate,
        noise: Noise | None = None,
    ) -> None:  # fmt: skip
        super().__init__(schema, certificate)
        self.log_prior = class_probabilities(schema, log_prior)
        self.likelihoods = tuple(likelihoods)
        self.by_codes = all(one.by_cell is not None for one in self.likelihoods)  # a curve goes by the number itself
        if [likelihood.name for likelihood in self.likelihoods] != list(schema.names):
            raise ModelError("the model's features are not those of its schema")
        for likelihood, feature in zip(self.likelihoods, schema.features, strict=True):
            likelihood.check(feature, len(schema.classes))
        self.noise = noise
        if noise is not None:
            noise.check(schema)

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""
        return [{"name": one.name, "kind": one.kind, "words": one.words} for one in self.likelihoods]

    def joint_rows(self, rows: Rows) -> Floats:
        """log P(class, features) of rows as a source delivers them."""
        return joint_log_probability(rows, self.log_prior, self.likelihoods)

    def best_rows(self, rows: Rows) -> NDArray[np.int64]:
        """The place of the most probable class of each row."""
        return most_probable(rows, self.log_prior, self.likelihoods)

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> NaiveBayesModel:
        """The same kind of model fitted without noise: for comparison, never for release."""
        from discreet.bayes.classifier import twin_of

        return twin_of(self, data, y, progress=progress)

    def error_of(self, name: str) -> Floats | None:
        """The standard error of log P(cell | class), or of the log-odds of two classes, by the noise of the counts."""
        likelihood = next(one for one in self.likelihoods if one.name == name)
        if self.noise is None or name not in self.noise.deviation or likelihood.by_cell is None:
            return None
        spread = np.asarray(self.noise.deviation[name], np.float64)
        rows = np.exp(likelihood.by_cell) * self.noise.rows[:, None]
        found = spread[:, None] / np.maximum(rows, spread[:, None])  # of a cell that is all noise: of the size of one
        found = found * self.noise.slope
        return np.sqrt(np.square(found).sum(axis=0, keepdims=True)) if len(found) == 2 else found

    def _draw(self, size: int, rng: np.random.Generator) -> dict[str, list[Any]]:
        groups = self._draw_classes(size, rng)
        columns: dict[str, list[Any]] = {}
        for feature, likelihood in zip(self.schema.features, self.likelihoods, strict=True):
            columns[feature.name] = likelihood.sample(feature, groups, rng)
        columns[self.schema.target] = [self.schema.classes[group] for group in groups]
        return columns

    def _fields(self) -> dict[str, Any]:
        noise = {} if self.noise is None else {"noise": self.noise.to_dict()}
        return {"features": [likelihood.to_dict() for likelihood in self.likelihoods], **noise}

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> NaiveBayesModel:
        given = fields.get("noise")
        noise = None
        if given is not None:
            rows, slope = np.asarray(given["rows"], np.float64), float(given.get("slope", 1.0))
            noise = Noise(rows, dict(given["deviation"]), slope)
        return cls(schema, fields["log_prior"], [parse(feature) for feature in fields["features"]], certificate, noise)

    def __repr__(self) -> str:
        return f"<NaiveBayesModel: {len(self.likelihoods)} features, {len(self.log_prior)} classes>"


__all__ = ["NaiveBayesModel", "normalised"]
