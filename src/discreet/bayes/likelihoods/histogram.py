"""Tables: a probability for every cell, be it a category or the bin of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods.base import Evidence, Floats, Likelihood
from discreet.bayes.likelihoods.density import numbers
from discreet.bayes.likelihoods.registry import register
from discreet.errors import ModelError
from discreet.schema import Categorical, Feature, Numeric
from discreet.sources import Column, cells_of


@register("histogram", "table of probabilities", kind="table")
@dataclass(frozen=True)
class TableLikelihood(Likelihood):
    """log P(cell | class) for every class and cell of a categorical or binned feature."""

    statistic: ClassVar[Literal["table", "moments"]] = "table"

    log_prob: Floats

    @classmethod
    def estimate(cls, evidence: Evidence, feature: Feature) -> Self:
        """The table as it was released and read."""
        return cls(feature.name, evidence.table(feature))

    def check(self, feature: Feature, classes: int) -> None:
        """Refuse a table that does not belong to the feature."""
        if self.log_prob.shape != (classes, feature.cells):
            raise ModelError(f"the table of {self.name!r} has the wrong shape")
        if not (self.log_prob.min() > -np.inf and self.log_prob.max() <= 1e-9):  # nor NaN
            raise ModelError(f"the table of {self.name!r} holds numbers that are no log-probabilities")
        if np.abs(np.exp(self.log_prob).sum(axis=1) - 1).max() > 0.01:
            raise ModelError(f"the probabilities of {self.name!r} do not add up to one")

    @property
    def by_cell(self) -> Floats:
        """All values of a cell score alike."""
        return self.log_prob

    def scores(self, column: Column) -> Floats:
        """log P(cell | class), a row per value."""
        return np.asarray(self.log_prob.T[cells_of(column)])

    def sample(self, feature: Feature, groups: NDArray[Any], rng: np.random.Generator) -> list[Any]:
        """A cell for each row, and a value in it."""
        levels = np.cumsum(np.exp(self.log_prob), axis=1)
        spots = rng.random(len(groups)) * levels[groups, -1]
        codes = (spots[:, None] >= levels[groups]).sum(axis=1).clip(0, feature.cells - 1)
        return decode(feature, codes, rng)

    def tempered(self, feature: Feature, slope: float, shares: Floats) -> tuple[Self, Floats]:
        """P^slope times a power of the overall share of a cell, which no class sees; and the logs of their sums."""
        logs = self.log_prob
        overall = np.log(shares @ np.exp(logs))
        powers = slope * logs + (1 - slope) * overall
        sums = log_sums(powers)
        return type(self)(self.name, powers - sums[:, None]), sums

    def encoder(self, feature: Feature, linear: bool) -> Any:
        """One column per cell, or the number of the cell."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder

        if isinstance(feature, Numeric):
            # A value belongs to the bin of its nearest lattice point, so bins change half a step early.
            starts = [feature.lattice.value(cut) - float(feature.lattice.step) / 2 for cut in feature.cuts]
            bins: Any = FunctionTransformer(np.digitize, kw_args={"bins": np.array(starts)}, validate=True)
            if feature.missing_code is not None:  # what is no number lies behind every bin, and infinity in the last
                numbers = FunctionTransformer(np.asarray, kw_args={"dtype": np.float64})
                ends = FunctionTransformer(np.clip, kw_args={"a_min": feature.lower, "a_max": feature.upper})
                digits = FunctionTransformer(np.digitize, kw_args={"bins": np.array([*starts, np.inf])})
                bins = make_pipeline(numbers, ends, digits)
            every = [np.arange(feature.cells)]
            return make_pipeline(bins, OneHotEncoder(categories=every, sparse_output=False)) if linear else bins
        categories: list[Any] = [*feature.categories, *([] if feature.missing_code is None else [np.nan])]
        if linear:
            if feature.other_code is not None:
                raise ModelError(f"a mixed model with the 'other' bucket of {feature.name!r} cannot be exported")
            step: Any = OneHotEncoder(categories=[_array(categories)], sparse_output=False)
        else:
            unknown: dict[str, Any] = {}
            if feature.other_code is not None:
                unknown = {"handle_unknown": "use_encoded_value", "unknown_value": len(categories)}
            if feature.missing_code is not None:
                unknown["encoded_missing_value"] = len(categories) - 1
            step = OrdinalEncoder(categories=[_array(categories)], **unknown)
        if feature.missing_code is None:
            return step
        import pandas as pd  # the encoders know NaN as missing, but not None

        return make_pipeline(FunctionTransformer(pd.DataFrame.fillna, kw_args={"value": np.nan}), step)

    def linear_form(self, feature: Feature) -> tuple[Floats, Floats]:
        """The log-probabilities of the cells, in the encoder's order."""
        return self.log_prob[:, _cells(feature)], np.zeros(len(self.log_prob))

    @classmethod
    def native(cls, model: Any, order: NDArray[Any]) -> Any:
        """Scikit-learn's CategoricalNB."""
        from sklearn.naive_bayes import CategoricalNB

        fitted, pairs = CategoricalNB(), list(zip(model.likelihoods, model.schema.features, strict=True))
        fitted.class_log_prior_ = model.log_prior[order]
        fitted.feature_log_prob_ = [one.linear_form(feature)[0][order] for one, feature in pairs]
        fitted.n_categories_ = np.array([feature.cells for _, feature in pairs])
        fitted.category_count_ = []  # which the export fills
        return fitted


def log_sums(logs: Floats) -> Floats:
    """The logarithm of Σ exp of each row, without overflow."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray((top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))[:, 0])


def _cells(feature: Feature) -> list[int]:
    """Cells in the encoder's order: categories, then missing, then other, whose code lies past the rest."""
    cells = list(range(feature.cells))
    if isinstance(feature, Categorical) and feature.other_code is not None and feature.missing_code is not None:
        cells[-2:] = [feature.missing_code, feature.other_code]
    return cells


def _array(categories: list[Any]) -> Any:
    """Whole numbers as numbers, so that they meet integers and floats alike; anything else as objects."""
    plain = all(isinstance(one, int) and not isinstance(one, bool) for one in categories)
    return np.array(categories) if plain else np.array(categories, dtype=object)


def decode(feature: Any, codes: NDArray[Any], rng: np.random.Generator) -> list[Any]:
    """Values that fall into the given cells: a category, or a number drawn evenly from its bin."""
    if isinstance(feature, Numeric):
        edges = np.array(feature.edges)
        inside = np.minimum(codes, len(edges) - 2)
        low, high = edges[inside], edges[inside + 1]
        if feature.integer:
            last = np.where(inside == len(edges) - 2, high, high - 1)
            draws = np.floor(low + rng.random(len(codes)) * (last - low + 1))
        else:
            draws = low + rng.random(len(codes)) * (high - low)
        values = numbers(feature, draws)
    else:
        labels = (*feature.categories, feature.other)
        values = [labels[min(code, len(labels) - 1)] for code in codes]
    gone = feature.missing_code
    return values if gone is None else [None if c == gone else v for c, v in zip(codes, values, strict=True)]
