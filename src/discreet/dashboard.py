"""Dashboards: how something is going as facts and one table, on a loopback page that asks nobody else anything.

The page is for whoever has its address: the token in it keeps out others who use the same machine.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from discreet.errors import DiscreetError


@dataclass(frozen=True)
class Board:
    """What is shown: a title, one line that says how it is, facts, a table, and all of it for machines."""

    title: str
    line: str
    facts: Sequence[tuple[str, str]]
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    plain: dict[str, Any] = field(default_factory=dict)


Look = Callable[[], Board]

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
caption { text-align: left; font-weight: 600; }
th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
[role=status] { font-size: 1.4rem; font-weight: 600; }
button { font: inherit; padding: .3rem .8rem; }
"""
SCRIPT = """
const board = document.getElementById('board'), line = document.getElementById('line');
const button = document.getElementById('pause');
let paused = false;
button.hidden = false;
button.addEventListener('click', () => {
  paused = !paused;
  button.setAttribute('aria-pressed', String(paused));
});
setInterval(async () => {
  if (paused) return;
  let said = 'no answer: is the dashboard still running?', rest = null;
  try {
    const answer = await fetch('board.json' + location.search);
    const found = await answer.json();
    said = found.line;
    rest = found.html;
  } catch {}
  if (line.textContent !== said) line.textContent = said;
  if (rest !== null && board.innerHTML !== rest) board.innerHTML = rest;
}, 2000);
"""


def _source(text: str) -> str:
    """A hash by which a policy lets this one text through and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    f"default-src 'none'; script-src {_source(SCRIPT)}; style-src {_source(STYLE)}; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def inner(board: Board) -> str:
    """The facts and the table as HTML."""
    facts = "".join(f"<tr><th scope=row>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in board.facts)
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in board.columns)
    rows = "".join(
        f"<tr><th scope=row>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in board.rows
    )
    return (
        f"<table><caption>In all</caption><tbody>{facts}</tbody></table>"
        f"<table><caption>One by one</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def page(board: Board) -> str:
    """A whole page, which reads well without its script, too."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(board.title)}</title><style>{STYLE}</style></head><body><main>"
        f'<h1>{escape(board.title)}</h1><p role="status" id="line">{escape(board.line)}</p>'
        '<button type="button" id="pause" aria-pressed="false" hidden>Pause updates</button>'
        f'<div id="board">{inner(board)}</div></main><script>{SCRIPT}</script></body></html>'
    )


def serve(look: Look, port: int, ready: Callable[[str], None]) -> None:
    """Show what `look` says on a port of the loopback until interrupted; 0 for any free port."""
    with make_server(look, port) as server:
        ready(server.address)
        server.serve_forever()


class Dashboard(ThreadingHTTPServer):
    """A server whose address has a token in it."""

    token = ""

    @property
    def address(self) -> str:
        """Where to go, with the token."""
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"


def make_server(look: Look, port: int) -> Dashboard:
    """The server, bound; only for whoever is on this machine, asks by a name of the loopback and has the token."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            own = server.server_port
            if self.headers.get("host") not in {f"127.0.0.1:{own}", f"localhost:{own}"}:
                return self._say(403, "text/plain", "ask by the address of the loopback")  # a name that was rebound
            kinds = {"/": "text/html", "/board.json": "application/json", "/status.json": "application/json"}
            try:
                where = urlsplit(self.path)
            except ValueError:
                return self._say(404, "text/plain", "this is no address")
            given = "".join(parse_qs(where.query).get("token", ())[:1])
            if not hmac.compare_digest(given.encode(), server.token.encode()):
                return self._say(403, "text/plain", "this address lacks its token: use the one that was printed")
            if where.path not in kinds:
                return self._say(404, "text/plain", "there is nothing at this address")
            try:
                board = look()
            except (DiscreetError, OSError) as error:
                board = Board("discreet", str(error), (), (), (), {"error": str(error)})
            if where.path == "/":
                text = page(board)
            elif where.path == "/board.json":
                text = json.dumps({"line": board.line, "html": inner(board)})
            else:
                text = json.dumps(board.plain)
            return self._say(200, kinds[where.path], text)

        def _say(self, status: int, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            for name, value in (
                ("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body))),
                ("cache-control", "no-store"), ("content-security-policy", POLICY), ("referrer-policy", "no-referrer"),
                ("x-content-type-options", "nosniff"),
            ):  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: Any) -> None:
            """Say nothing of requests."""

    try:
        server = Dashboard(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        raise DiscreetError(f"cannot listen on port {port}: {error}") from None
    server.token = secrets.token_urlsafe(24)
    return server
