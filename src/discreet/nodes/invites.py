"""Invites: one line of text that lets one partner join once, and tells it whom and what it joins by fingerprints."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass

from discreet.errors import DiscreetError

HEAD = "discreet-invite-1"
WORDS = ("authority", "terms", "secret", "until", "check")
SHAPES = {
    "kind": r"federate|gossip",
    "name": r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}",
    "address": r"[A-Za-z0-9.:\[\]_-]{1,255}:[0-9]{1,5}",
    "authority": r"[0-9a-f]{64}",
    "terms": r"[0-9a-f]{64}",
    "secret": r"[A-Za-z0-9_-]{43}",
    "until": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
}


@dataclass(frozen=True)
class Invite:
    """What one partner is sent; whoever holds it can join in its place, until it has.

    `authority` and `terms` are SHA-256: of the certificate by which the organiser is known, and of the terms file.
    """

    kind: str
    name: str
    address: str
    authority: str
    terms: str
    secret: str
    until: str

    def __post_init__(self) -> None:
        for name, shape in SHAPES.items():
            if not re.fullmatch(shape, getattr(self, name)):
                raise DiscreetError(f"this invite names no {name} as invites do: ask for it again")

    @property
    def text(self) -> str:
        """The one line."""
        said = [HEAD, self.kind, self.name, self.address, f"authority={self.authority}", f"terms={self.terms}",
                f"secret={self.secret}", f"until={self.until}"]  # fmt: skip
        return " ".join([*said, f"check={_check(said)}"])

    @classmethod
    def read(cls, text: str) -> Invite:
        """The invite in a text, which a mail may have broken into several lines."""
        words = text.split()
        start = words.index(HEAD) if HEAD in words else len(words)
        words = words[start : start + 9]
        if len(words) != 9 or [word.partition("=")[0] for word in words[4:]] != list(WORDS):
            raise DiscreetError("this is no invite, or a part of it is missing: it is one line, from "
                                f"{HEAD!r} to 'check=…'")  # fmt: skip
        if words[8] != f"check={_check(words[:8])}":
            raise DiscreetError("this invite was altered on its way: ask for it again")
        return cls(*words[1:4], *(word.partition("=")[2] for word in words[4:8]))

    def binding(self) -> str:
        """What a request for this invite is signed over: it is of no use for another name, secret or terms."""
        said = [HEAD, self.kind, self.name, self.terms, self.authority, self.secret]
        return hashlib.sha256(" ".join(said).encode()).hexdigest()


def _check(words: list[str]) -> str:
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]


def day(seconds: float) -> str:
    """A day by its date, of Greenwich."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
