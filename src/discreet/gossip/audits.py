"""What an audit needs of gossip: the first message of a node, which is all that its peers learn about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit import AuditCase
from discreet.bayes.audits import SCHEMA
from discreet.gossip.protocol import PushSum
from discreet.gossip.vector import BITS, Layout, share_of
from discreet.gossip.wire import Envelope, from_bytes, to_bytes
from discreet.nodes.audits import audited_update, node_case


@dataclass(frozen=True)
class FirstMessage:
    """A node's first message as its peer reads it: half of every noised integer, to the last bit, and its length."""

    epsilon: float

    def __call__(self, data: Sequence[tuple[Any, ...]]) -> Any:
        """One message; twice a half is the noised integer, because 2^64 units make one."""
        update = audited_update(self.epsilon, data)
        layout = Layout.of(update.plan(SCHEMA))
        machine = PushSum("audited", share_of(layout.flat(update.values)))
        raw = to_bytes(Envelope("audit", machine.send("peer")))
        share = from_bytes(raw).message.share
        return np.array([*(value >> (BITS - 1) for value in share.values), share.weight >> (BITS - 1), len(raw)])


def audit_cases() -> list[AuditCase]:
    """The first message: all later ones follow from it and from what others sent."""
    note = "the first share that leaves a gossip node, with its weight and its length"
    return [node_case("gossip-first-message", note, FirstMessage, 2_000)]
