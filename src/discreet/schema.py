"""Schema: all that is public about the data, declared by a person and never read from the rows."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictStr, field_validator, model_validator

from discreet.domain import text
from discreet.errors import SchemaError
from discreet.features import (
    DEFAULT_BINS,
    MISSING,
    Categorical,
    Date,
    Feature,
    Numeric,
    Public,
    Value,
    Values,
    refuse_same,
)
from discreet.files import parse_json, write_text
from discreet.readings import PARTS, glob

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MISSING", "Categorical", "Date", "Feature", "Numeric", "Provenance", "Schema"]


def _kind(feature: Any) -> Any:
    """Let files leave out `kind`: categories or bounds tell it."""
    if isinstance(feature, Mapping) and "kind" not in feature:
        dated = feature.get("transform") in PARTS if isinstance(feature.get("transform"), str) else False
        kind = "categorical" if "categories" in feature or dated else "date" if "start" in feature else "numeric"
        return {"kind": kind, **feature}
    return feature


def _each(fields: Mapping[str, Any]) -> Any:
    """The features of a file, one by one: `columns` lists the names and patterns of those that are declared together.

    A pattern (`lab_*`) is of the names that the file lists as its own `columns`, and not of features declared by name.
    """
    given = fields["features"]
    if not isinstance(given, list | tuple) or not any(isinstance(one, Mapping) and "columns" in one for one in given):
        return given
    known = fields.get("columns")
    apart = {one.get("name") if isinstance(one, Mapping) else getattr(one, "name", None) for one in given}
    apart |= {name for one in given if isinstance(one, Mapping) for name in _names(one.get("columns", ()), plain=True)}
    apart |= {fields.get("target"), fields.get("id")}
    result: list[Any] = []
    for one in given:
        if not isinstance(one, Mapping) or "columns" not in one:
            result.append(one)
            continue
        if "name" in one:
            raise SchemaError(f"the feature {one['name']!r} has both a name and columns: leave one of them out")
        same = {key: value for key, value in one.items() if key != "columns"}
        for name in _names(one["columns"]):
            if not is_pattern(name):
                result.append({**same, "name": name})
                continue
            if not isinstance(known, list | tuple):
                raise SchemaError(
                    f"the pattern {name!r} needs the names of the table's columns: list them as columns = [...] at the "
                    "top of the schema"
                )
            rule = re.compile(glob(name))
            fitting = [each for each in known if isinstance(each, str) and rule.fullmatch(each) and each not in apart]
            if not fitting:
                raise SchemaError(f"no column that is listed and not yet declared fits the pattern {name!r}")
            apart |= set(fitting)
            result += [{**same, "name": each} for each in fitting]
    return result


def _names(columns: Any, *, plain: bool = False) -> list[str]:
    if not isinstance(columns, list | tuple) or not all(isinstance(one, str) and one for one in columns):
        raise SchemaError("columns of a feature is a list of names or patterns, such as ['lab_*']")
    return [one for one in columns if not (plain and is_pattern(one))]


def is_pattern(name: str) -> bool:
    """Whether a name of a file stands for many columns."""
    return any(letter in name for letter in "*?[")


class Provenance(Public):
    """Where a part of a schema comes from: a private release, what it cost whom, and the hash of its certificate."""

    what: StrictStr
    epsilon: StrictStr | None = None
    delta: StrictStr = "0"
    adjacency: StrictStr
    contributions: int = Field(ge=1)
    certificate: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]


class Schema(Public):
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
    provenance: tuple[Provenance, ...] = ()

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
        refuse_same(classes, "the list of classes")
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

    def _repr_html_(self) -> str:
        from discreet.html import page

        rows = [[one.name, one.kind, _said(one), one.missing] for one in self.features]
        classes = ", ".join(text(label) for label in self.classes)
        facts = [("target", f"{self.target}: {classes}"), ("id", self.id)]
        facts += [("read off the data", "yes: not private")] if self.inferred else []
        return page("Schema: what is public about the data", facts, ["feature", "kind", "values", "missing"], rows)

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

    @property
    def unsettled(self) -> tuple[str, ...]:
        """The numbers whose bounds are still to be bought."""
        return tuple(feature.name for feature in self.numeric if feature.bounds is not None)

    @cached_property
    def label(self) -> Categorical:
        """The target, seen as a feature whose categories are the classes."""
        return Categorical(self.target, self.classes)

    @cached_property
    def hash(self) -> str:
        """A stable fingerprint: equal for equal meaning, whatever file, order of keys or release it came from."""
        fields = {key: value for key, value in self.to_dict().items() if key != "provenance"}
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self.hash)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.hash == other.hash

    def to_dict(self) -> dict[str, Any]:
        """Plain values, defaults included, as they go into files."""
        fields = self.model_dump(mode="json", exclude_none=True)
        if not self.provenance:
            del fields["provenance"]
        return fields

    def having(self, features: Sequence[Any] | None = None, **fields: Any) -> Schema:
        """This schema with other features, or with other fields; all else, its provenance too, stays as it is."""
        kept = {name: getattr(self, name) for name in ("target", "classes", "id", "inferred", "provenance")}
        return Schema(self.features if features is None else features, **(kept | fields))

    @classmethod
    def from_dict(cls, fields: Any) -> Schema:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, Mapping):
            raise SchemaError("a schema is a table with the keys target, classes and features")
        for key in ("target", "classes", "features"):
            if key not in fields:
                raise SchemaError(f"the schema lacks {key!r}: it needs target, classes and features")
        try:
            return cls(
                **{**{key: value for key, value in fields.items() if key != "columns"}, "features": _each(fields)}
            )
        except TypeError as error:
            raise SchemaError(f"the schema is malformed: {error}") from None

    @classmethod
    def of(cls, given: Any) -> Schema:
        """A schema as it may be passed: itself, the path of its file, or plain values."""
        if isinstance(given, Schema):
            return given
        if isinstance(given, Mapping):
            return cls.from_dict(given)
        if isinstance(given, str | os.PathLike):
            return cls.load(given)
        raise SchemaError(f"a schema is a Schema, the path of its file or a dictionary, not {type(given).__name__}")

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
            Numeric(
                item["name"],
                **dict(zip(("lower", "upper"), item["bounds"], strict=False)),
                integer=item.get("integer", False),
                bins=item.get("bins", bins),
            )
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


def _said(feature: Feature) -> str:
    """The values that a feature may have, in a few words."""
    if isinstance(feature, Numeric):
        if feature.bounds is not None:
            return "bounds to be bought"
        return " to ".join((feature.start, feature.end) if isinstance(feature, Date)
                           else map(feature.show, (feature.lower, feature.upper)))  # fmt: skip
    names = [text(one) for one in feature.categories]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
