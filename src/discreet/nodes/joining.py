"""Joining: a partner pins the organiser by the invite's fingerprint, reads the terms, and shows its own new key."""

from __future__ import annotations

import http.client
import itertools
import json
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from discreet.errors import DiscreetError
from discreet.files import parse_json
from discreet.nodes.front import ROOT
from discreet.nodes.invites import Invite
from discreet.nodes.keys import authority_digest, make_request, only_authority
from discreet.nodes.terms import Terms
from discreet.schema import Schema

LARGEST = 4 << 20  # bytes of an answer
Report = Callable[[str, str], None]


class _AwayError(Exception):
    """The organiser cannot be reached now."""


@dataclass
class Joining:
    """One partner's side of an invite, from the pinned authority to the answer."""

    invite: Invite
    wait: float = 600.0
    report: Report = lambda event, what: None

    def __post_init__(self) -> None:
        self.authority = self._insist(self._pinned)

    # ---- the wire

    def _pinned(self) -> bytes:
        """The organiser's authority, which the invite's fingerprint proves; until then nothing is sent."""
        open_ = ssl.create_default_context()
        open_.check_hostname, open_.verify_mode = False, ssl.CERT_NONE
        status, held = self._call(open_, "GET", "ca.pem")
        if status != 200 or authority_digest(held) != self.invite.authority:
            raise DiscreetError(f"{self.invite.address} is not whom the invite names: its fingerprint is another")
        return only_authority(held).public_bytes(serialization.Encoding.PEM)

    def _call(self, context: ssl.SSLContext, method: str, name: str, body: bytes | None = None) -> tuple[int, bytes]:
        host, _, port = self.invite.address.rpartition(":")
        connection = http.client.HTTPSConnection(host.strip("[]"), int(port), timeout=30, context=context)
        try:
            connection.request(method, ROOT + name, body, {"connection": "close"})
            answer = connection.getresponse()
            return answer.status, answer.read(LARGEST)
        except ssl.SSLCertVerificationError as error:
            raise DiscreetError(
                f"the certificate at {self.invite.address} is not of the organiser that the invite names: "
                f"{error.verify_message}"
            ) from None
        except (OSError, http.client.HTTPException):
            raise _AwayError from None
        finally:
            connection.close()

    def _insist(self, step: Callable[[], Any]) -> Any:
        """Take a step, again and again while the organiser is away."""
        end, told, pauses = time.monotonic() + self.wait, False, _pauses()
        while True:
            try:
                return step()
            except _AwayError:
                if time.monotonic() > end:
                    raise DiscreetError(
                        f"the organiser at {self.invite.address} does not answer: try again later"
                    ) from None
                if not told:
                    self.report("waiting", f"for the organiser at {self.invite.address}")
                told = True
            time.sleep(next(pauses))

    def _ask(self, method: str, name: str, body: bytes | None = None) -> tuple[int, bytes]:
        trusted = ssl.create_default_context(cadata=self.authority.decode("ascii"))
        found: tuple[int, bytes] = self._insist(lambda: self._call(trusted, method, name, body))
        return found

    # ---- the steps

    def terms(self) -> Terms:
        """The terms, which must be those of the invite."""
        status, text = self._ask("GET", "terms.toml")
        try:
            found = Terms.read(text.decode("utf-8"))
        except UnicodeDecodeError:
            raise DiscreetError("the organiser's terms cannot be read") from None
        if status != 200 or found.hash != self.invite.terms:
            raise DiscreetError("the terms have changed since this invite was written: ask for another one")
        if found.kind != self.invite.kind or self.invite.name not in found.members:
            raise DiscreetError(f"the terms do not name {self.invite.name!r} as a member: ask for another invite")
        return found

    def schema(self, terms: Terms) -> Schema:
        """The schema, which must be that of the terms."""
        _, text = self._ask("GET", "schema.json")
        try:
            found = Schema.from_dict(parse_json(text.decode("utf-8")))
        except (ValueError, TypeError, KeyError):
            raise DiscreetError("the organiser's schema cannot be read") from None
        if found.hash != terms.schema:
            raise DiscreetError("the organiser's schema is not that of the terms: ask for another invite")
        return found

    def enrol(self, private: ec.EllipticCurvePrivateKey, address: str | None = None) -> dict[str, Any]:
        """Show the invite and the key once; what comes back is for this key alone."""
        invite = self.invite
        asked = {
            "kind": invite.kind,
            "name": invite.name,
            "secret": invite.secret,
            "terms": invite.terms,
            "address": address,
            "request": make_request(private, invite.name, invite.binding()).decode("ascii"),
        }
        status, text = self._ask("POST", "join", json.dumps(asked).encode())
        try:
            found = parse_json(text.decode("utf-8"))
            if not isinstance(found, dict):
                raise ValueError
        except ValueError:
            raise DiscreetError(f"{invite.address} answers what makes no sense") from None
        if status != 200:
            raise DiscreetError(str(found.get("error", "the organiser refuses")))
        return found

    def enrol_all(self, private: ec.EllipticCurvePrivateKey, address: str | None = None) -> dict[str, Any]:
        """Enrol, and wait until all members have."""
        end, seen, pauses = time.monotonic() + self.wait, "", _pauses()
        while True:
            found = self.enrol(private, address)
            if found["complete"]:
                return found
            here = ", ".join(sorted(found["members"]))
            if here != seen:
                self.report("waiting", f"for the other members; so far: {here}")
            seen = here
            if time.monotonic() > end:
                raise DiscreetError(f"not all members have joined within {self.wait:g} seconds: try again later")
            time.sleep(next(pauses))


def _pauses() -> Iterator[float]:
    """Seconds between attempts: short at first, for partners may come days later."""
    for attempt in itertools.count():
        yield min(10.0, 0.5 * 1.1**attempt)
