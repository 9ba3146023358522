"""The desk's front on the web: its authority, terms and schema for everybody, and one address to join at."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import parse_json
from discreet.nodes.desk import Desk, EnrolError

ROOT = "/discreet/"
LARGEST = 65_536  # bytes of a request to join

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Report = Callable[[str, str], None]


class Front:
    """An ASGI app around a desk; it says nothing that the terms do not."""

    def __init__(self, desk: Desk, report: Report = lambda event, what: None) -> None:
        self.desk, self.report = desk, report
        self.known = set(desk.joined)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, body, kind = await self._answer(scope["method"], scope["path"], receive)
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()),
                   (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]  # fmt: skip
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, method: str, path: str, receive: Receive) -> tuple[int, bytes, str]:
        name = path.removeprefix(ROOT)
        files = {"ca.pem": "keys/public/ca.pem", "terms.toml": "terms.toml", "schema.json": "schema.json"}
        if method == "GET" and name in files:
            return 200, await asyncio.to_thread((self.desk.home / files[name]).read_bytes), "text/plain; charset=utf-8"
        if method == "POST" and name == "join":
            return await self._join(receive)
        return _refusal(404, "there is nothing at this address")

    async def _join(self, receive: Receive) -> tuple[int, bytes, str]:
        body = bytearray()
        while True:
            part = await receive()
            if part["type"] != "http.request":
                return _refusal(400, "the request broke off")
            body += part.get("body", b"")
            if len(body) > LARGEST:
                return _refusal(413, "this is no request to join")
            if not part.get("more_body"):
                break
        try:
            asked = parse_json(body.decode("utf-8"))
            found = await asyncio.to_thread(self.desk.enrol, asked if isinstance(asked, dict) else {})
        except EnrolError as error:
            self.report("turned away", str(error))
            return _refusal(403, str(error))
        except ValueError:
            return _refusal(400, "this is no request to join")
        except DiscreetError as error:  # of the desk's own files: for its owner to read
            self.report("failed", str(error))
            return _refusal(500, "the organiser's desk has failed: tell the organiser")
        if asked["name"] not in self.known:
            self.known.add(asked["name"])
            self.report("enrolled", str(asked["name"]))
        return 200, json.dumps(found).encode(), "application/json"


def _refusal(status: int, sentence: str) -> tuple[int, bytes, str]:
    return status, json.dumps({"error": sentence}).encode(), "application/json"
