"""One collection on the web: what its addresses answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from discreet.local.openapi import document
from discreet.local.pages import STATUS_HEADERS, page
from discreet.local.participants import HEADERS, Page, asset
from discreet.local.writer import Trouble, Writer

try:
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
Metric = tuple[str, str, str, str, Mapping[Any, int]]  # name, kind, what it is, the label, and the counts by label


class Site:
    """The addresses of one collection: `room` bytes may be on their way to the disk, pages of `cors` may post."""

    def __init__(
        self,
        collector: Collector,
        *,
        max_bytes: int = MAX_BYTES,
        room: int | None = None,
        cors: Sequence[str] = (),
        page: Page | None = None,
        title: str = "",
        watched: Callable[[], dict[str, int]] = dict,
    ) -> None:
        if collector.campaign is None:
            raise DiscreetError(
                "a server needs a campaign, so that devices know what to report: Collector(Campaign(...))"
            )
        if not 1 <= max_bytes <= ROOM:
            raise DiscreetError(f"a request may have from 1 to {ROOM} bytes, not {max_bytes}")
        self.collector, self.max_bytes, self.page, self.watched = collector, max_bytes, page, watched
        self.title, self.cors = title, tuple(cors)
        self.origins = {one.rstrip("/").lower() for one in cors}
        self.answers: Counter[int] = Counter()
        self.probed: tuple[float, str | None] = (-math.inf, None)
        self.plan: Campaign = collector.campaign
        self.plan_text = (json.dumps(self.plan.to_dict(), ensure_ascii=False, indent=1) + "\n").encode()
        room = max(ROOM, 4 * max_bytes) if room is None else room
        self.writer = Writer(collector, room=room, tell=Trouble("disk"))

    def routes(self) -> list[Route]:
        """Where everything is."""
        files = [Route(f"/{name}", self.file) for name in ("client.mjs", "page.mjs", "page.css")]
        return [
            Route("/reports", self.reports, methods=["POST"]),
            Route("/status", self.status),
            Route("/", self.home),
            Route("/campaign.json", self.campaign),
            *files,
            Route("/healthz", self.health),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
        ]

    def middleware(self) -> list[Middleware]:
        """What lets pages of other web sites read the answers, if any may."""
        allowed: dict[str, Any] = {"allow_methods": ["GET", "POST"], "allow_headers": ["content-type", TOKEN]}
        return [Middleware(CORSMiddleware, allow_origins=list(self.cors), **allowed)] if self.cors else []

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Take reports inside this block; at its end finish what was begun, and close the collector."""
        warm(self.plan)
        try:
            yield
        finally:
            await self.writer.stop()
            self.collector.close()

    async def reports(self, request: Request) -> Response:
        reply = await self._reports(request)
        self.answers[reply.status_code] += 1
        return reply

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
        return answer(found.to_dict())

    def _too_large(self) -> Response:
        return _refuse(413, f"a request may have at most {self.max_bytes} bytes: post the reports in smaller batches")

    async def home(self, request: Request) -> Response:
        """The participants' page, if there is one and a person asks."""
        if self.page is not None and wants_page(request):
            return HTMLResponse(self.page.html, headers={**_PLAIN, **HEADERS, "vary": "accept"})
        return await self.status(request)

    async def status(self, request: Request) -> Response:
        facts = self.facts()
        if wants_page(request):
            return HTMLResponse(page(facts), headers={**_PLAIN, **STATUS_HEADERS, "vary": "accept"})
        return answer(facts, vary="accept")

    def facts(self) -> dict[str, Any]:
        """How the collection is going."""
        return {
            "accepted": self.collector.accepted,
            "rejected": self.collector.rejected,
            "epsilon": float(self.plan.epsilon),
            "reports_per_person": self.plan.reports,
            "since": self.collector.since,
            "schema_hash": self.plan.schema.hash,
            "max_bytes": self.max_bytes,
            "questions": self.plan.describe(),
            **({"title": self.title} if self.title else {}),
        }

    async def campaign(self, request: Request) -> Response:
        return Response(self.plan_text, media_type="application/json", headers=_PLAIN)

    async def file(self, request: Request) -> Response:
        """The client, and what the participants' page loads."""
        name = request.url.path.rsplit("/", 1)[1]
        try:
            text = asset(name)
        except OSError:
            return _refuse(404, f"this installation has no {name}")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(text, media_type=kind, headers=_PLAIN)

    async def health(self, request: Request) -> Response:
        if await self.trouble() is not None:
            return _refuse(503, "reports cannot be kept now")
        return answer({"ok": True})

    async def trouble(self) -> str | None:
        """What keeps reports from being kept, found out by writing; asked often, it looks once a second."""
        now = time.monotonic()
        if now - self.probed[0] > PROBED:
            self.probed = now, await asyncio.to_thread(self.writer.probe)
        return self.probed[1]

    async def metrics(self, request: Request) -> Response:
        """Counts for Prometheus: those of /status, answers, bytes under way and the disk; nothing of single reports."""
        lines = [line for metric in await self.counts() for line in written(metric)]
        guard = ("guard_total", "counter", "Connections that were cut off or turned away.", "did", self.watched())
        return prometheus([*lines, *written(guard)])

    async def counts(self) -> list[Metric]:
        """What there is to count about this collection."""
        healthy = await self.trouble() is None
        fates = {"accepted": self.collector.accepted, **self.collector.rejected}
        return [
            ("reports_total", "counter", "Reports by what became of them.", "fate", fates),
            ("posts_total", "counter", "Posts of reports by the status answered.", "status", self.answers),
            ("bytes_waiting", "gauge", "Bytes of reports on their way to the disk.", "", {"": self.writer.held}),
            ("healthy", "gauge", "Whether reports can be kept.", "", {"": int(healthy)}),
        ]

    async def openapi(self, request: Request) -> Response:
        return answer(document(self.max_bytes))


def wants_page(request: Request) -> bool:
    """Whether a person asks, and not a program."""
    return "text/html" in request.headers.get("accept", "")


def written(metric: Metric, **named: str) -> list[str]:
    """The lines of one metric in the format of Prometheus."""
    name, kind, about, label, counts = metric
    name = f"discreet_collector_{name}"
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for key, count in counts.items():
        labels = ",".join(f'{one}="{value}"' for one, value in {**named, **({label: key} if label else {})}.items())
        lines.append(f"{name}{{{labels}}} {count}" if labels else f"{name} {count}")
    return lines


def prometheus(lines: list[str]) -> Response:
    """Lines of metrics as an answer; what a metric is stands before its first line alone."""
    lines = list(dict.fromkeys(lines))
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4", headers=_PLAIN)


def answer(content: Any, status: int = 200, **headers: str) -> Response:
    """Plain values as JSON."""
    return JSONResponse(content, status, headers={**_PLAIN, "cache-control": "no-store", **headers})


def _refuse(status: int, sentence: str, **headers: str) -> Response:
    """An answer before the request was read to its end: the connection is not used again."""
    return answer({"error": sentence}, status, **headers, connection="close")


def warm(campaign: Campaign) -> None:
    """Compile every loop that reports of this campaign need, before the first one comes."""
    codes = {one.mechanism.code: one.mechanism for one in campaign.questions}
    for mechanism in codes.values():
        mechanism.support(mechanism.decode(np.zeros((1, mechanism.width), np.uint8))[0])
    with Collector(campaign) as spare:
        spare.add_buffers([b"", b"\0"])
