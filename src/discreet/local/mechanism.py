"""The mechanism: what frequency oracles and number mechanisms have in common, from the draw to the bytes."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.local.wire.integers import Integers, Raw, Run, rows_from_bytes, rows_to_bytes

Reports = NDArray[Any]
Floats = NDArray[np.float64]
Law = dict[tuple[int, ...], Fraction]


class Mechanism(ABC):
    """Something a person has in, a random report out that is ε-private for that person, sums from many reports.

    `code` names it on the wire, from 1 to 255. A report is a row of whole numbers: `runs` says how its columns are
    written, `shape` and `dtype` how `perturb` returns it.
    """

    name: ClassVar[str]
    code: ClassVar[int]
    script: ClassVar[str]  # the function of the JavaScript client that draws such reports
    javascript: ClassVar[str] = ""  # the source of that function, unless the client has it
    literals: ClassVar[dict[str, str]] = {}  # numbers that the function takes for granted, as JavaScript
    tight: ClassVar[bool] = True  # whether some report uses up all of ε
    parameter: int = 0  # what a report says about the mechanism beside its code, input and ε
    epsilon: Fraction
    runs: tuple[Run, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.int64)

    @classmethod
    @abstractmethod
    def listed(cls) -> Iterable[Self]:
        """Small instances, all of whose reports can be listed: what exhaustive tests go through."""

    @property
    def variation(self) -> Fraction | None:
        """The largest total variation between reports of two people, if it is known to be below what ε allows.

        It is what a shuffler hides them by (docs/proofs/shuffling.md).
        """
        return None

    @abstractmethod
    def laws(self) -> Iterable[Law]:
        """The exact probability of every report, for each thing a person may have; for small domains."""

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """Whole numbers (large ones as decimal text) that a client in another language needs to draw."""

    @abstractmethod
    def support(self, reports: Reports) -> Integers:
        """What the reports say in sum: an integer vector, additive over reports, from which `estimate` works."""

    @abstractmethod
    def estimate(self, support: Any, m: int) -> Floats:
        """What m people have in sum, without bias."""

    def aggregate(self, reports: Reports) -> Floats:
        """What the people who sent the reports have in sum, without bias."""
        return self.estimate(self.support(reports), len(reports))

    @cached_property
    def width(self) -> int:
        """Bytes of a report."""
        return sum(run.width for run in self.runs)

    def rows(self, reports: Reports) -> Reports:
        """Reports as an array of the right kind, or an error."""
        array = np.asarray(reports)
        if array.ndim != 1 + len(self.shape) or array.shape[1:] != self.shape or array.dtype != self.dtype:
            raise DataError(f"reports of {self!r} are rows of shape {self.shape} of {self.dtype}")
        return array

    def packed(self, report: tuple[int, ...]) -> bytes:
        """What `draw` returned as `width` bytes."""
        return self.encode(np.array(report, self.dtype).reshape(1, *self.shape)).tobytes()

    def encode(self, reports: Reports) -> Raw:
        """Reports as bytes, `width` per person."""
        rows = self.rows(reports)
        return rows_to_bytes(rows.reshape(len(rows), sum(run.size for run in self.runs)), self.runs)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        """Reports out of bytes, and which of them are well-formed; the others are not to be counted."""
        rows, fine = rows_from_bytes(raw, self.runs)
        fine &= self.possible(rows)
        if not fine.all():
            rows[~fine] = np.concatenate([np.full(run.size, max(run.low, 0)) for run in self.runs])
        return rows.astype(self.dtype, copy=False).reshape(len(rows), *self.shape), fine

    def possible(self, rows: Integers) -> NDArray[np.bool_]:
        """Which rows with every number in its range a client can have sent."""
        return np.ones(len(rows), bool)

    @cached_property
    def worst(self) -> Fraction:
        """The largest ratio of the chances of one report under two things a person may have, by enumeration."""
        return worst_ratio(self.laws())


def independent(laws: Iterable[dict[int, Fraction]]) -> Law:
    """The law of a row of numbers that are drawn independently of each other."""
    return {
        tuple(one for one, _ in row): math.prod((chance for _, chance in row), start=Fraction(1))
        for row in itertools.product(*(law.items() for law in laws))
    }


def worst_ratio(laws: Iterable[Law]) -> Fraction:
    """The largest ratio of the chances of one report under two of the laws."""
    known = list(laws)
    outcomes = set().union(*known)
    if any(len(law) != len(outcomes) or min(law.values()) <= 0 for law in known):
        raise ValueError("a report is possible for one person and impossible for another")
    return max(max(law[one] for law in known) / min(law[one] for law in known) for one in outcomes)
