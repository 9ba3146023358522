"""Counted rows: exact statistics in the place of rows, with the rules by which they were read; they merge and subtract.

Such a file is as private as the rows: it holds their exact counts. Models that are made of counts take it as a source.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError, StatisticsError
from discreet.privacy.unexpected import ABSORB, check_unexpected
from discreet.schema import Numeric, Schema
from discreet.sources.absorb import Absorbed
from discreet.sources.people import Counted
from discreet.sources.source import collect
from discreet.sources.streams import Stream, register
from discreet.statistics import Detail, Statistics

SUFFIX = ".stats"
COUNTED = (
    "the statistics that stand for the rows were counted before: that they are counts of these rows alone, by the "
    "rules they name, is taken on trust"
)
APART = "parts of the statistics were merged on the word that no person has rows in more than one of them"
_RULES = "discreet.rules"
_PARTS = "discreet.parts"
_APART = "apart"


@dataclass(frozen=True)
class CountedRows:
    """Exact statistics of rows, and how these were read: what became of values without a place, up to how many rows a
    person has where the schema tells people apart, and whether parts were merged as such of different people.
    """

    statistics: Statistics
    unexpected: str
    contributions: int | None = None
    apart: bool = False
    parts: tuple[str, ...] = ()  # that were counted each by itself: a name of chance for each
    file: str | None = field(default=None, compare=False)

    @property
    def trusts(self) -> tuple[str, ...]:
        """What a release that follows from these statistics cannot check."""
        return (COUNTED, APART) if self.apart else (COUNTED,)

    @classmethod
    def of(
        cls, data: Any, schema: Schema, labels: Any = None, *, contributions: int = 1, unexpected: str = "refuse",
        detail: Collection[Detail] = ("bins", "moments"), **more: Any,
    ) -> CountedRows:  # fmt: skip
        """Count rows of any source."""
        rules: dict[str, Any] = {"contributions": contributions, "unexpected": unexpected}
        found = collect(data, schema, labels, detail=detail, **rules, **more)
        return cls(found, unexpected, None if schema.id is None else contributions, parts=(secrets.token_hex(8),))

    def merged(self, other: CountedRows, *, apart: bool = False) -> CountedRows:
        """Both together. A person may have rows in both, so that their limits add up, unless they are told `apart`:
        no person has rows in both.
        """
        self._check(other)
        if set(self.parts) & set(other.parts):
            raise StatisticsError("some rows are in both, and would count twice: merge each part once")
        most = [one.contributions for one in (self, other) if one.contributions is not None]
        limit = (max(most) if apart else sum(most)) if most else None
        total = self.unexpected == ABSORB
        both = self.statistics.saturated(other.statistics) if total else self.statistics + other.statistics
        told, parts = self.apart or other.apart or apart, (*self.parts, *other.parts)
        return replace(self, statistics=both, contributions=limit, apart=told, parts=parts, file=None)

    def without(self, other: CountedRows) -> CountedRows:
        """The same without rows that are among them: of people who take their consent back before a release."""
        self._check(other)
        if self.unexpected == ABSORB and self.contributions is not None:
            raise StatisticsError(
                "of a person with too many rows each count has drawn others, so that taking them away would leave "
                "traces: count the rows again without those people"
            )
        told, left = self.apart or other.apart, tuple(one for one in self.parts if one not in other.parts)
        return replace(self, statistics=self.statistics - other.statistics, apart=told, parts=left, file=None)

    def _check(self, other: CountedRows) -> None:
        if self.unexpected != other.unexpected:
            raise StatisticsError(
                f"one part was counted with unexpected = {self.unexpected!r} and the other with {other.unexpected!r}: "
                "count both by one rule"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for the owner's eyes alone."""
        words = [self.unexpected, "" if self.contributions is None else str(self.contributions)]
        rules = " ".join([*words, *([_APART] if self.apart else [])])
        self.statistics.save(path, notes={_RULES: rules, _PARTS: " ".join(self.parts)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CountedRows:
        """Read what `save` wrote."""
        statistics, notes = Statistics.load_noted(path)
        try:
            unexpected, limit, *more = notes.get(_RULES, "").split(" ")
            contributions = int(limit) if limit else None
            named = statistics.schema.id is not None
            if (contributions is not None and contributions >= 1) != named or more not in ([], [_APART]):
                raise ValueError(limit)
            parts = tuple(notes.get(_PARTS, "").split())
            return cls(statistics, check_unexpected(unexpected), contributions, bool(more), parts, os.fspath(path))
        except ValueError:
            raise StatisticsError(f"{path} does not say how rows were read: count them by 'discreet stats'") from None


class Counts(Stream):
    """Counted rows as a source: it counts, and has no rows to read."""

    def __init__(self, data: CountedRows) -> None:
        self.data, self.schema, self.trusts = data, data.statistics.schema, data.trusts
        self.names = [*self.schema.names, self.schema.target, *([self.schema.id] if self.schema.id else [])]

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        raise DataError("statistics hold no rows, and these are needed here: pass the rows themselves")

    def serve(self, schema: Schema, plan: Any = None) -> None:
        """Refuse another schema than that of the counts, and a plan for which they do not suffice."""
        if schema != self.schema:
            raise DataError("the statistics were counted under another schema: count the rows again by this one")
        if plan is None:
            return
        wanted = getattr(plan, "counts_alone", None)
        if wanted is None:
            raise DataError("this release needs rows, of which statistics hold no more than counts: pass the rows")
        self._check_rules(plan.unexpected == ABSORB, plan.contributions)
        lacking = [one for one in wanted if schema.numeric and one not in self.data.statistics.detail]
        if lacking:
            raise DataError(f"the statistics lack the {lacking[0]} of numbers: count the rows again with them")

    def _check_rules(self, total: bool, contributions: int | None = None) -> None:
        if total != (self.data.unexpected == ABSORB):
            raise DataError(
                f"the statistics were counted with unexpected = {self.data.unexpected!r}: fit by the same rule, or "
                "count the rows again"
            )
        limit = self.data.contributions
        if contributions is not None and limit is not None and limit > contributions:
            raise DataError(
                f"the statistics were counted with up to {limit} rows of a person, and the release is for "
                f"{contributions}: raise contributions, or merge parts of different people as such"
            )

    def people(self, schema: Schema) -> Any:
        return Counted(missing=False, rows=self.data.contributions or 1, key=None)

    def count(
        self, schema: Schema, detail: Collection[Detail], *, total: bool, absorbed: Absorbed
    ) -> Statistics | None:  # fmt: skip
        self.serve(schema)
        self._check_rules(total)
        held = self.data.statistics
        if schema.numeric and not set(detail) <= set(held.detail):
            raise DataError("the statistics lack what is asked of numbers: count the rows again with that detail")
        numbers = {one.name for one in schema.features if isinstance(one, Numeric)}
        tables = {name: table for name, table in held.tables.items() if name not in numbers or "bins" in detail}
        moments = {kind: getattr(held, kind) if "moments" in detail else {} for kind in ("present", "sums", "squares")}
        return Statistics(
            schema, held.counts, tables, **moments, lattice=held.lattice if "lattice" in detail else {}
        )  # fmt: skip

    def class_counts(self, schema: Schema) -> NDArray[np.int64] | None:
        self.serve(schema)
        return self.data.statistics.counts


def _matches(data: Any) -> bool:
    return isinstance(data, CountedRows) or (isinstance(data, str | Path) and str(data).endswith(SUFFIX))


def _open(data: Any, **_: Any) -> Stream:
    return Counts(data if isinstance(data, CountedRows) else CountedRows.load(data))


register("counted rows", _matches, _open, counts=True)
