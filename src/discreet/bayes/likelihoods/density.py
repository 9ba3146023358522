"""Densities: what likelihoods of numbers share that are a curve for each class; missing values, bounds and draws."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods.base import Floats, Likelihood
from discreet.errors import ModelError
from discreet.schema import Feature, Numeric
from discreet.sources import Column, Numbers


class Density(Likelihood):
    """A density per class, inside the public bounds.

    The field `present` holds log P(present | class) and log P(missing | class) if missing values have a cell.
    """

    statistic: ClassVar[Literal["table", "moments"]] = "moments"
    present: Floats | None  # declared as a field by each kind, after its parameters

    @abstractmethod
    def log_density(self, feature: Numeric, values: Floats) -> Floats:
        """The logarithm of the density, a row per value and a column per class; values are inside the bounds or NaN.

        Scores of private rows must not depend on which rows stand beside them: of `values` take sums, differences,
        products, quotients, absolute values and roots, which round alike everywhere; logarithms of parameters only.
        """

    @abstractmethod
    def draw(self, feature: Numeric, groups: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Values for rows of the given classes; those outside the bounds are moved to them."""

    def check(self, feature: Feature, classes: int) -> None:
        """Refuse parameters that do not belong to the feature."""
        if not isinstance(feature, Numeric):
            raise ModelError(f"{self.name!r} is categorical and cannot have a {self.words}")
        if (self.present is None) != (feature.missing_code is None):
            raise ModelError(f"the missing values of {self.name!r} do not fit the schema")
        if self.present is not None and (self.present.shape != (classes, 2) or not np.isfinite(self.present).all()):
            raise ModelError(f"the missing values of {self.name!r} have malformed probabilities")

    def scores(self, column: Column) -> Floats:
        """log P(value | class), a row per value; a value that has none raises the error that names it."""
        assert isinstance(column, Numbers)
        found = self._scores(column.feature, column.values)
        if np.isnan(found).any():
            column.complain()
        return found

    def add_scores(self, feature: Numeric, values: NDArray[Any], block: Floats) -> None:
        """Add log P(value | class) to a block of scores, NaN for a value that has none."""
        block += self._scores(feature, values)

    def _scores(self, feature: Numeric, values: NDArray[Any]) -> Floats:
        numbers = values.astype(np.float64, copy=False)
        found = self._present_scores(feature, np.clip(numbers, feature.lower, feature.upper))
        if self.present is None:
            return np.where(np.isfinite(numbers)[:, None], found, np.nan)
        found[np.isnan(numbers)] = self.present[:, 1]
        found[np.isinf(numbers)] = np.nan
        return found

    def _present_scores(self, feature: Numeric, values: Floats) -> Floats:
        density = self.log_density(feature, values)
        return density if self.present is None else density + self.present[:, 0]

    def sample(self, feature: Numeric, groups: NDArray[Any], rng: np.random.Generator) -> list[Any]:
        """Values drawn for rows of the given classes."""
        values = numbers(feature, np.clip(self.draw(feature, groups, rng), feature.lower, feature.upper))
        if self.present is not None:
            gone = rng.random(len(groups)) < np.exp(self.present[groups, 1])
            values = [None if lost else value for value, lost in zip(values, gone, strict=True)]
        return values


def numbers(feature: Numeric, draws: Floats) -> list[Any]:
    """Draws as the values of a feature: whole where it is, in the data's own unit, dates as the column writes them."""
    if not feature.direct:
        return [feature.value_at(v) for v in draws.tolist()]
    return [int(v) for v in np.rint(draws)] if feature.integer else [float(v) for v in draws]
