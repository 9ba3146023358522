"""Features: a categorical or a numeric column, and all that is public about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
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
from discreet.values import same_number

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


# Adding zero makes -0.0 the same bound as 0.0.
Bound = Annotated[float, BeforeValidator(_plain), Field(allow_inf_nan=False), AfterValidator(lambda x: x + 0.0)]
Values = Annotated[tuple[Value, ...], BeforeValidator(_plains)]


_INTERNAL = {"categorical", "numeric", "constrained-int", "int"}


def _sentence(error: ValidationError, name: Any) -> str:
    """The first complaint of a validation error, in one sentence."""
    first = error.errors(include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        return message
    where = f"feature {name!r}: " if name else ""
    key = ".".join(str(part) for part in first["loc"][:2] if part not in _INTERNAL)
    if first["loc"][0] in {"categories", "classes"} and len(first["loc"]) > 1:
        message = "A category or class is a text, a whole number or a truth value"
    if first["type"] == "extra_forbidden":
        return f"{where}there is no setting {key!r}"
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

    `other` names a bucket for every undeclared value; without it such a value is an error.

    >>> Categorical("colour", ["red", "green"], other="another").labels
    ('red', 'green', 'another')
    """

    kind: Literal["categorical"] = "categorical"
    name: StrictStr = Field(min_length=1)
    categories: Values = Field(min_length=1)
    other: StrictStr | None = None
    missing: Literal["error", "category"] = "error"

    def __init__(
        self,
        name: str = "",
        categories: Sequence[Any] = (),
        other: str | None = None,
        missing: str = "error",
        **fields: Any,
    ) -> None:
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
        return self

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
        return Lookup(self.categories, self.other)


class Numeric(Public):
    """A number with public bounds; values outside are clipped to them.

    Numbers live on a public lattice: every `step` (default: 2**16 steps per half range; 1 for integers).
    `bins` is a number of equal-width bins, or their edges from `lower` to `upper`. With `bounds="private"` nobody knows
    bounds: `lower` and `upper`, if given, are outer limits, and a charged step settles the bounds before anything else.

    >>> Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]).labels
    ('[0, 18)', '[18, 65)', '[65, 100]')
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
        if not self.lower < self.upper:
            raise ValueError(f"feature {self.name!r}: lower must be below upper")
        if self.integer and not (self.lower.is_integer() and self.upper.is_integer()):
            raise ValueError(f"feature {self.name!r} is an integer, so its bounds must be integers")
        if self.bounds is not None and (self.step is not None or not isinstance(self.bins, int)):
            raise ValueError(f"feature {self.name!r}: a step or bin edges cannot be declared where bounds are private")
        try:
            lattice = Lattice.of(self.lower, self.upper, self.integer, self.step)
            starts = bin_starts(self.lower, self.upper, self.integer, self.bins)
            bin_cuts(lattice, starts, self._declared)
        except ValueError as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        return self

    @model_serializer(mode="wrap")
    def _without_limits(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out limits that nobody declared."""
        fields: dict[str, Any] = handler(self)
        if self.bounds is not None:
            for key, limit in (("lower", -LIMIT), ("upper", LIMIT)):
                if fields.get(key) == limit:
                    del fields[key]
        return fields

    @cached_property
    def lattice(self) -> Lattice:
        """The public lattice that every value is rounded to."""
        return Lattice.of(self.lower, self.upper, self.integer, self.step)

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
        """The bin edges in the data's own unit."""
        starts = bin_starts(self.lower, self.upper, self.integer, self.bins)
        return (self.lower, *starts, self.upper)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each cell of the histogram stands for."""
        edges = [f"{edge:.6g}" for edge in self.edges]
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
        """The same number in other bins."""
        return Numeric(**(self.model_dump() | {"bins": bins}))


Feature = Categorical | Numeric
