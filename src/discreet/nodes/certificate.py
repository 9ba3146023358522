"""The certificate of a federated model: the dearest node counts, or the sum where a person may be at several."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.nodes.settings import Settings, budget_rho, node_plan
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import MODEL, certify
from discreet.privacy.ledger import Node, Parallel, Sequential
from discreet.privacy.plan import Paid
from discreet.privacy.unexpected import ABSORB, REFUSE
from discreet.schema import Schema

if TYPE_CHECKING:
    from discreet.nodes.members import Member

NODES = {
    Adjacency.ADD_REMOVE: "every person's rows are at one node, and at which one does not depend on other people",
    Adjacency.REPLACE: "every person's rows are at one node, which is fixed: a changed row stays at its node",
}
STUDY = "nothing: this model is for study, not for release"
DEALT = "the rows were dealt out for study: which node holds a row depends on other people's rows"
SEVERAL = "a person may have rows at every node, with up to the stated number of rows at each: the costs add up"


def aggregate_certificate(
    schema: Schema,
    settings: Settings,
    members: Sequence[Member],
    overlap: bool,
    *,
    seen: str = "the coordinator saw it",
) -> Certificate:
    """What a model from these nodes guarantees; nodes that were left out have spent their budget all the same."""
    groups: dict[tuple[Budget, str, int | None], list[Member]] = {}
    for member in members:
        groups.setdefault(member.kind, []).append(member)
    plans = {key: node_plan(schema, settings, *key) for key in groups}

    def total(amounts: list[tuple[Fraction, int]]) -> Fraction:
        if overlap:
            return sum((amount * count for amount, count in amounts), Fraction(0))
        return max(amount for amount, _ in amounts)

    sizes = [(key[0], plans[key].rho, len(held)) for key, held in groups.items()]
    rhos = [(budget_rho(own) if rho is None else rho, count) for own, rho, count in sizes]
    known = [(rho, count) for rho, count in rhos if rho is not None]
    # A rho of the whole is stated only where some node has one and every node keeps to it.
    rho = total(known) if len(known) == len(rhos) and any(size[1] is not None for size in sizes) else None
    if members[0].budget.rho is not None:
        budget = Budget(rho=rho)
    elif not members[0].budget.private:
        budget = members[0].budget
    else:
        epsilon = total([(own.epsilon, count) for own, _, count in sizes if own.epsilon is not None])
        budget = Budget(epsilon, total([(own.delta, count) for own, _, count in sizes]))
    node: Node
    if overlap:
        every = tuple(Sequential(f"node {m.node}", plans[key].node.parts) for key, held in groups.items() for m in held)
        node = Sequential("nodes that may share people", every)
    else:
        parts = tuple(Sequential(_names(held), plans[key].node.parts) for key, held in groups.items())
        node = Parallel("nodes with different people", NODES[settings.adjacency], parts)
    policy = ABSORB if all(member.total for member in members) else REFUSE
    return certify(
        Paid(schema, budget, settings.adjacency, settings.contributions, node, unexpected=policy),
        sampler=[m.sampler for m in members],
        simulation=any(member.simulation for member in members),
        accounting=" and ".join(dict.fromkeys(plan.accounting for plan in plans.values())),
        rho=rho,
        covers=f"{_models(members)}, and every node's update as {seen}",
        assumptions=(SEVERAL,) if overlap else (),
        where=_where(members, overlap),
        checked=False,
    )


def _where(members: Sequence[Member], overlap: bool) -> str:
    """Among which rows a person may have no more than the noise pays for."""
    steps = any(member.stream is not None for member in members)
    if overlap:
        return f"at any one node{', all steps together' if steps else ''}"
    return f"in the data, all {'steps and all ' if steps else ''}nodes together"


def _models(members: Sequence[Member]) -> str:
    """What is certified: one model, or all models of a stream together."""
    steps = [member.stream[0] for member in members if member.stream is not None]
    return f"the models after each of up to {max(steps)} steps together" if steps else MODEL


def study_certificate(certificate: Certificate) -> Certificate:
    """The certificate of a model whose rows were dealt out with regard to each other: it covers nothing."""
    kept = tuple(text for text in certificate.assumptions if text not in NODES.values())
    return certificate.model_copy(update={"simulation": True, "covers": STUDY, "assumptions": (DEALT, *kept)})


def _names(members: Sequence[Member]) -> str:
    shown = ", ".join(member.node for member in members[:3])
    more = f" and {len(members) - 3} more with the same plan" if len(members) > 3 else ""
    return f"{'node' if len(members) == 1 else 'each of the nodes'} {shown}{more}"
