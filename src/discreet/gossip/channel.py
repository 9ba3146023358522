"""Channels between gossip nodes: mutual TLS, and the certificate of the very peer that is called."""

from __future__ import annotations

import json
from typing import Any

import grpc

from discreet.errors import DiscreetError
from discreet.gossip.keys import Ring

SERVICE = "discreet.Gossip"


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
