"""The certificate of a Naive Bayes release: what its ledger cost, under which assumptions, and what it covers."""

from __future__ import annotations

from discreet.bayes.release import Release
from discreet.privacy.certificate import Certificate, certify, covering, standing
from discreet.privacy.ledger import Node, Parallel

BATCHES = (
    "the batches are disjoint, every person is in one batch only, and which batch a row is in depends on that row "
    "alone, not on its position or on other rows"
)
MODEL = "the parameters of this model and everything computed from them"


def release_certificate(
    released: Release, node: Node, *, covers: str = MODEL, assumptions: tuple[str, ...] = (), kind: str = "model"
) -> Certificate:
    """What the release guarantees; `assumptions` are those of the caller beside the usual ones."""
    plan, simulation = released.plan, released.plan.budget.private and released.simulation
    batches = isinstance(node, Parallel)
    where = "in the data" if assumptions else "in the data, all batches together"
    stated = standing(plan.schema, plan.contributions, where=where, checked=not batches)
    usable = plan.budget.private and not simulation
    return certify(
        node,
        plan.budget,
        adjacency=plan.adjacency,
        contributions=plan.contributions,
        identified=plan.schema.id is not None,
        unexpected=plan.unexpected,
        simulation=simulation,
        sampler=" and ".join(released.samplers) if plan.budget.private else "none",
        schema_hash=plan.schema.hash,
        rho=None if plan.rho is None else str(plan.rho),
        accounting=plan.accounting,
        covers=covering(covers, plan.schema, usable=usable, study=f"this {kind} is"),
        assumptions=(*((node.assumption,) if isinstance(node, Parallel) else ()), *stated, *assumptions),
    )
