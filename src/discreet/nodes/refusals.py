"""Refusals: why a node, a coordinator or a peer does not go on, as words to be counted and sentences for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NoReturn

from discreet.errors import DiscreetError, UpdateError


class Refusal(StrEnum):
    """The reasons for which an update, or the removal of one, is refused."""

    MALFORMED = "malformed"
    SCHEMA = "other-schema"
    SETTINGS = "other-settings"
    DUPLICATE_NODE = "duplicate-node"
    DUPLICATE_UPDATE = "duplicate-update"
    IMPLAUSIBLE = "implausible"
    UNKNOWN_NODE = "unknown-node"
    NOT_KEPT = "not-kept"


class NodeRefusal(StrEnum):
    """Why a node does not answer. The sentences say nothing of its rows, its files or how much it has."""

    BUDGET = "budget"
    ROUND = "round"
    SCHEMA = "schema"
    SETTINGS = "settings"
    REQUEST = "request"
    SECURE = "secure"
    BUSY = "busy"
    FAILED = "failed"


SENTENCES: dict[StrEnum, str] = {
    Refusal.SCHEMA: "the update is of another schema than this federation's",
    Refusal.SETTINGS: "the update has other settings than this federation's: see its adjacency and split",
    Refusal.DUPLICATE_UPDATE: "this very update has been counted already",
    Refusal.NOT_KEPT: "updates are not kept, so that none can be taken out again: start with keep=True",
    NodeRefusal.BUDGET: "the node's own ledger does not pay for another round",
    NodeRefusal.ROUND: "the node has answered this round before, to another question: ask under a new name",
    NodeRefusal.SCHEMA: "the node has another schema",
    NodeRefusal.SETTINGS: "the node does not answer under this adjacency, rows per person or noise",
    NodeRefusal.REQUEST: "the node could not read the request",
    NodeRefusal.SECURE: "the node cannot go on with this secure round",
    NodeRefusal.BUSY: "the node's ledger is in use: ask again",
    NodeRefusal.FAILED: "the node failed: its own log says why",
}
MIXED = "nodes without noise, with epsilon and with rho do not mix: one model is of one kind"
OTHER_NETWORK = "this is another network"
OTHER_NAME = "the certificate is of another node"
REVOKED = "this certificate was revoked or is past its end: ask whoever admits nodes for another"
CLOSED = "the round takes no new members any more"
OWN_WISH = "a node leaves at its own wish only"


def refuse(reason: Refusal, sentence: str | None = None) -> NoReturn:
    """Raise with the reason and one sentence, that of the list unless told."""
    raise UpdateError(reason, sentence or SENTENCES[reason])


def demand(condition: Any, sentence: str) -> None:
    """Refuse as malformed unless the condition holds."""
    if not condition:
        refuse(Refusal.MALFORMED, sentence)


class NodeRefusedError(DiscreetError):
    """A node's refusal, as the coordinator hears it."""

    def __init__(self, reason: NodeRefusal) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason

    @property
    def busy(self) -> bool:
        """Whether the refusal is not final: the same question is asked again."""
        return self.reason == NodeRefusal.BUSY


class ProtocolError(DiscreetError, ValueError):
    """A message that no honest peer would have sent."""


class SecureError(ProtocolError):
    """Base of every error of secure aggregation."""


class MessageError(SecureError):
    """Bytes that are no message of this protocol; they change nothing."""


class RefusedError(SecureError):
    """A message that may not be answered now; the round may go on."""


class AbortError(SecureError):
    """The round is over for whoever raises this: start another one with fresh keys and fresh noise."""


class TooFewNodesError(AbortError):
    """Fewer nodes are left than the protocol or the noise needs."""
