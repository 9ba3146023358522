"""How an additive model's budget is split, from public knowledge alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral

from discreet.errors import BudgetError
from discreet.estimators.counts import SHARE, count_charge
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge, Sequential, SmoothCharge
from discreet.privacy.plan import Protected, checked_contributions
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema

FIRST, CHOICE = Fraction(2, 5), Fraction(1, 10)  # of the budget if pairs are chosen: the first fit, and the choice
USUAL_PAIRS = 30
NUMERIC = ("smooth", "binned")


@dataclass(frozen=True)
class AdditivePlan(Protected):
    """The budget, and whether the class counts that settings follow from are bought out of it or are given.

    Knots, penalties and, if `pairs` is "auto", whether there are pairs at all are decided once the counts are known.
    """

    pairs: int | str
    numeric: str
    buys_counts: bool

    @property
    def count_charge(self) -> Charge | None:
        """The cost of the class counts, if they are bought here."""
        if self.budget.epsilon is None or not self.buys_counts:
            return None
        return count_charge(self.budget.epsilon * SHARE, self.adjacency, self.contributions)

    @property
    def rest(self) -> Fraction | None:
        """What is left for the model, for one row."""
        if self.budget.epsilon is None:
            return None
        return self.budget.epsilon * (1 - SHARE if self.buys_counts else 1) / self.contributions

    @property
    def node(self) -> Sequential:
        """The ledger entry of a fit, which is made before any row is read."""
        parts: list[Charge | SmoothCharge] = []
        if self.rest is not None:
            if self.count_charge is not None:
                parts.append(self.count_charge)
            parts.append(
                SmoothCharge(
                    f"objective perturbation, K-norm{' or normal' if self.budget.delta else ''} noise",
                    "weights, and a choice of pairs if there are any",
                    "epsilon",
                    self.rest * self.contributions,
                    self.budget.delta,
                    parameters=(("noise", "decided by the class counts"),),
                )
            )
        return Sequential("additive model", tuple(parts))


def plan_additive(
    schema: Schema,
    budget: Budget,
    *,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    contributions: int = 1,
    pairs: int | str = "auto",
    numeric: str = "smooth",
    buys_counts: bool = True,
    unexpected: str = REFUSE,
) -> AdditivePlan:
    """Check the settings, or say what stands in the way."""
    if budget.rho is not None:
        raise BudgetError("additive models are released within epsilon and delta: give those instead of rho")
    contributions = checked_contributions(contributions)
    whole = isinstance(pairs, Integral) and not isinstance(pairs, bool) and 0 <= int(pairs) <= 1000
    if not (whole or (isinstance(pairs, str) and pairs == "auto")):
        raise BudgetError(f"pairs must be 'auto' or a whole number from 0 to 1000, not {pairs!r}")
    if not isinstance(numeric, str) or numeric not in NUMERIC:
        raise BudgetError(f"numeric must be 'smooth' or 'binned', not {numeric!r}")
    wanted = pairs if isinstance(pairs, str) else int(pairs)
    return AdditivePlan(
        schema, budget, adjacency, contributions, wanted, numeric, buys_counts, unexpected=check_unexpected(unexpected)
    )
