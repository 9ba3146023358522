"""A number with public bounds, on a public lattice."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    StrictStr,
    model_serializer,
    model_validator,
)

from discreet.domain import Lattice, bin_cuts, bin_starts
from discreet.features.base import DEFAULT_BINS, LIMIT, MISSING, Bound, Public, plains, rules
from discreet.readings import SCALE_HALF, Parse, scaled, thresholds, unscaled
from discreet.values import number, read


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
    bins: Annotated[int, Field(ge=1, le=65536)] | Annotated[tuple[float, ...], BeforeValidator(plains)] = DEFAULT_BINS
    missing: Literal["error", "bin"] = "error"
    bounds: Literal["private"] | None = None
    parse: Annotated[str, BeforeValidator(rules)] | None = None
    transform: Literal["log", "log1p", "sqrt"] | None = None
    _stated: tuple[float, float] | None = PrivateAttr(default=None)  # the bounds as they were declared

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
            thresholds(*self.stated, self.transform)
        except ValueError as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        self.__dict__["lower"], self.__dict__["upper"] = (scaled(bound, self.transform) for bound in self.stated)

    @model_serializer(mode="wrap")
    def _without_limits(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out limits that nobody declared."""
        fields: dict[str, Any] = handler(self)
        if self.transform is not None:
            fields["lower"], fields["upper"] = self.stated
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
        low, high = self.stated
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
    def stated(self) -> tuple[float, float]:
        """The bounds as they were declared, in the data's own unit."""
        assert self._stated is not None
        return self._stated

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
        return self.parse, self.transform, self.stated

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
        return thresholds(*self.stated, self.transform)

    def original(self, place: float) -> float:
        """The number in the data's own unit that a place stands for."""
        if self.transform is None:
            return place
        if place in (self.lower, self.upper):
            return self.stated[place == self.upper]
        return min(max(unscaled(place, self.transform), self.stated[0]), self.stated[1])

    def value_at(self, place: float) -> Any:
        """A place in the data's own unit, as the column writes it."""
        return self.original(place)

    def again(self, place: float) -> Any:
        """A value that has this place when it is read again."""
        if self.transform is None:
            return place
        point = self.lattice.point(place) + SCALE_HALF
        return self.stated[0] if point == 0 else self.thresholds[point - 1]

    def show(self, place: float) -> str:
        """A place in the data's own unit, for people."""
        return f"{self.original(place):.6g}"
