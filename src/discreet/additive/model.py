"""The model: released shapes of features and pairs with their certificate; it never saw a training row."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.additive.blocks import Blocks, check_blocks
from discreet.errors import ModelError, SchemaError
from discreet.files import parse_json, write_text
from discreet.linear.encode import UNIT
from discreet.linear.kernels import compiled
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation, measured_fields, with_measured
from discreet.schema import Schema
from discreet.sources import Progress, Rows, hold_rows, read_rows

Floats = NDArray[np.float64]
FORMAT = "discreet/additive"
VERSION = 1


class AdditiveModel:
    """log-odds = constant + Σ shape of each feature + Σ table of each pair; classes in the schema's order.

    `weights` has one row per class, or one row (the log-odds of the second class) if there are two; its columns are
    those of `blocks`, the constant last.
    """

    evaluation: PrivateEvaluation | None = None  # figures measured on rows held out, if any

    def __init__(self, blocks: Blocks, weights: Any, certificate: Certificate) -> None:
        self.blocks, self.schema, self.certificate = blocks, blocks.schema, certificate
        self.weights = np.array(weights, dtype=np.float64)
        try:
            check_blocks(blocks)
        except ValueError as error:
            raise ModelError(str(error)) from None
        vectors = 1 if len(self.schema.classes) == 2 else len(self.schema.classes)
        if self.weights.shape != (vectors, blocks.columns) or not np.isfinite(self.weights).all():
            raise ModelError("the weights do not fit the schema")
        if float(np.abs(self.weights).max()) > 1e150:
            raise ModelError("a weight is out of range")
        if certificate.schema_hash != self.schema.hash:
            raise ModelError("the certificate belongs to another schema")

    @property
    def probabilistic(self) -> bool:
        """Scores are log-probabilities."""
        return True

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of every score's columns."""
        return self.schema.class_array()

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""
        shaped = set(self.blocks.singles)
        kinds = []
        for j, (feature, knots) in enumerate(zip(self.schema.features, self.blocks.knots, strict=True)):
            kind = f"a line through {len(knots)} knots" if knots is not None else f"{feature.cells} cells"
            paired = sum(j in pair for pair in self.blocks.pairs)
            if j not in shaped:
                kind = "none"
            kinds.append({"name": feature.name, "kind": kind + (f", in {paired} pair(s)" if paired else "")})
        return kinds

    def most_frequent(self) -> int | None:
        """An additive model does not know which class is the most frequent."""
        return None

    def shape(self, name: str) -> dict[str, Any]:
        """The released shape of a feature: the values at its knots or cells, one row per class, and where they are."""
        try:
            j = self.schema.names.index(name)
            block = self.blocks.singles.index(j)
        except ValueError:
            raise ModelError(f"the model has no shape of a feature {name!r}") from None
        start, stop = self.blocks.starts[block : block + 2]
        feature, knots = self.schema.features[j], self.blocks.knots[j]
        where: list[Any] = list(feature.labels)
        if knots is not None:
            where = [feature.lattice.value(k) for k in knots]  # type: ignore[union-attr]
            where += [feature.labels[-1]] * (feature.missing_code is not None)
        return {"at": where, "values": self.weights[:, start:stop].copy()}

    # ---- prediction

    def margins(self, rows: Rows) -> Floats:
        """Scores of rows as a source delivers them, one column per row of weights."""
        codes, values = self.blocks.encode(hold_rows(rows))
        out = np.empty((len(self.weights), rows.size))
        for weights, line in zip(self.weights, out, strict=True):
            compiled().margins_valued(codes, values, weights / UNIT, line)
        return np.ascontiguousarray(out.T)

    def score_rows(self, rows: Rows) -> Floats:
        """log P(class | features) of rows."""
        return _log_probabilities(self.margins(rows))

    def predict_joint_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class | features), which differs from the joint one by a constant of the row."""
        parts = [self.score_rows(rows) for rows in read_rows(X, self.schema, labelled=False, progress=progress)]
        return np.concatenate(parts) if parts else np.empty((0, len(self.schema.classes)))

    def predict_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class | features)."""
        return self.predict_joint_log_proba(X, progress)

    def predict_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """P(class | features)."""
        return np.exp(self.predict_joint_log_proba(X, progress))

    def predict(self, X: Any, progress: Progress | None = None) -> NDArray[Any]:
        """The most probable class."""
        return np.asarray(self.classes[self.predict_joint_log_proba(X, progress).argmax(axis=1)])

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> AdditiveModel:
        """The same blocks fitted without noise: for comparison, never for release."""
        from discreet.additive.classifier import twin_of

        return twin_of(self, data, y, progress=progress)

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "schema": self.schema.to_dict(),
            "knots": [None if knots is None else list(knots) for knots in self.blocks.knots],
            "pairs": [list(pair) for pair in self.blocks.pairs],
            "weights": self.weights.tolist(),
            "certificate": self.certificate.model_dump(mode="json"),
            **measured_fields(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, fields: Any) -> AdditiveModel:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ModelError("this is not an additive model of discreet")
        if fields.get("version") != VERSION:
            raise ModelError(f"the model is of version {fields.get('version')!r}; this library reads {VERSION}")
        try:
            blocks = Blocks(
                Schema.from_dict(fields["schema"]),
                tuple(None if knots is None else tuple(knots) for knots in fields["knots"]),
                tuple(tuple(pair) for pair in fields["pairs"]),
            )
            found = cls(
                blocks,
                np.array(fields["weights"], dtype=np.float64),
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
    def load(cls, path: str | os.PathLike[str]) -> AdditiveModel:
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
        blocks, classes = len(self.blocks.sizes), len(self.schema.classes)
        return f"<AdditiveModel: {blocks} blocks, {self.blocks.columns} columns, {classes} classes>"


def _log_probabilities(margins: Floats) -> Floats:
    if margins.shape[1] == 1:
        return np.asarray(-np.logaddexp(0.0, np.concatenate([margins, -margins], axis=1)))
    top = margins.max(axis=1, keepdims=True)
    return np.asarray(margins - top - np.log(np.exp(margins - top).sum(axis=1, keepdims=True)))
