"""Plans of networks: the shares of a budget, known before rows are read; bins and pairs follow from releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from discreet.bayes.certificates import MODEL
from discreet.bayes.counts import SHARE, ClassCounts, count_charge
from discreet.bayes.sensitivity import table_sensitivity
from discreet.errors import BudgetError
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.certificate import Certificate, certify, covering, standing
from discreet.privacy.ledger import Charge, Node, Sequential, SmoothCharge
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema


@dataclass(frozen=True)
class NetworkPlan:
    """What is bought, in order: rows by class unless they are given, then each of `parts`.

    `epsilons` is empty without privacy. A later part's tables follow from what earlier parts released, its cost does
    not: the ledger is charged for all of them before the first row is read.
    """

    schema: Schema
    budget: Budget
    adjacency: Adjacency
    contributions: int
    what: str
    count: Charge | None
    epsilons: Mapping[str, Fraction]
    unexpected: str = REFUSE

    @property
    def node(self) -> Sequential:
        """The ledger entry of one fit, as far as it is known before the fit."""
        parts: list[Node] = [] if self.count is None else [self.count]
        parts += [SmoothCharge("paid in advance", part, "epsilon", spent) for part, spent in self.epsilons.items()]
        return Sequential(self.what, tuple(parts))

    def entry(self, parts: list[Node]) -> Sequential:
        """The ledger entry of what was released."""
        return Sequential(self.what, (*([] if self.count is None else [self.count]), *parts))

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""
        return f"{self.adjacency} neighbours with up to {self.contributions} row(s) per person"

    @property
    def steps(self) -> int:
        """Rows that come or go between neighbours: two for a replaced row, times the rows of one person."""
        return int(table_sensitivity(self.adjacency, self.contributions).l1)

    def part(self, name: str) -> Budget:
        """The budget of one part."""
        return Budget(self.epsilons[name]) if self.epsilons else self.budget

    def __str__(self) -> str:
        lines = [f"{self.what}: {self.budget}, {self.adjacency} neighbours"]
        bought = {} if self.count is None else {self.count.what: self.count.cost}
        lines += [f"  epsilon {float(spent):<10.4g} {name}" for name, spent in (bought | dict(self.epsilons)).items()]
        return "\n".join(lines)


def plan_network(
    schema: Schema,
    budget: Budget,
    what: str,
    shares: Mapping[str, Any],
    *,
    adjacency: Adjacency,
    contributions: Any = 1,
    counts: ClassCounts | None = None,
    unexpected: str = REFUSE,
) -> NetworkPlan:
    """Split a budget over the parts; shares are relative and rows by class, if not given, come first."""
    if isinstance(contributions, bool) or not isinstance(contributions, Integral) or int(contributions) < 1:
        raise BudgetError(f"contributions must be a whole number of at least 1, not {contributions!r}")
    if budget.delta or budget.rho is not None:
        raise BudgetError("networks are released with pure epsilon: leave delta at 0")
    contributions, policy = int(contributions), check_unexpected(unexpected)
    if budget.epsilon is None:
        return NetworkPlan(schema, budget, adjacency, contributions, what, None, {}, policy)
    if counts is not None:
        if counts.charge is None:
            raise BudgetError("the given class counts were not bought: a private fit cannot follow exact counts")
        if len(counts.values) != len(schema.classes):
            raise BudgetError("the given class counts are of another number of classes")
    count = None if counts is not None else count_charge(budget.epsilon * SHARE, adjacency, contributions)
    left = budget.epsilon - (Fraction(0) if count is None else count.cost)
    whole = sum(shares.values(), Fraction(0))
    return NetworkPlan(
        schema, budget, adjacency, contributions, what, count,
        {part: left * share / whole for part, share in shares.items() if share}, policy,
    )  # fmt: skip


def checked_share(given: Any, what: str) -> Fraction:
    """A share of the budget, strictly between nothing and all."""
    share = number(given, what)
    if not 0 < share < 1:
        raise BudgetError(f"{what} must lie between 0 and 1")
    return share


def network_certificate(plan: NetworkPlan, schema: Schema, parts: list[Node], sampler: Sampler) -> Certificate:
    """What the release guarantees; `schema` is the one that the model carries, with bins that may have been chosen."""
    private = plan.budget.private
    simulation = private and sampler.simulation
    return certify(
        plan.entry(parts),
        plan.budget,
        adjacency=plan.adjacency,
        contributions=plan.contributions,
        identified=schema.id is not None,
        unexpected=plan.unexpected,
        simulation=simulation,
        sampler=f"{sampler.name}; choices and K-norm draws by exact coins" if private else "none",
        schema_hash=schema.hash,
        rho=None,
        accounting="pure epsilon, costs added up exactly" if private else "none",
        covers=covering(MODEL, schema, usable=private and not simulation),
        assumptions=standing(schema, plan.contributions),
    )
