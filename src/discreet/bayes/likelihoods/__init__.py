"""Likelihoods: what one feature says about the class. Every module here that registers one is found by itself."""

from importlib import import_module
from pkgutil import iter_modules

from discreet.bayes.likelihoods.base import Evidence, Floats, Likelihood
from discreet.bayes.likelihoods.density import Density
from discreet.bayes.likelihoods.gaussian import GaussianLikelihood, TruncatedGaussianLikelihood
from discreet.bayes.likelihoods.histogram import TableLikelihood
from discreet.bayes.likelihoods.registry import (
    is_unbinned,
    likelihood_for,
    likelihood_of,
    names,
    numeric_name,
    parse,
    register,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "Density",
    "Evidence",
    "Floats",
    "GaussianLikelihood",
    "Likelihood",
    "TableLikelihood",
    "TruncatedGaussianLikelihood",
    "is_unbinned",
    "likelihood_for",
    "likelihood_of",
    "names",
    "numeric_name",
    "parse",
    "register",
]
