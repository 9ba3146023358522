"""Composition: the rule, fixed before the first charge, by which running totals stay inside a budget.

Proofs: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.domain import exact
from discreet.errors import BudgetError
from discreet.privacy.budget import Budget
from discreet.privacy.nodes import Node, concentrated, cost

RULES = ("basic", "zcdp", "either")
ZERO = Fraction(0)


@dataclass(frozen=True)
class Totals:
    """What charges add up to; `epsilon` or `rho` is None once a charge had none of its kind to add.

    `outside` is the ρ of all charges outside events of probability δ: a release with a δ of its own, and so without a
    ρ, has ε²/2 there.
    """

    epsilon: Fraction | None = ZERO
    delta: Fraction = ZERO
    rho: Fraction | None = ZERO
    outside: Fraction | None = None

    def __post_init__(self) -> None:
        if self.outside is None:  # of one charge
            there = self.rho if self.rho is not None or self.epsilon is None else self.epsilon**2 / 2
            object.__setattr__(self, "outside", there)

    def plus(self, other: Totals) -> Totals:
        """The totals with another charge; every amount only grows."""
        return Totals(
            _sum(self.epsilon, other.epsilon), self.delta + other.delta, _sum(self.rho, other.rho),
            _sum(self.outside, other.outside),
        )  # fmt: skip


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


def amounts(node: Node, grant: Budget) -> Totals:
    """What one charge adds to the totals: the (ε, δ) it was granted, and the ρ of what it releases."""
    own, noise, shift = (cost(node, measure) for measure in ("epsilon", "rho", "delta"))
    return granted(own, noise, shift, None if shift else concentrated(node), grant)


def granted(own: Fraction, noise: Fraction, shift: Fraction, rho: Fraction | None, grant: Budget) -> Totals:
    """What releases that cost `own` ε, `noise` ρ and `shift` δ add if they are granted that; more is refused.

    `rho` is the ρ of all of them, with ε²/2 for what is pure; None if some have a δ of their own.
    """
    if grant.rho is not None:
        dear = rho is None or rho > grant.rho
    elif grant.epsilon is not None:
        dear = own > grant.epsilon or shift > grant.delta or (noise > 0 and noise > _most_noise(grant))
    else:
        dear = False
    if dear:
        raise BudgetError(f"these releases cost more than {grant}: they cannot be charged as that")
    return Totals(grant.epsilon, grant.delta, rho)


def _most_noise(grant: Budget) -> Fraction:
    """More ρ than any plan can get for (ε, δ): noise that costs more cannot be worth the grant.

    The conversion holds for every ρ-zCDP mechanism, and some are worth more ρ than that: count tables by their exact
    privacy loss, and choices of bounded range, for which plans look up to 1.6 times the conversion; and normal noise,
    exactly calibrated (1.1 to 1.3 times at δ = 1e-6 and ε from 10 to .001, and up to 2.4 times where ε is far below δ,
    for δ up to a half). This is a bound against wrong requests alone: that a plan keeps what it is granted is for the
    plan to compute.
    """
    if not grant.delta or not grant.epsilon:
        return ZERO
    from discreet.privacy.calibrate import COUNTING_FACTOR, normal_rho, zcdp_rho

    normal = normal_rho(grant.epsilon, float(grant.delta)) * (1 + Fraction(1, 10**6))  # it is found by halving
    return max(zcdp_rho(grant.epsilon, grant.delta) * COUNTING_FACTOR, normal)


@dataclass(frozen=True)
class Room:
    """What one more release may cost at most: pure ε, or (ε, δ), or ρ; None where nothing of that kind fits."""

    epsilon: Fraction | None
    approximate: Budget | None
    rho: Fraction | None

    def __str__(self) -> str:
        kinds = []
        if self.epsilon is not None:
            kinds.append(f"epsilon = {below(self.epsilon)}")
        if self.approximate is not None and self.approximate.epsilon is not None:
            kinds.append(f"epsilon = {below(self.approximate.epsilon)} with delta = {below(self.approximate.delta)}")
        if self.rho is not None:
            kinds.append(f"rho = {below(self.rho)}")
        return " or ".join(kinds) if kinds else "nothing"


def below(value: Fraction, digits: int = 6) -> str:
    """A short decimal that is not above an exact number: what a person can type and still have."""
    if value <= 0:
        return "0"
    scale = Fraction(10) ** (digits - 1 - math.floor(math.log10(value)))
    short = Fraction(math.floor(value * scale)) / scale
    text = f"{float(short):.{digits}g}"
    return text if Fraction(text) <= value else f"{float(short - 1 / scale):.{digits}g}"


@dataclass(frozen=True)
class Composition:
    """A budget and the rule that keeps charges inside it; both are fixed before the first charge.

    `basic` adds up ε and δ; `zcdp` adds up ρ, against the ρ that (ε, δ) is worth; `either` admits what keeps within
    one of the two, each with half of δ. There releases with a δ of their own have a ρ outside events of that
    probability, as long as all deltas together keep to the half of the first.
    """

    budget: Budget
    rule: str

    @classmethod
    def of(cls, budget: Budget, rule: Any = None) -> Composition:
        """The rule of that name, or the default for a budget of this kind."""
        if not isinstance(budget, Budget):
            raise BudgetError(f"a budget is a Budget, such as Budget(1) or Budget(3, delta=1e-6), not {budget!r}")
        natural = {"approximate": "either", "zcdp": "zcdp"}.get(budget.kind, "basic")
        if rule is None:
            return cls(budget, natural)
        if rule not in RULES:
            raise BudgetError(f"composition must be one of {', '.join(RULES)}, not {rule!r}")
        if budget.kind != "approximate" and rule != natural:
            raise BudgetError(f"a budget of {budget} composes by {natural!r}; {rule!r} needs epsilon and delta")
        return cls(budget, rule)

    # ---- the two filters

    @property
    def tail(self) -> Fraction:
        """The δ that each filter has to itself."""
        return self.budget.delta / 2 if self.rule == "either" else self.budget.delta

    @property
    def limit_rho(self) -> Fraction | None:
        """The most ρ that the zCDP filter lets through; None where it plays no part."""
        if self.budget.rho is not None or self.rule == "basic":
            return self.budget.rho
        from discreet.privacy.calibrate import zcdp_rho

        assert self.budget.epsilon is not None
        return zcdp_rho(self.budget.epsilon, self.tail)

    def _basic(self, totals: Totals) -> bool:
        if self.rule == "zcdp" or totals.epsilon is None or self.budget.epsilon is None:
            return False
        return totals.epsilon <= self.budget.epsilon and totals.delta <= self.tail

    def _joint(self, totals: Totals) -> Fraction | None:
        """The ρ that the zCDP filter reads; None if a release has a δ of its own for which the budget has no room."""
        if totals.rho is not None or self.rule != "either" or totals.delta > self.tail:
            return totals.rho
        return totals.outside

    def _concentrated(self, totals: Totals) -> bool:
        limit, joint = self.limit_rho, self._joint(totals)
        return limit is not None and joint is not None and joint <= limit

    def admits(self, totals: Totals) -> bool:
        """Whether charges that add up to this keep the whole within the budget, whoever chose them and when."""
        return not self.budget.private or self._basic(totals) or self._concentrated(totals)

    # ---- in words and numbers

    def spent(self, totals: Totals) -> Fraction:
        """How much of ε (or of ρ, for a budget of ρ) is used up, as the rule reads the totals."""
        if self.budget.kind != "approximate":
            return (totals.rho if self.budget.rho is not None else totals.epsilon) or ZERO
        assert self.budget.epsilon is not None
        readings = [totals.epsilon] if totals.epsilon is not None and self._basic(totals) else []
        joint = self._joint(totals)
        if joint is not None and self._concentrated(totals):
            from discreet.privacy.calibrate import zcdp_epsilon

            read = exact(zcdp_epsilon(float(joint) * (1 + 1e-12), float(self.tail))) if joint else ZERO
            readings.append(min(read, self.budget.epsilon))  # the conversion rounds up
        return min(readings, default=self.budget.epsilon)

    def room(self, totals: Totals) -> Room:
        """What would still be admitted as one more charge."""
        pure, pair, rho = ZERO, None, ZERO
        if self._basic(totals):
            assert self.budget.epsilon is not None and totals.epsilon is not None
            pure, tail = self.budget.epsilon - totals.epsilon, self.tail - totals.delta
            pair = Budget(pure, tail) if pure > 0 and tail > 0 else None
        limit, joint = self.limit_rho, self._joint(totals)
        if limit is not None and joint is not None:
            rho = max(limit - joint, ZERO)
            pure = max(pure, _root_below(2 * rho))
        return Room(pure or None, pair, rho or None)

    def check(self, now: Totals, node: Node, grant: Budget, noun: str) -> Totals:
        """The totals with another charge, or an error that says what is left and what would fit."""
        if not self.budget.private:
            return now.plus(amounts(node, grant)) if grant.private else now
        if not grant.private:
            raise BudgetError(f"a fit without privacy (epsilon = inf) cannot be charged to a finite {noun}")
        if self.budget.kind == "pure" and grant.kind != "pure":
            raise BudgetError(f"{_a(noun)} of pure epsilon cannot pay for {grant}")
        if self.budget.kind == "zcdp":
            concentrated(node)  # says why a release with a δ of its own has no ρ
        new = now.plus(amounts(node, grant))
        if not self.admits(new):
            raise BudgetError(self._refusal(now, new, grant, noun))
        return new

    def _refusal(self, now: Totals, new: Totals, grant: Budget, noun: str) -> str:
        limit = self.budget.rho if self.budget.rho is not None else self.budget.epsilon
        assert limit is not None
        why = ""
        if self.rule != "zcdp" and new.delta > self.tail:
            half = ", half of its delta" if self.rule == "either" else ""
            why = f" (the deltas would add up to {float(new.delta):g} of {float(self.tail):g}{half})"
        elif self.rule != "basic":
            why = self._dearer(now, new, grant)
        left = max(limit - self.spent(now), ZERO)
        return (
            f"the {noun} has {below(left)} of {self.budget} left, and this fit asks for {grant}{why}: "
            f"what would still fit is {self.room(now)}"
        )

    def _dearer(self, now: Totals, new: Totals, grant: Budget) -> str:
        """Why a rule that adds up ρ refuses releases that are worth more of it than the conversion of their grant."""
        if new.rho is None or now.rho is None or grant.epsilon is None or not grant.delta:
            return ""
        from discreet.privacy.calibrate import zcdp_rho

        own, worth = new.rho - now.rho, zcdp_rho(grant.epsilon, grant.delta)
        if own <= worth:
            return ""
        other = ", or a budget that composes by 'basic'" if self.budget.epsilon is not None else ""
        return (
            f" (its rho is {float(own):.3g}, more than the {float(worth):.3g} that a conversion gives for that: "
            f"take a smaller epsilon{other})"
        )


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _root_below(value: Fraction) -> Fraction:
    """A fraction whose square is not above a number, within a part in 10^12 of its root."""
    root = Fraction(math.sqrt(value)) if value > 0 else ZERO
    while root**2 > value:
        root *= 1 - Fraction(1, 2**50)
    return root
