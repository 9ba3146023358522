"""Audits of reading rows: noisy counts of a column whose values have several types, and a control that is caught."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.controls import discrete_laplace
from discreet.audit.registry import AuditCase, Claim
from discreet.audit.result import Pair
from discreet.schema import Categorical, Schema
from discreet.sources.source import collect

SCHEMA = Schema([Categorical("answer", ["1", "0"], other="another")], "class", ["no", "yes"])


@dataclass(frozen=True)
class MixedCounts:
    """Noisy counts of one column of Python values; `joint` brings the column to one type before it is coded."""

    epsilon: float
    joint: bool = False

    def sample(self, data: Sequence[Any], size: int, *, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return noisy tables, one row each."""
        column = np.asarray(data)[:, None] if self.joint else [[value] for value in data]
        table = collect(column, SCHEMA, ["no"] * len(data)).tables["answer"][0]
        return np.asarray(table + discrete_laplace(1.0 / self.epsilon, (size, len(table)), rng=rng))


def _pairs(_: float) -> list[Pair]:
    truths: list[Any] = [True] * 4 + [False] * 3
    return [Pair(truths, [*truths, "x"], "a text among truth values")]


def audit_cases() -> list[AuditCase]:
    """Declare the honest reading and the one that lets a row re-code the others."""
    honest = AuditCase("mixed-column", Claim(1.0), MixedCounts, _pairs, "add-remove",
                       note="counts of a column of several types")  # fmt: skip
    control = AuditCase("control-joint-type", Claim(1.0), lambda epsilon: MixedCounts(epsilon, joint=True), _pairs,
                        "add-remove", control=True, note="a column is coded by its joint type")  # fmt: skip
    return [honest, control]
