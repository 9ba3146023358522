"""The gate before the SuperLink: nodes' paths are open, all others need the secret of this very process."""

from __future__ import annotations

import asyncio

import pytest

from discreet.federated.flower.gate import Gate

SECRET = "s" * 64


def ask(path, headers=(), kind="http"):
    passed, sent = [], []

    async def app(scope, receive, send):
        passed.append(scope["path"])

    async def send(event):
        sent.append(event)

    async def receive():
        return {}

    scope = {"type": kind, "path": path, "headers": [(k.encode(), v.encode()) for k, v in headers]}
    asyncio.run(Gate(app, SECRET)(scope, receive, send))
    return bool(passed), sent


@pytest.mark.parametrize(
    ("path", "headers", "passes"),
    [
        ("/v1/fleet/pull-messages", (), True),
        ("/v1/control/start-run", (), False),
        ("/v1/control/start-run", [("x-discreet-secret", SECRET)], True),
        ("/v1/control/start-run", [("x-discreet-secret", "t" * 64)], False),
        ("/v1/control/start-run", [("flwr-task-token", "x")], False),
        ("/v1/runtime/acquire-task", (), False),
        ("/v1/runtime/acquire-task", [("flwr-task-token", "x")], False),
        ("/v1/runtime/acquire-task", [("x-discreet-secret", SECRET)], True),
        ("/v1/runtime/push-messages", (), False),
        ("/v1/runtime/push-messages", [("flwr-task-token", "x")], True),  # Flower checks the token
        ("/docs", (), False),
        ("/openapi.json", (), False),
        ("/v1/fleet", (), False),
        ("/v1/Fleet/../control/start-run", (), False),
    ],
)
def test_paths(path, headers, passes):
    assert ask(path, headers)[0] is passes


def test_a_closed_path_is_as_if_it_were_not_there():
    _, (start, body) = ask("/v1/control/start-run")
    assert start["status"] == 404 and body["body"] == b""


def test_other_protocols_are_closed():
    assert ask("/v1/fleet/x", kind="websocket") == (False, [])
