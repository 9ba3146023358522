"""Fits that first buy the bounds and bins a schema leaves open, for a part of their budget."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sklearn.base import clone

from discreet.bounds.plan import SettlePlan, make_settle_plan
from discreet.bounds.release import settle
from discreet.errors import BudgetError, SchemaError
from discreet.mechanisms.noise import sampler_for
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.composition import amounts
from discreet.privacy.ledger import Node, Sequential, SmoothCharge
from discreet.privacy.payer import Payer, Prepaid
from discreet.privacy.plan import Paid
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Numeric, Schema
from discreet.sources import Progress, charge, check_lasting

STREAM = 1 << 20  # of a simulation's seed: apart from those that fits use


@dataclass(frozen=True)
class Purchase:
    """A settlement to be bought by an estimator, and that estimator with what is then left of its budget."""

    owner: Any
    plan: SettlePlan
    whole: Budget
    rest: Any

    @property
    def tail(self) -> Fraction:
        """The δ that is charged unseen: whether noise is Gaussian may follow from the settled bins."""
        return self.whole.delta if getattr(self.owner, "mechanism", "auto") == "auto" else Fraction(0)

    @property
    def granted(self) -> Budget:
        """What both steps are charged as: the whole, without a δ that neither of them spends."""
        return self.whole if self.tail or self.rest.plan().budget.delta else self.whole.pure

    def fit(self, X: Any, y: Any, *, payer: Payer, progress: Progress | None) -> Any:
        """Settle, then fit the rest: the fitted estimator, with the certificate of both."""
        check_lasting(X)  # once for the bounds, and again for the fit
        fitted = self.rest.set_params(random_state=self.owner.random_state)
        # A plan for the limits of the schema costs what the fit will, so that both steps are charged as one.
        rest = fitted.plan()
        left: Node
        left, grant, tail = rest.node, rest.budget, self.tail
        if grant.epsilon is not None and (grant.kind == "pure" or tail):
            # However the settled bins share it out: the squares of shares are no more than that of the whole.
            left = SmoothCharge("that of the fit", "the model", "epsilon", grant.epsilon, tail)
            grant = Budget(grant.epsilon, tail)
        node = Sequential("bounds and bins, then a fit", (self.plan.node, left))
        people = (self.plan.adjacency, self.plan.contributions)
        whole = Paid(self.plan.schema, self.granted, *people, node, unexpected=self.plan.unexpected)
        charge(payer, whole, X, self.owner, schema=self.plan.schema)
        paid = Prepaid(amounts(left, grant), payer)
        settlement = settle(X, self.plan, sampler_for(self.owner.random_state, STREAM), progress=progress)
        fitted.set_params(schema=settlement.schema)
        known = inspect.signature(fitted.fit).parameters  # not every estimator shows its progress
        fitted.fit(X, y, **{k: v for k, v in {"ledger": paid, "progress": progress}.items() if k in known})
        fitted.certificate_ = settlement.certificate.then(fitted.certificate_, node.what).whichever(tail)
        fitted.model_ = fitted.model_.with_certificate(fitted.certificate_)
        return fitted


def buys(estimator: Any) -> bool:
    """Whether a fit buys bounds or bins first, for which it looks at numbers between the points of their lattices."""
    return hasattr(estimator, "_purchase") and estimator._purchase() is not None


def purchase(estimator: Any, bounds: Any, edges: Any, share: Any) -> Purchase | None:
    """What is to be bought before the fit of an estimator; None if everything is declared."""
    schema = estimator.schema
    asked = bounds != "declared" or edges not in {None, "declared"}
    if not isinstance(schema, Schema):
        if asked:
            raise SchemaError("private bounds and edges need a declared schema: pass schema=Schema(...)")
        return None
    if not asked and not schema.unsettled:
        return None
    part = number(share, "bounds_share")
    if not 0 < part < 1:
        raise BudgetError("bounds_share is a part of the budget: above 0 and below 1")
    settings = estimator.get_params(deep=False)
    if edges is None and estimator._unbinned():
        edges = "declared"
    whole = Budget(settings["epsilon"], settings.get("delta", 0))
    if whole.epsilon is None:
        amounts: tuple[Any, Any] = (math.inf, math.inf)
    else:
        amounts = whole.epsilon * part, whole.epsilon * (1 - part)
    plan = make_settle_plan(
        schema, Budget(amounts[0]), bounds=bounds, edges=edges, adjacency=Adjacency.of(settings["adjacency"]),
        contributions=settings.get("contributions", 1), unexpected=settings.get("unexpected", REFUSE),
    )  # fmt: skip
    declared = {key: "declared" for key in ("bounds", "edges") if key in settings}  # what is bought once is not again
    rest = clone(estimator).set_params(epsilon=amounts[1], schema=_as_if_settled(schema), **declared)
    return Purchase(estimator, plan, whole, rest)


def _as_if_settled(schema: Schema) -> Schema:
    """The schema with the limits of open numbers as their bounds: for plans, which need no data."""
    features = [
        one.within(one.lower, one.upper) if isinstance(one, Numeric) and one.bounds is not None else one
        for one in schema.features
    ]
    return schema.having(features)
