"""Check: all in which rows differ from a schema, found in one reading; exact, for the holder of the data alone."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Categorical, Date, Numeric, Schema
from discreet.sources.columns import Codes, Numbers, make_column
from discreet.sources.people import People
from discreet.sources.recognise import GONE, dates, numbers
from discreet.sources.streams import Stream, opened
from discreet.values import Nested, text

SHOWN = 8  # values that are named
KEPT = 10_000  # different values that are counted one by one
CLIPPED = 0.01  # of the rows beyond a bound, from which on it is a problem and no outlier


@dataclass
class Finding:
    """One way in which a column differs from the schema, and what to do about it."""

    column: str
    what: str
    rows: int
    share: float
    edit: str
    values: dict[str, int] = field(default_factory=dict)
    problem: bool = True  # that stops a fit or spoils it; else worth knowing

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they are printed for machines."""
        return {**self.__dict__}


@dataclass
class Checked:
    """What was found in so many rows."""

    rows: int
    findings: list[Finding]

    @property
    def problems(self) -> list[Finding]:
        """What stops a fit or spoils it."""
        return [one for one in self.findings if one.problem]


def check_rows(
    data: Any, schema: Schema, *, contributions: int = 1, progress: Callable[[int, int | None], None] | None = None
) -> Checked:
    """Compare rows with a schema, column by column, and suggest an edit for each difference."""
    with opened(data, lenient=True) as stream:
        stream.progress = progress
        names = list(stream.names)
        wanted = [*schema.names, schema.target, *([schema.id] if schema.id else [])]
        absent = [name for name in wanted if name not in stream.names]
        there = [name for name in wanted if name not in absent]
        columns: dict[str, _Category | _Number] = {
            one.name: _Number(one) if isinstance(one, Numeric) else _Category(one, label=one is schema.label)
            for one in (*schema.features, schema.label) if one.name not in absent
        }  # fmt: skip
        people, size = People(), 0
        for batch, rows in _batches(stream, there or names[:1]):
            size += rows
            for name, column in columns.items():
                column.add(batch[name])
            if schema.id in there:
                people.add(batch[schema.id])
            if progress:
                progress(size, stream.total)
        rejected = stream.rejected()
    # Of a source without a list of columns, that which no row has is not there either.
    absent += [name for name, one in columns.items() if name not in names and one.missing == size]
    columns = {name: one for name, one in columns.items() if name not in absent}
    found = [_absent(name, names, size, schema) for name in absent]
    for column in columns.values():
        found += column.findings(size)
    if schema.id in there:
        found += _people(str(schema.id), people, contributions, size)
    if rejected:
        found.append(Finding("(file)", "lines that are no rows of the table", rejected, 1.0, "mend these lines"))
    extra = [name for name in names if name not in wanted]
    if extra:
        shown = ", ".join(extra[:SHOWN]) + (", …" if len(extra) > SHOWN else "")
        found.append(Finding("(table)", f"{len(extra)} columns that the schema does not name ({shown})", 0, 0.0,
                             "nothing: they are not read", problem=False))  # fmt: skip
    if not size:
        found.append(Finding("(table)", "there are no rows", 0, 0.0, "pass the file that holds them"))
    return Checked(size, found)


def _batches(stream: Stream, wanted: list[str]) -> Iterator[tuple[dict[str, Any], int]]:
    if wanted:
        for batch in stream.batches(list(dict.fromkeys(wanted))):
            yield batch, len(batch[wanted[0]])


def _absent(name: str, names: list[str], rows: int, schema: Schema) -> Finding:
    near = difflib.get_close_matches(name, [str(one) for one in names], 1, 0.7)
    role = "the target" if name == schema.target else "the id column" if name == schema.id else "a column"
    hint = f"call it {near[0]!r}, if that is meant, or " if near else ""
    return Finding(name, f"{role} that the data do not have", rows, 1.0, f"{hint}take it out of the schema")


