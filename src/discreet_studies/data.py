"""Data of the studies: sets named by a manifest, coded once, and the splits into training and test rows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.files import parse_json
from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import Codes, make_column
from discreet_studies.tasks import seed_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
MANIFEST = "datasets.json"
VARIABLE = "DISCREET_DATA"


@dataclass(frozen=True, eq=False)
class DataSet:
    """Rows as one matrix: numbers as they are, categories and classes as their index in the manifest's lists."""

    name: str
    schema: Schema
    X: Floats
    y: Indices

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Indices) -> DataSet:
        """Some of the rows, in the order given."""
        return DataSet(self.name, self.schema, self.X[rows], self.y[rows])


def find_data(directory: str | os.PathLike[str] | None = None) -> Path:
    """The directory of the reference data sets, or an error that says how to name it."""
    named = directory or os.environ.get(VARIABLE)
    if not named:
        raise DataError(f"the reference data sets are needed: pass --data DIR or set {VARIABLE} to their directory")
    path = Path(named)
    if not (path / MANIFEST).is_file():
        raise DataError(f"{path} has no {MANIFEST}: --data or {VARIABLE} must name the directory that holds it")
    return path


def fingerprints(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """The checksum that the manifest states for each data set, so that results name the data they are of."""
    try:
        sets = {entry["name"]: entry for entry in parse_json((directory / MANIFEST).read_bytes())["datasets"]}
        return {name: str(sets[name].get("sha256", "")) for name in names}
    except (ValueError, TypeError) as error:
        raise DataError(f"{directory / MANIFEST} is not a manifest of data sets: {error}") from None
    except KeyError as error:
        raise DataError(f"{directory / MANIFEST} lacks {error}, which this study needs") from None


@lru_cache(maxsize=4)
def load(directory: Path, name: str, features: tuple[str, ...] = (), rows: int | None = None) -> DataSet:
    """One data set of the manifest: all its features or the named ones, all its rows or a fixed random draw."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    declared = Schema.from_manifest(directory / MANIFEST, name)
    absent = set(features) - set(declared.names)
    if absent:
        raise DataError(f"{name} has no feature {sorted(absent)[0]!r}")
    kept = [feature for feature in declared.features if not features or feature.name in features]
    try:
        table = parquet.read_table(directory / f"{name}.parquet", columns=[*(f.name for f in kept), declared.target])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"cannot read {directory / name}.parquet: {error}") from None
    columns = [make_column(feature, table.column(feature.name)) for feature in kept]
    label = make_column(declared.label, table.column(declared.target))
    assert isinstance(label, Codes)
    X = np.column_stack([_coded(column) for column in columns])
    data = DataSet(name, coded(Schema(kept, declared.target, declared.classes)), X, _checked(label))
    if rows is not None and rows < len(data):
        rng = np.random.default_rng(seed_of("rows", name, rows))
        data = data.take(np.sort(rng.choice(len(data), rows, replace=False)))
    return data


def coded(schema: Schema) -> Schema:
    """The same schema with categories and classes replaced by their index."""
    features = [
        feature if isinstance(feature, Numeric) else Categorical(feature.name, list(range(feature.cells)))
        for feature in schema.features
    ]
    return Schema(features, schema.target, list(range(len(schema.classes))))


def _checked(column: Codes) -> Indices:
    codes = column.encode()
    if (codes == column.feature.cells).any():
        column.complain()
    return codes


def _coded(column: Any) -> Floats:
    if isinstance(column, Codes):
        return _checked(column).astype(np.float64)
    values: Floats = column.values.astype(np.float64)
    if not np.isfinite(values).all():
        column.complain()
    return values


@dataclass(frozen=True, eq=False)
class Split:
    """Which rows train and which test, and the seed that decided it."""

    train: Indices
    test: Indices
    seed: int


def fold_of_rows(y: Indices, folds: int, seed: int) -> Indices:
    """The fold of every row: shuffled, and every class dealt out evenly."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    result = np.empty(len(y), np.int64)
    result[order] = np.arange(len(y)) % folds
    return result


def cross_validation(data: DataSet, repeat: int, fold: int, folds: int, root: int = 0) -> Split:
    """One fold of one repeat; all methods and privacy levels of a repeat meet the same folds."""
    if not 2 <= folds <= len(data):
        raise DataError(f"{data.name} has {len(data)} rows, which cannot make {folds} folds")
    seed = seed_of("folds", data.name, len(data), folds, repeat, root)
    where = fold_of_rows(data.y, folds, seed)
    return Split(np.flatnonzero(where != fold), np.flatnonzero(where == fold), seed)


def monte_carlo(data: DataSet, repeat: int, test_share: float, root: int = 0) -> Split:
    """A random split of its own for every repeat."""
    seed = seed_of("split", data.name, len(data), test_share, repeat, root)
    order = np.random.default_rng(seed).permutation(len(data))
    size = round(test_share * len(data))
    if not 0 < size < len(data):
        raise DataError(f"a test share of {test_share:g} leaves nothing to train or to test on in {data.name}")
    return Split(np.sort(order[size:]), np.sort(order[:size]), seed)


def declared_split(directory: Path, name: str) -> Split | None:
    """The split into training and test rows that a data set comes with, if it has one."""
    import pyarrow.parquet as parquet

    file = directory / f"{name}.parquet"
    if "split" not in parquet.read_schema(file).names:
        return None
    part = np.array(parquet.read_table(file, columns=["split"]).column("split").to_pylist())
    return Split(np.flatnonzero(part == "train"), np.flatnonzero(part == "test"), 0)
