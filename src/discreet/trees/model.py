"""The model: released trees with their certificate; it never saw an exact count."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.bayes.model import normalised
from discreet.errors import ModelError, SchemaError
from discreet.files import parse_json, write_text
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation, measured_fields, with_measured
from discreet.schema import Schema
from discreet.sources import Progress, Rows, encode_rows, read_rows
from discreet.trees.kernels import compiled
from discreet.trees.table import Nodes

Floats = NDArray[np.float64]
FORMAT = "discreet/trees"
VERSION = 1


class TreeModel:
    """log P(class), trees over a schema's questions, and what each leaf adds to the score of each class."""

    evaluation: PrivateEvaluation | None = None  # figures measured on rows held out, if any

    def __init__(self, schema: Schema, log_prior: Any, nodes: Nodes, values: Any, certificate: Certificate) -> None:
        self.schema = schema
        self.log_prior = np.asarray(log_prior, dtype=np.float64)
        self.nodes = nodes
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.certificate = certificate
        classes = len(schema.classes)
        nodes.check(schema)
        if self.log_prior.shape != (classes,) or not np.isfinite(self.log_prior).all():
            raise ModelError("the class probabilities do not fit the schema")
        if self.values.shape != (len(nodes), classes) or not np.isfinite(self.values).all():
            raise ModelError("the leaves' values do not fit the trees")
        if np.abs(self.values).max() > 1e9:
            raise ModelError("the leaves' values are out of range")
        if certificate.schema_hash != schema.hash:
            raise ModelError("the certificate belongs to another schema")

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of every score's columns."""
        return self.schema.class_array()

    @property
    def probabilistic(self) -> bool:
        """Whether its scores are log-probabilities."""
        return True

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled: by how many of the trees' questions."""
        asked = np.bincount(self.nodes.feature[~self.nodes.leaf], minlength=len(self.schema.features))
        return [
            {"name": name, "kind": f"{int(count)} question(s)"}
            for name, count in zip(self.schema.names, asked, strict=True)
        ]

    def most_frequent(self) -> int | None:
        """The class it holds to be the most frequent."""
        return int(self.log_prior.argmax())

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> TreeModel:
        """A tree, or a forest of as many random trees, of the same depth without noise: never for release."""
        from discreet.trees.classifier import PrivateForestClassifier, PrivateTreeClassifier
        from discreet.trees.estimate import levels_of

        depth, trees = len(levels_of(self.nodes)) - 1, len(self.nodes.roots)
        if trees > 1:
            forest = PrivateForestClassifier(math.inf, self.schema, depth=depth, n_estimators=trees)
            return forest.fit(data, y, progress=progress).model_
        return PrivateTreeClassifier(math.inf, self.schema, depth=depth).fit(data, y, progress=progress).model_

    @property
    def kind(self) -> str:
        """What the model is, for a person."""
        trees = len(self.nodes.roots)
        return (
            f"{'decision tree' if trees == 1 else f'forest of {trees} trees'} with {int(self.nodes.leaf.sum())} leaves"
        )

    def score_rows(self, rows: Rows) -> Floats:
        """log P(class | row) for some rows, one column per class."""
        return normalised(self._joint(rows))

    def _joint(self, rows: Rows) -> Floats:
        scores = np.tile(self.log_prior, (rows.size, 1))
        compiled().add_leaves(encode_rows(rows), self.nodes.roots, *self.nodes.columns, self.values, scores)
        return scores

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

    def to_text(self, tree: int = 0) -> str:
        """One of the trees, indented, for a person."""
        from discreet.trees.export import to_text

        return to_text(self, tree)

    def to_graphviz(self, tree: int = 0) -> str:
        """One of the trees in Graphviz' language."""
        from discreet.trees.export import to_graphviz

        return to_graphviz(self, tree)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "schema": self.schema.to_dict(),
            "log_prior": self.log_prior.tolist(),
            "trees": self.nodes.to_dict(),
            "values": self.values.tolist(),
            "certificate": self.certificate.model_dump(mode="json"),
            **measured_fields(self),
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, fields: Any) -> TreeModel:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise ModelError("this is not a tree model of discreet")
        if fields.get("version") != VERSION:
            raise ModelError(f"the model is of version {fields.get('version')!r}; this library reads {VERSION}")
        try:
            found = cls(
                Schema.from_dict(fields["schema"]),
                np.array(fields["log_prior"], dtype=np.float64),
                Nodes.from_dict(fields["trees"]),
                np.array(fields["values"], dtype=np.float64),
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
    def load(cls, path: str | os.PathLike[str]) -> TreeModel:
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
        return f"<TreeModel: {self.kind}, {len(self.log_prior)} classes>"
