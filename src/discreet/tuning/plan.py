"""Plans of searches: how a budget is spent on candidates' fits, the choice and a last fit, from public knowledge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.mechanisms.choose import CHOICES, choice_rate, concentrated_cost
from discreet.mechanisms.stopping import repeated_cost
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import root_down, zcdp_rho
from discreet.privacy.ledger import Charge, Node, Parallel, Sequential, SmoothCharge
from discreet.privacy.plan import Protected
from discreet.tuning.grants import Grant, Terms

ZERO = Fraction(0)
METHODS = ("holdout", "random-stopping")
DEALT = "every row is dealt to training or to validation by a random draw of its own, whatever the rows say"


@dataclass(frozen=True)
class SearchPlan(Protected):
    """How a search spends its budget: on each candidate's fit, on the choice, and on fitting the chosen one again."""

    method: str
    candidates: int
    fit: Fraction | None
    choice: Fraction | None
    refit: Fraction | None
    eta: Fraction
    gamma: Fraction
    node: Node
    rho: Fraction | None = None  # of the whole search, or of one run, where that is what fits may spend
    fits: tuple[Grant, ...] = ()  # what each candidate may spend
    refits: tuple[Grant, ...] = ()  # and if it is chosen, on all rows; none without a second fit

    @property
    def accounting(self) -> str:
        """How costs add up."""
        if self.rho is None:
            how = "epsilon and delta" if self.budget.delta else "pure epsilon"
        elif self.method == METHODS[0]:
            how = "rho of zCDP, added up exactly and then converted tightly to epsilon and delta,"
        else:
            how = "epsilon and delta, from rho of zCDP for one run,"
        return f"{how} of a whole search by {self.method}"


def plan_holdout(
    made: SearchPlan, candidates: list[tuple[str, Any]], kept: Fraction, terms: Terms | None
) -> SearchPlan:  # fmt: skip
    """A hold-out within ε and δ that add up, or within the ρ they are worth where no candidate's promise is worse."""
    epsilon, delta, count = made.budget.epsilon, made.budget.delta, len(candidates)
    if epsilon is None:
        return replace(made, fits=(Grant(None),) * count, refits=(Grant(None),) * count)
    look, again = epsilon * (1 - kept), epsilon * kept
    each = look / count
    tails = delta * (1 - kept) / count, delta * kept
    fits = [
        _fit_charge(type(one).__name__, f"fit of candidate {i}: {name}"[:200], each, tails[0])
        for i, (name, one) in enumerate(candidates)
    ]
    final = _fit_charge("fit", "the chosen candidate, on all rows", again, tails[1]) if again else None
    plan = replace(
        made, fit=each, choice=look, refit=again or None,
        node=_holdout_node(fits, _choice_charge(look, made.adjacency), final),
        fits=(Grant(each, tails[0]),) * count, refits=(Grant(again, tails[1]),) * count if again else (),
    )  # fmt: skip
    return plan if terms is None else _held_out_by_rho(plan, candidates, kept, terms)


def _held_out_by_rho(
    plan: SearchPlan, candidates: list[tuple[str, Any]], kept: Fraction, terms: Terms
) -> SearchPlan:  # fmt: skip
    assert plan.budget.epsilon is not None
    rho = zcdp_rho(plan.budget.epsilon, plan.budget.delta)
    look, again = rho * (1 - kept), rho * kept
    each = look / len(candidates)
    fits = terms.better(candidates, plan.fits, each, plan.budget.delta)
    refits = terms.better(candidates, plan.refits, again, plan.budget.delta) if fits and again else ()
    if fits is None or refits is None:
        return plan
    charges = [
        Charge(type(one).__name__, f"fit of candidate {i}: {name}"[:200], "fit", "as its own certificate", ZERO, "rho",
               each)
        for i, (name, one) in enumerate(candidates)
    ]  # fmt: skip
    last = "the chosen candidate, on all rows"
    final = Charge("fit", last, "fit", "as its own certificate", ZERO, "rho", again) if again else None
    rate = root_down(8 * look)
    return replace(
        plan, fit=None, choice=rate, refit=None, rho=rho, fits=fits, refits=refits,
        node=_holdout_node(charges, _choice_charge(rate, plan.adjacency, CHOICES[1]), final),
    )  # fmt: skip


def plan_stopping(made: SearchPlan, candidates: list[tuple[str, Any]], terms: Terms | None) -> SearchPlan:
    """Runs that are pure, or that cost a ρ where no candidate's promise is then worse."""
    budget, count = made.budget, len(candidates)
    if budget.epsilon is None:
        return replace(made, fits=(Grant(None),) * count, budget=budget.pure)
    each = budget.epsilon / (2 + made.eta)
    plan = replace(
        made, fit=each, choice=each, refit=None, budget=budget.pure, fits=(Grant(each),) * count,
        node=Charge(
            "random stopping", _told(made, f"epsilon {each}"), "run", f"a run costs {each}", ZERO, "epsilon",
            repeated_cost(each, made.eta),
        ),
    )  # fmt: skip
    return plan if terms is None else _stopped_by_rho(plan, budget, candidates, terms)


def _stopped_by_rho(
    plan: SearchPlan, budget: Budget, candidates: list[tuple[str, Any]], terms: Terms
) -> SearchPlan:  # fmt: skip
    from discreet.privacy.repeated import repeated_rho  # what only δ needs

    assert budget.epsilon is not None
    rho = repeated_rho(budget.epsilon, budget.delta, plan.eta, plan.gamma)
    fits = terms.better(candidates, plan.fits, rho, budget.delta)
    if fits is None:
        return plan
    what = _told(plan, f"rho {float(rho):.6g}")
    node = SmoothCharge(
        "random stopping", what, "epsilon", budget.epsilon, budget.delta,
        (("eta", str(plan.eta)), ("gamma", str(plan.gamma)), ("rho of a run", str(rho))),
    )  # fmt: skip
    return replace(plan, budget=budget, fit=None, choice=None, rho=rho, fits=fits, node=node)


def _told(plan: SearchPlan, cost: str) -> str:
    return (
        f"the best of a random number of runs (eta = {plan.eta}, gamma = {plan.gamma}) over {plan.candidates} "
        f"candidates; a run fits one on training rows and counts correct answers on the others, at {cost} for either"
    )


def _holdout_node(fits: list[Any], chosen: Charge, final: Any) -> Node:
    looked = Parallel(
        "training and validation rows", DEALT, (Sequential("fits on the training rows", tuple(fits)), chosen)
    )
    return looked if final is None else Sequential("a search and a fit", (looked, final))


def _choice_charge(spent: Fraction, adjacency: Adjacency, law: str = CHOICES[0]) -> Charge:
    """The choice at ε `spent`; an exponential one is charged by its ρ."""
    monotone = adjacency is Adjacency.ADD_REMOVE
    by_rho = law != CHOICES[0]
    return Charge(
        law, "the candidate with most correct answers on the validation rows", "score",
        "1, monotone" if monotone else "1", 1 / choice_rate(spent, monotone=monotone), "rho" if by_rho else "epsilon",
        concentrated_cost(spent, law) if by_rho else spent,
    )  # fmt: skip


def _fit_charge(mechanism: str, what: str, epsilon: Fraction, delta: Fraction) -> Charge | SmoothCharge:
    if delta:
        return SmoothCharge(mechanism, what, "epsilon", epsilon, delta)
    return Charge(mechanism, what, "fit", "as its own certificate", ZERO, "epsilon", epsilon)
