"""Links between gossip nodes: how they behave in time, mutual TLS, and the certificate of the very peer."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import grpc

from discreet.errors import DiscreetError
from discreet.gossip.keys import Ring

SERVICE = "discreet.Gossip"


@dataclass(frozen=True)
class Pace:
    """How a node behaves in time; seconds, unless said otherwise.

    `tolerance` is the relative gap between estimates below which a node holds itself settled. A node sends one share
    per `beat` and ends when all `expected` members know that all are settled, or `linger` after it knows so itself.
    `chaos` is the share of messages, and of answers, to lose and to double: for rehearsals.
    """

    beat: float = 0.25
    tolerance: float = 1e-9
    expected: int = 2
    wait: float = 3600.0
    linger: float = 15.0
    timeout: float = 10.0
    slowest: float = 5.0
    largest: int = 16 << 20  # bytes of one message
    chaos: float = 0.0

    def __post_init__(self) -> None:
        for name in ("beat", "wait", "timeout", "slowest"):
            if not 0 < getattr(self, name) < math.inf:
                raise DiscreetError(f"{name} must be a number of seconds above zero, not {getattr(self, name)!r}")
        for name in ("tolerance", "linger"):
            if not 0 <= getattr(self, name) < math.inf:
                raise DiscreetError(f"{name} must be a number that is not negative, not {getattr(self, name)!r}")
        if not 0 <= self.chaos < 1 or self.expected < 2:
            raise DiscreetError("chaos is a share below 1, and a network has 2 members at least")


def limits(largest: int) -> list[tuple[str, Any]]:
    """Options of either end of a connection."""
    return [("grpc.max_receive_message_length", largest), ("grpc.max_send_message_length", largest),
            ("grpc.so_reuseport", 0)]  # fmt: skip


def open_channel(ring: Ring, peer: str, address: str, largest: int = 16 << 20) -> Any:
    """A channel to a peer, which must show the certificate of that name."""
    credentials = grpc.ssl_channel_credentials(ring.authority, ring.private, ring.certificate)
    quick = [("grpc.initial_reconnect_backoff_ms", 200), ("grpc.min_reconnect_backoff_ms", 200),
             ("grpc.max_reconnect_backoff_ms", 2000)]  # fmt: skip
    options = [*limits(largest), *quick, ("grpc.ssl_target_name_override", peer), ("grpc.enable_http_proxy", 0)]
    return grpc.aio.secure_channel(address, credentials, options=options)


async def ask(ring: Ring, node: str, address: str, method: str, timeout: float = 10.0) -> dict[str, Any]:
    """Ask a running node for its status, or the own one to leave."""
    async with open_channel(ring, node, address) as channel:
        try:
            answer = await channel.unary_unary(f"/{SERVICE}/{method}")(b"", timeout=timeout)
        except grpc.aio.AioRpcError as error:
            raise DiscreetError(f"node {node!r} at {address} does not answer: {error.details()}") from None
    found: dict[str, Any] = json.loads(answer)
    return found