def _people(name: str, people: People, contributions: int, rows: int) -> list[Finding]:
    found = []
    if people.missing:
        found.append(Finding(name, "rows without an id", 0, 0.0, "fill in the ids, or leave these rows out"))
    most = people.most()[0]
    if most > contributions:
        found.append(
            Finding(name, f"somebody has {most} rows, and {contributions} allowed", most, most / max(rows, 1),
                    f"fit with --contributions {most}, or --unexpected absorb, which keeps {contributions} of them")
        )  # fmt: skip
    return found


class _Category:
    """A column of categories, or the labels."""

    def __init__(self, feature: Categorical, *, label: bool) -> None:
        self.feature, self.label = feature, label
        self.cells = np.zeros(feature.cells + 1, np.int64)
        self.strange: Counter[str] = Counter()
        self.missing = 0

    def add(self, raw: Any) -> None:
        column = make_column(self.feature, raw)
        assert isinstance(column, Codes)
        codes = column.encode()
        self.cells += np.bincount(codes, minlength=len(self.cells))
        if self.feature.missing_code is not None:
            self.missing += int(np.count_nonzero(codes == self.feature.missing_code))
        for value, count in _counted(column.values[codes == self.feature.cells]):
            row = column.raw_of(value)
            if row is None:
                self.missing += count
            else:
                _note(self.strange, _named(row), count)

    def findings(self, rows: int) -> list[Finding]:
        feature, name, size, found = self.feature, self.feature.name, max(rows, 1), list[Finding]()
        strange = sum(self.strange.values())
        if strange:
            listed = dict(self.strange.most_common(SHOWN))
            new = ", ".join(repr(one) for one in listed) + (", …" if len(self.strange) > SHOWN else "")
            edit = f'add to categories: {new}; or declare other = "another"'
            if self.label:
                edit = f"add to classes: {new}; or leave these rows out, as a fit with --unexpected absorb does"
            words = "labels that are not among the classes" if self.label else "values that the schema does not list"
            found.append(Finding(name, words, strange, strange / size, edit, listed))
        if self.missing and feature.missing_code is None:
            edit = 'declare missing = "category"'
            if self.label:  # a row without a class teaches nothing
                edit = "leave these rows out, as a fit with --unexpected absorb does"
            words = "rows without a class" if self.label else "missing values without a place"
            found.append(Finding(name, words, self.missing, self.missing / size, edit))
        elif self.missing:
            found.append(_missing(name, self.missing, size))
        declared = len(feature.categories)
        never = [feature.labels[code] for code in np.flatnonzero(self.cells[:declared] == 0).tolist()]
        if never and rows:
            shown = ", ".join(repr(one) for one in never[:SHOWN]) + (", …" if len(never) > SHOWN else "")
            what = f"{'classes' if self.label else 'categories'} that no row has ({shown})"
            edit = "check how they are spelt; else keep them if they can occur" if not self.label else \
                "check how they are spelt: a class without rows cannot be learnt"  # fmt: skip
            found.append(Finding(name, what, 0, 0.0, edit, problem=self.label))
        if feature.other_code is not None and rows and self.cells[feature.other_code] > 0.2 * rows:
            count = int(self.cells[feature.other_code])
            found.append(Finding(name, f"values in the bucket {feature.other!r}", count, count / size,
                                 "list more of them, if public knowledge names them", problem=False))  # fmt: skip
        return found


