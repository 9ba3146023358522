"""The model: a released Naive Bayes classifier with its certificate; it never saw an exact statistic."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.bayes.likelihoods import Likelihood, parse
from discreet.bayes.score import joint_log_probability, most_probable
from discreet.errors import ModelError, SchemaError
from discreet.estimators.scores import normalised
from discreet.files import parse_json, write_text
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation, measured_fields, with_measured
from discreet.schema import Schema
from discreet.sources import Progress, Rows, read_rows

Floats = NDArray[np.float64]
FORMAT = "discreet/naive-bayes"
VERSION = 1


class NaiveBayesModel:
    """log P(class) and one likelihood per feature of a schema; classes stand in the schema's order."""

    evaluation: PrivateEvaluation | None = None  # figures measured on rows held out, if any

    def __init__(
        self, schema: Schema, log_prior: Any, likelihoods: Sequence[Likelihood], certificate: Certificate
    ) -> None:
        self.schema = schema
        self.log_prior = np.asarray(log_prior, dtype=np.float64)
        self.likelihoods = tuple(likelihoods)
        self.certificate = certificate
        classes = len(schema.classes)
        if self.log_prior.shape != (classes,) or not np.isfinite(self.log_prior).all():
            raise ModelError("the class probabilities do not fit the schema")
        if [likelihood.name for likelihood in self.likelihoods] != list(schema.names):
            raise ModelError("the model's features are not those of its schema")
        for likelihood, feature in zip(self.likelihoods, schema.features, strict=True):
            likelihood.check(feature, classes)
        if certificate.schema_hash != schema.hash:
            raise ModelError("the certificate belongs to another schema")

    probabilistic = True

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of every score's columns."""
        return self.schema.class_array()

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""
        return [{"name": one.name, "kind": one.kind, "words": one.words} for one in self.likelihoods]

    def score_rows(self, rows: Rows) -> Floats:
        """log P(class | features) of rows as a source delivers them."""
        return normalised(joint_log_probability(rows, self.log_prior, self.likelihoods))

    def most_frequent(self) -> int:
        """The class that the model holds to be the most frequent."""
        return int(self.log_prior.argmax())

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> NaiveBayesModel:
        """The same kind of model fitted without noise: for comparison, never for release."""
        from discreet.bayes.classifier import twin_of

        return twin_of(self, data, y, progress=progress)

    def _batches(self, X: Any, progress: Progress | None) -> Any:
        return read_rows(X, self.schema, labelled=False, progress=progress)

    def predict_joint_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class, features) for each row of an array, a data frame, a file or a table."""
        parts = [joint_log_probability(rows, self.log_prior, self.likelihoods) for rows in self._batches(X, progress)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.log_prior)))

    def predict_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class | features) for each row."""
        return normalised(self.predict_joint_log_proba(X, progress))

    def predict_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """P(class | features) for each row."""
        return np.exp(self.predict_log_proba(X, progress))

    def predict(self, X: Any, progress: Progress | None = None) -> NDArray[Any]:
        """The most probable class of each row."""
        parts = [most_probable(rows, self.log_prior, self.likelihoods) for rows in self._batches(X, progress)]
        return self.classes[np.concatenate(parts)] if parts else self.classes[:0]

    def sample(self, size: int, *, rng: np.random.Generator) -> dict[str, list[Any]]:
        """Synthetic rows drawn from the model, target included: as private as the model itself."""
        groups = rng.choice(len(self.log_prior), size=size, p=np.exp(normalised(self.log_prior[None, :]))[0])
        columns: dict[str, list[Any]] = {}
        for feature, likelihood in zip(self.schema.features, self.likelihoods, strict=True):
            columns[feature.name] = likelihood.sample(feature, groups, rng)
        columns[self.schema.target] = [self.schema.classes[group] for group in groups]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "schema": self.schema.to_dict(),
            "log_prior": self.log_prior.tolist(),
            "features": [likelihood.to_dict() for likelihood in self.likelihoods],
            "certificate": self.certificate.model_dump(mode="json"),
            **measured_fields(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, fields: Any) -> NaiveBayesModel:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ModelError("this is not a Naive Bayes model of discreet")
        if fields.get("version") != VERSION:
            raise ModelError(f"the model is of version {fields.get('version')!r}; this library reads {VERSION}")
        try:
            found = cls(
                Schema.from_dict(fields["schema"]),
                np.array(fields["log_prior"], dtype=np.float64),
                [parse(feature) for feature in fields["features"]],
                Certificate.model_validate_json(json.dumps(fields["certificate"])),
            )
            return with_measured(found, fields)
        except ModelError:
            raise
        except SchemaError as error:
            raise ModelError(f"the model's schema is damaged: {error}") from None
        except ValidationError as error:
            raise ModelError(f"the model's certificate is damaged: {error.errors()[0]['msg']}") from None
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(f"the model is damaged: {type(error).__name__} {error}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NaiveBayesModel:
        """Read a model file. Nothing in it is executed: files from strangers are safe to load."""
        try:
            raw = Path(path).read_bytes()
        except OSError as error:
            raise ModelError(f"cannot read the model {path}: {error.strerror or error}") from None
        try:
            return cls.from_dict(parse_json(raw))
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        except ValueError as error:
            raise ModelError(f"{path} is damaged or no model file: {error}") from None

    def __repr__(self) -> str:
        return f"<NaiveBayesModel: {len(self.likelihoods)} features, {len(self.log_prior)} classes>"


__all__ = ["NaiveBayesModel", "normalised"]
