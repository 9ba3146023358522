"""The shuffler: between devices and collector; it keeps reports in memory until enough are there, and mixes them.

A report comes out with nothing of its sender: packed anew, in a random place of its batch, under another id. The id is
a keyed hash of the device's, so that a report which is sent twice is still counted once, here and at the collector.
"""

from __future__ import annotations

import hmac
import os
import secrets
import threading
from typing import Any, Self

import numpy as np

from discreet.errors import DataError, DiscreetError
from discreet.local.campaign import Campaign, mechanism_of
from discreet.local.letout import KEY, LetOut
from discreet.local.store import Outcome
from discreet.local.wire import frames as wire
from discreet.local.wire.frames import MALFORMED, READABLE, Frames
from discreet.local.wire.report import ID_BYTES, MILLION, Part, Report, pack, schema_mark
from discreet.privacy.plan import checked_count

MOST = 1 << 22  # reports that wait in memory
LEAST = "the least number of reports in a batch"


class Shuffler:
    """Takes reports of a campaign and lets them out in batches of at least `least`, mixed.

    A report that is out never counts towards a later batch: as long as the object lives, and over restarts if it was
    made by `kept`. Made without, it is not `lasting`: what comes again after a restart would fill a batch again and
    hide nobody, so that the central ε holds only if nothing that was let out is ever sent again. `key` is what ids are
    hashed by; without one it is drawn anew.
    """

    def __init__(self, campaign: Campaign, least: Any, *, key: bytes | None = None, out: LetOut | None = None) -> None:
        self.campaign, self.least = campaign, checked_count(least, LEAST, MOST)
        if key is not None and out is not None:
            raise DiscreetError("what was let out is known by a key of its own: give no other")
        self._out = out
        self._key = out.key if out is not None else secrets.token_bytes(KEY) if key is None else key
        if len(self._key) != KEY:
            raise DiscreetError(f"the key of a shuffler has {KEY} bytes")
        self._mark, self._epsilon = schema_mark(campaign.schema.hash), int(campaign.epsilon * MILLION)
        self._asked = {(q.input.index, q.mechanism.code, q.mechanism.parameter) for q in campaign.questions}
        self._waiting: dict[bytes, bytes] = {}
        self._seen: set[bytes] = set() if out is None else set(out.names)
        self._turn = threading.Lock()

    @classmethod
    def kept(cls, campaign: Campaign, least: Any, key: str | os.PathLike[str]) -> Self:
        """One that knows over restarts what it let out, by a key file and the list beside it; made if missing."""
        return cls(campaign, checked_count(least, LEAST, MOST), out=LetOut(key))

    @property
    def lasting(self) -> bool:
        """Whether a report that is out stays out of later batches after a restart too."""
        return self._out is not None

    def close(self) -> None:
        """Let another shuffler go on with the key."""
        if self._out is not None:
            self._out.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        self._waiting[name] = pack(Report(self._mark, name, self.campaign.epsilon, tuple(found)))
        return "accepted"

    def batch(self) -> list[bytes] | None:
        """All reports that wait, in random order, if they are enough; None while they are not.

        Their names are on disk before they are handed out; if they cannot be, the reports go on waiting.
        """
        with self._turn:
            if len(self._waiting) < self.least:
                return None
            if self._out is not None:
                self._out.keep(self._waiting)
            out, self._waiting = list(self._waiting.values()), {}
        secrets.SystemRandom().shuffle(out)
        return out
