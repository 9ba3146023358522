"""A site's stream: the running sums of its own steps, released step by step for one charge.

Noise is drawn once for every sum that a step ends (docs/proofs/running.md) and kept at the site; what leaves is the sum
of all steps so far, a function of what was drawn. Nothing is drawn before the charge is on disk, and nothing leaves
before its noise is.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.bayes.release import release_certificate
from discreet.bayes.stream import LOST, Stream, fingerprint, locked
from discreet.errors import BudgetError
from discreet.mechanisms.noise import ExactSampler
from discreet.mechanisms.running import MOST
from discreet.nodes.journal import Journal
from discreet.nodes.settings import Settings
from discreet.nodes.site import noised_rows
from discreet.nodes.update import Update
from discreet.statistics import Statistics

COVERS = "every integer of this node's updates after each of up to {} steps together and everything computed from them"
NOT_MASKED = (
    "a stream cannot be added up under masks: the noise of shares is accounted for rows that move an integer by one, "
    "and those of a stream move several by more, and a node that misses a step would leave later sums without its "
    "rows; leave out secure or stream"
)
STEP = re.compile(r"\{step(?::0([1-9]))?\}")
Count = Callable[[int], tuple[Statistics, tuple[str, ...]]]  # the rows of a step, and what is taken on trust of them


def data_of(data: str, step: int) -> str:
    """The rows of one step: `{step}` in a name is its number, `{step:03}` the same in three digits.

    >>> data_of("day-{step:03}.csv", 7)
    'day-007.csv'
    """
    return STEP.sub(lambda found: f"{step:0{found[1] or 1}}", data)


def files_of(data: str, stream: int | None) -> list[str]:
    """What the rows are read of: one name, or that of each step of a stream beside the name that they share."""
    return [data, *(data_of(data, step) for step in range(1, min(stream or 0, MOST) + 1))]


def check_stepped(data: str) -> None:
    """Refuse data in which the rows of a step cannot be told from those of another."""
    if not STEP.search(data):
        raise BudgetError(
            "a stream counts each row in one step alone: name the rows of a step by its number, as in day-{step}.csv"
        )
    if glob.has_magic(STEP.sub("", data)):
        raise BudgetError(
            f"{data} is a pattern, which may match one file in several steps: name one file for each step, as in "
            "day-{step}.csv"
        )


def check_apart(data: str, step: int) -> None:
    """Refuse rows of a step that are those of an earlier one, by a link."""
    own = data_of(data, step)
    for earlier in range(1, step if os.path.exists(own) else 1):
        other = data_of(data, earlier)
        if os.path.exists(other) and os.path.samefile(other, own):
            raise BudgetError(
                f"{own} is {other} under another name, and a stream counts each row in one step alone: name the rows "
                "that are new"
            )


def running_update(stream: Stream, settings: Settings, *, node: str, round_id: str) -> Update:
    """The sums of all steps so far as an update: rounded, as updates are of integers."""
    released = stream.release()
    plan = released.plan
    assert plan.stream is not None
    values = {key: np.rint(sums).astype(np.int64) for key, sums in released.values.items()}
    covers = COVERS.format(plan.stream.steps)
    certificate = release_certificate(released, plan.node, covers=covers, kind="these updates are")
    return Update(
        node, round_id, plan.schema.hash, settings, plan.budget, plan.mechanism, values, certificate,
        noised_rows(released), (plan.stream.steps, stream.step),
    )  # fmt: skip


@dataclass(frozen=True)
class SiteStream:
    """One stream of a site: its file beside the ledger, which pays for it once, under the stream's name.

    The ledger also knows the last step that was taken, so that an older copy of the file is not gone on with.
    """

    journal: Journal
    name: str
    empty: Stream  # of the site's plan, before its first step

    @property
    def path(self) -> Path:
        """Where exact sums and drawn noise are kept, readable by their owner alone."""
        ledger = self.journal.path
        digest = hashlib.sha256(self.name.encode()).hexdigest()[:32]
        return ledger.parent / f".{ledger.name}.streams" / f"{digest}.stream"

    @property
    def charge(self) -> str:
        """What the ledger calls it."""
        return f"stream {self.name}"

    def at(self, step: int, pay: Callable[[str], object], count: Count) -> Stream:
        """The stream after a step: taken now, with those before it that are missing, or taken before.

        `pay` charges the ledger for the name of a stream unless it has; a step that fails has drawn nothing.
        """
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        with locked(self.path):
            stream = self._opened(pay)
            while stream.step < step:
                stream.check_open()
                statistics, trusts = count(stream.step + 1)
                stream.add(statistics, ExactSampler(), trusts)
                stream.save(self.path, {"name": self.name})
                self.journal.mark(self.charge, _taken(stream.step))
            return stream.until(step)

    def _opened(self, pay: Callable[[str], object]) -> Stream:
        """The stream so far, paid for."""
        if not self.path.is_file():
            if self.journal.paid(self.charge):
                raise BudgetError(LOST.format(self.path))
            self.empty.save(self.path, {"name": self.name})
        stream = Stream.load(self.path, self.empty.plan)
        if stream.step and not self.journal.paid(self.charge):
            raise BudgetError(
                f"{self.path} is the stream of another ledger, which has paid for it: go on with that one"
            )
        pay(self.charge)
        if self.journal.marked(self.charge, _taken(stream.step + 1)):
            raise BudgetError(
                f"{self.path} is an older copy of this stream, and going on with it would draw noise for a step twice"
            )
        if stream.step:  # a crash after the file was written may have come before this
            self.journal.mark(self.charge, _taken(stream.step))
        return stream


def _taken(step: int) -> str:
    return f"step {step} of"


def question_of(stream: Stream, node: str) -> str:
    """All that a stream depends on beside the rows and what was asked: one that is paid for stays as it is."""
    return json.dumps([node, fingerprint(stream.plan)])
