"""Projections: fewer coordinates for people to report about, found in a public sample and never in private rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.errors import DataError, SchemaError
from discreet.schema import Numeric, Schema
from discreet.sources import Numbers, Rows, cells_of, read_rows

Floats = NDArray[np.float64]
Bounds = Literal["schema", "sample"]


class PublicProjection(TransformerMixin, BaseEstimator):
    """A linear map of numbers, fitted on public rows.

    Numbers are scaled to −1 … 1 by their public bounds and each component is a weighted sum of them whose weights'
    sizes add up to one. So the schema's bounds imply that components lie in −1 … 1 too. `bounds="sample"` takes the
    narrower range of the public sample instead; what lies outside is clipped.

    `fit` looks at `public_X` and `public_y` alone: rows that it is given, say by a pipeline, are not touched.

    Parameters
    ----------
    n_components : int, default 1
    schema : Schema
        What is public about the rows; all features must be numbers that are never missing.
    public_X, public_y : arrays or a data frame
        Rows of people who agreed to be public, or of an older published table. They are not protected.
    bounds : {"schema", "sample"}
    bins : int, default 16
        Bins of each component in `schema_`.

    Attributes
    ----------
    components_ : (n_components, n_features)
    bounds_ : (n_components, 2)
    schema_ : Schema
        Of the projected rows: for `LocalNB`, `Campaign` and `Collector`.
    """

    def __init__(
        self, n_components: int = 1, schema: Schema | None = None, public_X: Any = None, public_y: Any = None,
        bounds: Bounds = "schema", bins: int = 16,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.schema = schema
        self.public_X = public_X
        self.public_y = public_y
        self.bounds = bounds
        self.bins = bins

    @abstractmethod
    def _directions(self, points: Floats, labels: NDArray[np.int64] | None) -> Floats:
        """All directions, the best first, as rows."""

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Find the components in the public sample. `X` and `y` are not looked at."""
        schema = _numbers_only(self.schema)
        wanted, most = self.n_components, len(schema.features)
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer) or not 1 <= wanted <= most:
            raise DataError(f"n_components must be a whole number from 1 to {most}, not {wanted!r}")
        if self.bounds not in ("schema", "sample"):
            raise DataError(f"bounds must be 'schema' or 'sample', not {self.bounds!r}")
        if self.public_X is None:
            raise DataError(
                f"{type(self).__name__} learns from public rows only: pass public_X (and public_y), rows of people "
                "who need no protection"
            )
        points, labels = _points(schema, self.public_X, self.public_y, labelled=self._needs_labels)
        if len(points) < 2:
            raise DataError("a projection needs two public rows at least")
        rows = self._directions(points, labels)[:wanted]
        sizes = np.abs(rows).sum(axis=1, keepdims=True)
        largest = np.abs(rows).argmax(axis=1)
        self.components_ = rows / sizes * np.sign(rows[np.arange(len(rows)), largest])[:, None]
        self.bounds_ = np.tile([-1.0, 1.0], (len(rows), 1))
        if self.bounds == "sample":
            seen = points @ self.components_.T
            low, high = seen.min(axis=0), seen.max(axis=0)
            self.bounds_ = np.stack([low, np.where(high > low, high, low + 1e-6)], axis=1)
        self.n_features_in_ = most
        features = [
            Numeric(f"component{i}", float(low), float(high), bins=self.bins)
            for i, (low, high) in enumerate(self.bounds_, start=1)
        ]
        self.schema_ = schema.having(features)
        return self

    _needs_labels = False

    def transform(self, X: Any) -> Floats:
        """Project rows: what each device does with its own row before it reports."""
        check_is_fitted(self)
        points, _ = _points(_numbers_only(self.schema), X, None, labelled=False)
        return np.asarray(np.clip(points @ self.components_.T, self.bounds_[:, 0], self.bounds_[:, 1]))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the components."""
        check_is_fitted(self)
        return np.array(self.schema_.names, dtype=object)


class PublicPCA(PublicProjection):
    """Principal components of a public sample: directions in which its rows differ most."""

    def _directions(self, points: Floats, labels: NDArray[np.int64] | None) -> Floats:
        return principal(points)


class PublicDCA(PublicProjection):
    """Discriminant components of a public sample (Kung): directions in which its classes differ most.

    The first, at most one less than there are classes, maximise the scatter between classes against that within them
    plus `ridge` times its average size. The rest are principal components of what these leave over.
    """

    _needs_labels = True

    def __init__(
        self, n_components: int = 1, schema: Schema | None = None, public_X: Any = None, public_y: Any = None,
        bounds: Bounds = "schema", bins: int = 16, ridge: float = 0.01,
    ) -> None:  # fmt: skip
        super().__init__(n_components, schema, public_X, public_y, bounds, bins)
        self.ridge = ridge

    def _directions(self, points: Floats, labels: NDArray[np.int64] | None) -> Floats:
        assert labels is not None
        if not self.ridge > 0:
            raise DataError(f"ridge must be a number above zero, not {self.ridge!r}")
        return discriminant(points, labels, float(self.ridge))


def principal(points: Floats) -> Floats:
    """Directions of falling variance, as rows."""
    _, vectors = np.linalg.eigh(np.atleast_2d(np.cov(points.T)))
    return np.asarray(vectors.T[::-1])


def discriminant(points: Floats, labels: NDArray[np.int64], ridge: float) -> Floats:
    """Discriminant directions, then principal ones of the space orthogonal to them, as rows."""
    from scipy.linalg import eigh, null_space

    groups = np.unique(labels)
    if len(groups) < 2:
        raise DataError("the public sample has rows of one class only: discriminant components need two")
    middle, width = points.mean(axis=0), points.shape[1]
    within, between = np.zeros((width, width)), np.zeros((width, width))
    for group in groups:
        mine = points[labels == group]
        off = mine - mine.mean(axis=0)
        within += off.T @ off / len(points)
        gap = mine.mean(axis=0) - middle
        between += np.outer(gap, gap) * len(mine) / len(points)
    size = max(float(np.trace(within)) / width, 1e-12)
    _, vectors = eigh(between, within + ridge * size * np.eye(width))
    signal = vectors.T[::-1][: min(len(groups) - 1, width)]
    rest = null_space(signal).T
    return np.concatenate([signal, principal(points @ rest.T) @ rest]) if len(rest) else signal


def _numbers_only(schema: Any) -> Schema:
    if schema is None:
        raise SchemaError("a projection needs a schema: pass schema=Schema(...) or the path of its file")
    public = Schema.of(schema)
    for feature in public.features:
        if not isinstance(feature, Numeric) or feature.missing_code is not None:
            raise SchemaError(f"a projection needs numbers that are never missing, which {feature.name!r} is not")
    return public


def _points(schema: Schema, X: Any, y: Any, *, labelled: bool) -> tuple[Floats, NDArray[np.int64] | None]:
    """Rows scaled to −1 … 1 by their public bounds, and their classes."""
    parts, groups = [], []
    for rows in read_rows(X, schema, y if labelled else None, labelled=labelled):
        parts.append(_scaled(rows))
        if rows.label is not None:
            groups.append(cells_of(rows.label).astype(np.int64))
    points = np.concatenate(parts) if parts else np.empty((0, len(schema.features)))
    return points, np.concatenate(groups) if groups else None


def _scaled(rows: Rows) -> Floats:
    columns = []
    for column in rows.columns:
        assert isinstance(column, Numbers)
        feature, values = column.feature, column.values.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            column.complain()
        half = (feature.upper - feature.lower) / 2
        columns.append((column.clipped() - feature.lattice.middle) / half)
    return np.stack(columns, axis=1)
