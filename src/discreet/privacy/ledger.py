"""The ledger: every access to the data, what it cost, and whether there is budget for another."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from discreet.errors import BudgetError
from discreet.privacy.budget import Budget


@dataclass(frozen=True)
class Charge:
    """One noisy release: what it is of, how far a neighbour can move it, the noise, and the cost.

    `measure` says what `cost` counts: pure `epsilon`, or `rho` of zero-concentrated privacy. `spread` is the noise's
    exact parameter: the scale of a Laplace law, the variance parameter σ² of a Gaussian one.
    """

    mechanism: str
    what: str
    norm: str
    sensitivity: str
    spread: Fraction
    measure: str
    cost: Fraction


@dataclass(frozen=True)
class SmoothCharge:
    """One release whose noise follows a smooth bound: the bound and the scale are private and not written here.

    It also stands for releases together that are paid for before an earlier one decides their noise.

    `cost` (and `delta`, if any) is for the neighbours of the whole ledger. `parameters` are public: the law, β, s,
    the rows trimmed at each end, the cap, and how many add-remove steps the cost pays for.
    """

    mechanism: str
    what: str
    measure: str
    cost: Fraction
    delta: Fraction = Fraction(0)
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Response:
    """Randomised reports about one input: each person's own device pays `cost` for the one report it sends.

    `parameters` are public: the size of the domain, the chances p and q that a report supports the true and any one
    other value, or what else fixes the law of a report.
    """

    mechanism: str
    what: str
    cost: Fraction
    parameters: tuple[tuple[str, str], ...] = ()
    measure: str = "epsilon"


@dataclass(frozen=True)
class Sequential:
    """Releases from the same rows: costs add up."""

    what: str
    parts: tuple[Charge | SmoothCharge | Response | Sequential | Parallel, ...]


@dataclass(frozen=True)
class Parallel:
    """Releases from disjoint rows: the dearest part is the cost, under the stated assumption."""

    what: str
    assumption: str
    parts: tuple[Charge | SmoothCharge | Response | Sequential | Parallel, ...]


Node = Charge | SmoothCharge | Response | Sequential | Parallel


def cost(node: Node, measure: str) -> Fraction:
    """The exact cost of a node in one measure: `epsilon`, `rho` or `delta`."""
    if isinstance(node, SmoothCharge) and measure == "delta":
        return node.delta
    if isinstance(node, Charge | SmoothCharge | Response):
        return node.cost if node.measure == measure else Fraction(0)
    costs = [cost(part, measure) for part in node.parts]
    if isinstance(node, Parallel):
        return max(costs, default=Fraction(0))
    return sum(costs, Fraction(0))


def concentrated(node: Node) -> Fraction:
    """The ρ of a node when its pure parts are read as zCDP: ε-DP implies ε²/2-zCDP. A part with a δ has none."""
    if isinstance(node, SmoothCharge) and node.delta:
        raise BudgetError("a release with a delta of its own has no rho: charge it to a budget of epsilon and delta")
    if isinstance(node, Charge | SmoothCharge | Response):
        return node.cost if node.measure == "rho" else node.cost**2 / 2
    costs = [concentrated(part) for part in node.parts]
    if isinstance(node, Parallel):
        return max(costs, default=Fraction(0))
    return sum(costs, Fraction(0))


class Tab:
    """A charge that batches of other people may share; a copy of it is worthless."""

    def __init__(self, ledger: Ledger, node: Node, owner: Any) -> None:
        self._ledger, self._node = ledger, node
        self._owner = None if owner is None else weakref.ref(owner)

    def covers(self, ledger: Ledger, node: Node, owner: Any) -> bool:
        """Whether this very ledger was charged by this very owner for releases like `node`."""
        mine = self._owner is not None and self._owner() is owner
        return mine and self._ledger is ledger and self._node == node

    def __copy__(self) -> None:
        return None

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


@dataclass
class Ledger:
    """A budget shared by several fits: hand it to `fit(..., ledger=ledger)` and each fit is charged to it.

    It cannot be copied or pickled, because a charge to a copy would be lost.

    >>> ledger = Ledger(Budget(1))
    >>> ledger.spent
    Fraction(0, 1)
    """

    budget: Budget
    nodes: list[Node] = field(default_factory=list)
    grants: list[Budget] = field(default_factory=list)
    unit: str | None = None

    @property
    def spent(self) -> Fraction:
        """What has been spent of ε (or of ρ, for a zCDP budget), by the rule that `charge` uses."""
        return self._total(self.nodes, self.grants)

    @property
    def remaining(self) -> Fraction | None:
        """What is left of ε or ρ; None if the budget is infinite."""
        limit = self.budget.rho if self.budget.rho is not None else self.budget.epsilon
        return None if limit is None else limit - self.spent

    def _total(self, nodes: Iterable[Node], grants: Iterable[Budget]) -> Fraction:
        nodes, grants = list(nodes), list(grants)
        if self.budget.kind == "zcdp":
            return sum((concentrated(node) for node in nodes), Fraction(0))
        adds = all(grant.epsilon is not None for grant in grants)  # a rho has no epsilon to add up
        basic = sum((grant.epsilon or Fraction(0) for grant in grants), Fraction(0))
        if self.budget.kind != "approximate" or not nodes:
            return basic
        from discreet.domain import exact
        from discreet.privacy.calibrate import zcdp_epsilon

        # Two valid readings of the whole: adding up (ε, δ), or one zCDP composition converted at the end.
        fits = sum((grant.delta for grant in grants), Fraction(0)) <= self.budget.delta
        if any(cost(node, "delta") for node in nodes):
            if not adds:
                raise BudgetError("a release with a delta of its own and one of rho do not add up on one ledger")
            if not fits:
                raise BudgetError("the deltas of these fits add up to more than the ledger's: lower them or stop here")
            return basic
        rho = sum((concentrated(node) for node in nodes), Fraction(0))
        joint = exact(zcdp_epsilon(float(rho) * (1 + 1e-12), float(self.budget.delta)))
        return min(basic, joint) if fits and adds else joint

    def charge(self, node: Node, grant: Budget, unit: str | None = None, owner: Any = None) -> Tab:
        """Enter a release, or raise before any data are read if the budget does not allow it.

        `unit` says whom the cost is counted for: neighbours and rows per person. Costs for different units do not
        add up, so the first one holds for the whole ledger.
        """
        if unit is not None and self.unit is not None and unit != self.unit:
            raise BudgetError(f"this ledger counts costs for {self.unit}, not for {unit}: use another ledger")
        self._enter(node, grant)
        self.unit = self.unit if unit is None else unit
        return Tab(self, node, owner)

    def afford(self, grant: Budget, node: Node | None = None) -> None:
        """Raise if a budget of that size, or the release it is for, could not be charged now."""
        limit = self.budget.rho if self.budget.rho is not None else self.budget.epsilon
        if node is not None:
            self._check(node, grant)
            return
        if limit is None or self.budget.kind != "pure":
            return  # other budgets need the whole plan to tell
        if grant.epsilon is None or grant.epsilon > limit - self.spent:
            raise BudgetError(f"the ledger has {float(limit - self.spent):g} of {self.budget} left, not {grant}")

    def _enter(self, node: Node, grant: Budget) -> None:
        self._check(node, grant)
        self.nodes.append(node)
        self.grants.append(grant)

    def _check(self, node: Node, grant: Budget) -> None:
        if not self.budget.private:
            return
        if not grant.private:
            raise BudgetError("a fit without privacy (epsilon = inf) cannot be charged to a finite ledger")
        if self.budget.kind == "pure" and grant.kind != "pure":
            raise BudgetError(f"a ledger of pure epsilon cannot pay for {grant}")
        limit = self.budget.rho if self.budget.rho is not None else self.budget.epsilon
        assert limit is not None
        total = self._total([*self.nodes, node], [*self.grants, grant])
        if total > limit:
            raise BudgetError(
                f"the ledger has {float(limit - self.spent):g} of {self.budget} left, and this fit would bring what is "
                f"spent to {float(total):g}: lower its epsilon or stop here"
            )

    def _refuse(self, *_: Any) -> NoReturn:
        raise BudgetError("a ledger cannot be copied or sent to another process: charges to the copy would be lost")

    __copy__ = __deepcopy__ = __reduce__ = __reduce_ex__ = _refuse
