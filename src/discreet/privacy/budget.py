"""Budgets: how much privacy may be spent, and for which notion of neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from discreet.domain import exact
from discreet.errors import BudgetError

LEAST = Fraction(1, 10**15)


class Adjacency(StrEnum):
    """Which data sets are neighbours: one row more or less, or one row changed (label included)."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @classmethod
    def of(cls, name: Any) -> Adjacency:
        """The adjacency of that name."""
        try:
            return cls(name)
        except ValueError:
            raise BudgetError(f"adjacency must be 'add-remove' or 'replace', not {name!r}") from None


def number(value: Any, what: str) -> Fraction:
    """An exact, finite number out of what a user wrote."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return exact(value.item() if hasattr(value, "item") else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise BudgetError(f"{what} must be a number, not {value!r}") from None


@dataclass(frozen=True, init=False)
class Budget:
    """Pure ε (`Budget(1)`), approximate (`Budget(1, delta=1e-6)`) or zero-concentrated (`Budget(rho=0.1)`).

    `Budget(math.inf)` asks for no privacy at all. Numbers are exact: 0.1 is one tenth.

    >>> Budget(0.1).epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    unspent: Fraction = field(compare=False, repr=False)  # a δ that was allowed and that nothing is spent of

    def __init__(self, epsilon: Any = None, delta: Any = 0, *, rho: Any = None) -> None:
        if (epsilon is None) == (rho is None):
            raise BudgetError("give a budget either as epsilon (with or without delta) or as rho")
        amount, what = (rho, "rho") if epsilon is None else (epsilon, "epsilon")
        spent = None
        amount = amount.item() if hasattr(amount, "item") else amount
        if not (isinstance(amount, float) and amount == math.inf):
            spent = number(amount, what)
            if spent <= 0:
                raise BudgetError(f"{what} must be above zero: nothing can be released for a budget of {amount}")
            if not LEAST <= spent <= 1 / LEAST:
                raise BudgetError(f"{what} = {amount} is out of reach: it must lie between 1e-15 and 1e15")
        delta = number(delta, "delta")
        if not 0 <= delta < 1:
            raise BudgetError("delta must lie between 0 and 1")
        if rho is not None and delta:
            raise BudgetError("a rho budget has no delta")
        object.__setattr__(self, "epsilon", spent if epsilon is not None else None)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "rho", spent if rho is not None else None)
        object.__setattr__(self, "unspent", Fraction(0))

    @property
    def pure(self) -> Budget:
        """The same ε without δ, for releases that spend none: ε-DP is (ε, δ)-DP for every δ."""
        if self.rho is not None:
            raise BudgetError("a budget of rho is for Gaussian noise, and this is released with pure epsilon")
        found = Budget(math.inf if self.epsilon is None else self.epsilon)
        object.__setattr__(found, "unspent", self.delta or self.unspent)
        return found

    @property
    def private(self) -> bool:
        """False for ε = ∞, the non-private twin."""
        return self.epsilon is not None or self.rho is not None

    @property
    def kind(self) -> str:
        """`none`, `pure`, `approximate` or `zcdp`."""
        if not self.private:
            return "none"
        if self.rho is not None:
            return "zcdp"
        return "approximate" if self.delta else "pure"

    def __str__(self) -> str:
        if not self.private:
            return "no privacy (epsilon = inf)"
        if self.rho is not None:
            return f"rho = {float(self.rho):g} (zCDP)"
        assert self.epsilon is not None
        return f"epsilon = {float(self.epsilon):g}" + (f", delta = {float(self.delta):g}" if self.delta else "")
