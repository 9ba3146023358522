"""Bell curves: a normal density for each class, on request cut off at the public bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods.base import Evidence, Floats
from discreet.bayes.likelihoods.density import Density
from discreet.bayes.likelihoods.histogram import log_sums
from discreet.bayes.likelihoods.registry import register
from discreet.errors import ModelError
from discreet.schema import Feature, Numeric
from discreet.sources import compiled


@register("gaussian", "normal density")
@dataclass(frozen=True)
class GaussianLikelihood(Density):
    """A normal density per class; if `truncated`, scaled to integrate to one within the public bounds."""

    mean: Floats
    variance: Floats
    truncated: bool = False
    present: Floats | None = None

    @classmethod
    def estimate(cls, evidence: Evidence, feature: Numeric) -> Self:
        """The curve with the moments that were released."""
        mean, variance = evidence.moments(feature)
        return cls(feature.name, mean, variance, present=evidence.present(feature))

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Self:
        """Model files tell the two kinds of bell curves apart by a field."""
        kind: Any = TruncatedGaussianLikelihood if given["truncated"] is True else GaussianLikelihood
        return cast(Self, super(GaussianLikelihood, kind).parse(given))

    def check(self, feature: Feature, classes: int) -> None:
        """Refuse parameters that do not belong to the feature."""
        super().check(feature, classes)
        assert isinstance(feature, Numeric)
        shapes = {np.shape(self.mean), np.shape(self.variance)}
        if shapes != {(classes,)} or not isinstance(self.truncated, bool):
            raise ModelError(f"the parameters of {self.name!r} have the wrong shape")
        if not (np.isfinite(self.mean).all() and np.isfinite(self.variance).all() and (self.variance > 0).all()):
            raise ModelError(f"the parameters of {self.name!r} are no mean and variance")
        width = feature.upper - feature.lower
        outside = np.abs(self.mean - feature.lattice.middle) > 0.5001 * width
        if outside.any() or (self.variance > width**2).any() or (self.variance < (1e-9 * width) ** 2).any():
            raise ModelError(f"the parameters of {self.name!r} do not fit its bounds")

    def constants(self, feature: Numeric) -> tuple[Floats, Floats, Floats]:
        """(constant, weight, absent): the log-density is constant − weight·(x − mean)²; absent if missing."""
        constant = -0.5 * np.log(2 * math.pi * self.variance)
        if self.truncated:
            constant = constant - log_mass(feature.lower, feature.upper, self.mean, self.variance)
        absent = np.full_like(constant, np.nan)
        if self.present is not None:
            constant, absent = constant + self.present[:, 0], self.present[:, 1]
        return constant, 0.5 / self.variance, absent

    def log_density(self, feature: Numeric, values: Floats) -> Floats:
        """The logarithm of the density where the number is present."""
        return replace(self, present=None)._present_scores(feature, values)

    def _present_scores(self, feature: Numeric, values: Floats) -> Floats:
        constant, weight, _ = self.constants(feature)
        gap = values[:, None] - self.mean
        return np.asarray(constant - weight * (gap * gap))

    def add_scores(self, feature: Numeric, values: NDArray[Any], block: Floats) -> None:
        """The same in compiled loops."""
        constant, weight, absent = self.constants(feature)
        compiled().add_gaussian(values, feature.lower, feature.upper, self.mean, weight, constant, absent, block)

    def draw(self, feature: Numeric, groups: NDArray[Any], rng: np.random.Generator) -> Floats:
        """Normal draws."""
        return np.asarray(rng.normal(self.mean[groups], np.sqrt(self.variance[groups])))

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of each class."""
        return self.mean, self.variance

    def widened(self, feature: Numeric, extra: float) -> Self:
        """The curve with `extra` variance, inside its bounds."""
        return replace(self, variance=np.minimum(self.variance + extra, (feature.upper - feature.lower) ** 2))

    def least_slope(self, feature: Numeric) -> float:
        """Variances over the slope must stay within the width of the feature."""
        return float(self.variance.max()) / (feature.upper - feature.lower) ** 2

    def tempered(self, feature: Numeric, slope: float, shares: Floats) -> tuple[Self, Floats]:
        """A power of a normal density is one of another variance; the constants go to presence and to the class."""
        plain = replace(self, variance=self.variance / slope, present=None)
        before, _, absent = self.constants(feature)
        rest = slope * before - plain.constants(feature)[0]
        if self.present is None:
            return plain, rest
        both = np.stack([rest, slope * absent], axis=1)
        sums = log_sums(both)
        return replace(plain, present=both - sums[:, None]), sums

    def encoder(self, feature: Numeric, linear: bool) -> Any:
        """The number within its bounds, and its square if linear."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures

        clip = FunctionTransformer(np.clip, kw_args={"a_min": feature.lower, "a_max": feature.upper})
        return make_pipeline(clip, PolynomialFeatures(2, include_bias=False)) if linear else clip

    def linear_form(self, feature: Numeric) -> tuple[Floats, Floats]:
        """A normal density is linear in x and x²."""
        constant, weight, _ = self.constants(feature)
        return np.stack([2 * weight * self.mean, -weight], axis=1), constant - weight * self.mean**2

    @classmethod
    def native(cls, model: Any, order: NDArray[Any]) -> Any:
        """Scikit-learn's GaussianNB, which cuts nothing off."""
        from sklearn.naive_bayes import GaussianNB

        if any(one.truncated for one in model.likelihoods):
            return None
        fitted = GaussianNB()
        fitted.class_prior_ = np.exp(model.log_prior[order])
        fitted.theta_ = np.stack([one.mean[order] for one in model.likelihoods], axis=1)
        fitted.var_ = np.stack([one.variance[order] for one in model.likelihoods], axis=1)
        fitted.epsilon_ = 0.0
        return fitted


@register("truncated-gaussian", "truncated normal density", kind="gaussian")
@dataclass(frozen=True)
class TruncatedGaussianLikelihood(GaussianLikelihood):
    """A normal density per class, cut off at the public bounds and scaled to integrate to one."""

    truncated: bool = True


def log_mass(lower: float, upper: float, mean: Floats, variance: Floats) -> Floats:
    """log(Φ(b) − Φ(a)) of the interval, without cancellation in either tail."""
    from scipy.special import log_ndtr

    deviation = np.sqrt(variance)
    a, b = (lower - mean) / deviation, (upper - mean) / deviation
    flip = a > 0  # use the mirrored tail where Φ is close to one
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    low, high = log_ndtr(a), log_ndtr(b)
    return np.asarray(high + np.log(-np.expm1(np.minimum(low - high, -1e-300))))
