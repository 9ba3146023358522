"""Grants: what each fit of a search may spend, in ε and δ or in ρ, and which of the two promises the smaller errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.bayes import Plan
from discreet.bayes.bundling import error_of
from discreet.errors import BudgetError
from discreet.mechanisms.noise import gaussian_variance, laplace_variance
from discreet.privacy.budget import Adjacency
from discreet.privacy.calibrate import root_down, zcdp_epsilon
from discreet.privacy.ledger import Charge, Node, Sequential, SmoothCharge, concentrated, cost
from discreet.schema import Schema
from discreet.tuning.candidates import prepared

ZERO = Fraction(0)
GAUSSIAN = ("gaussian", "residual")  # mechanisms that a fit may be told to take where it is free to choose
ROUNDS = 8  # of looking for the ε that is worth a ρ
CLOSE = Fraction(49, 50)


@dataclass(frozen=True)
class Grant:
    """What one fit may spend: ε and δ; with `rho` it is told these, and pays no more than that of zCDP."""

    epsilon: Fraction | None
    delta: Fraction = ZERO
    rho: Fraction | None = None
    mechanism: str | None = None


@dataclass(frozen=True)
class Terms:
    """On which terms candidates are planned: all that a search settles for them."""

    schema: Schema
    adjacency: Adjacency
    unexpected: str

    def plan(self, estimator: Any, grant: Grant) -> Any:
        """The plan of a candidate with a grant."""
        fresh = prepared(
            estimator, grant.epsilon, self.schema, self.adjacency, None, self.unexpected, grant.delta, grant.mechanism
        )
        return fresh.plan()

    def promised(self, estimator: Any, grant: Grant) -> dict[str, float] | None:
        """Expected errors of what a candidate's fit releases, by what it is; None if it cannot do with that grant.

        Only their ratios mean anything.
        """
        try:
            plan = self.plan(estimator, grant)
        except BudgetError:
            return None
        return {"all": error_of(plan)} if isinstance(plan, Plan) else dict(_errors(_node_of(plan)))

    def better(
        self, candidates: list[tuple[str, Any]], now: tuple[Grant, ...], rho: Fraction, delta: Fraction
    ) -> tuple[Grant, ...] | None:
        """What each candidate is to be given at ρ; None if that promises any of them larger errors, or none less."""
        found, gains = [], False
        for (_, one), grant in zip(candidates, now, strict=True):
            found.append(self.worth(one, rho, delta))
            ratio = self.ratio(one, found[-1], grant)
            if ratio > 1:
                return None
            gains = gains or ratio < 1
        return tuple(found) if gains else None

    def worth(self, estimator: Any, rho: Fraction, delta: Fraction) -> Grant:
        """What promises least errors at ρ: pure ε of √(2ρ), or an ε and δ that the candidate has ρ for at most."""
        best = Grant(root_down(2 * rho), ZERO, rho)
        if "delta" not in estimator.get_params(deep=False):
            return best
        told = GAUSSIAN if estimator.get_params(deep=False).get("mechanism") == "auto" else (None,)
        for mechanism in told:
            found = self._within(estimator, rho, delta, mechanism)
            if found is not None and self.ratio(estimator, found, best) < 1:
                best = found
        return best

    def _within(self, estimator: Any, rho: Fraction, delta: Fraction, mechanism: str | None) -> Grant | None:
        """The ε, nearly the largest, at which a candidate's plan costs ρ at most; None if it has none with that δ."""
        epsilon = Fraction(round(zcdp_epsilon(float(rho), float(delta)) * 2**30), 2**30)
        best = None
        for _ in range(ROUNDS):
            try:
                plan = self.plan(estimator, Grant(epsilon, delta, rho, mechanism))
                spent = concentrated(_node_of(plan)) if cost(_node_of(plan), "rho") else None
            except BudgetError:  # it has no such mechanism, or a δ without a ρ
                return best
            if spent is None:
                return best
            if spent <= rho:
                best = Grant(epsilon, delta, rho, mechanism)
                if spent >= CLOSE * rho:
                    return best
            epsilon = Fraction(round(epsilon * root_down(rho / spent) * 2**30 * Fraction(499, 500)), 2**30)
        return best

    def ratio(self, estimator: Any, one: Grant, other: Grant) -> float:
        """Errors that one grant promises beside those of another; infinite where they cannot be compared."""
        here, there = (self.promised(estimator, grant) for grant in (one, other))
        if here is not None and there is None:
            return 0.0
        if here is None or there is None or here.keys() != there.keys() or not here:
            return float("inf")
        ratios = np.array([here[key] / there[key] if there[key] else 1.0 for key in here])
        return float("inf") if np.isnan(ratios).any() else float(np.exp(np.log(np.maximum(ratios, 1e-300)).mean()))


def _node_of(plan: Any) -> Node:
    """The ledger entry of a plan; some plans are nothing else."""
    return plan if isinstance(plan, Sequential) else plan.node


def _errors(node: Node) -> Iterator[tuple[str, float]]:
    """The variance of the noise of each release of a node, or what stands for it where noise follows later."""
    if isinstance(node, Charge):
        spread = float(node.spread)
        gaussian, drawn = node.mechanism.startswith("discrete Gaussian"), node.mechanism.startswith("discrete Laplace")
        yield node.what, gaussian_variance(spread) if gaussian else laplace_variance(spread) if drawn else spread**2
    elif isinstance(node, SmoothCharge):
        yield node.what, float("nan") if node.delta or node.measure == "rho" else 1 / float(node.cost) ** 2
    else:
        for part in getattr(node, "parts", ()):
            yield from _errors(part)
