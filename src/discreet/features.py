"""Features: a categorical or a numeric column, and all that is public about it."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_serializer,
    model_validator,
)

from discreet.domain import Lattice, Lookup, bin_cuts, bin_starts, text
from discreet.errors import SchemaError
from discreet.readings import (
    PARTS,
    SCALE_HALF,
    SCALES,
    UNITS,
    DateParts,
    Parse,
    Patterns,
    date_format,
    day_of,
    scaled,
    thresholds,
    unit_start,
    units_between,
    unscaled,
    write_day,
)
from discreet.values import number, read, same_number

Value = StrictBool | StrictInt | StrictStr
MISSING = "(missing)"
MAX_CELLS = 1 << 20
DEFAULT_BINS = 16
LIMIT = 2.0**63  # no number is farther from zero, where nobody knows better


def _plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for; anything else as it is."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value


def _plains(values: Any) -> Any:
    """A list of plain Python values out of any sequence; a lone string stays one for the validator to refuse."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return values
    return tuple(_plain(value) for value in values)


def _rules(given: Any) -> Any:
    """The rules of a parse in their one order, whatever order they were written in."""
    if isinstance(given, list | tuple) and all(isinstance(one, str) for one in given):
        given = "; ".join(given)
    return str(Parse.of(given)) if isinstance(given, str) else given


# Adding zero makes -0.0 the same bound as 0.0.
Bound = Annotated[float, BeforeValidator(_plain), Field(allow_inf_nan=False), AfterValidator(lambda x: x + 0.0)]
Values = Annotated[tuple[Value, ...], BeforeValidator(_plains)]


_INTERNAL = {"categorical", "numeric", "date", "constrained-int", "int"}
_MEANT = {"min": "lower", "max": "upper", "minimum": "lower", "maximum": "upper", "values": "categories",
          "levels": "categories", "column": "name", "label": "target", "labels": "classes"}  # fmt: skip


def _sentence(error: ValidationError, name: Any) -> str:
    """The first complaint of a validation error, in one sentence."""
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])  # a slip in a name explains more
    message = first["msg"].removeprefix("Value error, ")
    where = f"feature {name!r}: " if name else ""
    if first["type"] == "value_error":
        return where + message if first["loc"][-1:] == ("parse",) else message
    key = ".".join(str(part) for part in first["loc"][:2] if part not in _INTERNAL)
    if first["loc"][0] in {"categories", "classes"} and len(first["loc"]) > 1:
        message = "A category or class is a text, a whole number or a truth value"
    if first["type"] == "extra_forbidden":
        meant = _MEANT.get(str(first["loc"][-1]))
        return f"{where}there is no setting {key!r}" + (f": it is called {meant!r}" if meant else "")
    if key in {"lower", "upper"} and first["input"] is None:
        return f"{where}{key} is needed: declare public bounds, as in Numeric('age', 0, 100), or bounds = 'private'"
    if key in {"categories", "classes"} and first["type"] == "tuple_type":
        return f"{where}{key} must be a list, such as ['F', 'M'], not {first['input']!r}"
    return f"{where}{key}: {message[0].lower()}{message[1:]}"


def refuse_same(values: Sequence[Any], owner: str) -> None:
    """Refuse two categories or classes that are one value in some container: True and 1, or 2**53 and 2**53 + 1."""
    same = same_number(values)
    if same is not None:
        raise ValueError(
            f"{owner} lists {same[0]!r} and {same[1]!r}, which a column of numbers cannot tell apart: "
            "keep one of them, or declare them as texts"
        )


