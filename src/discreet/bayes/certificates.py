"""The certificate of a Naive Bayes release: what its ledger cost, under which assumptions, and what it covers."""

from __future__ import annotations

from discreet.bayes.release import Release
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import MODEL, certify
from discreet.privacy.ledger import Node, Parallel

BATCHES = (
    "the batches are disjoint, every person is in one batch only, and which batch a row is in depends on that row "
    "alone, not on its position or on other rows"
)


def release_certificate(
    released: Release, node: Node, *, covers: str = MODEL, kind: str = "this model is", named: bool = False
) -> Certificate:
    """What the release guarantees; batches of it cannot be checked for people who are in several."""
    plan = released.plan
    return certify(
        plan,
        node=node,
        sampler=released.samplers,
        simulation=released.simulation,
        accounting=plan.accounting,
        rho=plan.rho,
        covers=covers,
        kind=kind,
        where="in the data, all batches together",
        checked=not isinstance(node, Parallel),
        named=named,
    )
