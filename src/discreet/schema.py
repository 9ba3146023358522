"""Schema: all that is public about the data, declared by a person and never read from the rows."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
    model_validator,
)

from discreet.domain import Lattice, Lookup, bin_cuts, bin_starts, text
from discreet.errors import SchemaError
from discreet.files import parse_json, write_text

if TYPE_CHECKING:
    import numpy as np

Value = StrictBool | StrictInt | StrictStr
MISSING = "(missing)"
MAX_CELLS = 1 << 20
DEFAULT_BINS = 16


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


class _Public(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise SchemaError(_sentence(error, fields.get("name"))) from None


class Categorical(_Public):
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

    def __init__(self, name: str = "", categories: Sequence[Any] = (), other: str | None = None, **fields: Any) -> None:
        super().__init__(name=name, categories=categories, other=other, **fields)

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen = [text(value) for value in self.categories] + ([self.other] if self.other is not None else [])
        if len(set(seen)) != len(seen):
            twice = next(label for label, count in Counter(seen).items() if count > 1)
            raise ValueError(f"feature {self.name!r} lists the category {twice!r} twice")
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


class Numeric(_Public):
    """A number with public bounds; values outside are clipped to them.

    Numbers live on a public lattice: every `step` (default: 2**16 steps per half range; 1 for integers).
    `bins` is a number of equal-width bins, or their edges from `lower` to `upper`.

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

    def __init__(self, name: str = "", lower: Any = None, upper: Any = None, **fields: Any) -> None:
        super().__init__(name=name, lower=lower, upper=upper, **fields)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.lower < self.upper:
            raise ValueError(f"feature {self.name!r}: lower must be below upper")
        if self.integer and not (self.lower.is_integer() and self.upper.is_integer()):
            raise ValueError(f"feature {self.name!r} is an integer, so its bounds must be integers")
        try:
            lattice = Lattice.of(self.lower, self.upper, self.integer, self.step)
            starts = bin_starts(self.lower, self.upper, self.integer, self.bins)
            bin_cuts(lattice, starts, self._declared)
        except ValueError as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        return self

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


Feature = Categorical | Numeric


def _kind(feature: Any) -> Any:
    """Let files leave out `kind`: categories or bounds tell it."""
    if isinstance(feature, Mapping) and "kind" not in feature:
        kind = "categorical" if "categories" in feature else "numeric"
        return {"kind": kind, **feature}
    return feature


