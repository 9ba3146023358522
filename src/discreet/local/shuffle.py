"""The shuffler: between devices and collector; it keeps reports in memory until enough are there, and mixes them.

A report comes out with nothing of its sender: packed anew, in a random place of its batch, under another id. The id is
a keyed hash of the device's, so that a report which is sent twice is still counted once, here and at the collector.
"""

from __future__ import annotations

import hmac
import os
import secrets
import threading
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DataError, DiscreetError
from discreet.files import write_bytes
from discreet.local.campaign import Campaign, mechanism_of
from discreet.local.store import Outcome
from discreet.local.wire import frames as wire
from discreet.local.wire.frames import MALFORMED, READABLE, Frames
from discreet.local.wire.report import ID_BYTES, MILLION, Part, Report, pack, schema_mark
from discreet.privacy.plan import checked_count

KEY = 32  # bytes
MOST = 1 << 22  # reports that wait in memory


class Shuffler:
    """Takes reports of a campaign and lets them out in batches of at least `least`, mixed.

    `key` is what ids are hashed by; without one it is drawn anew, and what was sent before and comes again is then
    new to the collector.
    """

    def __init__(self, campaign: Campaign, least: Any, *, key: bytes | None = None) -> None:
        self.campaign, self.least = campaign, checked_count(least, "the least number of reports in a batch", MOST)
        self._key = secrets.token_bytes(KEY) if key is None else key
        if len(self._key) != KEY:
            raise DiscreetError(f"the key of a shuffler has {KEY} bytes")
        self._mark, self._epsilon = schema_mark(campaign.schema.hash), int(campaign.epsilon * MILLION)
        self._asked = {(q.input.index, q.mechanism.code, q.mechanism.parameter) for q in campaign.questions}
        self._waiting: list[bytes] = []
        self._seen: set[bytes] = set()
        self._turn = threading.Lock()

    @property
    def waiting(self) -> int:
        """Reports that are not out yet."""
        return len(self._waiting)

    def add(self, buffer: bytes) -> Outcome:
        """Take the reports that stand one after another in a buffer; the answer is as a collector's."""
        return self._take(wire.frames_of_buffers([buffer]))

    def read(self, path: str | os.PathLike[str]) -> Outcome:
        """Take the reports of a file."""
        try:
            with open(path, "rb") as file:
                return sum((self._take(frames) for frames in wire.frames_of_file(file)), Outcome())
        except OSError as error:
            raise DataError(f"cannot read the reports {path}: {error.strerror or error}") from None

    def _take(self, frames: Frames) -> Outcome:
        states, parts = wire.parse(frames, self._mark)
        ids = wire.identities(frames, np.arange(len(frames)))
        owned: dict[int, list[int]] = {}
        for row, owner in enumerate(parts.owner.tolist()):
            owned.setdefault(owner, []).append(row)
        fates = {"accepted": 0, "malformed": int(frames.damaged.sum()), "foreign": 0, "unexpected": 0, "replayed": 0}
        with self._turn:
            for place, state in enumerate(states.tolist()):
                if state != READABLE:
                    fates["malformed" if state == MALFORMED else "foreign"] += 1
                    continue
                fates[self._one(frames, ids[place].tobytes(), parts, owned.get(place, []))] += 1
        return Outcome(**fates)

    def _one(self, frames: Frames, sent: bytes, parts: Any, rows: list[int]) -> str:
        """What becomes of one report; if it is of the campaign and new, it waits as it will go out."""
        found = []
        for row in rows:
            key, payload = parts.key(row), frames.raw[parts.start[row] : parts.stop[row]]
            if (key.input, key.code, key.parameter) not in self._asked or key.epsilon != self._epsilon:
                return "unexpected"
            share = self.campaign.epsilon / self.campaign.reports
            mechanism = mechanism_of(self.campaign.schema, key.input, key.code, key.parameter, share)
            if len(payload) != mechanism.width or not mechanism.decode(payload[None, :])[1].all():
                return "malformed"
            found.append(Part(key.input, key.code, key.parameter, payload.tobytes()))
        if len(found) != self.campaign.reports or len({one.input for one in found}) != len(found):
            return "unexpected"
        name = hmac.digest(self._key, sent, "sha256")[:ID_BYTES]
        if name in self._seen:
            return "replayed"
        if len(self._waiting) >= MOST:
            raise DiscreetError("too many reports are waiting: try again later")
        self._seen.add(name)
        self._waiting.append(pack(Report(self._mark, name, self.campaign.epsilon, tuple(found))))
        return "accepted"

    def batch(self) -> list[bytes] | None:
        """All reports that wait, in random order, if they are enough; None while they are not."""
        with self._turn:
            if len(self._waiting) < self.least:
                return None
            out, self._waiting = self._waiting, []
        secrets.SystemRandom().shuffle(out)
        return out


def shuffler_key(path: str | os.PathLike[str] | None) -> bytes | None:
    """The key of a file that only its owner can read; it is drawn if there is none yet."""
    if path is None:
        return None
    place = Path(path)
    if not place.exists():
        write_bytes(place, secrets.token_bytes(KEY), private=True)
    found = place.read_bytes()
    if len(found) != KEY:
        raise DiscreetError(f"{path} is no key of a shuffler: name another file, and it is made")
    return found
