"""A desk of an organiser for tests: requests to join it, and its front behind TLS on the loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from discreet.nodes.desk import Desk
from discreet.nodes.front import Front
from discreet.nodes.invites import Invite
from discreet.nodes.keys import make_request


def asked(invite: Invite, key: Any, **change: object) -> dict[str, object]:
    """What whoever holds an invite and a key sends."""
    said = {"kind": invite.kind, "name": invite.name, "secret": invite.secret, "terms": invite.terms,
            "address": "h:1", "request": make_request(key, invite.name, invite.binding()).decode()}  # fmt: skip
    return {**said, **change}


@contextmanager
def serving(desk: Desk, certificate: Path, private: Path) -> Iterator[Desk]:
    """The desk behind TLS, at the port that its terms name."""
    port = int(desk.terms.organiser.rpartition(":")[2])
    config = uvicorn.Config(Front(desk), host="127.0.0.1", port=port, log_level="error", lifespan="off",
                            log_config=None, ssl_certfile=str(certificate), ssl_keyfile=str(private))  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield desk
    finally:
        server.should_exit = True
        thread.join(10)
