"""Plans of networks: the shares of a budget, known before rows are read; bins and pairs follow from releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetError
from discreet.estimators.counts import SHARE, ClassCounts, count_charge
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.certificate import WHICHEVER, Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge, Node, Sequential, SmoothCharge, concentrated, cost
from discreet.privacy.plan import Protected, checked_contributions
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema

PURE = "pure epsilon, costs added up exactly"
BY_RHO = (
    "rho of zCDP of choices and tables, then the tight conversion, and pure epsilon of rows by class added to epsilon"
)


@dataclass(frozen=True)
class NetworkPlan(Protected):
    """What is bought, in order: rows by class unless they are given, then each of `parts`.

    `epsilons` is empty without privacy. A later part's tables follow from what earlier parts released, its cost does
    not: the ledger is charged for all of them before the first row is read.
    """

    what: str
    count: Charge | None
    epsilons: Mapping[str, Fraction]

    @property
    def node(self) -> Sequential:
        """The ledger entry of one fit, as far as it is known before the fit."""
        parts: list[Node] = [] if self.count is None else [self.count]
        if self.budget.delta:  # rows by class decide whether noise is Gaussian: either way is within this
            spent = sum(self.epsilons.values(), Fraction(0))
            what = "; ".join(self.epsilons)
            return Sequential(
                self.what, (*parts, SmoothCharge("paid in advance", what, "epsilon", spent, self.budget.delta))
            )
        parts += [SmoothCharge("paid in advance", part, "epsilon", spent) for part, spent in self.epsilons.items()]
        return Sequential(self.what, tuple(parts))

    def entry(self, parts: list[Node]) -> Sequential:
        """The ledger entry of what was released."""
        return Sequential(self.what, (*([] if self.count is None else [self.count]), *parts))

    @property
    def left(self) -> Budget:
        """What all parts have together; the δ is theirs alone."""
        return Budget(sum(self.epsilons.values(), Fraction(0)), self.budget.delta)

    def share(self, name: str) -> Fraction:
        """A part's share of that."""
        return self.epsilons[name] / sum(self.epsilons.values(), Fraction(0))

    @property
    def rhos(self) -> dict[str, Fraction]:
        """The ρ of each part if they are paid for with the δ, which the count before them has no part in."""
        rho = zcdp_rho(sum(self.epsilons.values(), Fraction(0)), self.budget.delta)
        return {name: rho * self.share(name) for name in self.epsilons}

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
    delta: bool = False,
) -> NetworkPlan:
    """Split a budget over the parts; shares are relative and rows by class, if not given, come first.

    A part may spend the budget's `delta` only if it is asked for.
    """
    budget, contributions = budget if delta else budget.pure, checked_contributions(contributions)
    epsilon = budget.epsilon
    policy = check_unexpected(unexpected)
    free = NetworkPlan(schema, budget, adjacency, contributions, what, None, {}, unexpected=policy)
    if epsilon is None:
        return free
    count = None if counts is not None else count_charge(epsilon * SHARE, adjacency, contributions)
    left = epsilon - (Fraction(0) if count is None else count.cost)
    whole = sum(shares.values(), Fraction(0))
    return NetworkPlan(
        schema, budget, adjacency, contributions, what, count,
        {part: left * share / whole for part, share in shares.items() if share}, unexpected=policy,
    )  # fmt: skip


def checked_share(given: Any, what: str) -> Fraction:
    """A share of the budget, strictly between nothing and all."""
    share = number(given, what)
    if not 0 < share < 1:
        raise BudgetError(f"{what} must lie between 0 and 1")
    return share


def network_certificate(
    plan: NetworkPlan, schema: Schema, parts: list[Node], sampler: Sampler, counts: ClassCounts
) -> Certificate:
    """What the release guarantees; `schema` is the one that the model carries, with bins that may have been chosen."""
    node = plan.entry(parts)
    by_rho = cost(node, "rho") > 0
    return certify(
        plan,
        node=node,
        accounting=BY_RHO if by_rho else PURE,
        rho=concentrated(node) if by_rho else None,
        assumptions=(WHICHEVER,) if plan.budget.delta else (),
        schema=schema,
        sampler=f"{sampler.name}; choices and K-norm draws by exact coins",
        simulation=sampler.simulation,
        elsewhere=counts.elsewhere(),
        named=True,
    )
