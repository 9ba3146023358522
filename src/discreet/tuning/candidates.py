"""Candidates: private estimators to choose among, and the refusal of all that are not."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from discreet.errors import BudgetError, SchemaError
from discreet.kinds import find, kinds, of_a_kind
from discreet.privacy.budget import Adjacency
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema

ZERO = Fraction(0)
NEEDED = ("epsilon", "schema", "adjacency", "random_state", "unexpected")
SET_BY_SEARCH = ("epsilon", "schema", "adjacency", "random_state", "delta", "contributions", "unexpected")


def list_candidates(estimator: Any, grid: Any) -> list[tuple[str, Any]]:
    """(name, unfitted estimator) of every candidate, in a public order."""
    many = isinstance(estimator, list | tuple | Mapping)
    if many and grid is not None:
        raise BudgetError("give either several estimators or one estimator with a param_grid")
    if many:
        named = estimator.items() if isinstance(estimator, Mapping) else ((_name(one), one) for one in estimator)
        found = [(str(name), _made(one)) for name, one in named]
    else:
        estimator = _made(estimator)
        found = []
        for settings in _combinations(grid):
            fixed = sorted(set(settings) & set(SET_BY_SEARCH))
            if fixed:
                raise BudgetError(f"{fixed[0]!r} belongs to the search, not to its param_grid")
            require_private(estimator)
            words = ", ".join(f"{name}={value!r}" for name, value in sorted(settings.items()))
            found.append((f"{type(estimator).__name__}({words})", clone(estimator).set_params(**settings)))
    if not found:
        raise BudgetError("there are no candidates: name estimators, or values in param_grid")
    for _, one in found:
        require_private(one)
    return found


def _made(given: Any) -> Any:
    """An estimator, also if it was given by the name of its kind."""
    return find(given).make() if isinstance(given, str) else given


def _combinations(grid: Any) -> list[dict[str, Any]]:
    try:
        return list(ParameterGrid(grid if grid is not None else {}))
    except (TypeError, ValueError) as error:
        raise BudgetError(f"param_grid makes no candidates: {error}") from None


def _name(estimator: Any) -> str:
    if isinstance(estimator, str):
        return estimator
    return repr(estimator) if hasattr(estimator, "get_params") else type(estimator).__name__


def require_private(estimator: Any) -> None:
    """Refuse an estimator that does not come from this library's central rooms or that would spend otherwise."""
    name = type(estimator).__name__
    if isinstance(estimator, type):
        raise BudgetError(f"{estimator.__name__} is a class, not a private estimator: pass {estimator.__name__}(...)")
    known: dict[str, Any] = getattr(estimator, "get_params", dict)()
    takes = inspect.signature(estimator.fit).parameters if hasattr(estimator, "fit") else {}
    if (
        not of_a_kind(estimator)
        or not hasattr(estimator, "predict")
        or any(needed not in known for needed in NEEDED)
        or "ledger" not in takes
    ):
        raise BudgetError(
            f"{name} is not a private estimator that a search can fit: it would leak; use one of "
            f"{', '.join(kind.name for kind in kinds())}"
        )
    if known.get("bounds") == "private" or known.get("edges") == "private":
        raise BudgetError(f"{name} would spend on bounds in every fit of the search: find them first by private_bounds")
    if known.get("delta"):
        raise BudgetError(f"{name} has a delta of its own: it belongs to the search, PrivateGridSearch(delta=...)")
    if known.get("contributions", 1) != 1:
        raise BudgetError("a search deals rows, so it protects one row per person: leave contributions at 1")


def common_schema(candidates: list[tuple[str, Any]], given: Any) -> Schema | None:
    """The schema of the search, else the one that all candidates share; None if it is to be inferred."""
    for schema in (given, *(one.schema for _, one in candidates)):
        if isinstance(schema, Schema) and schema.unsettled:
            raise SchemaError(
                f"the bounds of {schema.unsettled[0]!r} are private: find them before a search by private_bounds"
            )
    if isinstance(given, Schema):
        return given
    if isinstance(given, str) and given == "infer":
        return None
    found = {one.schema.hash: one.schema for _, one in candidates if isinstance(one.schema, Schema)}
    if len(found) == 1 and all(isinstance(one.schema, Schema) for _, one in candidates):
        stated = dict.fromkeys(bought for _, one in candidates for bought in one.schema.provenance)
        return next(iter(found.values())).having(provenance=tuple(stated))
    if given is None and all(isinstance(one.schema, str) and one.schema == "infer" for _, one in candidates):
        return None
    raise SchemaError("the candidates need one schema in common: pass schema=Schema(...) to the search")


def prepared(
    estimator: Any, epsilon: Any, schema: Schema, adjacency: Adjacency, seed: int | None, unexpected: str = REFUSE,
    delta: Fraction = ZERO, mechanism: str | None = None,
) -> Any:  # fmt: skip
    """A copy of a candidate that will spend `epsilon`, and `delta` at most, under the search's terms."""
    fresh = clone(estimator).set_params(
        epsilon=epsilon, schema=schema, adjacency=adjacency.value, random_state=seed, unexpected=unexpected
    )
    if mechanism is not None:
        fresh = fresh.set_params(mechanism=mechanism)
    return fresh.set_params(delta=delta) if delta and "delta" in fresh.get_params(deep=False) else fresh


def require_certificate(
    fitted: Any, epsilon: Fraction | None, schema: Schema, adjacency: Adjacency, delta: Fraction = ZERO,
    rho: Fraction | None = None,
) -> None:  # fmt: skip
    """Check what a fitted candidate says that it spent against what it was given; `rho`, if any, is the most."""
    certificate = fitted.certificate_
    spent = None if certificate.epsilon is None else Fraction(certificate.epsilon)
    kept = certificate.schema_hash == fitted.model_.schema.hash and certificate.adjacency == adjacency
    study = certificate.simulation or not certificate.private  # edges of what is not for release are read off the data
    kept = kept and _follows(fitted.model_.schema, schema, study)
    if epsilon is not None:
        kept = kept and certificate.private and spent is not None and spent <= epsilon
        kept = kept and Fraction(certificate.delta) <= delta
    if rho is not None:
        kept = kept and spent is not None and _rho_of(certificate, spent) <= rho
    if not kept:
        raise BudgetError(
            f"{type(fitted).__name__} did not keep to the budget that the search gave it: nothing is released"
        )


def _rho_of(certificate: Any, spent: Fraction) -> Fraction:
    """What a certificate says of zCDP; without limit where a δ comes without a ρ."""
    if certificate.rho is not None:
        return Fraction(certificate.rho)
    return Fraction(10**30) if Fraction(certificate.delta) else spent**2 / 2


def _follows(found: Schema, given: Schema, study: bool) -> bool:
    """Whether a model's schema is the given one, but for bins that were cut anew and features that were not chosen.

    What it says of purchases is not compared, nor that edges of a study are read off the data.
    """
    told = {"bins", "provenance"} | ({"inferred"} if study else set())
    one, other = ({key: part for key, part in each.to_dict().items() if key not in told} for each in (found, given))
    mine, all_of_them = (
        [{key: part for key, part in feature.items() if key not in told} for feature in fields.pop("features")]
        for fields in (one, other)
    )
    rest = iter(all_of_them)
    return one == other and all(feature in rest for feature in mine)  # in their order
