"""Statistics: the exact integer tables of a data set; they merge bit for bit and know nothing of noise."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError, StatisticsError
from discreet.files import parse_json, replacing
from discreet.schema import Feature, Numeric, Schema

Integers = NDArray[np.int64]
Detail = Literal["bins", "moments", "lattice"]
DETAILS: tuple[Detail, ...] = ("bins", "moments", "lattice")
BLOCKS = ("tables", "present", "sums", "squares", "lattice")  # by feature, beside the class counts
_LIMIT = 2**63 - 1
NOTICE = "raw and private: exact counts of the rows, as private as these are, and not for publication"


OVERFLOW = "a sum left the range of 64-bit integers: declare a larger step for that number, or fewer rows"


def checked_add(left: Integers, right: Integers) -> Integers:
    """left + right, or an error where a 64-bit integer would overflow."""
    total = left + right
    if np.any(((left ^ total) & (right ^ total)) < 0):
        raise StatisticsError(OVERFLOW)
    return total


def saturated_add(left: Integers, right: Integers) -> Integers:
    """left + right, held at the ends of 64 bits: a row still moves the result by no more than it moves the sum."""
    total = left + right
    over = ((left ^ total) & (right ^ total)) < 0
    return np.where(over, np.where(left < 0, -_LIMIT - 1, _LIMIT), total) if over.any() else total


def checked_subtract(left: Integers, right: Integers) -> Integers:
    """left − right, or an error where a 64-bit integer would overflow."""
    rest = left - right
    if np.any(((left ^ right) & (left ^ rest)) < 0):
        raise StatisticsError(OVERFLOW)
    return rest


def _integers(values: Any) -> Integers:
    """64-bit integers of our own, or that nobody can change; nothing that would have to be rounded to become one."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iub":
        raise StatisticsError("statistics are integers that fit 64 bits")
    if array.dtype == np.uint64 and array.size and array.max() > _LIMIT:
        raise StatisticsError(OVERFLOW)
    return array.astype(np.int64, copy=array.flags.writeable)


def _shape(kind: str, classes: int, feature: Feature | None) -> tuple[int, ...]:
    if kind == "tables" and feature is not None:
        return classes, feature.cells
    if kind == "lattice" and isinstance(feature, Numeric):
        return classes, 2 * feature.lattice.half + 1
    return (classes,)


