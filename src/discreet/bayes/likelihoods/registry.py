"""Where likelihoods declare themselves: each module of this package, and what installed plug-ins register."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, TypeVar

from discreet.bayes.likelihoods.base import Likelihood
from discreet.errors import BudgetError, ModelError
from discreet.schema import Categorical, Feature

ENTRY_POINTS = "discreet.likelihoods"
_NUMERIC: dict[str, type[Likelihood]] = {}
_KINDS: dict[str, type[Likelihood]] = {}
AnyLikelihood = TypeVar("AnyLikelihood", bound=type[Likelihood])


def register(numeric: str, words: str, *, kind: str | None = None) -> Callable[[AnyLikelihood], AnyLikelihood]:
    """A decorator that makes a likelihood known: its name for `numeric=`, in words, and in files if that is another."""

    def added(likelihood: AnyLikelihood) -> AnyLikelihood:
        filed = kind or numeric
        known = _KINDS.get(filed, likelihood)
        if numeric in _NUMERIC or not issubclass(likelihood, known):
            raise ModelError(f"two likelihoods are called {numeric!r}, or {filed!r} in files: rename one")
        likelihood.numeric, likelihood.words, likelihood.kind = numeric, words, filed
        _NUMERIC[numeric], _KINDS[filed] = likelihood, known
        return likelihood

    return added


@cache
def _plug_ins() -> None:
    """Import the modules that installed packages name in the entry point group: each registers its likelihoods."""
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:  # a stranger's code may fail in any way, and the library's own do not
            warnings.warn(f"the likelihoods of {entry.value} are left out: {error}", stacklevel=2)


def names() -> tuple[str, ...]:
    """Every name that `numeric=` takes."""
    _plug_ins()
    return tuple(_NUMERIC)


def likelihood_of(numeric: Any) -> type[Likelihood]:
    """The likelihood of numbers that goes by this name."""
    if not isinstance(numeric, str) or (numeric not in _NUMERIC and numeric not in names()):
        raise BudgetError(f"numeric must be one of {', '.join(names())}, not {numeric!r}")
    return _NUMERIC[numeric]


def is_unbinned(numeric: Any) -> bool:
    """Whether a setting of this or another model ("scaled" for linear ones) leaves the bins of numbers unused."""
    return numeric == "scaled" or (numeric in _NUMERIC and _NUMERIC[numeric].statistic == "moments")


def likelihood_for(feature: Feature, numeric: str) -> type[Likelihood]:
    """The likelihood of a feature: categories are counted, whatever models the numbers."""
    return likelihood_of("histogram" if isinstance(feature, Categorical) else numeric)


def numeric_name(likelihoods: Sequence[Likelihood], features: Sequence[Feature]) -> str:
    """The name of the likelihood by which the numbers of a model are modelled."""
    found = [one.numeric for one, f in zip(likelihoods, features, strict=True) if not isinstance(f, Categorical)]
    return found[0] if found else "histogram"


def parse(fields: dict[str, Any]) -> Likelihood:
    """A likelihood out of a model file's plain values."""
    kind = fields["kind"]
    if kind not in _KINDS:
        _plug_ins()
    if kind not in _KINDS:
        raise ModelError(f"unknown kind of likelihood {kind!r}: install the package that adds it")
    return _KINDS[kind].parse(fields)
