"""The HTTP collector: devices post reports here; what is acknowledged is on disk and counted once."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from discreet.errors import DiscreetError
from discreet.guard import Limits, guarded
from discreet.guard import server as server_of
from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from discreet.local.pages import STATUS_HEADERS, index, page
from discreet.local.participants import Page, asset
from discreet.local.site import MAX_BYTES, Site, answer, prometheus, wants_page, written
from discreet.local.store import Store

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import BaseRoute, Mount, Route
except ImportError:
    raise DiscreetError("the server needs more packages: pip install 'discreet[serve]'") from None

__all__ = ["Hosted", "listen", "make_app", "page", "serve"]
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
TAKEN = ("reports", "status", "healthz", "metrics")  # addresses of the server's own


@dataclass(frozen=True)
class Hosted:
    """A campaign that a server runs: its store, who may post how much, and its participants' page, if it has one.

    `title` and `about` (paragraphs, apart by an empty line) are what the page says first: who asks, and why.
    """

    campaign: Campaign
    store: str | os.PathLike[str] | Store | None = None
    page: bool = False
    title: str = ""
    about: str = ""
    max_bytes: int = MAX_BYTES
    max_reports: int | None = None
    tokens: bool = False
    cors: Sequence[str] = ()

    def site(self, watched: Callable[[], dict[str, int]] = dict) -> Site:
        """Its addresses, with the collector behind them."""
        shown = Page(self.campaign, title=self.title, about=self.about, tokens=self.tokens) if self.page else None
        collector = Collector(self.campaign, store=self.store, max_reports=self.max_reports, tokens=self.tokens)
        try:
            return Site(
                collector, max_bytes=self.max_bytes, cors=self.cors, page=shown, title=self.title, watched=watched
            )
        except BaseException:
            collector.close()
            raise


def make_app(
    collector: Collector | Mapping[str, Site],
    *,
    root: str | None = None,
    ready: Callable[[], None] | None = None,
    watched: Callable[[], dict[str, int]] = dict,
    **settings: Any,
) -> Starlette:
    """The ASGI application of a collector that has a campaign; it closes the collector when it ends.

    `settings` are those of `Site`: `max_bytes`, `room`, `cors`, `page`. Of several sites each has its name as a folder,
    and the one called `root` answers at the addresses of a server that runs it alone, too. `watched` counts what a
    guard of connections did.
    """
    if isinstance(collector, Collector):
        alone = Site(collector, watched=watched, **settings)
        return _app([alone], alone.routes(), ready, middleware=alone.middleware())
    for name in collector:
        if not NAME.fullmatch(name) or name in TAKEN:
            raise DiscreetError(
                f"{name!r} cannot be a campaign's name in an address: use small letters, digits and hyphens, and none "
                f"of {', '.join(TAKEN)}"
            )
    if not collector or (root is not None and root not in collector):
        raise DiscreetError("there is no campaign to serve" if not collector else f"there is no campaign {root!r}")
    routes: list[BaseRoute] = [*_Several(collector, watched).routes()]
    routes += [Mount(f"/{name}", routes=one.routes(), middleware=one.middleware()) for name, one in collector.items()]
    if root is not None:
        routes.append(Mount("", routes=collector[root].routes(), middleware=collector[root].middleware()))
    return _app(list(collector.values()), routes, ready)


def _app(sites: list[Site], routes: Sequence[BaseRoute], ready: Callable[[], None] | None, **more: Any) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            for site in sites:
                await stack.enter_async_context(site.open())
            if ready is not None:
                ready()
            yield

    handlers = {404: _http_error, 405: _http_error}
    return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan, **more)


class _Several:
    """What a server of several campaigns answers itself: a list of them, and how all of them are."""

    def __init__(self, sites: Mapping[str, Site], watched: Callable[[], dict[str, int]]) -> None:
        self.sites, self.watched = sites, watched

    def routes(self) -> list[Route]:
        """Where everything is."""
        return [
            Route("/", self.index), Route("/healthz", self.health), Route("/metrics", self.metrics),
            Route("/page.css", self.style), *(Route(f"/{name}", self.inside) for name in self.sites),
        ]  # fmt: skip

    async def index(self, request: Request) -> Response:
        listed = [
            {
                "name": name,
                "path": f"{name}/",
                "title": site.title or name,
                "page": site.page is not None,
                **{key: site.facts()[key] for key in ("accepted", "epsilon", "schema_hash")},
            }
            for name, site in self.sites.items()
        ]
        if wants_page(request):
            return HTMLResponse(index(listed), headers={**STATUS_HEADERS, "vary": "accept"})
        return answer({"campaigns": listed}, vary="accept")

    async def inside(self, request: Request) -> Response:
        return RedirectResponse(f"{request.url.path.rsplit('/', 1)[1]}/", 307)

    async def style(self, request: Request) -> Response:
        return Response(asset("page.css"), media_type="text/css")

    async def health(self, request: Request) -> Response:
        ill = [name for name, site in self.sites.items() if await site.trouble() is not None]
        return answer({"ok": not ill, **({"failing": ill} if ill else {})}, 503 if ill else 200)

    async def metrics(self, request: Request) -> Response:
        every = {name: await site.counts() for name, site in self.sites.items()}
        lines = [
            line
            for kinds in zip(*every.values(), strict=True)
            for name, metric in zip(every, kinds, strict=True)
            for line in written(metric, campaign=name)
        ]
        guard = ("guard_total", "counter", "Connections that were cut off or turned away.", "did", self.watched())
        return prometheus([*lines, *written(guard)])


async def _http_error(request: Request, error: Any) -> Response:
    sentence = {404: "there is nothing at this address", 405: "this address takes another method: POST /reports"}
    return answer({"error": sentence[error.status_code]}, error.status_code, **(error.headers or {}))


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound, or one sentence why not."""
    try:
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, backlog=2048, dualstack_ipv6=both)
    except (OSError, OverflowError) as error:
        raise DiscreetError(f"cannot listen on {host} port {port}: {error}") from None


