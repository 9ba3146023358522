"""Guards of HTTP servers: whoever sends slowly, or opens too many connections, makes room for others."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

SPARE = 64  # files that a process keeps for other things than connections


@dataclass(frozen=True)
class Limits:
    """What strangers may take of a server; seconds, and connections.

    A request's head must have come `head` seconds after the connection was made or its first byte came, and its body
    `body` seconds later. Where there are more connections than `all`, or than `each` from one address (0: no such
    limit), the one that has been sending the longest without coming to an end is dropped; if none is, the new one.
    """

    head: float = 10.0
    body: float = 40.0
    all: int = 16384
    each: int = 256

    @property
    def room(self) -> int:
        """Connections at once, as far as this process may open files; it asks for as many as it may have."""
        if resource is None:
            return self.all
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = self.all + SPARE
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with contextlib.suppress(OSError, ValueError):  # some systems have a lower limit of their own
                most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return self.all if soft == resource.RLIM_INFINITY else max(1, min(self.all, soft - SPARE))


class _Gathering:
    """All connections of a server; `dropped` and `refused` count what the guard did."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.room = limits, limits.room
        self.open: dict[Any, str] = {}  # in the order in which they began to receive
        self.each: Counter[str] = Counter()
        self.dropped = self.refused = 0

    def enter(self, one: Any, address: str) -> bool:
        """Let a connection in, if need be in the place of one that is slow; False if there is no room."""
        crowded = self.limits.each and self.each[address] >= self.limits.each
        if crowded or len(self.open) >= self.room:
            slow = next(
                (held for held, at in self.open.items() if held.receiving and (not crowded or at == address)), None
            )
            if slow is None:
                self.refused += 1
                return False
            self.drop(slow)
        self.open[one] = address
        self.each[address] += 1
        return True

    def again(self, one: Any) -> None:
        """A connection begins to receive anew: it is now the last in the line."""
        if one in self.open:
            self.open[one] = self.open.pop(one)

    def drop(self, one: Any) -> None:
        """Cut a connection off."""
        self.dropped += 1
        self.leave(one)
        one.transport.abort()

    def leave(self, one: Any) -> None:
        """Forget a connection."""
        address = self.open.pop(one, None)
        if address is not None:
            self.each[address] -= 1
            if not self.each[address]:
                del self.each[address]


def guarded(limits: Limits) -> tuple[type[Any], _Gathering]:
    """The class of uvicorn's connections with these limits, and what they have in common."""
    base: Any
    try:
        base = importlib.import_module("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    except ImportError:
        base = importlib.import_module("uvicorn.protocols.http.h11_impl").H11Protocol
    gathering = _Gathering(limits)

    class Guarded(base):
        """A connection that must come to an end with what it sends."""

        timer: asyncio.TimerHandle | None = None

        @property
        def receiving(self) -> bool:
            """Whether this connection has yet to send a request, or a part of one."""
            cycle = self.cycle
            return cycle is None or bool(cycle.response_complete) or bool(cycle.more_body)

        def connection_made(self, transport: Any) -> None:
            peer = transport.get_extra_info("peername")
            self.transport = transport
            if not gathering.enter(self, str(peer[0]) if peer else ""):
                transport.abort()
                return
            super().connection_made(transport)
            self._within(limits.head)

        def data_received(self, data: bytes) -> None:
            if self not in gathering.open:
                return
            before, waiting = self.cycle, self.receiving
            if self.timer is None and (before is None or before.response_complete):  # a further request begins
                gathering.again(self)
                self._within(limits.head)
            super().data_received(data)
            if self.cycle is not before:
                self._within(limits.body)
            if waiting and not self.receiving:
                self._within(None)

        def connection_lost(self, error: Exception | None) -> None:
            known = self in gathering.open or self.flow is not None
            self._within(None)
            gathering.leave(self)
            if known:
                super().connection_lost(error)

        def _within(self, seconds: float | None) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if seconds is not None:
                self.timer = self.loop.call_later(seconds, self._late)

        def _late(self) -> None:
            self.timer = None
            if self in gathering.open and self.receiving:
                gathering.drop(self)

    return Guarded, gathering