class _Number:
    """A column of numbers or dates; a transform is left out, so that bounds are compared in the data's own unit."""

    def __init__(self, feature: Numeric) -> None:
        self.declared, self.feature = feature, feature.untransformed()
        self.below = self.above = self.missing = 0
        self.low, self.high = np.inf, -np.inf
        self.odd: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()

    def add(self, raw: Any) -> None:
        column = make_column(self.feature, raw)
        assert isinstance(column, Numbers)
        values = column.values
        self.below += int(np.count_nonzero(np.isfinite(values) & (values < self.feature.lower)))
        self.above += int(np.count_nonzero(np.isfinite(values) & (values > self.feature.upper)))
        if values.dtype.kind == "f":
            self.missing += int(np.count_nonzero(np.isnan(values)))
            for one in _taken(raw, np.flatnonzero(np.isinf(values))):
                _note(self.odd, _named(one), 1)
            values = values[np.isfinite(values)]
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))
        if self.odd and len(self.texts) < KEPT:  # what the others look like tells the rule that reads them all
            self.texts.update(_named(one) for one in _head(raw, 1000) if one is not None)

    def findings(self, rows: int) -> list[Finding]:
        feature, name, size, found = self.feature, self.feature.name, max(rows, 1), list[Finding]()
        odd = sum(self.odd.values())
        if odd:
            listed = dict(self.odd.most_common(SHOWN))
            what = "texts that are no dates" if isinstance(feature, Date) else "texts that are no numbers"
            found.append(Finding(name, what, odd, odd / size, self._rule(), listed))
        if self.missing and feature.missing_code is None:
            found.append(Finding(name, "missing values without a place", self.missing, self.missing / size,
                                 'declare missing = "bin"'))  # fmt: skip
        elif self.missing:
            found.append(_missing(name, self.missing, size))
        ends = (
            ("below", self.below, "start" if isinstance(feature, Date) else "lower", self.low, feature.lower),
            ("above", self.above, "end" if isinstance(feature, Date) else "upper", self.high, feature.upper),
        )
        for side, count, key, extreme, bound in ends:
            if count and feature.bounds is None:
                shown = _day(feature, extreme) if isinstance(feature, Date) else f"{extreme:g}"
                declared = getattr(feature, key) if isinstance(feature, Date) else feature.show(bound)
                words = f"values {side} {key} = {declared}, clipped to it (the farthest is {shown})"
                edit = (
                    f"a public {key} that leaves fewer out"
                    if count > CLIPPED * size
                    else "nothing, if these are outliers"
                )
                found.append(Finding(name, words, count, count / size, edit, problem=count > CLIPPED * size))
        return found

    def _rule(self) -> str:
        seen = self.odd + self.texts
        if isinstance(self.feature, Date):
            dated = dates(seen)
            return f"declare format = {dated.format!r}" if dated and dated.format else "mend them, or leave them empty"
        found = numbers(seen)
        rule = found.rule if found else ""
        if not rule and all(one.strip().casefold() in GONE for one in self.odd):
            rule = "missing=" + "|".join(sorted({one.strip().casefold() for one in self.odd}))
        if not rule or rule == self.feature.parse:
            return "mend them, or leave them empty"
        place = "" if self.feature.missing_code is not None or "missing" not in rule else ' and missing = "bin"'
        return f'declare parse = "{rule}"{place}'


def _missing(name: str, count: int, size: int) -> Finding:
    return Finding(name, "missing values", count, count / size, "nothing: they have a place", problem=False)


def _day(feature: Date, place: float) -> str:
    return f"{abs(place if place < 0 else place - feature.upper):g} {feature.unit}s away"


def _counted(values: NDArray[Any]) -> Iterator[tuple[Any, int]]:
    found, counts = np.unique(values, return_counts=True, equal_nan=True)
    return zip(found.tolist(), counts.tolist(), strict=True)


def _note(counter: Counter[str], name: str, count: int) -> None:
    counter[name if name in counter or len(counter) < KEPT else "(others)"] += count


def _named(value: Any) -> str:
    return f"a value of type {value.kind}" if isinstance(value, Nested) else text(value)


def _taken(raw: Any, spots: NDArray[np.int64]) -> list[Any]:
    if not len(spots):
        return []
    part = raw.take(spots)
    return list(part.to_pylist() if hasattr(part, "to_pylist") else part)


def _head(raw: Any, size: int) -> list[Any]:
    part = raw[:size]
    return list(part.to_pylist() if hasattr(part, "to_pylist") else part.tolist() if hasattr(part, "tolist") else part)
