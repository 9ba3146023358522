"""A node's part in a round under masks: its own terms decide, its ledger pays before its masked input is made."""

from __future__ import annotations

import re

import numpy as np
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from numpy.typing import NDArray

from discreet.federated.flower.house import House, log, refusing
from discreet.federated.flower.records import NodeRefusal, RefusedError, Request
from discreet.federated.secure import AbortError, KeySigner, NodeStore, Round, SecureError
from discreet.federated.secure.wire import kind_of
from discreet.federated.shares import SharePlan, share_plan
from discreet.federated.update import node_plan
from discreet.files import write_bytes
from discreet.sources import collect

ROUND = re.compile("[0-9a-f]{64}")  # a round under masks is named by its digest


def shared_plan(house: House, request: Request) -> SharePlan:
    """The shares of noise that this node's own terms ask for."""
    terms = house.terms
    assert terms.secure is not None
    plan = node_plan(terms.schema, request.settings, terms.budget, terms.mechanism)
    allowed = terms.secure
    return share_plan(plan, len(allowed.registry), colluding=allowed.colluding, dropouts=allowed.dropouts)


def secure_answer(house: House, request: Request, step: bytes) -> bytes:
    """The answer to one step; the same step gets the same bytes again, through restarts too."""
    if house.terms.secure is None:
        raise RefusedError(NodeRefusal.SECURE)
    house.accept(request)
    with refusing():
        try:
            return _answer(house, request, step)
        except SecureError as error:
            log.warning("refused: %s", error)
            raise RefusedError(NodeRefusal.SECURE) from None


def _answer(house: House, request: Request, step: bytes) -> bytes:
    terms, shared = house.terms, shared_plan(house, request)
    assert terms.secure is not None
    round_ = _round(house, request, step, shared)
    charge = f"secure {round_.digest.hex()}"

    def draw() -> NDArray[np.int64]:
        # The vector itself is never kept: the masked one is, by the store, before it leaves.
        house.check_source(charge)
        pay = terms.pay(shared.node, shared.plan)
        house.journal.answer(charge, house.question(request), terms.budget, lambda: round_.digest, pay)
        counts = collect(
            terms.data, terms.schema, detail=shared.plan.detail, contributions=terms.contributions, empty=True
        )
        return shared.vector(counts)

    key = load_ssh_private_key(terms.secure.private.read_bytes(), None)
    signer = KeySigner(key)  # type: ignore[arg-type]
    node = NodeStore(house.rounds).node(round_, terms.name, signer, draw)
    if house.journal.paid(charge) and not node.exposed:
        # A masked input may have left that nobody here remembers: a second one would be a second answer.
        raise AbortError("this round is paid for and its memory is lost: it is over for this node")
    return node.answer(step)


def _round(house: House, request: Request, step: bytes, shared: SharePlan) -> Round:
    """The round of a step, held at every step to this node's own terms and to the request that it was begun with."""
    assert house.terms.secure is not None
    if not ROUND.fullmatch(request.round_id):
        raise RefusedError(NodeRefusal.REQUEST)
    house.rounds.mkdir(mode=0o700, parents=True, exist_ok=True)
    begun, question = house.rounds / f"{request.round_id}.invitation", house.rounds / f"{request.round_id}.question"
    if question.is_file() and question.read_text() != house.question(request):
        raise RefusedError(NodeRefusal.ROUND)
    inviting = kind_of(step) == "invite"
    if not inviting and not (begun.is_file() and question.is_file()):
        raise RefusedError(NodeRefusal.SECURE)
    round_ = shared.accept(step if inviting else begun.read_bytes(), house.terms.secure.registry)
    if round_.digest.hex() != request.round_id:
        raise RefusedError(NodeRefusal.REQUEST)
    if inviting:
        for path, content in ((question, house.question(request).encode()), (begun, step)):
            write_bytes(path, content, private=True)
    return round_
