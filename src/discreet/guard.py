"""Guards of HTTP servers: whoever sends slowly, or opens too many connections, makes room for others."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import math
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

SPARE = 64  # files that a process keeps for other things than connections
COARSE = 20  # looks at a line of deadlines while one of them passes
PARTING = 3.0  # seconds
MOST_HEAD = 1 << 16  # bytes
END = re.compile(rb"\n\r?\n")  # of a head


@dataclass(frozen=True)
class Limits:
    """What strangers may take of a server; seconds, and connections.

    A request's head must have come `head` seconds after the connection was made or its first byte came, its body `body`
    seconds later, and whoever is sent an answer must read more of it within `answer` seconds. Where there are more
    connections than `all`, or than `each` from one address (0: no such limit), the one that has been sending the
    longest without coming to an end is dropped; if none is, the one that has left its answer unread the longest; if
    none has, the new one.
    """

    head: float = 10.0
    body: float = 40.0
    answer: float = 60.0
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


class _Line:
    """Connections that have equally long to come to an end, who began first in front; one timer watches over all."""

    def __init__(self, seconds: float, late: Callable[[Any], None]) -> None:
        self.seconds, self.late = seconds, late
        self.due: OrderedDict[Any, float] = OrderedDict()  # a plain dict looks for its front at the cost of its past
        self.watching = False

    def put(self, one: Any) -> None:
        """Give a connection its time, from now on."""
        loop = asyncio.get_running_loop()
        self.due[one] = loop.time() + self.seconds
        self.due.move_to_end(one)
        if not self.watching:
            self.watching = True
            loop.call_later(self.seconds, self._look, loop)

    def take(self, one: Any) -> None:
        """A connection has come to its end in time, or is gone."""
        self.due.pop(one, None)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        while self.due:
            one, due = next(iter(self.due.items()))
            if due > now:
                break
            del self.due[one]
            self.late(one)
        self.watching = bool(self.due)
        if self.due:
            loop.call_later(max(due - now, self.seconds / COARSE), self._look, loop)


class _Gathering:
    """All connections of a server; `dropped` and `refused` count what the guard did."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.room = limits, limits.room
        self.open: OrderedDict[Any, str] = OrderedDict()  # in the order in which they began to receive
        self.each: dict[str, dict[Any, None]] = {}  # and those of each address
        self.heads, self.bodies = _Line(limits.head, self._late), _Line(limits.body, self._late)
        self.answers = _Line(limits.answer, self._unread)
        self.dropped = self.refused = 0

    def enter(self, one: Any, address: str) -> bool:
        """Let a connection in, if need be in the place of one that is slow; False if there is no room."""
        own = self.each.get(address, {})
        crowded = self.limits.each and len(own) >= self.limits.each
        if crowded or len(self.open) >= self.room:
            slow = next((held for held in (own if crowded else self.open) if held.receiving), None)
            if slow is None:
                slow = next((held for held in self.answers.due if not crowded or held in own), None)
            if slow is None:
                self.refused += 1
                return False
            self.drop(slow)
        self.open[one] = address
        self.each.setdefault(address, {})[one] = None
        self.heads.put(one)
        return True

    def again(self, one: Any) -> None:
        """A connection begins to receive anew: it is now the last in the line."""
        if one in self.open:
            self.open.move_to_end(one)
            own = self.each[self.open[one]]
            own[one] = own.pop(one)

    def become(self, door: Any, one: Any) -> None:
        """A connection goes on as another object."""
        address = self.open[door]
        self.leave(door)
        self.open[one] = address
        self.each.setdefault(address, {})[one] = None

    def drop(self, one: Any) -> None:
        """Cut a connection off."""
        self.dropped += 1
        self.leave(one)
        one.transport.abort()

    def leave(self, one: Any) -> None:
        """Forget a connection."""
        self.heads.take(one)
        self.bodies.take(one)
        self.answers.take(one)
        address = self.open.pop(one, None)
        if address is not None:
            own = self.each[address]
            del own[one]
            if not own:
                del self.each[address]

    def _late(self, one: Any) -> None:
        if one in self.open and one.receiving:
            self.drop(one)

    def _unread(self, one: Any) -> None:
        if one in self.open:
            self.drop(one)


async def listening(start: Callable[..., Any], limits: Limits, sockets: list[Any] | None) -> None:
    """Let a server of TLS start, and hands be shaken within the time of a head: uvicorn has no such setting."""
    loop: Any = asyncio.get_running_loop()
    loop.create_server = partial(loop.create_server, ssl_handshake_timeout=limits.head)
    try:
        await start(sockets)
    finally:
        del loop.create_server


