"""Likelihoods: what one feature says about the class; a table of cells or a bell curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.schema import Feature, Numeric

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TableLikelihood:
    """log P(cell | class) for every class and cell of a categorical or binned feature."""

    name: str
    log_prob: Floats

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {"name": self.name, "kind": "table", "log_prob": self.log_prob.tolist()}

    def check(self, feature: Feature, classes: int) -> None:
        """Refuse a table that does not belong to the feature."""
        if self.log_prob.shape != (classes, feature.cells):
            raise ModelError(f"the table of {self.name!r} has the wrong shape")
        if not (np.isfinite(self.log_prob).all() and (self.log_prob <= 1e-9).all()):
            raise ModelError(f"the table of {self.name!r} holds numbers that are no log-probabilities")
        if not np.allclose(np.exp(self.log_prob).sum(axis=1), 1, atol=0.01):
            raise ModelError(f"the probabilities of {self.name!r} do not add up to one")


@dataclass(frozen=True)
class GaussianLikelihood:
    """A normal density per class, on request cut off at the public bounds and scaled to integrate to one.

    `present` holds log P(present | class) and log P(missing | class) if missing values have a cell of their own.
    """

    name: str
    mean: Floats
    variance: Floats
    truncated: bool = False
    present: Floats | None = None

    def constants(self, feature: Numeric) -> tuple[Floats, Floats, Floats]:
        """(constant, weight, absent): the log-density is constant − weight·(x − mean)²; absent if missing."""
        constant = -0.5 * np.log(2 * math.pi * self.variance)
        if self.truncated:
            constant = constant - log_mass(feature.lower, feature.upper, self.mean, self.variance)
        absent = np.zeros_like(constant)
        if self.present is not None:
            constant, absent = constant + self.present[:, 0], self.present[:, 1]
        return constant, 0.5 / self.variance, absent

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        return {
            "name": self.name,
            "kind": "gaussian",
            "mean": self.mean.tolist(),
            "variance": self.variance.tolist(),
            "truncated": self.truncated,
            "present": None if self.present is None else self.present.tolist(),
        }

    def check(self, feature: Feature, classes: int) -> None:
        """Refuse parameters that do not belong to the feature."""
        if not isinstance(feature, Numeric):
            raise ModelError(f"{self.name!r} is categorical and cannot have a normal density")
        if self.mean.shape != (classes,) or self.variance.shape != (classes,):
            raise ModelError(f"the parameters of {self.name!r} have the wrong shape")
        if not (np.isfinite(self.mean).all() and np.isfinite(self.variance).all() and (self.variance > 0).all()):
            raise ModelError(f"the parameters of {self.name!r} are no mean and variance")
        width = feature.upper - feature.lower
        outside = np.abs(self.mean - feature.lattice.middle) > 0.5001 * width
        if outside.any() or (self.variance > width**2).any() or (self.variance < (1e-9 * width) ** 2).any():
            raise ModelError(f"the parameters of {self.name!r} do not fit its bounds")
        if (self.present is None) != (feature.missing_code is None):
            raise ModelError(f"the missing values of {self.name!r} do not fit the schema")
        if self.present is not None and (self.present.shape != (classes, 2) or not np.isfinite(self.present).all()):
            raise ModelError(f"the missing values of {self.name!r} have malformed probabilities")


Likelihood = TableLikelihood | GaussianLikelihood


def log_mass(lower: float, upper: float, mean: Floats, variance: Floats) -> Floats:
    """log(Φ(b) − Φ(a)) of the interval, without cancellation in either tail."""
    from scipy.special import log_ndtr

    deviation = np.sqrt(variance)
    a, b = (lower - mean) / deviation, (upper - mean) / deviation
    flip = a > 0  # use the mirrored tail where Φ is close to one
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    low, high = log_ndtr(a), log_ndtr(b)
    return np.asarray(high + np.log(-np.expm1(np.minimum(low - high, -1e-300))))


def from_dict(fields: dict[str, Any]) -> Likelihood:
    """A likelihood out of a model file's plain values."""

    def floats(key: str) -> Floats:
        return np.array(fields[key], dtype=np.float64)

    if fields["kind"] == "table":
        return TableLikelihood(str(fields["name"]), floats("log_prob"))
    if fields["kind"] == "gaussian":
        present = None if fields["present"] is None else floats("present")
        return GaussianLikelihood(
            str(fields["name"]), floats("mean"), floats("variance"), bool(fields["truncated"]), present
        )
    raise ModelError(f"unknown kind of likelihood {fields['kind']!r}")
