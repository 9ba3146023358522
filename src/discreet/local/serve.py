"""The HTTP collector: devices post reports here; what is acknowledged is on disk and counted once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import signal
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.guard import Limits, guarded
from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from discreet.local.javascript import client_module
from discreet.local.openapi import document
from discreet.local.store import Store
from discreet.local.writer import Trouble, Writer

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.cors import CORSMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route
except ImportError:
    raise DiscreetError("the server needs more packages: pip install 'discreet[serve]'") from None

MAX_BYTES = 1 << 20
ROOM = 64 << 20
BODY_SECONDS = 30.0
KIND = "application/octet-stream"
TOKEN = "discreet-token"  # the header of a token, which is never kept beside a report
PROBED = 1.0  # seconds for which a look at the disk holds
_PLAIN = {"x-content-type-options": "nosniff"}


def make_app(
    collector: Collector,
    *,
    max_bytes: int = MAX_BYTES,
    room: int | None = None,
    cors: Sequence[str] = (),
    ready: Callable[[], None] | None = None,
    watched: Callable[[], dict[str, int]] = dict,
) -> Starlette:
    """The ASGI application of a collector that has a campaign; it closes the collector when it ends.

    `room` is how many bytes may be on their way to the disk at once; beyond it senders are asked to come again. `cors`
    are the web sites whose pages may post, beside the server's own. `watched` counts what a guard of connections did.
    """
    if collector.campaign is None:
        raise DiscreetError("a server needs a campaign, so that devices know what to report: Collector(Campaign(...))")
    if not 1 <= max_bytes <= ROOM:
        raise DiscreetError(f"a request may have from 1 to {ROOM} bytes, not {max_bytes}")
    site = _Site(collector, max_bytes, max(ROOM, 4 * max_bytes) if room is None else room, cors, ready, watched)
    middleware = [
        Middleware(
            CORSMiddleware,
            allow_origins=list(cors),
            allow_methods=["GET", "POST"],
            allow_headers=["content-type", TOKEN],
        )
    ]
    return Starlette(
        routes=[
            Route("/reports", site.reports, methods=["POST"]),
            Route("/status", site.status),
            Route("/", site.status),
            Route("/campaign.json", site.campaign),
            Route("/client.mjs", site.client),
            Route("/healthz", site.health),
            Route("/metrics", site.metrics),
            Route("/openapi.json", site.openapi),
        ],
        middleware=middleware if cors else [],
        exception_handlers={404: _http_error, 405: _http_error},
        lifespan=site.lifespan,
    )


class _Site:
    """What the addresses answer."""

    def __init__(
        self,
        collector: Collector,
        max_bytes: int,
        room: int,
        cors: Sequence[str],
        ready: Callable[[], None] | None,
        watched: Callable[[], dict[str, int]],
    ) -> None:
        assert collector.campaign is not None
        self.collector, self.max_bytes, self.ready, self.watched = collector, max_bytes, ready, watched
        self.origins = {one.rstrip("/").lower() for one in cors}
        self.answers: Counter[int] = Counter()
        self.probed: tuple[float, str | None] = (-math.inf, None)
        self.plan: Campaign = collector.campaign
        self.plan_text = (json.dumps(self.plan.to_dict(), ensure_ascii=False, indent=1) + "\n").encode()
        self.writer = Writer(collector, room=room, tell=Trouble("disk"))

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        warm(self.plan)
        if self.ready is not None:
            self.ready()
        try:
            yield
        finally:
            await self.writer.stop()
            self.collector.close()

    async def reports(self, request: Request) -> Response:
        answer = await self._reports(request)
        self.answers[answer.status_code] += 1
        return answer

    def _foreign(self, request: Request) -> bool:
        """Whether a page of a web site sends this that was not named."""
        origin = request.headers.get("origin", "").lower()
        own = {f"{scheme}://{request.headers.get('host', '').lower()}" for scheme in ("http", "https")}
        return bool(origin) and "*" not in self.origins and origin not in self.origins | own

    async def _reports(self, request: Request) -> Response:
        if self._foreign(request):
            return _refuse(403, "pages of this web site may not post here")
        # Other pages may send plain texts and forms without asking first, but not this.
        if request.headers.get("content-type", "").strip().lower() != KIND:
            return _refuse(415, f"reports are posted as {KIND}")
        if request.headers.get("content-encoding", "identity") != "identity":
            return _refuse(415, "reports are posted as they are: do not compress them")
        length = request.headers.get("content-length", "")
        if length.isdigit() and int(length) > self.max_bytes:
            return self._too_large()
        held = 0
        try:
            body = bytearray()
            async with asyncio.timeout(BODY_SECONDS):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > self.max_bytes:
                        return self._too_large()
                    if not self.writer.reserve(len(chunk)):
                        return _refuse(503, "too many reports are waiting: try again", **{"retry-after": "1"})
                    held += len(chunk)
                    body += chunk
            found = await self.writer.submit(bytes(body), request.headers.get(TOKEN, ""))
        except TimeoutError:
            return _refuse(408, f"the request did not end within {BODY_SECONDS:g} seconds: post smaller batches")
        except ClientDisconnect:
            return _refuse(400, "the request was broken off")
        except DiscreetError:
            return _refuse(503, "the reports could not be kept: post them again later", **{"retry-after": "10"})
        finally:
            self.writer.release(held)
        return _json(found.to_dict())

    def _too_large(self) -> Response:
        return _refuse(413, f"a request may have at most {self.max_bytes} bytes: post the reports in smaller batches")

    async def status(self, request: Request) -> Response:
        facts = self._facts()
        if "text/html" in request.headers.get("accept", ""):
            style = "default-src 'none'; style-src 'unsafe-inline'"
            return HTMLResponse(page(facts), headers={**_PLAIN, "content-security-policy": style, "vary": "accept"})
        return _json(facts, vary="accept")

    def _facts(self) -> dict[str, Any]:
        return {
            "accepted": self.collector.accepted,
            "rejected": self.collector.rejected,
            "epsilon": float(self.plan.epsilon),
            "reports_per_person": self.plan.reports,
            "since": self.collector.since,
            "schema_hash": self.plan.schema.hash,
            "max_bytes": self.max_bytes,
            "questions": self.plan.describe(),
        }

    async def campaign(self, request: Request) -> Response:
        return Response(self.plan_text, media_type="application/json", headers=_PLAIN)

    async def client(self, request: Request) -> Response:
        try:
            text = client_module()
        except OSError:
            return _refuse(404, "this installation has no JavaScript client")
        return Response(text, media_type="text/javascript", headers=_PLAIN)

    async def health(self, request: Request) -> Response:
        if await self._trouble() is not None:
            return _refuse(503, "reports cannot be kept now")
        return _json({"ok": True})

    async def _trouble(self) -> str | None:
        """What keeps reports from being kept, found out by writing; asked often, it looks once a second."""
        now = time.monotonic()
        if now - self.probed[0] > PROBED:
            self.probed = now, await asyncio.to_thread(self.writer.probe)
        return self.probed[1]

    async def metrics(self, request: Request) -> Response:
        """Counts for Prometheus: those of /status, answers, bytes under way and the disk; nothing of single reports."""
        healthy = await self._trouble() is None
        fates = {"accepted": self.collector.accepted, **self.collector.rejected}
        lines = [
            *_metric("reports_total", "counter", "Reports by what became of them.", "fate", fates),
            *_metric("posts_total", "counter", "Posts of reports by the status answered.", "status", self.answers),
            *_metric("guard_total", "counter", "Connections that were cut off or turned away.", "did", self.watched()),
            *_metric(
                "bytes_waiting", "gauge", "Bytes of reports on their way to the disk.", "", {"": self.writer.held}
            ),
            *_metric("healthy", "gauge", "Whether reports can be kept.", "", {"": int(healthy)}),
        ]
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4", headers=_PLAIN)

    async def openapi(self, request: Request) -> Response:
        return _json(document(self.max_bytes))


def _metric(name: str, kind: str, about: str, label: str, counts: Mapping[Any, int]) -> list[str]:
    """The lines of one metric in the format of Prometheus."""
    name = f"discreet_collector_{name}"
    shown = [f'{name}{{{label}="{key}"}} {count}' if label else f"{name} {count}" for key, count in counts.items()]
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *shown]


def _json(content: Any, status: int = 200, **headers: str) -> Response:
    return JSONResponse(content, status, headers={**_PLAIN, "cache-control": "no-store", **headers})


def _refuse(status: int, sentence: str, **headers: str) -> Response:
    """An answer before the request was read to its end: the connection is not used again."""
    return _json({"error": sentence}, status, **headers, connection="close")


async def _http_error(request: Request, error: Any) -> Response:
    sentence = {404: "there is nothing at this address", 405: "this address takes another method: POST /reports"}
    return _json({"error": sentence[error.status_code]}, error.status_code, **(error.headers or {}))


def warm(campaign: Campaign) -> None:
    """Compile every loop that reports of this campaign need, before the first one comes."""
    codes = {one.mechanism.code: one.mechanism for one in campaign.questions}
    for mechanism in codes.values():
        mechanism.support(mechanism.decode(np.zeros((1, mechanism.width), np.uint8))[0])
    with Collector(campaign) as spare:
        spare.add_buffers([b"", b"\0"])


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound, or one sentence why not."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=both)
    except (OSError, OverflowError) as error:
        raise DiscreetError(f"cannot listen on {host} port {port}: {error}") from None


def serve(
    campaign: Campaign,
    store: str | os.PathLike[str] | Store | None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    max_bytes: int = MAX_BYTES,
    cors: Sequence[str] = (),
    tls_cert: str | os.PathLike[str] | None = None,
    tls_key: str | os.PathLike[str] | None = None,
    access_log: bool = False,
    max_reports: int | None = None,
    tokens: bool = False,
    limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> Collector:
    """Serve until SIGINT or SIGTERM, then finish what was begun; `ready` is called with the address."""
    secure: dict[str, Any] = {}
    if tls_cert is not None or tls_key is not None:
        if tls_cert is None or tls_key is None:
            raise DiscreetError("TLS needs both a certificate and a key")
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls_cert, tls_key)
        except (OSError, ssl.SSLError) as error:
            raise DiscreetError(f"the TLS certificate {tls_cert} and key {tls_key} cannot be used: {error}") from None
        secure = {"ssl_certfile": os.fspath(tls_cert), "ssl_keyfile": os.fspath(tls_key)}
    bound = listen(host, port)
    try:
        collector = Collector(campaign, store=store, max_reports=max_reports, tokens=tokens)
        guard, gathering = guarded(limits or Limits())
        shown = f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"
        app = make_app(
            collector, max_bytes=max_bytes, cors=cors, ready=ready and partial(ready, shown),
            watched=lambda: {"dropped": gathering.dropped, "refused": gathering.refused},
        )  # fmt: skip
        settings = uvicorn.Config(
            app, log_level="warning", access_log=access_log, server_header=False, proxy_headers=False, http=guard,
            timeout_graceful_shutdown=30, timeout_keep_alive=15, ws="none", **secure,
        )  # fmt: skip
        server = uvicorn.Server(settings)
        for number in (signal.SIGINT, signal.SIGTERM):  # before and after the server listens to them itself
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[bound])
    finally:
        bound.close()
    return collector


# ---- the status page: how a collection is going, for people; nothing about any single report

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid #8884; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.big { font-size: 2.5rem; font-weight: 600; margin: .5rem 0 0; }
"""
_REASONS = {
    "malformed": "damaged, or not what the mechanism could have said",
    "foreign": "about another schema",
    "unexpected": "of another design than this collection's",
    "replayed": "counted before",
}


def page(facts: dict[str, Any]) -> str:
    """A whole HTML page."""
    rejected = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_REASONS[name])}</td><td class=n>{count:,}</td></tr>"
        for name, count in facts["rejected"].items()
    )
    asked = "".join(
        f"<tr><th>{escape(str(one['about']))}</th><td>{escape(one['mechanism'])}</td>"
        f"<td class=n>{one['bytes']}</td></tr>"
        for one in facts["questions"]
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Collection of private reports</title><style>{_STYLE}</style><h1>Collection of private reports</h1>"
        f"<p class=big>{facts['accepted']:,}</p><p>reports accepted since {escape(facts['since'])}, each with "
        f"ε = {facts['epsilon']:g}. Every device randomises what it says before sending it.</p>"
        f"<h2>Rejected</h2><table>{rejected}</table>"
        "<h2>What is asked</h2><p>Each person is asked about "
        f"{facts['reports_per_person']} of these, drawn at random.</p>"
        f"<table><tr><th>about</th><th>mechanism</th><th>bytes</th></tr>{asked}</table>"
        f"<p>schema {escape(facts['schema_hash'][:16])}… · <a href=campaign.json>campaign.json</a></p></html>"
    )
