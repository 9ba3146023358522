"""The joint model: log P(class | cell) for every cell of one table over all features."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from discreet.bayes.likelihoods.histogram import decode
from discreet.errors import ModelError
from discreet.models import Floats, ReleasedModel, class_probabilities, pick
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema
from discreet.sources import Progress, Rows, encode_rows

DIGITS = 5  # of a log-probability in a file: far below what noise leaves of it
LARGEST = 1 << 20  # cells of all classes together: what a file and a release hold with ease


class JointModel(ReleasedModel):
    """log P(class), and log P(class | cell) with a row per class; the last feature's cells run fastest.

    `cells` are the weights of the cells, by which rows can be drawn; files of earlier versions lack them.
    """

    FORMAT = "discreet/joint"
    NAME = "a joint histogram"
    by_codes = True
    log_prior: Floats

    def __init__(self, schema: Schema, log_prior: Any, table: Any, certificate: Certificate, cells: Any = None) -> None:
        super().__init__(schema, certificate)
        self.log_prior = class_probabilities(schema, log_prior)
        size = math.prod(feature.cells for feature in schema.features)
        if size * len(schema.classes) > LARGEST:
            raise ModelError("the joint table of this schema has too many cells")
        self.table = np.round(numbers(table, (len(schema.classes), size), "the joint table"), DIGITS)
        self.cells = None if cells is None else numbers(cells, (size,), "the table of cells")
        if self.cells is not None and (self.cells.min() < 0 or not self.cells.sum() > 0):
            raise ModelError("the table of cells holds weights below zero, or none above")
        self.generative = self.cells is not None

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

    def _draw(self, size: int, rng: np.random.Generator) -> dict[str, list[Any]]:
        """A cell, then its class and values in it."""
        assert self.cells is not None
        spots = rng.choice(len(self.cells), size=size, p=self.cells / self.cells.sum())
        groups = pick(np.exp(self.table.T[spots]), rng.random(size))
        codes = np.unravel_index(spots, [feature.cells for feature in self.schema.features])
        columns = {f.name: decode(f, code, rng) for f, code in zip(self.schema.features, codes, strict=True)}
        return {**columns, self.schema.target: [self.schema.classes[group] for group in groups]}

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> JointModel:
        """A joint histogram of the same cells without noise: for comparison, never for release."""
        from discreet.dependence.joint import PrivateJointHistogram

        return PrivateJointHistogram(math.inf, self.schema).fit(data, y, progress=progress).model_

    def _fields(self) -> dict[str, Any]:
        return {"table": self.table.tolist(), **({} if self.cells is None else {"cells": self.cells.tolist()})}

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> Self:
        return cls(schema, fields["log_prior"], fields["table"], certificate, fields.get("cells"))

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
