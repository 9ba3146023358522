"""Data sets of the manifest with the split of every seed, ready for any method."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.prepared import Feature, Prepared
from benchmarks.peers.tasks import Entry
from discreet.features import Numeric
from discreet.files import parse_json
from discreet_studies.data import MANIFEST, Indices, declared_split, load

TEST_SHARE = 0.2
TITLES = {
    "census_kdd": "Census-KDD",
    "connect4": "Connect-4",
    "kr_vs_kp": "Chess",
    "news20_w100": "20 Newsgroups",
    "spect": "SPECT",
    "xwindows": "XWindows",
}


def entries(directory: Path) -> dict[str, Entry]:
    """The data sets of the manifest, small ones first."""
    sets = parse_json((directory / MANIFEST).read_bytes())["datasets"]
    return {entry["name"]: _entry(entry) for entry in sorted(sets, key=lambda entry: entry["rows"])}


def _entry(entry: dict[str, Any]) -> Entry:
    name, rows, splits = entry["name"], entry["rows"], entry["splits"]
    categories = [len(item["categories"]) for item in entry["categorical"]]
    numbers = len(entry["numeric"])
    return Entry(
        name=name,
        title=TITLES.get(name, name.capitalize()),
        checksum=entry["sha256"],
        rows=rows,
        train=splits["train"] if splits else rows - int(np.ceil(TEST_SHARE * rows)),
        features=numbers + len(categories),
        numbers=numbers,
        most_categories=max(categories, default=0),
        classes=len(entry["classes"]),
        fixed=bool(splits),
    )


def split(directory: Path, name: str, rows: int, seed: int) -> tuple[Indices, Indices]:
    """The split that the data come with, else a fifth of the rows to test on, drawn by the seed."""
    from sklearn.model_selection import train_test_split

    given = declared_split(directory, name)
    if given is not None:
        return given.train, given.test
    train, test = train_test_split(np.arange(rows), test_size=TEST_SHARE, random_state=seed)
    return train, test


def prepare(directory: Path, name: str, seeds: Iterable[int]) -> Prepared:
    """A data set and its splits; all that is said about its columns is public."""
    data = load(directory, name)
    features = tuple(
        Feature(f.name, None, (f.lower, f.upper)) if isinstance(f, Numeric) else Feature(f.name, f.cells, None)
        for f in data.schema.features
    )
    splits = {seed: split(directory, name, len(data), seed) for seed in seeds}
    classes, schema = len(data.schema.classes), data.schema.to_dict()
    return Prepared(name, features, classes, data.X, data.y, splits, schema)