class Public(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise SchemaError(_sentence(error, fields.get("name"))) from None


class Categorical(Public):
    """A feature with a declared list of categories.

    `other` names a bucket for every undeclared value; without it such a value is an error. With `match="pattern"`
    categories are patterns (`E1*`, `?9`, `[A-C]*`), and a value is the first that it fits. With `transform="weekday"`
    or `"month"` the categories are those of dates, which texts write in ISO 8601 or in the `format`.

    >>> Categorical("colour", ["red", "green"], other="another").labels
    ('red', 'green', 'another')
    """

    kind: Literal["categorical"] = "categorical"
    name: StrictStr = Field(min_length=1)
    categories: Values = Field(min_length=1)
    other: StrictStr | None = None
    missing: Literal["error", "category"] = "error"
    match: Literal["pattern"] | None = None
    transform: Literal["weekday", "month"] | None = None
    format: StrictStr | None = None

    def __init__(
        self,
        name: str = "",
        categories: Sequence[Any] = (),
        other: str | None = None,
        missing: str = "error",
        **fields: Any,
    ) -> None:
        if isinstance(categories, Sequence) and not categories:
            categories = PARTS.get(str(fields.get("transform")), categories)
        super().__init__(name=name, categories=categories, other=other, missing=missing, **fields)

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen = [text(value) for value in self.categories] + ([self.other] if self.other is not None else [])
        if len(set(seen)) != len(seen):
            twice = next(label for label, count in Counter(seen).items() if count > 1)
            raise ValueError(f"feature {self.name!r} lists the category {twice!r} twice")
        refuse_same(self.categories, f"feature {self.name!r}")
        if self.cells > MAX_CELLS:
            raise ValueError(f"feature {self.name!r} has more than {MAX_CELLS} categories")
        if self.transform is not None and (self.match or self.categories != PARTS[self.transform]):
            listed = ", ".join(PARTS[self.transform][:2])
            raise ValueError(f"feature {self.name!r}: the categories of a {self.transform} are {listed}, …; leave them out")
        if self.format is not None and self.transform is None:
            raise ValueError(f"feature {self.name!r}: a format is for dates, with transform = 'weekday' or 'month'")
        try:
            date_format(self.format)
            if self.match:
                Patterns(self.categories)
        except (ValueError, re.error) as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        return self

    @property
    def plain(self) -> bool:
        """Whether categories are listed value by value, so that any reader of the schema can code them."""
        return self.match is None and self.transform is None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each cell of the count table stands for."""
        extra = (self.other,) if self.other is not None else ()
        gone = (MISSING,) if self.missing == "category" else ()
        return (*(text(value) for value in self.categories), *extra, *gone)

    @property
    def cells(self) -> int:
        """The number of cells in this feature's count table."""
        return len(self.categories) + (self.other is not None) + (self.missing == "category")

    @property
    def other_code(self) -> int | None:
        """The cell of undeclared values, if there is one."""
        return None if self.other is None else len(self.categories)

    @property
    def missing_code(self) -> int | None:
        """The cell of missing values, if they have one."""
        return self.cells - 1 if self.missing == "category" else None

    @cached_property
    def lookup(self) -> Lookup:
        """Value → cell, whatever type a source delivers the value in."""
        if self.transform is not None:
            return DateParts(self.transform, self.format, self.other)
        return Patterns(self.categories, self.other) if self.match else Lookup(self.categories, self.other)


class Numeric(Public):
    """A number with public bounds; values outside are clipped to them.

    Numbers live on a public lattice: every `step` (default: 2**16 steps per half range; 1 for integers).
    `bins` is a number of equal-width bins, or their edges from `lower` to `upper`. With `bounds="private"` nobody knows
    bounds: `lower` and `upper`, if given, are outer limits, and a charged step settles the bounds before anything else.

    `parse` says how texts write numbers: "comma; thousands; below=half; unit=kg; missing=n/a" (docs/schema.md). With
    `transform` ("log", "log1p" or "sqrt") everything happens on that scale: equal bins are then equally wide there, and
    the attributes `lower`, `upper`, `edges` and `lattice` are places on it; `original` tells which number a place is.

    >>> Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]).labels
    ('[0, 18)', '[18, 65)', '[65, 100]')
    >>> Numeric("income", 1, 1000, bins=3, transform="log").labels
    ('[1, 10)', '[10, 100)', '[100, 1000]')
    """

    kind: Literal["numeric"] = "numeric"
    name: StrictStr = Field(min_length=1)
    lower: Bound
    upper: Bound
    integer: bool = False
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    bins: Annotated[int, Field(ge=1, le=65536)] | Annotated[tuple[float, ...], BeforeValidator(_plains)] = DEFAULT_BINS
    missing: Literal["error", "bin"] = "error"
    bounds: Literal["private"] | None = None
    parse: Annotated[str, BeforeValidator(_rules)] | None = None
    transform: Literal["log", "log1p", "sqrt"] | None = None
    _stated: Any = PrivateAttr(default=None)  # the bounds as they were declared

    def __init__(
        self,
        name: str = "",
        lower: Any = None,
        upper: Any = None,
        integer: bool = False,
        step: float | None = None,
        bins: int | Sequence[float] = DEFAULT_BINS,
        missing: str = "error",
        bounds: str | None = None,
        **fields: Any,
    ) -> None:
        given = {"integer": integer, "step": step, "bins": bins, "missing": missing, "bounds": bounds}
        if bounds == "private":
            lower, upper = -LIMIT if lower is None else lower, LIMIT if upper is None else upper
        super().__init__(name=name, lower=lower, upper=upper, **given, **fields)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self._stated is not None:  # a feature that a schema is made of was checked when it was made
            return self
        if not self.lower < self.upper:
            raise ValueError(f"feature {self.name!r}: lower must be below upper")
        self._stated = (self.lower, self.upper)
        if self.transform is not None:
            self._place_on_scale()
        if self.integer and not (self.lower.is_integer() and self.upper.is_integer()):
            raise ValueError(f"feature {self.name!r} is an integer, so its bounds must be integers")
        if self.bounds is not None and (self.step is not None or not isinstance(self.bins, int)):
            raise ValueError(f"feature {self.name!r}: a step or bin edges cannot be declared where bounds are private")
        try:
            bin_cuts(self.lattice, self._starts(), self._declared)
        except ValueError as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        return self

    def _place_on_scale(self) -> None:
        """Make the bounds places on the scale."""
        assert self.transform is not None
        if self.bounds is not None or self.step is not None or self.integer:
            raise ValueError(
                f"feature {self.name!r}: with a transform bounds are declared, and there is no step and no integer"
            )
        try:
            thresholds(*self._stated, self.transform)
        except ValueError as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        self.__dict__["lower"], self.__dict__["upper"] = (scaled(bound, self.transform) for bound in self._stated)

    @model_serializer(mode="wrap")
    def _without_limits(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out limits that nobody declared."""
        fields: dict[str, Any] = handler(self)
        if self.transform is not None:
            fields["lower"], fields["upper"] = self._stated
        if self.bounds is not None:
            for key, limit in (("lower", -LIMIT), ("upper", LIMIT)):
                if fields.get(key) == limit:
                    del fields[key]
        return fields

    @cached_property
    def lattice(self) -> Lattice:
        """The public lattice that every value is rounded to."""
        half = SCALE_HALF if self.transform is not None else None
        return Lattice.of(self.lower, self.upper, self.integer, self.step, half)

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """The lattice points at which bins 1, 2, … begin."""
        return bin_cuts(self.lattice, self.edges[1:-1], self._declared)

    @property
    def _declared(self) -> bool:
        """Whether the values are said to be multiples of a step that the lattice holds."""
        return self.step is not None or (self.integer and self.lattice.step <= 1)

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The bin edges, from `lower` to `upper`."""
        return (self.lower, *self._starts(), self.upper)

    def _starts(self) -> tuple[float, ...]:
        return bin_starts(self.lower, self.upper, self.integer, self._placed(self.bins))

    def _placed(self, bins: Any) -> Any:
        """Bins as they are declared, with edges on the scale."""
        if isinstance(bins, int) or self.transform is None:
            return bins
        low, high = self._stated
        if not all(low <= edge <= high for edge in bins):
            raise ValueError("bins given as edges must run from lower to upper")
        return tuple(scaled(edge + 0.0, self.transform) for edge in bins)

    def _unplaced(self, bins: Any) -> Any:
        """Bins as they are declared, of edges on the scale."""
        if isinstance(bins, int) or self.transform is None:
            return bins
        return tuple(self.original(edge) for edge in bins)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each cell of the histogram stands for."""
        edges = [self.show(edge) for edge in self.edges]
        spans = [f"[{low}, {high})" for low, high in pairwise(edges[:-1])]
        gone = (MISSING,) if self.missing == "bin" else ()
        return (*spans, f"[{edges[-2]}, {edges[-1]}]", *gone)

    @property
    def cells(self) -> int:
        """The number of cells in this feature's histogram."""
        return len(self.cuts) + 1 + (self.missing == "bin")

    @property
    def missing_code(self) -> int | None:
        """The cell of missing values, if they have one."""
        return self.cells - 1 if self.missing == "bin" else None

    def having(self, bins: Any) -> Numeric:
        """The same number in other bins, whose edges are places between `lower` and `upper`."""
        return type(self)(**(self.model_dump() | {"bins": self._unplaced(bins)}))

    def untransformed(self) -> Numeric:
        """The same number in the data's own unit."""
        if self.transform is None:
            return self
        return type(self)(**(self.model_dump() | {"transform": None, "bins": 1}))

    def within(self, lower: float, upper: float, bins: Any = None) -> Numeric:
        """The same number with declared bounds."""
        return type(self)(**(self.model_dump() | {"lower": lower, "upper": upper, "bounds": None}
                             | ({} if bins is None else {"bins": bins})))  # fmt: skip

    # ---- from a value to its place, and back

    @property
    def direct(self) -> bool:
        """Whether a number is its own place between the bounds."""
        return self.transform is None

    @property
    def plain(self) -> bool:
        """Whether texts write numbers as usual, and a number is its own place."""
        return self.direct and self.parse is None

    @property
    def reading(self) -> Any:
        """What decides, beside the bounds, which place a value has."""
        return self.parse, self.transform, self._stated

    def number(self, value: Any) -> float:
        """The place of a value between the bounds or beyond: NaN if missing, infinite if it is no number."""
        found = number(value)
        if self.parse is not None and type(written := read(value)) is str:
            found = Parse.of(self.parse).number(written)
        return self.place(found) if math.isfinite(found) else found

    def place(self, value: float) -> float:
        """The place of a number: itself, or the point of a scale that it is nearest to."""
        if self.transform is None:
            return value
        return self.places[bisect_right(self.thresholds, value)]

    @cached_property
    def places(self) -> tuple[float, ...]:
        """The points of the lattice as numbers."""
        lattice = self.lattice
        middle, step = lattice.middle, float(lattice.step)
        return tuple(middle + point * step for point in range(-lattice.half, lattice.half + 1))

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Where the second, third, … point of a transformed number begin, in the data's own unit."""
        assert self.transform is not None
        return thresholds(*self._stated, self.transform)

    def original(self, place: float) -> float:
        """The number in the data's own unit that a place stands for."""
        if self.transform is None:
            return place
        if place in (self.lower, self.upper):
            return self._stated[place == self.upper]
        return min(max(unscaled(place, self.transform), self._stated[0]), self._stated[1])

    def again(self, place: float) -> Any:
        """A value that has this place when it is read again."""
        if self.transform is None:
            return place
        point = self.lattice.point(place) + SCALE_HALF
        return self._stated[0] if point == 0 else self.thresholds[point - 1]

    def show(self, place: float) -> str:
        """A place in the data's own unit, for people."""
        return f"{self.original(place):.6g}"


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

    def again(self, place: float) -> Any:
        return write_day(self._day(place), self.format)

    def show(self, place: float) -> str:
        return self._day(place).isoformat()

    def _day(self, place: float) -> date:
        return max(self._first, unit_start(self._first, round(min(max(place, 0.0), self.upper)), self.unit))


def _edge(name: str, edge: Any) -> date:
    day = day_of(read(edge)) if isinstance(edge, str | date) else None
    if day is None:
        raise SchemaError(f"feature {name!r}: the edges of a date's bins are days, such as '2020-01-31', not {edge!r}")
    return day


Feature = Categorical | Numeric | Date
