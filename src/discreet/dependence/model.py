"""What released networks have in common: files, checks and prediction; they never saw an exact count."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.bayes.model import normalised
from discreet.errors import ModelError, SchemaError
from discreet.files import parse_json, write_text
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation, measured_fields, with_measured
from discreet.schema import Schema
from discreet.sources import Progress, Rows, read_rows

Floats = NDArray[np.float64]
VERSION = 1
DIGITS = 5  # of a log-probability in a file: far below what noise leaves of it


class NetworkModel(ABC):
    """A schema, log P(class), a certificate, and a way to score coded rows."""

    FORMAT: ClassVar[str]
    NAME: ClassVar[str]
    probabilistic = True
    evaluation: PrivateEvaluation | None = None  # figures measured on rows held out, if any

    def __init__(self, schema: Schema, log_prior: Any, certificate: Certificate) -> None:
        self.schema = schema
        self.log_prior = np.asarray(log_prior, dtype=np.float64)
        self.certificate = certificate
        if self.log_prior.shape != (len(schema.classes),) or not np.isfinite(self.log_prior).all():
            raise ModelError("the class probabilities do not fit the schema")
        if certificate.schema_hash != schema.hash:
            raise ModelError("the certificate belongs to another schema")

    @abstractmethod
    def _joint(self, rows: Rows) -> Floats:
        """log-probabilities up to a constant for each row, one column per class."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """The tables as plain values."""

    @classmethod
    @abstractmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> Self:
        """A model out of plain values."""

    @property
    @abstractmethod
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""

    # ---- prediction

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of every score's columns."""
        return self.schema.class_array()

    def most_frequent(self) -> int | None:
        """The class it holds to be the most frequent."""
        return int(self.log_prior.argmax())

    def score_rows(self, rows: Rows) -> Floats:
        """log P(class | row) for some rows, one column per class."""
        return normalised(self._joint(rows))

    def predict_joint_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """Scores of each row of an array, a data frame, a file or a table: log-probabilities up to a constant."""
        parts = [self._joint(rows) for rows in read_rows(X, self.schema, labelled=False, progress=progress)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.log_prior)))

    def predict_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class | features) for each row."""
        return normalised(self.predict_joint_log_proba(X, progress))

    def predict_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """P(class | features) for each row."""
        return np.exp(self.predict_log_proba(X, progress))

    def predict(self, X: Any, progress: Progress | None = None) -> NDArray[Any]:
        """The most probable class of each row."""
        return np.asarray(self.classes[self.predict_joint_log_proba(X, progress).argmax(axis=1)])

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {
            "format": self.FORMAT,
            "version": VERSION,
            "schema": self.schema.to_dict(),
            "log_prior": self.log_prior.tolist(),
            **self._fields(),
            "certificate": self.certificate.model_dump(mode="json"),
            **measured_fields(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, fields: Any) -> Self:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, dict) or fields.get("format") != cls.FORMAT:
            raise ModelError(f"this is not a {cls.NAME} of discreet")
        if fields.get("version") != VERSION:
            raise ModelError(f"the model is of version {fields.get('version')!r}; this library reads {VERSION}")
        try:
            schema = Schema.from_dict(fields["schema"])
            certificate = Certificate.model_validate_json(json.dumps(fields["certificate"]))
            return with_measured(cls._build(schema, fields, certificate), fields)
        except ModelError:
            raise
        except SchemaError as error:
            raise ModelError(f"the model's schema is damaged: {error}") from None
        except ValidationError as error:
            raise ModelError(f"the model's certificate is damaged: {error.errors()[0]['msg']}") from None
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(f"the model is damaged: {type(error).__name__} {error}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
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


def numbers(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Finite log-probabilities of a shape, or an error that says what they are of."""
    table = np.asarray(values, dtype=np.float64)
    if table.shape != shape:
        raise ModelError(f"{what} has the wrong shape")
    if not np.isfinite(table).all() or (np.abs(table) > 1e6).any():
        raise ModelError(f"{what} holds numbers out of range")
    return table
