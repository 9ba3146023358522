"""Posting a report to a collector: the same bytes until it has them, and nothing that names the sender."""

from __future__ import annotations

import json
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from discreet.errors import DataError, DiscreetError

LATER = (408, 425, 429)  # statuses that may change by waiting, beside those of 500 and above
LARGEST = 1 << 24  # bytes of an answer that is read
SECONDS = 60.0  # for one request
TOKEN = re.compile("[A-Za-z0-9_-]+")
FATES = ("malformed", "foreign", "unexpected")


class SendError(DiscreetError):
    """The collector did not take a report, or did not answer; the client keeps the report for the next try."""


class _Nowhere(urllib.request.HTTPRedirectHandler):
    """Reports go to the address that was given, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def folder(url: str) -> str:
    """The address under which a collector's other addresses lie, with a slash at its end."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SendError(f"{url!r} is no address of a collector: write http://HOST:PORT or https://HOST")
    path = parts.path.removesuffix("/reports").rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}/"


def check_token(token: str) -> None:
    """Refuse what cannot be a token, without repeating it: it may be one that was pasted badly."""
    if not TOKEN.fullmatch(token):
        raise DataError(
            "this is no token: one is made of letters, digits, - and _ alone, without blanks or line breaks"
        )


def fetch(url: str, name: str) -> bytes:
    """One of a collector's public files."""
    status, body = _request(urllib.request.Request(folder(url) + name))
    if status != 200:
        raise SendError(f"{folder(url)}{name} answered {status}: is that the address of a collector?")
    return body


def post(
    url: str,
    body: bytes,
    *,
    token: str | None = None,
    tries: int = 6,
    wait: float = 0.5,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, int]:
    """Post a report until a collector has it; counted once, however often it arrives."""
    if token:
        check_token(token)
    headers = {"Content-Type": "application/octet-stream", **({"Discreet-Token": token} if token else {})}
    request = urllib.request.Request(folder(url) + "reports", body, headers, method="POST")
    reason = ""
    for i in range(tries):
        if i:
            sleep(wait * 2 ** (i - 1) * (0.5 + random.random()))  # not all devices at once
        try:
            status, raw = _request(request)
        except SendError as error:
            reason = str(error)
            continue
        if status == 200:
            said = _counts(raw)
            fate = next((one for one in FATES if said.get(one)), None)
            if fate is None and (said.get("accepted") or said.get("replayed")):
                return said
            raise SendError(f"the collector did not take the report: it is {fate or 'not counted'}")
        reason = f"it answered {status}"
        if status < 500 and status not in LATER:
            break
    raise SendError(f"the collector did not take the report, which is kept for the next try: {reason}")


def _counts(raw: bytes) -> dict[str, int]:
    try:
        said = json.loads(raw)
        return {str(name): int(count) for name, count in said.items()}
    except (ValueError, AttributeError, TypeError):
        raise SendError("what answered is no collector: check the address") from None


def _request(request: urllib.request.Request) -> tuple[int, bytes]:
    """The status and the body of an answer; no cookies, no referrer, no word about this program's version."""
    opener = urllib.request.build_opener(_Nowhere)
    opener.addheaders = [("User-Agent", "discreet"), ("Accept", "application/json")]
    try:
        with opener.open(request, timeout=SECONDS) as reply:
            return reply.status, reply.read(LARGEST)
    except urllib.error.HTTPError as error:
        return error.code, b""
    except (OSError, HTTPException, ValueError) as error:
        raise SendError(f"the collector does not answer ({getattr(error, 'reason', None) or error})") from None