def server(settings: Any, limits: Limits) -> Any:
    """A server of uvicorn with these settings."""
    made = importlib.import_module("uvicorn").Server(settings)
    if settings.is_ssl:
        made.startup = partial(listening, made.startup, limits)
    return made


def guarded(limits: Limits) -> tuple[type[Any], _Gathering]:
    """The class of uvicorn's connections with these limits, and what they have in common.

    A connection is a buffer until its first head is whole: whoever holds thousands without sending one has thousands of
    buffers, and none of the parsers, flows and scopes that a request needs.
    """
    base: Any
    try:
        base = importlib.import_module("uvicorn.protocols.http.httptools_impl").HttpToolsProtocol
    except ImportError:
        base = importlib.import_module("uvicorn.protocols.http.h11_impl").H11Protocol
    most = MOST_HEAD if hasattr(base, "on_body") else math.inf  # h11 has a limit of its own
    gathering = _Gathering(limits)

    class Guarded(base):
        """A connection that has sent a head, and must come to an end with what it sends."""

        loose = 0  # bytes since the last whole head or piece of a body: a parser keeps them, whatever their number

        @property
        def receiving(self) -> bool:
            """Whether this connection has yet to send a request, or a part of one."""
            cycle = self.cycle
            return cycle is None or bool(cycle.response_complete) or bool(cycle.more_body)

        def data_received(self, data: bytes) -> None:
            if self not in gathering.open:
                return
            before, waiting = self.cycle, self.receiving
            # A further request begins.
            if self not in gathering.heads.due and before is not None and before.response_complete:
                gathering.again(self)
                gathering.heads.put(self)
            self.loose += len(data)
            super().data_received(data)
            if self.cycle is not before:
                self.loose = 0
                gathering.heads.take(self)
                if self.receiving and self in gathering.open:
                    gathering.bodies.put(self)
            if waiting and not self.receiving:
                gathering.heads.take(self)
                gathering.bodies.take(self)
            if self.loose > most and self in gathering.open:
                gathering.drop(self)

        def on_body(self, body: bytes) -> None:
            self.loose = 0
            super().on_body(body)

        def pause_writing(self) -> None:
            """More of an answer is left than the other side reads for now."""
            super().pause_writing()
            if self in gathering.open:
                gathering.answers.put(self)

        def resume_writing(self) -> None:
            gathering.answers.take(self)
            super().resume_writing()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.transport.is_closing():
                self._linger()

        def timeout_keep_alive_handler(self) -> None:
            super().timeout_keep_alive_handler()
            self._linger()

        def send_400_response(self, msg: str) -> None:
            super().send_400_response(msg)
            self._linger()

        def _linger(self) -> None:
            """What is closed stays open until the last bytes of its answer are read."""
            if self in gathering.open and self not in gathering.answers.due and self.transport.get_write_buffer_size():
                gathering.answers.put(self)

        def shutdown(self) -> None:
            """The server ends, and waits but shortly for those who leave their answers unread."""
            super().shutdown()
            self._linger()
            asyncio.get_running_loop().call_later(PARTING, self._part)

        def _part(self) -> None:
            if self in gathering.answers.due:
                gathering.drop(self)

    class Door(asyncio.Protocol):
        """A connection whose first head is not whole."""

        __slots__ = ("config", "head", "server_state", "state", "transport")
        receiving = True

        def __init__(self, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
            self.config, self.server_state, self.state = config, server_state, app_state
            self.head = bytearray()
            self.transport: Any = None

        def connection_made(self, transport: Any) -> None:
            peer = transport.get_extra_info("peername")
            self.transport = transport
            if gathering.enter(self, str(peer[0]) if peer else ""):
                self.server_state.connections.add(self)
            else:
                transport.abort()

        def data_received(self, data: bytes) -> None:
            if self not in gathering.open:
                return
            if not self.head:
                data = data.lstrip(b"\r\n")  # the parser passes over blank lines: they end no head
            looked = max(0, len(self.head) - 2)
            self.head += data
            if END.search(self.head, looked):
                self._enter()
            elif len(self.head) > MOST_HEAD:
                gathering.drop(self)

        def _enter(self) -> None:
            """Go on as one of uvicorn's connections."""
            one = Guarded(self.config, self.server_state, self.state)
            self.server_state.connections.discard(self)
            gathering.become(self, one)
            self.transport.set_protocol(one)
            one.connection_made(self.transport)
            one.data_received(bytes(self.head))
            if one.cycle is None and one in gathering.open:  # what looked like a head was none
                gathering.heads.put(one)

        def connection_lost(self, error: Exception | None) -> None:
            self.server_state.connections.discard(self)
            gathering.leave(self)

        def shutdown(self) -> None:
            """The server ends."""
            self.transport.close()

    return Door, gathering
