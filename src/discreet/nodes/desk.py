"""The desk: who was invited to a federation or a network, and who has joined with which key, kept on disk."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from discreet.errors import DiscreetError
from discreet.files import parse_json, write_text
from discreet.nodes.invites import SHAPES, Invite, day
from discreet.nodes.keys import authority_digest, key_digest, read_request
from discreet.nodes.terms import Terms

FILE = "enrolment.json"
ADDRESS = re.compile(SHAPES["address"])
DAY = 86400.0
Issue = Callable[[str, ec.EllipticCurvePublicKey], dict[str, Any]]


class EnrolError(DiscreetError):
    """A request to join that is refused."""


@dataclass
class Desk:
    """Whoever holds the authority of a home: it invites, admits who shows its invite once, and revokes.

    `issue` makes what a member is given for its key, and `withdraw` takes it back; both belong to the room that the
    terms are of. Of a secret only its hash is kept.
    """

    home: Path
    issue: Issue
    withdraw: Callable[[str], object] = lambda name: None
    clock: Callable[[], float] = time.time
    told: set[str] = field(default_factory=set)

    @property
    def terms(self) -> Terms:
        """The terms that hold now."""
        return Terms.load(self.home / "terms.toml")

    @property
    def authority(self) -> bytes:
        """The certificate by which members know the organiser."""
        return (self.home / "keys" / "public" / "ca.pem").read_bytes()

    # ---- what is kept

    def records(self) -> dict[str, dict[str, Any]]:
        """What is known of each member, by name."""
        path = self.home / FILE
        if not path.is_file():
            return {}
        try:
            found = parse_json(path.read_text(encoding="utf-8"))
            if not isinstance(found, dict):
                raise ValueError
        except (ValueError, OSError):
            raise DiscreetError(f"{path} is damaged: it keeps who was invited") from None
        return found

    @contextmanager
    def _change(self) -> Iterator[dict[str, dict[str, Any]]]:
        """The records, written back whole if the block ends well; one process at a time."""
        with open(self.home / f".{FILE}.lock", "w") as lock:
            try:
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            except ImportError:  # no such locks on this system
                pass
            found = self.records()
            before = json.dumps(found, sort_keys=True)
            yield found
            if json.dumps(found, sort_keys=True) != before:
                write_text(self.home / FILE, json.dumps(found, indent=1, sort_keys=True), private=True)

    # ---- inviting and revoking

    def invite(self, days: int) -> list[Invite]:
        """Invites for all members that have not joined under these terms; earlier ones of theirs end."""
        terms, until = self.terms, self.clock() + days * DAY
        agreed, authority, made = terms.hash, authority_digest(self.authority), []
        with self._change() as records:
            for name in list(records):
                if name not in terms.members:
                    self._drop(records, name)
            for name in terms.members:
                held = records.get(name)
                if held is not None and held["key"] and held["terms"] == agreed and not held["revoked"]:
                    continue
                secret = secrets.token_urlsafe(32)
                records[name] = {"secret": _hashed(secret), "until": until, "terms": agreed, "key": None,
                                 "address": None, "revoked": False, "gone": (held or {"gone": []})["gone"]}  # fmt: skip
                made.append(Invite(terms.kind, name, terms.organiser, authority, agreed, secret, day(until)))
        return made

    def _drop(self, records: dict[str, dict[str, Any]], name: str) -> None:
        """Forget who is no longer a member, but for its keys: none that was taken back holds again."""
        held = records.pop(name)
        if held["key"] and not held["revoked"]:
            self.withdraw(name)
            held["gone"].append(held["key"])
        if held["gone"]:
            records[name] = {**held, "secret": "", "key": None, "address": None, "revoked": True}

    def revoke(self, name: str) -> None:
        """Let a member in no more; another invite may let it in anew, with another key."""
        with self._change() as records:
            if name not in records:
                raise DiscreetError(f"{name!r} was never invited here: there are {', '.join(sorted(records))}")
            if records[name]["key"]:
                self.withdraw(name)
                records[name]["gone"].append(records[name]["key"])
            records[name]["revoked"] = True

    # ---- joining

    def enrol(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Admit whoever shows an invite and proves that it holds a key; the same key may ask again, no other may."""
        try:
            kind, name, secret, agreed, request = (str(asked[key]) for key in
                                                   ("kind", "name", "secret", "terms", "request"))  # fmt: skip
            address = asked.get("address")
        except (KeyError, TypeError):
            raise EnrolError("this is no request to join") from None
        if address is not None and not (isinstance(address, str) and ADDRESS.fullmatch(address)):
            raise EnrolError("the address at which others reach this node must be HOST:PORT")
        terms = self.terms
        with self._change() as records:
            held = records.get(name)
            known = "" if held is None else held["secret"]
            if not hmac.compare_digest(known, _hashed(secret)) or held is None or kind != terms.kind:
                raise EnrolError("this invite does not hold here: it was altered, replaced by another, or is for "
                                 "somebody else; ask for it again")  # fmt: skip
            if held["revoked"]:
                raise EnrolError(f"{name!r} was revoked: ask the organiser for another invite")
            if agreed != terms.hash:
                raise EnrolError("the terms have changed since this invite was written: ask for another one")
            own = Invite(kind, name, terms.organiser, authority_digest(self.authority), agreed, secret, "2000-01-01")
            try:
                public = read_request(request.encode(), name, own.binding())
            except DiscreetError as error:
                raise EnrolError(str(error)) from None
            digest = key_digest(public)
            if held["key"] not in (None, digest):
                raise EnrolError("this invite was used already, with another key: if that was not you, tell the "
                                 "organiser at once")  # fmt: skip
            if any(digest in one["gone"] for one in records.values()):
                raise EnrolError("this key was revoked: join from another --home, which makes a new one")
            if held["key"] is None and self.clock() > held["until"]:
                raise EnrolError(f"this invite ended on {day(held['until'])}: ask for another one")
            if any(one["key"] == digest for other, one in records.items() if other != name):
                raise EnrolError("another member has this very key: each makes one of its own")
            given = self.issue(name, public)
            held.update(key=digest, address=address or held["address"])
            members = {one: records[one]["address"] for one in terms.members if _in(records.get(one))}
        complete = len(members) == len(terms.members)
        if complete:
            self.told.add(name)
        return {**given, "members": members, "complete": complete}

    @property
    def joined(self) -> list[str]:
        """The members that have joined."""
        records = self.records()
        return [name for name in self.terms.members if _in(records.get(name))]

    @property
    def complete(self) -> bool:
        """Whether all members have."""
        return len(self.joined) == len(self.terms.members)


def _in(record: Mapping[str, Any] | None) -> bool:
    return record is not None and bool(record["key"]) and not record["revoked"]


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def roster_code(keys: Mapping[str, str]) -> str:
    """One hash for all members and their keys, for partners to compare by another way."""
    return hashlib.sha256(json.dumps(sorted(keys.items())).encode()).hexdigest()