class Statistics:
    """What Naive Bayes needs of a data set, as exact 64-bit integers.

    - `counts`: rows per class;
    - `tables[name]`: rows per class and cell (categories, or bins of a number if `bins` was asked for);
    - `present[name]`, `sums[name]`, `squares[name]`: per class, the rows in which a number is not missing, and
      the sums of its lattice points and of their squares (`moments`);
    - `lattice[name]`: rows per class and lattice point (`lattice`).

    These are the private data in condensed form: they are not for publication.
    """

    def __init__(
        self,
        schema: Schema,
        counts: Any,
        tables: Mapping[str, Any],
        *,
        present: Mapping[str, Any] | None = None,
        sums: Mapping[str, Any] | None = None,
        squares: Mapping[str, Any] | None = None,
        lattice: Mapping[str, Any] | None = None,
    ) -> None:
        self.schema = schema
        self.counts = _integers(counts)
        self.tables = {name: _integers(table) for name, table in tables.items()}
        self.present = {name: _integers(row) for name, row in (present or {}).items()}
        self.sums = {name: _integers(row) for name, row in (sums or {}).items()}
        self.squares = {name: _integers(row) for name, row in (squares or {}).items()}
        self.lattice = {name: _integers(table) for name, table in (lattice or {}).items()}
        self._check()

    @property
    def detail(self) -> tuple[Detail, ...]:
        """Which statistics of numbers are held."""
        if not self.schema.numeric:
            return ()
        name = self.schema.numeric[0].name
        held = {"bins": self.tables, "moments": self.sums, "lattice": self.lattice}
        return tuple(kind for kind in DETAILS if name in held[kind])

    def _blocks(self) -> Iterable[tuple[str, str, Integers]]:
        yield "counts", "", self.counts
        for kind in BLOCKS:
            for name, values in getattr(self, kind).items():
                yield kind, name, values

    def _check(self) -> None:
        features = {feature.name: feature for feature in self.schema.features}
        for kind, name, values in self._blocks():
            if name and (name not in features or (kind != "tables" and not isinstance(features[name], Numeric))):
                raise StatisticsError(f"the schema has no feature {name!r} with {kind}")
            if values.shape != _shape(kind, len(self.schema.classes), features.get(name)):
                raise StatisticsError(f"the {kind} of {name or 'the classes'} have the wrong shape")
            if kind not in {"sums"} and values.size and values.min() < 0:
                raise StatisticsError("a count is negative: the rows taken away were not all there")
            if kind == "tables" and not np.array_equal(values.sum(axis=1), self.counts):
                raise StatisticsError(f"the table of {name!r} does not add up to the class counts")
        absent = [feature.name for feature in self.schema.categorical if feature.name not in self.tables]
        if absent:
            raise StatisticsError(f"there is no table of {absent[0]!r}")
        numbers = {feature.name for feature in self.schema.numeric}
        for held in (self.tables.keys() & numbers, set(self.sums), set(self.lattice)):
            if held and held != numbers:
                raise StatisticsError("every number must be held in the same detail")
        if not set(self.present) == set(self.sums) == set(self.squares):
            raise StatisticsError("sums, squares and present rows must be of the same features")

    def _combine(self, other: Statistics, operation: Callable[[Integers, Integers], Integers]) -> Statistics:
        if not isinstance(other, Statistics):
            raise TypeError("statistics combine only with statistics")
        if self.schema != other.schema:
            raise StatisticsError("statistics of different schemas cannot be combined")
        if self.detail != other.detail:
            raise StatisticsError(f"one side holds {self.detail}, the other {other.detail}")

        def both(kind: str) -> dict[str, Integers]:
            right = getattr(other, kind)
            return {name: operation(values, right[name]) for name, values in getattr(self, kind).items()}

        return Statistics(self.schema, operation(self.counts, other.counts), **{kind: both(kind) for kind in BLOCKS})

    def __add__(self, other: Statistics) -> Statistics:
        """The statistics of both sets of rows together."""
        return self._combine(other, checked_add)

    def saturated(self, other: Statistics) -> Statistics:
        """The same, but a sum that would leave 64 bits stays at their end instead of raising an error."""
        return self._combine(other, saturated_add)

    def __sub__(self, other: Statistics) -> Statistics:
        """The statistics of the rows that remain when `other`'s are taken away."""
        return self._combine(other, checked_subtract)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statistics):
            return NotImplemented
        mine, yours = ({(k, n): v for k, n, v in side._blocks()} for side in (self, other))
        return (
            self.schema == other.schema
            and mine.keys() == yours.keys()
            and all(np.array_equal(values, yours[key]) for key, values in mine.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<exact statistics of {len(self.schema.features)} features: private, not for publication>"

    @classmethod
    def empty(cls, schema: Schema, detail: Iterable[Detail] = ("bins", "moments")) -> Statistics:
        """The statistics of no rows at all: the zero of `+`."""
        held = {"tables": "bins", "lattice": "lattice"}  # and the others are of moments
        blocks: dict[str, dict[str, Integers]] = {kind: {} for kind in BLOCKS}
        for kind, block in blocks.items():
            for feature in schema.features if kind == "tables" else schema.numeric:
                if not isinstance(feature, Numeric) or held.get(kind, "moments") in set(detail):
                    block[feature.name] = np.zeros(_shape(kind, len(schema.classes), feature), np.int64)
        return cls(schema, np.zeros(len(schema.classes), np.int64), **blocks)

    def arrays(self) -> dict[str, Integers]:
        """All integers by kind and feature. As private as the rows."""
        return {f"{kind}:{name}": values for kind, name, values in self._blocks()}

    @classmethod
    def of_arrays(cls, schema: Schema, arrays: Mapping[str, Integers]) -> Statistics:
        """What `arrays` gave."""
        fresh: dict[str, dict[str, Any]] = {}
        for key, values in arrays.items():
            kind, _, name = key.partition(":")
            fresh.setdefault(kind, {})[name] = values
        return cls(schema, fresh.pop("counts")[""], fresh.pop("tables", {}), **fresh)

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, str] | None = None) -> None:
        """Write to Parquet (`.parquet`) or Arrow (anything else), `notes` with it. It is as private as the rows."""
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as parquet

        blocks = list(self._blocks())
        sizes = [block.size for _, _, block in blocks]
        table = pa.table(
            {
                "kind": pa.array(np.repeat([kind for kind, _, _ in blocks], sizes)).dictionary_encode(),
                "feature": pa.array(np.repeat([name for _, name, _ in blocks], sizes)).dictionary_encode(),
                "value": pa.array(np.concatenate([block.ravel() for _, _, block in blocks])),
            },
            metadata={
                "discreet.statistics": "1",
                "discreet.schema": json.dumps(self.schema.to_dict()),
                "discreet.schema.hash": self.schema.hash,
                "discreet.notice": NOTICE,
                **(notes or {}),
            },
        )
        with replacing(path, private=True) as temporary:
            if Path(path).suffix.lower() == ".parquet":
                parquet.write_table(table, temporary, compression="zstd")
            else:
                feather.write_feather(table, temporary, compression="zstd")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Read what `save` wrote."""
        return cls.load_noted(path)[0]

    @classmethod
    def load_noted(cls, path: str | os.PathLike[str]) -> tuple[Statistics, dict[str, str]]:
        """The same, and the notes that were written with it."""
        import pyarrow as pa
        import pyarrow.feather as feather
        import pyarrow.parquet as parquet

        try:
            with open(path, "rb") as file:
                magic = file.read(4)
            table = parquet.read_table(path) if magic == b"PAR1" else feather.read_table(path)
            metadata = table.schema.metadata or {}
            if metadata.get(b"discreet.statistics") != b"1":
                raise StatisticsError(f"{path} does not hold statistics of this version")
            schema = Schema.from_dict(parse_json(metadata[b"discreet.schema"]))
            if metadata.get(b"discreet.schema.hash", schema.hash.encode()) != schema.hash.encode():
                raise StatisticsError(f"{path} names another schema than it was made for: it was changed")
            notes = {key.decode(): value.decode() for key, value in metadata.items()}
            kinds, names, values = (table.column(key).to_numpy() for key in ("kind", "feature", "value"))
        except OSError as error:
            raise StatisticsError(f"cannot read the statistics {path}: {error.strerror or error}") from None
        except (pa.ArrowException, KeyError, ValueError, SchemaError) as error:
            if isinstance(error, StatisticsError):
                raise
            raise StatisticsError(f"{path} is not a file of statistics: {error}") from None
        fresh: dict[str, dict[str, Any]] = {kind: {} for kind in ("counts", *BLOCKS)}
        new_block = (kinds[1:] != kinds[:-1]) | (names[1:] != names[:-1])
        for part in np.split(np.arange(len(kinds)), np.flatnonzero(new_block) + 1):
            if len(part):
                fresh.get(kinds[part[0]], {})[names[part[0]]] = values[part[0] : part[-1] + 1]
        return cls._rebuilt(schema, fresh, path), notes

    @classmethod
    def _rebuilt(cls, schema: Schema, fresh: dict[str, dict[str, Any]], path: Any) -> Statistics:
        classes = len(schema.classes)
        try:
            counts = fresh.pop("counts")[""]
            grids = {kind: fresh.pop(kind) for kind in ("tables", "lattice")}
            tables, lattice = (
                {name: flat.reshape(classes, -1) for name, flat in grids[kind].items()}
                for kind in ("tables", "lattice")
            )
            return cls(schema, counts, tables, lattice=lattice, **fresh)
        except (KeyError, ValueError) as error:
            raise StatisticsError(f"{path} holds damaged statistics: {error}") from None
