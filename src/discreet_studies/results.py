"""Results: the table of a study's measurements, and means with standard errors out of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]


class MissingResultsError(LookupError):
    """A claim asks for measurements that are not in the table."""


class UndecidedError(MissingResultsError):
    """The measurements are in the table, and their errors leave both answers open."""

    def __init__(self, text: str, measured: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.measured = dict(measured or {})


@dataclass(frozen=True)
class Estimate:
    """A mean, its standard error, and how many measurements it rests on."""

    mean: float
    error: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """The mean of measurements taken to be independent.

        >>> Estimate.of([1.0, 3.0])
        Estimate(mean=2.0, error=1.0, count=2)
        """
        listed = [float(value) for value in values]
        if not listed:
            raise MissingResultsError("there are no such measurements")
        mean = math.fsum(listed) / len(listed)
        if len(listed) == 1:
            return cls(mean, math.inf, 1)
        spread = math.fsum((value - mean) ** 2 for value in listed) / (len(listed) - 1)
        return cls(mean, math.sqrt(spread / len(listed)), len(listed))

    @property
    def above(self) -> bool:
        """Larger than zero by more than two standard errors."""
        return self.mean > 2 * self.error

    @property
    def below(self) -> bool:
        """Smaller than zero by more than two standard errors."""
        return self.mean < -2 * self.error

    def to_tell(self, *borders: float) -> float:
        """How many measurements would put the nearest-to-decided of some borders two standard errors away.

        >>> Estimate(0.02, 0.02, 10).to_tell(0.0)
        40.0
        """
        gaps = [abs(self.mean - border) for border in borders]
        widest = max(gaps)
        return self.count * (2 * self.error / widest) ** 2 if widest > 0 else math.inf

    def plain(self) -> dict[str, float | int | None]:
        """Plain values for JSON."""
        error = self.error if math.isfinite(self.error) else None
        return {"mean": self.mean, "standard_error": error, "count": self.count}

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def average(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of independent estimates, with its error."""
    listed = list(estimates)
    if not listed:
        raise MissingResultsError("there is nothing to average")
    mean = math.fsum(one.mean for one in listed) / len(listed)
    error = math.sqrt(math.fsum(one.error**2 for one in listed)) / len(listed)
    return Estimate(mean, error, sum(one.count for one in listed))


def difference(first: Estimate, second: Estimate) -> Estimate:
    """first − second, independent of each other."""
    return Estimate(first.mean - second.mean, math.hypot(first.error, second.error), min(first.count, second.count))


class Results:
    """The rows of a finished or half-finished run."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.rows: list[Row] = [dict(row) for row in rows]
        self._groups: dict[tuple[str, ...], dict[tuple[Any, ...], list[Row]]] = {}

    @classmethod
    def load(cls, path: str | Path) -> Results:
        """Read a results file."""
        import pyarrow.parquet as parquet

        return cls(parquet.read_table(path).to_pylist())

    @property
    def failures(self) -> list[Row]:
        """The tasks that ended in an error."""
        return [row for row in self.rows if row.get("error")]

    def where(self, **wanted: Any) -> list[Row]:
        """The rows without error whose columns have these values."""
        names = tuple(sorted(wanted))
        if names not in self._groups:
            groups: dict[tuple[Any, ...], list[Row]] = {}
            for row in self.rows:
                if not row.get("error"):
                    groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
            self._groups[names] = groups
        return self._groups[names].get(tuple(wanted[name] for name in names), [])

    def values(self, column: str, **wanted: Any) -> list[Any]:
        """The different values of a column among some rows, in order."""
        seen = {row[column] for row in self.where(**wanted) if row.get(column) is not None}
        return sorted(seen)

    def estimate(self, metric: str = "accuracy", **wanted: Any) -> Estimate:
        """The mean of a measurement over repeats and folds."""
        found = [row[metric] for row in self.where(**wanted) if row.get(metric) is not None]
        if not found:
            raise MissingResultsError(f"no {metric} of {_words(wanted)}")
        return Estimate.of(found)

    def cell(self, digits: int = 4, **wanted: Any) -> str:
        """The mean and its error as a table shows them; nothing if it was not measured."""
        try:
            one = self.estimate(**wanted)
        except MissingResultsError:
            return ""
        return f"{one.mean:.{digits}f} ± {one.error:.{digits}f}"

    def paired(
        self, first: Mapping[str, Any], second: Mapping[str, Any], metric: str = "accuracy", **both: Any
    ) -> Estimate:
        """The mean difference first − second on the same repeats and folds."""
        left = {(row["repeat"], row["fold"]): row[metric] for row in self.where(**both, **first)}
        right = {(row["repeat"], row["fold"]): row[metric] for row in self.where(**both, **second)}
        common = sorted(left.keys() & right.keys())
        if not common:
            raise MissingResultsError(self._why({**both, **first}, {**both, **second}, left, right))
        return Estimate.of(left[spot] - right[spot] for spot in common)

    def _why(self, first: Row, second: Row, left: Mapping[Any, Any], right: Mapping[Any, Any]) -> str:
        """What is missing, with the error of a failed task if there was one."""
        for wanted, found in ((first, left), (second, right)):
            if found:
                continue
            for row in self.failures:
                if all(row.get(name) == value for name, value in wanted.items()):
                    return f"no results of {_words(wanted)}: {row['error']}"
            return f"no results of {_words(wanted)}"
        return f"{_words(first)} and {_words(second)} have no fold in common"


def _words(wanted: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in wanted.items())


def slope(points: Iterable[tuple[float, float]]) -> Estimate:
    """The slope of log y on log x by least squares, with its standard error."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    if len({x for x, _ in logs}) < 3:
        raise MissingResultsError("a slope needs three sizes at least")
    middle = math.fsum(x for x, _ in logs) / len(logs)
    height = math.fsum(y for _, y in logs) / len(logs)
    width = math.fsum((x - middle) ** 2 for x, _ in logs)
    rise = math.fsum((x - middle) * (y - height) for x, y in logs) / width
    rest = math.fsum((y - height - rise * (x - middle)) ** 2 for x, y in logs)
    return Estimate(rise, math.sqrt(rest / (len(logs) - 2) / width), len(logs))