class Schema(_Public):
    """The public description of a table: its features, its target and the target's classes.

    >>> schema = Schema(
    ...     features=[Categorical("sex", ["f", "m"]), Numeric("age", 0, 100, integer=True)],
    ...     target="ill",
    ...     classes=["no", "yes"],
    ... )
    >>> schema.names
    ('sex', 'age')
    """

    version: Literal[1] = 1
    target: StrictStr = Field(min_length=1)
    classes: Values
    id: Annotated[StrictStr, Field(min_length=1)] | None = None
    inferred: bool = False
    features: tuple[
        Annotated[Annotated[Feature, Field(discriminator="kind")], BeforeValidator(_kind)],
        ...,
    ] = Field(min_length=1)

    def __init__(
        self, features: Sequence[Any] = (), target: str = "", classes: Sequence[Any] = (), **fields: Any
    ) -> None:
        super().__init__(features=features, target=target, classes=classes, **fields)

    @field_validator("classes")
    @classmethod
    def _two_classes(cls, classes: tuple[Value, ...]) -> tuple[Value, ...]:
        if len(classes) < 2:
            raise ValueError("a classifier needs at least two classes: list every class the target can have")
        if len({text(label) for label in classes}) != len(classes):
            raise ValueError("the list of classes names one of them twice")
        if len(classes) > 32000:
            raise ValueError("more than 32,000 classes are not supported")
        return classes

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [feature.name for feature in self.features]
        for name in (self.target, *([self.id] if self.id else [])):
            if name in names:
                raise ValueError(f"{name!r} is the {'target' if name == self.target else 'id'}, not a feature")
        if self.id == self.target:
            raise ValueError("the id column and the target must differ")
        if len(set(names)) != len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            raise ValueError(f"the feature {twice!r} is declared twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The feature names in order."""
        return tuple(feature.name for feature in self.features)

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric features in order."""
        return tuple(feature for feature in self.features if isinstance(feature, Numeric))

    @property
    def categorical(self) -> tuple[Categorical, ...]:
        """The categorical features in order."""
        return tuple(feature for feature in self.features if isinstance(feature, Categorical))

    @cached_property
    def label(self) -> Categorical:
        """The target, seen as a feature whose categories are the classes."""
        return Categorical(self.target, self.classes)

    @cached_property
    def hash(self) -> str:
        """A stable fingerprint: equal for equal meaning, whatever file or order of keys it came from."""
        canonical = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.hash == other.hash

    def to_dict(self) -> dict[str, Any]:
        """Plain values, defaults included, as they go into files."""
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def from_dict(cls, fields: Any) -> Schema:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, Mapping):
            raise SchemaError("a schema is a table with the keys target, classes and features")
        for key in ("target", "classes", "features"):
            if key not in fields:
                raise SchemaError(f"the schema lacks {key!r}: it needs target, classes and features")
        try:
            return cls(**fields)
        except TypeError as error:
            raise SchemaError(f"the schema is malformed: {error}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML or JSON file."""
        path = Path(path)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise SchemaError(f"cannot read the schema {path}: {error.strerror or error}") from None
        try:
            content = raw.decode("utf-8-sig")
            fields = parse_json(content) if _is_json(path) else tomllib.loads(content)
        except (ValueError, RecursionError) as error:
            kind = "JSON" if _is_json(path) else "TOML"
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise SchemaError(f"{path} is not valid {kind}: {reason}") from None
        try:
            return cls.from_dict(fields)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def save(self, path: str | os.PathLike[str], *, comment: str = "") -> None:
        """Write the schema as JSON (`.json`) or TOML (anything else), whole or not at all."""
        if _is_json(Path(path)):
            content = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        else:
            import tomli_w

            lines = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
            content = lines + tomli_w.dumps(self.to_dict())
        write_text(path, content)

    @classmethod
    def from_manifest(
        cls, path: str | os.PathLike[str], name: str, *, drop: Iterable[str] = (), bins: int = DEFAULT_BINS
    ) -> Schema:
        """The schema of one data set of a manifest (`datasets.json`), without the features in `drop`."""
        try:
            manifest = parse_json(Path(path).read_bytes())
            sets = {entry["name"]: entry for entry in manifest["datasets"]}
        except OSError as error:
            raise SchemaError(f"cannot read the manifest {path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise SchemaError(f"{path} is not a manifest of data sets: {error}") from None
        if name not in sets:
            raise SchemaError(f"the manifest has no data set {name!r}; it has {', '.join(sorted(sets))}")
        try:
            return cls._from_entry(sets[name], set(drop), bins)
        except (KeyError, TypeError) as error:
            raise SchemaError(f"the manifest describes {name!r} wrongly: {error}") from None

    @classmethod
    def _from_entry(cls, entry: Any, gone: set[str], bins: int) -> Schema:
        features: list[Feature] = [
            Numeric(item["name"], *item["bounds"], integer=item.get("integer", False), bins=item.get("bins", bins))
            for item in entry["numeric"]
            if item["name"] not in gone
        ]
        features += [
            Categorical(item["name"], item["categories"]) for item in entry["categorical"] if item["name"] not in gone
        ]
        return cls(features=features, target=entry["target"], classes=entry["classes"])

    @classmethod
    def infer(cls, X: Any, y: Any = None, *, target: str = "target", classes: Sequence[Any] = ()) -> Schema:
        """Read a schema off the data. This is a disclosure: the certificate will say so."""
        from discreet.sources.draft import draft_schema

        return draft_schema(X, y, target=target, classes=classes)

    def class_array(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The classes as a NumPy array of their natural type."""
        import numpy as np

        kinds = {type(label) for label in self.classes}
        return np.array(self.classes, dtype=None if len(kinds) == 1 else object)


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"
