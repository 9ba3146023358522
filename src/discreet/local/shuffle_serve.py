"""The HTTP shuffler: devices post reports here as to a collector, which gets them in mixed batches."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from discreet.errors import DiscreetError
from discreet.guard import Limits, guarded
from discreet.local.serve import listen
from discreet.local.shuffle import Shuffler
from discreet.local.site import BODY_SECONDS, KIND, MAX_BYTES

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
except ImportError:
    raise DiscreetError("the server needs more packages: pip install 'discreet[serve]'") from None

PAUSES = (1.0, 5.0, 30.0, 60.0)  # seconds between attempts to reach the collector
SECONDS = 60.0  # for one post


def pieces(batch: list[bytes], most: int = MAX_BYTES) -> list[bytes]:
    """The reports of a batch, in their order, in bodies of requests."""
    found, held = [bytearray()], 0
    for one in batch:
        if held and held + len(one) > most:
            found.append(bytearray())
            held = 0
        found[-1] += one
        held += len(one)
    return [bytes(one) for one in found]


def post(address: str, body: bytes) -> None:
    """Hand reports on; no header says where any of them came from."""
    request = urllib.request.Request(address, data=body, headers={"content-type": KIND, "user-agent": "shuffler"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        if answer.status != 200:
            raise urllib.error.URLError(f"status {answer.status}")


def check_collector(address: str) -> str:
    """The address to post to, out of that of a collector."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise DiscreetError(f"{address!r} is no address of a collector: write http://HOST:PORT or https://HOST")
    return address if parts.path.rstrip("/") else f"{address.rstrip('/')}/reports"


class ShufflerSite:
    """What the addresses of a shuffler answer, and the errand to the collector."""

    def __init__(self, shuffler: Shuffler, to: str, tell: Callable[[str], None], ready: Any = None) -> None:
        self.shuffler, self.to, self.tell, self.ready = shuffler, check_collector(to), tell, ready
        self.plan = (json.dumps(shuffler.campaign.to_dict(), ensure_ascii=False, indent=1) + "\n").encode()
        self.out: asyncio.Queue[list[bytes]] = asyncio.Queue()
        self.pauses = PAUSES

    def app(self) -> Starlette:
        """The ASGI application."""
        routes = [
            Route("/reports", self.reports, methods=["POST"]),
            Route("/campaign.json", self.campaign),
            Route("/healthz", self.health),
            Route("/status", self.status),
        ]
        return Starlette(routes=routes, lifespan=self.lifespan)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        errand = asyncio.create_task(self._carry())
        if self.ready is not None:
            self.ready()
        try:
            yield
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.out.join(), SECONDS)
            errand.cancel()

    async def _carry(self) -> None:
        """Bring batch after batch to the collector, as often as it takes: what came twice is counted once there."""
        while True:
            batch = await self.out.get()
            for body in pieces(batch):
                attempt = 0
                while True:
                    try:
                        await asyncio.to_thread(post, self.to, body)
                        break
                    except OSError as error:
                        self.tell(f"the collector cannot be reached ({type(error).__name__}): the batch waits")
                        await asyncio.sleep(self.pauses[min(attempt, len(self.pauses) - 1)])
                        attempt += 1
            self.out.task_done()

    async def reports(self, request: Request) -> Response:
        if request.headers.get("content-type", "").strip().lower() != KIND:
            return _refuse(415, f"reports are posted as {KIND}")
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        return _refuse(413, f"a request may have at most {MAX_BYTES} bytes: post smaller batches")
            found = await asyncio.to_thread(self.shuffler.add, bytes(body))
        except TimeoutError:
            return _refuse(408, f"the request did not end within {BODY_SECONDS:g} seconds: post smaller batches")
        except ClientDisconnect:
            return _refuse(400, "the request was broken off")
        except DiscreetError as error:
            return _refuse(503, str(error))
        try:
            batch = self.shuffler.batch()  # here, not in a thread: what is listed as out must not get lost on the way
        except DiscreetError as error:  # the reports were taken and wait: the next post tries again
            self.tell(str(error))
            batch = None
        if batch is not None:
            self.out.put_nowait(batch)
        return JSONResponse(found.to_dict())

    async def campaign(self, request: Request) -> Response:
        return Response(self.plan, media_type="application/json")

    async def health(self, request: Request) -> Response:
        return JSONResponse({"ok": True})

    async def status(self, request: Request) -> Response:
        """How far the next batch is; nothing of any report."""
        held = {
            "waiting": self.shuffler.waiting,
            "least": self.shuffler.least,
            "batches_on_their_way": self.out.qsize(),
        }
        return JSONResponse(held)


def _refuse(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status, headers={"connection": "close"})


def serve_shuffler(
    shuffler: Shuffler, to: str, *, host: str = "127.0.0.1", port: int = 8001, tell: Callable[[str], None],
    ready: Callable[[str], None] | None = None,
) -> int:  # fmt: skip
    """Serve until SIGINT or SIGTERM; returns how many reports waited for their batch in vain: they are not let out."""
    if not shuffler.lasting:
        raise DiscreetError("after a restart this shuffler would let reports out again: make it by Shuffler.kept")
    check_collector(to)
    bound = listen(host, port)
    try:
        shown = f"http://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
        site = ShufflerSite(shuffler, to, tell, ready and partial(ready, shown))
        guard, _ = guarded(Limits())
        settings = uvicorn.Config(
            site.app(), log_level="warning", access_log=False, server_header=False, proxy_headers=False, http=guard,
            ws="none", timeout_graceful_shutdown=30,
        )  # fmt: skip
        server = uvicorn.Server(settings)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[bound])
    finally:
        bound.close()
    return shuffler.waiting
