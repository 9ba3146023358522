"""The joint model: log P(class | cell) for every cell of one table over all features."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from discreet.errors import ModelError
from discreet.models import Floats, ReleasedModel, class_probabilities
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema
from discreet.sources import Progress, Rows, encode_rows

DIGITS = 5  # of a log-probability in a file: far below what noise leaves of it
LARGEST = 1 << 20  # cells of all classes together: what a file and a release hold with ease


class JointModel(ReleasedModel):
    """log P(class), and log P(class | cell) with a row per class; the last feature's cells run fastest."""

    FORMAT = "discreet/joint"
    NAME = "a joint histogram"
    by_codes = True
    log_prior: Floats

    def __init__(self, schema: Schema, log_prior: Any, table: Any, certificate: Certificate) -> None:
        super().__init__(schema, certificate)
        self.log_prior = class_probabilities(schema, log_prior)
        cells = math.prod(feature.cells for feature in schema.features)
        if cells * len(schema.classes) > LARGEST:
            raise ModelError("the joint table of this schema has too many cells")
        self.table = np.round(numbers(table, (len(schema.classes), cells), "the joint table"), DIGITS)

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled: by how many cells of the joint table."""
        return [{"name": f.name, "kind": f"{f.cells} cells of the joint table"} for f in self.schema.features]

    def joint_rows(self, rows: Rows) -> Floats:
        """log P(class | cell) of rows."""
        spot = np.zeros(rows.size, np.int64)
        for code, feature in zip(encode_rows(rows).T, self.schema.features, strict=True):
            spot = spot * feature.cells + code
        return np.ascontiguousarray(self.table.T)[spot]

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> JointModel:
        """A joint histogram of the same cells without noise: for comparison, never for release."""
        from discreet.dependence.joint import PrivateJointHistogram

        return PrivateJointHistogram(math.inf, self.schema).fit(data, y, progress=progress).model_

    def _fields(self) -> dict[str, Any]:
        return {"table": self.table.tolist()}

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> Self:
        return cls(schema, fields["log_prior"], fields["table"], certificate)

    def __repr__(self) -> str:
        return f"<JointModel: {self.table.shape[1]} cells, {len(self.log_prior)} classes>"


def numbers(values: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Finite log-probabilities of a shape, or an error that says what they are of."""
    table = np.asarray(values, dtype=np.float64)
    if table.shape != shape:
        raise ModelError(f"{what} has the wrong shape")
    if not np.isfinite(table).all() or (np.abs(table) > 1e6).any():
        raise ModelError(f"{what} holds numbers out of range")
    return table
