"""The certificate of a Naive Bayes release: what its ledger cost, under which assumptions, and what it covers."""

from __future__ import annotations

from discreet.bayes.release import Release
from discreet.privacy.certificate import Certificate, certify
from discreet.privacy.ledger import Node, Parallel

BATCHES = (
    "the batches are disjoint, every person is in one batch only, and which batch a row is in depends on that row "
    "alone, not on its position or on other rows"
)
INFERRED = "the schema (classes, categories, bounds) was read off the data and assumed public"
MODEL = "the parameters of this model and everything computed from them"


def release_certificate(
    released: Release, node: Node, *, covers: str = MODEL, assumptions: tuple[str, ...] = (), kind: str = "model"
) -> Certificate:
    """What the release guarantees; `assumptions` are those of the caller beside the usual ones."""
    plan, simulation = released.plan, released.plan.budget.private and released.simulation
    stated = [INFERRED] if plan.schema.inferred else []
    if isinstance(node, Parallel):
        stated.append(node.assumption)
    if isinstance(node, Parallel) or plan.schema.id is None:
        whole = ", all batches together" if not assumptions else ""
        stated.append(f"no person has more than {plan.contributions} row(s) in the data{whole}")
    if plan.schema.inferred:
        covers += ", except the classes, categories and bounds, which were read off the data"
    if simulation or not plan.budget.private:
        covers = f"nothing: this {kind} is for study, not for release"
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
        covers=covers,
        assumptions=(*stated, *assumptions),
    )
