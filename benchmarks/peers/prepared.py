"""One data set as every method sees it: the same rows, splits, bounds and categories; read with NumPy alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BINS = 16
PARTS = ("train", "test")


@dataclass(frozen=True)
class Feature:
    """A column's public facts: its number of categories, or its bounds."""

    name: str
    categories: int | None
    bounds: tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers as they are, categories and classes as their index in the public lists; one split per seed."""

    name: str
    features: tuple[Feature, ...]
    classes: int
    X: Floats
    y: NDArray[np.int64]
    splits: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]
    schema: dict[str, Any] | None = None

    def save(self, path: Path) -> None:
        """Write everything to one file that needs no library but NumPy to read."""
        facts = {
            "name": self.name,
            "classes": self.classes,
            "schema": self.schema,
            "features": [[f.name, f.categories, f.bounds] for f in self.features],
        }
        parts = {
            f"{part}_{seed}": rows for seed, both in self.splits.items() for part, rows in zip(PARTS, both, strict=True)
        }
        np.savez(path, X=self.X, y=self.y, facts=np.array(json.dumps(facts)), **parts)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> Prepared:
        """Read what `save` wrote."""
        with np.load(path) as file:
            facts: dict[str, Any] = json.loads(str(file["facts"]))
            features = tuple(Feature(n, c, None if b is None else (b[0], b[1])) for n, c, b in facts["features"])
            seeds = sorted(int(key[6:]) for key in file.files if key.startswith("train_"))
            splits = {seed: (file[f"train_{seed}"], file[f"test_{seed}"]) for seed in seeds}
            X, y = file["X"], file["y"]
        return cls(facts["name"], features, facts["classes"], X, y, splits, facts["schema"])

    @cached_property
    def ordinal(self) -> Floats:
        """Every feature as one number in [0, 1]: numbers by their bounds, categories by their place in the list."""
        return np.column_stack([self._scaled(j) for j in range(len(self.features))])

    @cached_property
    def one_hot(self) -> Floats:
        """A 0/1 column per category (one for two categories), numbers in [0, 1] by their public bounds."""
        columns = []
        for j, feature in enumerate(self.features):
            if feature.categories is None or feature.categories == 2:
                columns.append(self._scaled(j))
            else:
                columns += [(self.X[:, j] == k).astype(np.float64) for k in range(feature.categories)]
        return np.column_stack(columns)

    @property
    def encodings_differ(self) -> bool:
        """Whether some feature has more than two categories, so that the two matrices are not the same."""
        return any((feature.categories or 0) > 2 for feature in self.features)

    @cached_property
    def codes(self) -> tuple[NDArray[np.int64], list[int]]:
        """Every feature as an index into a public domain, numbers in 16 cells of equal width; and the sizes."""
        return self.coded(BINS)

    def coded(self, bins: int) -> tuple[NDArray[np.int64], list[int]]:
        """The same with another number of cells."""
        sizes = [feature.categories or bins for feature in self.features]
        parts = [
            self.X[:, j] if feature.categories else np.minimum(self._scaled(j) * bins, bins - 1)
            for j, feature in enumerate(self.features)
        ]
        return np.column_stack(parts).astype(np.int64), sizes

    def _scaled(self, j: int) -> Floats:
        feature = self.features[j]
        low, high = feature.bounds or (0.0, float(max(1, (feature.categories or 2) - 1)))
        result: Floats = (np.clip(self.X[:, j], low, high) - low) / (high - low)
        return result


def spread(scores: Any, classes: Any, count: int) -> Floats:
    """Columns of scores put where their class belongs; a class that the training rows lacked scores lowest."""
    result = np.full((len(scores), count), -1e300)
    result[:, np.asarray(classes, dtype=np.int64)] = np.nan_to_num(
        np.asarray(scores, dtype=np.float64), nan=-1e299, neginf=-1e299, posinf=1e299
    )
    return result
