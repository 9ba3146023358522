"""A date between two public days, counted in units from the first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import SerializerFunctionWrapHandler, StrictStr, model_serializer, model_validator

from discreet.errors import SchemaError
from discreet.features.base import DEFAULT_BINS, Public
from discreet.features.numeric import Numeric
from discreet.readings import UNITS, date_format, day_of, unit_start, units_between, write_day
from discreet.values import read


class Date(Numeric):
    """A date between two public days, counted in days, weeks, months, quarters or years; others are clipped to them.

    Texts write it in ISO 8601, or in the `format` (%d.%m.%Y). As a number it is that of its unit: 0 is that of `start`.

    >>> Date("admitted", "2020-01-01", "2021-12-31", unit="month", bins=2).labels
    ('[2020-01-01, 2021-01-01)', '[2021-01-01, 2021-12-01]')
    """

    kind: Literal["date"] = "date"  # type: ignore[assignment]
    start: StrictStr
    end: StrictStr
    unit: Literal["day", "week", "month", "quarter", "year"] = "day"
    format: StrictStr | None = None

    def __init__(
        self,
        name: str = "",
        start: Any = None,
        end: Any = None,
        unit: str = "day",
        bins: int | Sequence[Any] = DEFAULT_BINS,
        missing: str = "error",
        **fields: Any,
    ) -> None:
        days = [one.date() if isinstance(one, datetime) else one for one in (start, end)]
        first, last = (day_of(read(day)) if isinstance(day, str | date) else None for day in days)
        if first is None or last is None:
            raise SchemaError(f"feature {name!r}: start and end of a date are public days, such as '2020-01-31'")
        if unit not in UNITS:
            raise SchemaError(f"feature {name!r}: unit must be one of {', '.join(UNITS)}, not {unit!r}")
        if units_between(first, last, unit) < 1:
            raise SchemaError(f"feature {name!r}: end must be in a later {unit} than start")
        for key in ("lower", "upper", "integer", "step", "bounds", "parse", "transform"):
            if key in fields:
                raise SchemaError(f"feature {name!r}: there is no setting {key!r} of a date, which has start and end")
        stated = {"start": first.isoformat(), "end": last.isoformat(), "unit": unit}
        if isinstance(bins, Sequence) and not isinstance(bins, str):
            bins = [units_between(first, _edge(name, edge), unit) for edge in bins]
        Public.__init__(
            self, name=name, lower=0.0, upper=float(units_between(first, last, unit)), integer=True, bins=bins,
            missing=missing, **stated, **fields,
        )  # fmt: skip

    @model_validator(mode="after")
    def _check_format(self) -> Self:
        try:
            date_format(self.format)
        except ValueError as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        return self

    @model_serializer(mode="wrap")
    def _as_declared(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what follows from the days."""
        fields: dict[str, Any] = handler(self)
        derived = ("lower", "upper", "integer", "step", "bounds", "parse", "transform")
        if not isinstance(self.bins, int):
            fields["bins"] = [*self._unplaced(self.bins)]
        return {key: value for key, value in fields.items() if key not in derived}

    @cached_property
    def _first(self) -> date:
        return date.fromisoformat(self.start)

    @property
    def direct(self) -> bool:
        return False

    @property
    def reading(self) -> Any:
        return self.start, self.unit, self.format

    def number(self, value: Any) -> float:
        found = read(value)
        if found is None:
            return math.nan
        day = day_of(found, self.format)
        return math.inf if day is None else float(units_between(self._first, day, self.unit))

    def _unplaced(self, bins: Any) -> Any:
        return bins if isinstance(bins, int) else tuple(self.show(math.ceil(edge)) for edge in bins)

    def value_at(self, place: float) -> Any:
        return write_day(self.day(place), self.format)

    def again(self, place: float) -> Any:
        """The text of a day, or the day itself where the format leaves out what tells its place."""
        day = self.day(place)
        written = write_day(day, self.format)
        return written if self.number(written) == units_between(self._first, day, self.unit) else day

    def show(self, place: float) -> str:
        return self.day(place).isoformat()

    def day(self, place: float) -> date:
        """The first day of a place."""
        return max(self._first, unit_start(self._first, round(min(max(place, 0.0), self.upper)), self.unit))


def _edge(name: str, edge: Any) -> date:
    day = day_of(read(edge)) if isinstance(edge, str | date) else None
    if day is None:
        raise SchemaError(f"feature {name!r}: the edges of a date's bins are days, such as '2020-01-31', not {edge!r}")
    return day