def serve(
    campaign: Campaign | Mapping[str, Hosted],
    store: str | os.PathLike[str] | Store | None = None,
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
    page: bool = False,
    title: str = "",
    about: str = "",
    root: str | None = None,
    limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> Any:
    """Serve until SIGINT or SIGTERM, then finish what was begun; `ready` is called with the address.

    One campaign with its settings, or several by name, each with settings of its own. The answer is the collector, or
    the collectors by name.
    """
    one = isinstance(campaign, Campaign)
    hosted = (
        {"": Hosted(campaign, store, page, title, about, max_bytes, max_reports, tokens, cors)}
        if isinstance(campaign, Campaign)
        else campaign
    )
    secure = _tls(tls_cert, tls_key)
    bound = listen(host, port)
    sites: dict[str, Site] = {}
    try:
        limits = limits or Limits()
        guard, gathering = guarded(limits)
        shown = f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{bound.getsockname()[1]}"

        def watched() -> dict[str, int]:
            return {"dropped": gathering.dropped, "refused": gathering.refused}

        for name, told in hosted.items():
            sites[name] = told.site(watched)
        told_ready = partial(_settled, ready and partial(ready, shown))
        if one:
            app = _app([sites[""]], sites[""].routes(), told_ready, middleware=sites[""].middleware())
        else:
            app = make_app(sites, root=root, ready=told_ready, watched=watched)
        settings = uvicorn.Config(
            app, log_level="warning", access_log=access_log, server_header=False, proxy_headers=False, http=guard,
            timeout_graceful_shutdown=30, timeout_keep_alive=15, ws="none", **secure,
        )  # fmt: skip
        server = server_of(settings, limits)
        for number in (signal.SIGINT, signal.SIGTERM):  # before and after the server listens to them itself
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        server.run(sockets=[bound])
    except BaseException:
        for site in sites.values():
            site.collector.close()
        raise
    finally:
        bound.close()
    return sites[""].collector if one else {name: site.collector for name, site in sites.items()}


def _settled(ready: Callable[[], None] | None) -> None:
    """Everything is loaded and stays: a look for unreachable cycles need not go through it beside every crowd."""
    gc.collect()
    gc.freeze()
    if ready is not None:
        ready()


def _tls(cert: str | os.PathLike[str] | None, key: str | os.PathLike[str] | None) -> dict[str, Any]:
    """What the server needs for TLS, or nothing."""
    if cert is None and key is None:
        return {}
    if cert is None or key is None:
        raise DiscreetError("TLS needs both a certificate and a key")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise DiscreetError(f"the TLS certificate {cert} and key {key} cannot be used: {error}") from None
    return {"ssl_certfile": os.fspath(cert), "ssl_keyfile": os.fspath(key)}
