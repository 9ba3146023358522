"""The explorer's server: on this machine alone, for whoever has the token, and for no other page's scripts."""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
import signal
import tempfile
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from discreet.dossier.style import SHEET
from discreet.errors import DiscreetError
from discreet.explorer.work import Work
from discreet.files import parse_json

MOST_JSON = 4 << 20
MOST_ROWS = 8 << 30
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
SITE = {"/page.js": "text/javascript", "/page.css": "text/css"}
DOCUMENTS = {".html": "text/html", ".json": "application/json", ".yaml": "text/yaml", ".toml": "text/plain"}
SUFFIXES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".jsonl", ".ndjson", ".gz")


class Explorer:
    """A server on a loopback port; `address` has the token in it and is for the person who started it."""

    def __init__(self, work: Work, port: int = 0) -> None:
        self.work, self.token = work, secrets.token_urlsafe(24)
        self.launch: str | None = secrets.token_urlsafe(24)  # good for one exchange: it stands in a command line
        self.taken = 0  # files dropped so far: each has a name of its own
        self.uploads = Path(tempfile.mkdtemp(prefix="discreet-explore-"))  # its owner's alone
        made = self

        class Handler(_Handler):
            explorer = made

        try:
            self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            shutil.rmtree(self.uploads, ignore_errors=True)
            raise DiscreetError(f"port {port} cannot be used: {error.strerror}; leave --port out") from None
        self.server.daemon_threads = True

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def address(self) -> str:
        """Where to go, with the token."""
        return f"{self.origin}/?token={quote(self.token)}"

    @property
    def launching(self) -> str:
        """The address that a browser is started with: its code is of use once."""
        return f"{self.origin}/?launch={quote(self.launch or '')}"

    def run(self) -> None:
        """Serve until interrupted or ended; rows that were dropped on the page are deleted then."""
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                if hasattr(signal, name):
                    signal.signal(getattr(signal, name), _interrupt)
        try:
            self.server.serve_forever(poll_interval=0.1)
        finally:
            self.close()

    def close(self) -> None:
        """Stop, and forget what was dropped on the page."""
        self.server.server_close()
        shutil.rmtree(self.uploads, ignore_errors=True)


