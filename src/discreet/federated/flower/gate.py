"""The gate before a SuperLink: nodes reach the part that is for nodes, and nobody but us the rest.

Flower serves three interfaces on one port. Without an account system of its own, whoever reaches the port may
register nodes and start apps, which runs code on the coordinator. So everything but the nodes' interface, which
has Flower's authentication by key, needs a secret that only this process knows.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from discreet.nodes.front import ROOT

SECRET_HEADER = "x-discreet-secret"
TOKEN_HEADER = b"flwr-task-token"

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Gate:
    """An ASGI app that lets requests through to another one only on the paths that are open to them."""

    def __init__(self, app: Any, secret: str, front: App | None = None) -> None:
        self.app: App = app
        self.secret = secret.encode()
        self.front = front  # the desk at which nodes join, if there is one

    def lets(self, scope: Scope) -> bool:
        """Whether a request may pass."""
        path = scope.get("path", "")
        if path.startswith("/v1/fleet/"):
            return True
        headers = dict(scope.get("headers", ()))
        if hmac.compare_digest(headers.get(SECRET_HEADER.encode(), b""), self.secret):
            return True
        # The running app's own requests carry a token that Flower checks; without one they are nobody's.
        return path.startswith("/v1/runtime/") and TOKEN_HEADER in headers and not path.endswith("/acquire-task")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.front is not None and scope["type"] == "http" and scope.get("path", "").startswith(ROOT):
            await self.front(scope, receive, send)
        elif scope["type"] == "lifespan" or (scope["type"] == "http" and self.lets(scope)):
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})


class SecretInterceptor:
    """Put the secret on each request of ours."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def intercept(self, context: Any, call_next: Callable[[Any], Any]) -> Any:
        """Add the header and go on."""
        context.request.headers[SECRET_HEADER] = self.secret
        return call_next(context)
