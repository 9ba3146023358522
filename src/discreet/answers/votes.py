"""Votes: a Naive Bayes model on each of many disjoint parts of the rows, and how they would label a row."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.random.mtrand import get_bit_generator, set_bit_generator
from numpy.typing import NDArray
from sklearn.base import clone

from discreet.schema import Numeric, Schema

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Ballot(Protocol):
    """Whatever counts votes."""

    def votes(self, cells: Integers) -> Integers:
        """Votes by class for some rows."""


class Voters:
    """One model per part, from exact counts. As private as the rows: nothing but chosen labels may leave.

    Every row is dealt to one part by a draw of its own, so a row more or less, or a changed one, changes one vote.
    """

    def __init__(self, schema: Schema, cells: Integers, labels: Integers, where: Integers, parts: int) -> None:
        classes = len(schema.classes)
        spot, size = where * classes + labels, parts * classes
        counts = np.bincount(spot, minlength=size).reshape(parts, classes)
        self.parts, self.classes = parts, classes
        self.silent = counts.sum(axis=1) == 0  # a part without rows abstains
        self.prior = np.log(counts + 1.0).astype(np.float32)
        self.tables: list[NDArray[np.float32]] = []
        for j, feature in enumerate(schema.features):
            flat = np.bincount(spot * feature.cells + cells[:, j], minlength=size * feature.cells)
            table: Floats = flat.astype(np.float64).reshape(parts, classes, feature.cells)
            table = smeared(table) if isinstance(feature, Numeric) and feature.missing_code is None else table
            # One row in all is added to a class, spread over the cells: parts are small.
            even = table + 1.0 / feature.cells
            self.tables.append(np.log(even / even.sum(axis=2, keepdims=True)).astype(np.float32))

    def votes(self, cells: Integers) -> Integers:
        """Votes by class for some rows; a part without a preference votes for the first of its best classes."""
        result = np.empty((len(cells), self.classes), np.int64)
        for i, row in enumerate(cells.tolist()):
            scores = self.prior.copy()
            for table, cell in zip(self.tables, row, strict=True):
                scores += table[:, :, cell]
            result[i] = np.bincount(scores.argmax(axis=1)[~self.silent], minlength=self.classes)
        return result


class FittedVoters:
    """One classifier of any make per part. A part without rows abstains, and so does one that cannot be fitted.

    Each part has one of the `seeds`, drawn whatever the rows say, and begins every stream of random numbers from it:
    a stream that parts shared would let a row of one part change how another is fitted.
    """

    def __init__(
        self,
        schema: Schema,
        cells: Integers,
        labels: Integers,
        where: Integers,
        parts: int,
        model: Any,
        seeds: Integers,
    ) -> None:
        self.schema, self.classes = schema, len(schema.classes)
        matrix = self._columns(cells)
        self.fixed = np.zeros(self.classes, np.int64)  # votes of parts that know one class only
        self.models: list[tuple[int, Any]] = []
        order = np.argsort(where, kind="stable")
        ends = np.searchsorted(where[order], np.arange(parts + 1))
        for seed, (start, stop) in zip(seeds.tolist(), pairwise(ends.tolist()), strict=True):
            mine = order[start:stop]
            seen = np.unique(labels[mine])
            if len(seen) == 1:
                self.fixed[seen[0]] += 1
            elif len(seen) > 1:
                # What goes wrong in one part must stay there: it is that part's vote, and no more.
                with contextlib.suppress(Exception), own_streams(seed):
                    self.models.append((seed, reseeded(clone(model), seed).fit(matrix[mine], labels[mine])))

    def _columns(self, cells: Integers) -> Floats:
        blocks = [
            cells[:, j : j + 1].astype(np.float64)
            if isinstance(feature, Numeric)
            else np.eye(feature.cells)[cells[:, j]]
            for j, feature in enumerate(self.schema.features)
        ]
        return np.concatenate(blocks, axis=1)

    def votes(self, cells: Integers) -> Integers:
        """Votes by class for some rows."""
        result = np.tile(self.fixed, (len(cells), 1))
        matrix, rows = self._columns(cells), np.arange(len(cells))
        for seed, model in self.models:
            with contextlib.suppress(Exception), own_streams(seed):
                result[rows, np.clip(np.asarray(model.predict(matrix), np.int64), 0, self.classes - 1)] += 1
        return result


def reseeded(model: Any, seed: int) -> Any:
    """The model with every `random_state` in it, however deep, set to a number that follows from a seed."""
    names = sorted(name for name in model.get_params(deep=True) if name.endswith("random_state"))
    streams = np.random.SeedSequence(seed).generate_state(len(names)) >> np.uint32(1)
    return model.set_params(**dict(zip(names, streams.tolist(), strict=True))) if names else model


@contextlib.contextmanager
def own_streams(seed: int) -> Iterator[None]:
    """NumPy's and Python's global generators begin anew from a seed, and afterwards are what they were."""
    numpys, pythons = get_bit_generator(), random.getstate()
    set_bit_generator(np.random.MT19937(seed))
    random.seed(seed)
    try:
        yield
    finally:
        set_bit_generator(numpys)
        random.setstate(pythons)


def smeared(table: Floats) -> Floats:
    """Counts of a number with half of each shared with the neighbouring bins: parts are small, bins are many."""
    if table.shape[2] < 3:
        return table
    sides = np.zeros_like(table)
    sides[:, :, 1:] += table[:, :, :-1] / 4
    sides[:, :, :-1] += table[:, :, 1:] / 4
    sides[:, :, 0] += table[:, :, 0] / 4
    sides[:, :, -1] += table[:, :, -1] / 4
    return np.asarray(table / 2 + sides)
