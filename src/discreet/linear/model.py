"""The model: released weights of a linear classifier with their certificate; it never saw a training row."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.errors import BudgetError, ModelError, SchemaError
from discreet.files import parse_json, write_text
from discreet.linear.encode import UNIT, Encoding
from discreet.linear.kernels import compiled
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation, measured_fields, with_measured
from discreet.schema import Schema
from discreet.sources import Progress, Rows, hold_rows, read_rows

Floats = NDArray[np.float64]
FORMAT = "discreet/linear"
VERSION = 1
KINDS = ("logistic", "svm")


class LinearModel:
    """Weights of encoded rows: one set for two classes, one per class for more; classes in the schema's order.

    `settings` are those of the estimator, so that a twin without noise can be fitted.
    """

    evaluation: PrivateEvaluation | None = None  # figures measured on rows held out, if any

    def __init__(
        self,
        schema: Schema,
        weights: Any,
        certificate: Certificate,
        *,
        kind: str,
        numeric: str = "binned",
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.schema, self.certificate, self.kind = schema, certificate, kind
        self.weights = np.array(weights, dtype=np.float64)
        self.settings = dict(settings or {})
        try:
            self.encoding = Encoding(schema, numeric)
        except BudgetError as error:
            raise ModelError(str(error)) from None
        if kind not in KINDS:
            raise ModelError(f"a linear model is of the kind 'logistic' or 'svm', not {kind!r}")
        problems = 1 if len(schema.classes) == 2 else len(schema.classes)
        if self.weights.shape != (problems, self.encoding.columns) or not np.isfinite(self.weights).all():
            raise ModelError("the weights do not fit the schema")
        if float(np.abs(self.weights).max()) > 1e150:
            raise ModelError("a weight is out of range")
        if certificate.schema_hash != schema.hash:
            raise ModelError("the certificate belongs to another schema")

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are log-probabilities."""
        return self.kind == "logistic"

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of every score's columns."""
        return self.schema.class_array()

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is encoded."""
        scaled = self.encoding.numeric == "scaled"
        return [
            {"name": f.name, "kind": "scaled" if scaled and f.kind == "numeric" else "one-hot"}
            for f in self.schema.features
        ]

    def most_frequent(self) -> int | None:
        """A linear model does not know which class is the most frequent."""
        return None

    # ---- prediction

    def margins(self, rows: Rows) -> Floats:
        """x·w of rows as a source delivers them, one column per binary problem."""
        codes, values = self.encoding.encode(hold_rows(rows))
        out = np.empty((len(self.weights), rows.size))
        for weights, line in zip(self.weights, out, strict=True):
            if values is None:
                compiled().margins(codes, weights * self.encoding.scale, line)
            else:
                compiled().margins_valued(codes, values, weights * (self.encoding.scale / UNIT), line)
        return np.ascontiguousarray(out.T)

    def score_rows(self, rows: Rows) -> Floats:
        """Scores of rows: log-probabilities of a logistic model, else margins."""
        return self._scores(self.margins(rows))

    def _scores(self, margins: Floats) -> Floats:
        if margins.shape[1] == 1:
            both = np.concatenate([-margins, margins], axis=1)
            return -np.logaddexp(0.0, -both) if self.probabilistic else both
        if not self.probabilistic:
            return margins
        # One against the rest: each margin is a probability of its own, and they are made to add up to one.
        each = -np.logaddexp(0.0, -margins)
        top = each.max(axis=1, keepdims=True)
        return np.asarray(each - top - np.log(np.exp(each - top).sum(axis=1, keepdims=True)))

    def decision_function(self, X: Any, progress: Progress | None = None) -> Floats:
        """The margins of rows of any source, one column per binary problem."""
        parts = [self.margins(rows) for rows in read_rows(X, self.schema, labelled=False, progress=progress)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.weights)))

    def predict_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class | features), of a logistic model."""
        if not self.probabilistic:
            raise ModelError("a support vector machine has scores, not probabilities: use decision_function")
        return self._scores(self.decision_function(X, progress))

    def predict_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """P(class | features), of a logistic model."""
        return np.exp(self.predict_log_proba(X, progress))

    def predict(self, X: Any, progress: Progress | None = None) -> NDArray[Any]:
        """The class of the highest score."""
        margins = self.decision_function(X, progress)
        best = (margins[:, 0] > 0).astype(np.int64) if margins.shape[1] == 1 else margins.argmax(axis=1)
        return np.asarray(self.classes[best])

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> LinearModel:
        """The same kind of model fitted without noise: for comparison, never for release."""
        from discreet.linear.classifier import twin_of

        return twin_of(self, data, y, progress=progress)

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": self.kind,
            "numeric": self.encoding.numeric,
            "settings": self.settings,
            "schema": self.schema.to_dict(),
            "weights": self.weights.tolist(),
            "certificate": self.certificate.model_dump(mode="json"),
            **measured_fields(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, fields: Any) -> LinearModel:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ModelError("this is not a linear model of discreet")
        if fields.get("version") != VERSION:
            raise ModelError(f"the model is of version {fields.get('version')!r}; this library reads {VERSION}")
        try:
            settings = fields["settings"]
            if not isinstance(settings, dict) or not set(settings) <= {"method", "ridge", "h"}:
                raise ModelError("the model's settings are damaged")
            found = cls(
                Schema.from_dict(fields["schema"]),
                np.array(fields["weights"], dtype=np.float64),
                Certificate.model_validate_json(json.dumps(fields["certificate"])),
                kind=fields["kind"],
                numeric=fields["numeric"],
                settings=settings,
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
    def load(cls, path: str | os.PathLike[str]) -> LinearModel:
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
        return f"<LinearModel: {self.kind}, {self.encoding.columns} columns, {len(self.schema.classes)} classes>"
