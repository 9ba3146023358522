"""The guard: slow and crowding connections make room, and honest posts go through."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")
from discreet.guard import Limits, guarded  # noqa: E402
from discreet.guard import server as server_of  # noqa: E402

ASK = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nx-slow: "


async def echo(scope, receive, send):
    """Answers with the number of bytes that came."""
    size, more = 0, True
    while more:
        event = await receive()
        size, more = size + len(event.get("body", b"")), event.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]})
    await send({"type": "http.response.body", "body": b"%8d" % size})


@contextlib.contextmanager
def serving(limits: Limits, app=echo) -> Iterator[tuple[tuple[str, int], object]]:
    guard, gathering = guarded(limits)
    bound = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", http=guard, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not server.started and time.monotonic() < end:
        time.sleep(0.01)
    try:
        yield bound.getsockname(), gathering
    finally:
        server.should_exit = True
        thread.join(30)
        bound.close()


def ask(address, raw=ASK, at="127.0.0.1"):
    """The first bytes of an answer; none if the connection was cut off."""
    one = socket.create_connection(address, 30, source_address=(at, 0))
    with contextlib.closing(one), contextlib.suppress(ConnectionError):
        one.sendall(raw)
        return one.recv(15)
    return b""


def ended(one: socket.socket, seconds: float) -> bool:
    """Whether the other side hangs up within that time."""
    one.settimeout(seconds)
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def test_heads_and_bodies_have_deadlines() -> None:
    with serving(Limits(head=0.3, body=0.6)) as (address, gathering):
        silent, slow, body, again = (socket.create_connection(address, 30) for _ in range(4))
        slow.sendall(HALF)
        body.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12")
        again.sendall(ASK)
        assert again.recv(1000).startswith(b"HTTP/1.1 200")
        again.sendall(HALF)  # the second request of a connection has a deadline as well
        assert all(ended(one, 20) for one in (silent, slow, body, again))
        assert gathering.dropped == 4 and not gathering.open and not gathering.each
        assert ask(address).startswith(b"HTTP/1.1 200")


def test_who_holds_many_connections_loses_the_oldest_and_others_get_in() -> None:
    with serving(Limits(head=60, all=40, each=20)) as (address, gathering):
        held = []
        for _ in range(60):  # from one address, all half sent
            held.append(socket.create_connection(address, 30, source_address=("127.0.0.2", 0)))
            held[-1].sendall(HALF)
        assert all(ended(one, 20) for one in held[:40]) and not ended(held[-1], 0.05)
        assert ask(address, at="127.0.0.3").startswith(b"HTTP/1.1 200")
        assert ask(address, at="127.0.0.2").startswith(b"HTTP/1.1 200")  # from the crowded address, too
        more = [socket.create_connection(address, 30, source_address=(f"127.0.0.{4 + i % 5}", 0)) for i in range(60)]
        assert ask(address, at="127.0.0.9").startswith(b"HTTP/1.1 200")  # where there is no room at all
        assert len(gathering.open) <= 40 and gathering.refused == 0
        for one in (*held, *more):
            one.close()


def test_a_head_comes_in_pieces_and_has_an_end() -> None:
    with serving(Limits(head=60)) as (address, gathering):
        for raw in (ASK, b"GET / HTTP/1.1\nhost: x\n\n"):
            one = socket.create_connection(address, 30)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for letter in raw:
                one.sendall(bytes([letter]))
            assert one.recv(8) == b"HTTP/1.1"
            one.close()
        one = socket.create_connection(address, 30)
        with contextlib.suppress(ConnectionError):
            for _ in range(40):
                one.sendall(b"x: " + b"y" * 4096 + b"\r\n")
        assert ended(one, 20) and gathering.dropped == 1
        both = socket.create_connection(address, 30)  # two requests at once are answered in turn
        both.sendall(ASK + ASK)
        told = b""
        while told.count(b"HTTP/1.1 200") < 2:
            told += both.recv(1000)
        both.close()


def flood(one: socket.socket, start: bytes, piece: bytes, pieces: int) -> bool:
    """Whether the other side hangs up on somebody who sends that many pieces."""
    one.settimeout(20)
    try:
        one.sendall(start)
        for _ in range(pieces):
            one.sendall(piece)
        while one.recv(1000):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("blank", [b"\r\n\r\n", b"\n\n", b"\r\n" * 9])
def test_blank_lines_are_no_head(blank: bytes) -> None:
    with serving(Limits(head=0.5)) as (address, gathering):
        one = socket.create_connection(address, 30)
        one.sendall(blank)
        assert ended(one, 20) and gathering.dropped == 1
        assert ask(address, blank + ASK).startswith(b"HTTP/1.1 200")
    with serving(Limits(head=60)) as (address, gathering):
        assert flood(socket.create_connection(address, 30), blank + HALF, b"y" * 4096, 100)
        assert gathering.dropped == 1


CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"


@pytest.mark.parametrize("start", [HALF, ASK[:-2] + b"x: ", CHUNKED + b"x: "], ids=["head", "fields", "trailers"])
def test_further_heads_and_trailers_have_an_end(start: bytes) -> None:
    with serving(Limits(head=60, body=60)) as (address, gathering):
        one = socket.create_connection(address, 30)
        one.sendall(ASK)
        assert one.recv(1000).startswith(b"HTTP/1.1 200")
        assert flood(one, start, b"y" * 4096, 100) and gathering.dropped == 1
        both = socket.create_connection(address, 30)  # and the second of two at once
        assert flood(both, ASK + start, b"y" * 4096, 100)


def test_bodies_and_many_requests_are_longer_than_heads() -> None:
    with serving(Limits()) as (address, gathering):
        one = socket.create_connection(address, 30)
        body = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 300000\r\n\r\n" + b"y" * 300000
        long = ASK[:-2] + b"x: " + b"y" * 30000 + b"\r\n\r\n"
        for raw, size in ((body, b"300000"), *[(long, b"0")] * 4, (body, b"300000")):
            one.sendall(raw)
            told = b""
            while not told.endswith(b"%8d" % int(size)):
                told += one.recv(1000)
        assert gathering.dropped == 0 and len(gathering.open) == 1
        one.close()


def test_whoever_is_being_answered_is_not_dropped() -> None:
    release = threading.Event()

    async def slow(scope, receive, send):
        await receive()
        while not release.is_set():
            await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    guard, gathering = guarded(Limits(head=60, each=3))
    bound = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(slow, log_level="error", http=guard, lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    waiting = [socket.create_connection(bound.getsockname(), 30) for _ in range(3)]
    for one in waiting:
        one.sendall(ASK)
    end = time.monotonic() + 30
    while sum(not one.receiving for one in list(gathering.open)) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert ask(bound.getsockname()) == b"" and gathering.refused == 1
    release.set()
    server.should_exit = True
    thread.join(30)
    bound.close()
    for one in waiting:
        one.close()


async def long(scope, receive, send):
    """Answers with more than anybody's buffers hold, or with what one buffer holds."""
    await receive()
    size = 1 << 16 if scope["path"] == "/" else 1 << 25
    length = [(b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    for _ in range(size >> 16):
        await send({"type": "http.response.body", "body": bytes(1 << 16), "more_body": True})
    await send({"type": "http.response.body", "body": b""})


LONG = b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n"


def until(true, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def unread(address, gathering, raw: bytes = LONG, at: str = "127.0.0.1") -> socket.socket:
    """A connection that asks and does not read."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.bind((at, 0))
    one.connect(address)
    before = len(gathering.answers.due)
    one.sendall(raw)
    assert until(lambda: len(gathering.answers.due) > before)
    return one


@pytest.mark.parametrize("raw", [LONG, ASK * 500], ids=["one", "pipelined"])
def test_answers_that_nobody_reads_have_a_deadline(raw: bytes) -> None:
    with serving(Limits(answer=0.5), long) as (address, gathering):
        one = unread(address, gathering, raw)
        assert until(lambda: gathering.dropped == 1 and not gathering.open and not gathering.answers.due)
        one.close()


def test_the_last_bytes_of_an_answer_have_a_deadline() -> None:
    from types import SimpleNamespace as Some

    async def close_with_bytes_left() -> None:
        guard, gathering = guarded(Limits(answer=0.2))
        transport = Some(left=1, open=True, get_extra_info=lambda name: None)
        transport.get_write_buffer_size, transport.is_closing = lambda: transport.left, lambda: not transport.open
        transport.close = transport.abort = lambda: setattr(transport, "open", False)
        transport.write, transport.set_protocol = (lambda data: None), (lambda to: setattr(transport, "to", to))
        settings = uvicorn.Config(echo, log_level="error", http=guard, lifespan="off", ws="none")
        settings.load()
        door = guard(settings, uvicorn.server.ServerState(), {})
        door.connection_made(transport)
        door.data_received(b"no request\r\n\r\n")  # refused, and closed
        assert not transport.open and transport.to in gathering.answers.due
        while gathering.open:
            await asyncio.sleep(0.01)
        assert gathering.dropped == 1

    asyncio.run(asyncio.wait_for(close_with_bytes_left(), 20))


def test_whoever_reads_an_answer_slowly_gets_it_whole() -> None:
    with serving(Limits(answer=20), long) as (address, gathering):
        one = unread(address, gathering)
        left = (1 << 25) + 1
        while left > 1 << 16:
            left -= len(one.recv(1 << 20))
        assert gathering.dropped == 0 and until(lambda: not gathering.answers.due)
        one.close()


def test_unread_answers_make_room() -> None:
    with serving(Limits(answer=60, each=2), long) as (address, gathering):
        first, second = (unread(address, gathering) for _ in range(2))
        assert ask(address).startswith(b"HTTP/1.1 200") and gathering.dropped == 1 and gathering.refused == 0
        first.close()
        second.close()


def test_a_server_that_ends_does_not_wait_for_unread_answers(monkeypatch) -> None:
    monkeypatch.setattr("discreet.guard.PARTING", 0.2)
    with serving(Limits(answer=60), long) as (address, gathering):
        one = unread(address, gathering)
    assert gathering.dropped == 1 and not gathering.open  # the server has ended within its time
    one.close()


def test_hands_are_shaken_in_time(tmp_path) -> None:
    from tests.local.test_serve_process import certificate

    certificate(tmp_path)
    limits = Limits(head=1.0)
    guard, _ = guarded(limits)
    bound = socket.create_server(("127.0.0.1", 0))
    files = {"ssl_certfile": str(tmp_path / "cert.pem"), "ssl_keyfile": str(tmp_path / "key.pem")}
    settings = uvicorn.Config(echo, log_level="critical", http=guard, lifespan="off", ws="none", **files)
    made = server_of(settings, limits)
    thread = threading.Thread(target=made.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    silent = socket.create_connection(bound.getsockname(), 30)
    assert ended(silent, 20)
    raw = socket.create_connection(bound.getsockname(), 30)
    with ssl._create_unverified_context().wrap_socket(raw) as one:
        one.sendall(ASK)
        assert one.recv(8) == b"HTTP/1.1"
    made.should_exit = True
    thread.join(30)
    bound.close()


def test_a_server_asks_for_as_many_files_as_it_may_have():
    resource = pytest.importorskip("resource")
    code = (
        "import resource; from discreet.guard import Limits;"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1];"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard));"
        "print(Limits(all=700).room, resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 764:
        pytest.skip("this process may not open so many files")
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["700", "764"]