class _Handler(BaseHTTPRequestHandler):
    explorer: Explorer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "discreet", ""
    timeout = 60

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses have the token in them."""

    # ---- who asks

    def _ours(self) -> bool:
        """Whether the host is this one, and the origin is none or this one."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        port = self.explorer.server.server_port
        if host not in {f"127.0.0.1:{port}", f"localhost:{port}"}:
            return False
        if origin is not None and origin not in {f"http://127.0.0.1:{port}", f"http://localhost:{port}"}:
            return False
        return self.headers.get("Sec-Fetch-Site", "same-origin") in {"same-origin", "none"}

    def _allowed(self) -> bool:
        """Whether, besides, the token is right."""
        if not self._ours():
            return False
        given = self.headers.get("X-Token") or "".join(parse_qs(urlsplit(self.path).query).get("token", ())[:1])
        return hmac.compare_digest(given.encode(), self.explorer.token.encode())

    def _answer(self, status: int, kind: str, content: bytes, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-store")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _json(self, value: Any, status: int = 200) -> None:
        self._answer(status, "application/json", json.dumps(_finite(value), ensure_ascii=False).encode())

    def _refuse(self, status: int, words: str) -> None:
        self.close_connection = True
        self._json({"error": words}, status)

    # ---- what is asked

    def do_GET(self) -> None:
        """The page, its script and sheet, and documents of the model."""
        path = urlsplit(self.path).path
        if path in SITE:  # public, and needed before a script can send the token
            text = resources.files("discreet.explorer").joinpath("site", path[1:]).read_text("utf-8")
            self._answer(200, SITE[path], (SHEET + text if path.endswith("css") else text).encode())
            return
        if path == "/" and self._ours():  # it says nothing until its script has a token
            page = resources.files("discreet.explorer").joinpath("site", "page.html").read_text("utf-8")
            self._answer(200, "text/html", page.encode())
            return
        if not self._allowed():
            self._refuse(
                HTTPStatus.FORBIDDEN, "this address lacks its token: use the one that was printed at the start"
            )
            return
        if path == "/api/progress":
            self._json({"progress": self.explorer.work.progress})
        elif path.startswith("/files/"):
            self._document(unquote(path[7:]))
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _document(self, name: str) -> None:
        """A file that was released into the folder: by its name alone."""
        folder = self.explorer.work.folder
        path = folder / name
        if Path(name).name != name or path.suffix not in DOCUMENTS or not path.is_file() or path.is_symlink():
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such document")
            return
        kind, content = DOCUMENTS[path.suffix], path.read_bytes()
        policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        """Steps of the work."""
        path = urlsplit(self.path).path
        if path == "/api/launch" and self._ours():
            self._exchange()
            return
        if not self._allowed():
            self._refuse(HTTPStatus.FORBIDDEN, "this page is for whoever started it")
            return
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "the length is missing")
            return
        if path == "/api/upload":
            self._upload(length)
            return
        if not 0 <= length <= MOST_JSON:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "that is too long")
            return
        body = self.rfile.read(length)
        try:
            self._json(self._step(path, parse_json(body or b"{}")))
        except DiscreetError as error:
            self._json({"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except OSError as error:
            self._json({"error": f"a file cannot be used: {error.strerror or error}"}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._json({"error": f"that was not understood: {error}"}, HTTPStatus.BAD_REQUEST)

    def _exchange(self) -> None:
        """The token for the code that the browser was started with, once."""
        given, wanted = self.headers.get("X-Launch", ""), self.explorer.launch
        if wanted is None or not hmac.compare_digest(given.encode(), wanted.encode()):
            self._refuse(HTTPStatus.FORBIDDEN, "this address was used already: take the one that was printed")
            return
        self.explorer.launch = None
        self._json({"token": self.explorer.token})

    def _step(self, path: str, given: Any) -> Any:
        work = self.explorer.work
        if path == "/api/start":
            return work.start()
        if path == "/api/demo":
            return work.demo(self.explorer.uploads / "rows.csv")
        if path == "/api/columns":
            return work.columns()
        if path == "/api/draft":
            return work.draft(str(given["target"]))
        if path == "/api/check":
            return work.check(str(given["schema"]))
        if path == "/api/declare":
            return work.declare(str(given["schema"]))
        if path == "/api/plan":
            return work.plan(given)
        if path == "/api/accuracy":
            return work.accuracy(given)
        if path == "/api/fit":
            return work.fit(given)
        if path == "/api/dossier":
            return work.dossier(given["answers"])
        raise DiscreetError("there is no such step")

    def _upload(self, length: int) -> None:
        """Rows, as they are, into a folder that is deleted at the end."""
        name = Path(unquote(self.headers.get("X-Name", "rows.csv"))).name
        suffixes = "".join(one for one in Path(name).suffixes[-2:] if one.lower() in SUFFIXES)
        if not 0 < length <= MOST_ROWS:
            self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the file is empty or too large: name it on the command line"
            )
            return
        self.explorer.taken += 1
        path = self.explorer.uploads / f"rows{self.explorer.taken}{suffixes.lower() or '.csv'}"
        left = length
        with open(path, "wb") as sink:
            while left > 0:
                part = self.rfile.read(min(left, 1 << 20))
                if not part:
                    break
                sink.write(part)
                left -= len(part)
        if left:
            path.unlink(missing_ok=True)
            self.close_connection = True
            return
        try:
            self._json(self.explorer.work.take(path, name))
        except DiscreetError as error:
            self.explorer.work.rows = None
            self._json({"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _finite(value: Any) -> Any:
    """Plain values without NaN and infinity, which JSON has not."""
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
