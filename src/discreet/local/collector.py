"""The collector: counts each report once, keeps sums, and makes a model of them; it never sees a row."""

from __future__ import annotations

import hashlib
import io
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.model import NaiveBayesModel
from discreet.errors import BudgetError, DataError, DiscreetError, SchemaError, StatisticsError
from discreet.local.campaign import Campaign, mechanism_of
from discreet.local.chances import local_epsilon
from discreet.local.estimate import Tally, model_of
from discreet.local.inputs import input_of
from discreet.local.store import FATES, REPLAYED, UNEXPECTED, Outcome, Store, StoreError
from discreet.local.wire import frames as wire
from discreet.local.wire.frames import MALFORMED, READABLE, Frames, Key, Parts
from discreet.local.wire.integers import Integers
from discreet.local.wire.report import MILLION, schema_mark
from discreet.schema import Schema

MOST_UNHEARD = 64  # kinds of report not met before that one piece of input may bring
Sums = dict[Key, tuple[int, NDArray[np.int64]]]


class Collector(AbstractContextManager["Collector"]):
    """Takes reports, one by one, in batches or from files, and keeps their sums.

    Parameters
    ----------
    schema : Schema or Campaign
        What the reports are about. With a campaign only reports of its very design are accepted.
    store : path or None
        A database in which everything is kept; it resumes where it stopped, even after a crash. One that has served a
        campaign takes no other. Without one there is a
        temporary database, so that memory does not grow with the reports.
    epsilon : float or None
        Accept only reports of this ε.
    designs : int, default 16
        The most kinds of report (mechanism, parameter, ε, number of parts) about one input: nobody who sends
        reports can make the collector's memory grow beyond that.
    max_reports : int or None
        The most reports to accept in all; later ones are unexpected.
    tokens : bool
        Whether a new report needs a token of `make_tokens` that nobody has used; without one it is unexpected.

    >>> from discreet import Categorical, Schema
    >>> from discreet.local.client import LocalClient
    >>> schema = Schema([Categorical("sex", ["f", "m"])], target="ill", classes=["no", "yes"])
    >>> collector = Collector(schema)
    >>> report = LocalClient(schema, epsilon=1, memory=None).report({"sex": "f", "ill": "no"})
    >>> collector.add(report), collector.add(report), collector.add(b"noise")
    ('accepted', 'replayed', 'malformed')
    """

    def __init__(
        self,
        schema: Schema | Campaign,
        *,
        store: str | os.PathLike[str] | Store | None = None,
        epsilon: Any = None,
        designs: int = 16,
        max_reports: int | None = None,
        tokens: bool = False,
    ) -> None:
        self.campaign = schema if isinstance(schema, Campaign) else None
        public = schema.schema if isinstance(schema, Campaign) else schema
        if not isinstance(public, Schema):
            raise SchemaError("a collector needs a schema: declare one with Schema(...) or Schema.load(file)")
        if isinstance(designs, bool) or not isinstance(designs, int) or designs < 1:
            raise BudgetError(f"designs must be a whole number of at least 1, not {designs!r}")
        if self.campaign is not None and epsilon is not None:
            raise BudgetError("the campaign says what epsilon is: do not give another")
        if max_reports is not None and (
            isinstance(max_reports, bool) or not isinstance(max_reports, int) or max_reports < 1
        ):
            raise BudgetError(f"max_reports must be a whole number of at least 1, not {max_reports!r}")
        self.schema, self.designs, self.max_reports, self.tokens = public, designs, max_reports, tokens
        wanted = self.campaign.epsilon if self.campaign is not None else epsilon
        self._epsilon = None if wanted is None else math.floor(local_epsilon(wanted) * MILLION)
        self._mark = schema_mark(public.hash)
        self._turn = threading.RLock()  # one report after another, whichever thread brings it
        self._store = store if isinstance(store, Store) else Store(store, public)
        try:
            self._resume()
            self._bind()
        except BaseException:
            if not isinstance(store, Store):
                self._store.close()
            raise

    def _resume(self) -> None:
        with self._store.view():
            known, tallies = self._store.counts(), list(self._store.tallies())
        self._counts = Outcome(**{fate: known.get(fate, 0) for fate in FATES})
        self._sums: Sums = {}
        whole = Fraction(0)
        for key, reports, support in tallies:
            try:
                size = len(_nothing(self._mechanism(key)))
            except DiscreetError:
                size = -1
            if len(support) != size:
                raise StoreError(f"the store {self._store.path} is damaged: a sum does not fit its input")
            self._sums[key] = reports, support
            whole += Fraction(reports, key.parts)
        if whole != self._counts.accepted:
            raise StoreError(f"the store {self._store.path} is damaged: its sums are not those of its reports")

    def _bind(self) -> None:
        """A store belongs to one campaign: reports of two designs are never shown as one."""
        held = self._store.settings
        if self.campaign is None:
            if held is not None:  # who names only the schema goes on with the store's campaign
                told = {name: held[name] for name in ("oracle", "numeric", "reports", "theta")}
                self.campaign = Campaign(self.schema, Fraction(held["epsilon"]), **told)
                if self._epsilon not in (None, int(self.campaign.epsilon * MILLION)):
                    raise BudgetError(
                        f"the store {self._store.path} is for reports of epsilon = {float(self.campaign.epsilon):g}"
                    )
                self._epsilon = int(self.campaign.epsilon * MILLION)
            return
        if "campaign" not in self._store.facts:
            for key in self._sums:
                if not self._wanted(key, []):
                    raise StoreError(
                        f"the store {self._store.path} holds reports of another design, with epsilon = "
                        f"{key.epsilon / MILLION:g}: name another store"
                    )
        self._store.bind(self.campaign.fingerprint, self.campaign.settings)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, epsilon: Any = None, designs: int = 16, readonly: bool = False
    ) -> Collector:
        """Go on with what `save`, or a collector with this store, has written; further reports go to the same file.

        A store that is kept for one campaign goes on with that one. With `readonly` the file may be in use by another
        process, and this collector takes no reports.
        """
        store = Store(path, readonly=readonly)
        try:
            return cls(store.schema, store=store, epsilon=epsilon, designs=designs)
        except BaseException:
            store.close()
            raise

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file from which `load` goes on."""
        with self._turn:
            self._store.copy(path)

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- taking reports

    def add(self, report: bytes) -> str:
        """Count one report; the answer is what became of it."""
        found = self._take(wire.frames_one_each([bytes(report)]))[0]
        return next(fate for fate in FATES if getattr(found, fate))

    def add_batch(self, reports: bytes | bytearray | memoryview | Iterable[bytes]) -> Outcome:
        """Count reports that stand one after another in a buffer, or a list of reports."""
        if isinstance(reports, bytes | bytearray | memoryview):
            return self._take_all(wire.frames_of_file(io.BytesIO(reports)))
        return sum(self._take(wire.frames_one_each(reports)), Outcome())

    def add_buffers(self, buffers: list[bytes], tokens: Sequence[str] | None = None) -> list[Outcome]:
        """Count several buffers of reports in one durable step, with an answer for each.

        Where each new report needs a token, `tokens` has one for each buffer, which lets one new report of it in.
        """
        return self._take(wire.frames_of_buffers(buffers), tokens)

    def make_tokens(self, count: int) -> list[str]:
        """Draw tokens, each of which lets one new report in; the store keeps their fingerprints until they are used."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BudgetError(f"the number of tokens must be a whole number of at least 1, not {count!r}")
        made = [secrets.token_urlsafe(16) for _ in range(count)]
        with self._turn:
            self._store.grant(token_hash(one) for one in made)
        return made

    def read(self, path: str | os.PathLike[str], progress: Callable[[int, int | None], None] | None = None) -> Outcome:
        """Count the reports of a file; damaged stretches are skipped and counted."""
        try:
            total = Path(path).stat().st_size
            with open(path, "rb") as file:

                def watched() -> Iterator[Frames]:
                    for frames in wire.frames_of_file(file):
                        yield frames
                        if progress:
                            progress(file.tell(), total)

                return self._take_all(watched())
        except OSError as error:
            raise DataError(f"cannot read the reports {path}: {error.strerror or error}") from None

    def merge(self, other: Collector) -> Outcome:
        """Take over the reports of another collector; what both have seen is still counted once."""
        with self._turn:
            if other is self:
                raise StatisticsError("a collector cannot be merged with itself")
            if other.schema != self.schema:
                raise StatisticsError("the collectors are for different schemas")
            found = self._take_all(wire.frames_of_buffers([blob]) for blob in other._store.batches())
            rejected = Outcome(**{**other._counts.to_dict(), "accepted": 0})
            with self._store.change():
                counts = self._counts + rejected
                self._store.write(0, b"", {}, counts.to_dict())
            self._counts = counts
            return found

    def _take_all(self, pieces: Iterable[Frames]) -> Outcome:
        return sum((one for frames in pieces for one in self._take(frames)), Outcome())

    def _barred(
        self, owners: Integers, ids: NDArray[np.uint8], tokens: Sequence[str] | None
    ) -> tuple[NDArray[np.bool_], set[bytes]]:
        """Which reports are one too many, and the tokens that the others use up; what was counted before needs none."""
        barred, used = np.zeros(len(ids), bool), set[bytes]()
        room = len(ids) if self.max_reports is None else max(0, self.max_reports - self.accepted)
        if not self.tokens and len(ids) <= room:
            return barred, used
        given = [token_hash(one) for one in tokens or ()]
        granted = self._store.granted(set(given)) if self.tokens else set()
        for place in np.flatnonzero(~self._store.known(ids)).tolist():
            mine = given[owners[place]] if self.tokens and owners[place] < len(given) else b""
            if room and (not self.tokens or mine in granted):
                room -= 1
                granted.discard(mine)
                used |= {mine} if self.tokens else set()
            else:
                barred[place] = True
        return barred, used

    def _take(self, frames: Frames, tokens: Sequence[str] | None = None) -> list[Outcome]:
        """Judge every report wholly before anything of it is counted; then count it durably, or leave no trace."""
        with self._turn:
            fates, parts = wire.parse(frames, self._mark)
            groups = self._judge(frames, fates, parts)
            order = np.flatnonzero(fates == READABLE)
            ids = wire.identities(frames, order)
            ranks = np.ascontiguousarray(ids).view(">u8").astype(np.uint64)
            rows = np.lexsort((ranks[:, 1], ranks[:, 0]))
            order, ids, ranks = order[rows], ids[rows], ranks[rows]
            again = np.zeros(len(order), bool)
            again[1:] = (ranks[1:] == ranks[:-1]).all(axis=1)
            fates[order[again]] = REPLAYED
            order, ids = order[~again], ids[~again]
            if not len(frames) and not frames.damaged.any():
                return [Outcome() for _ in frames.damaged]
            barred, used = self._barred(frames.owners[order], ids, tokens)
            fates[order[barred]] = UNEXPECTED
            order, ids = order[~barred], ids[~barred]
            with self._store.change():
                batch, fresh = self._store.remember(ids)
                fates[order[~fresh]] = REPLAYED
                changed = self._added(groups, parts, fates)
                found = self._outcomes(frames, fates)
                counts = sum(found, self._counts)
                self._store.write(batch, wire.cut(frames, order[fresh]), changed, counts.to_dict())
                if used:
                    self._store.use(used)
            self._sums.update(changed)
            self._counts = counts
            return found

    def _judge(self, frames: Frames, fates: Integers, parts: Parts) -> list[tuple[Key, Integers, Any]]:
        """Mark the reports with a part that cannot be counted; for the rest, what the parts of each kind say."""
        labels, firsts = parts.groups()
        order = np.argsort(labels, kind="stable")
        edges = np.searchsorted(labels[order], np.arange(len(firsts) + 1))
        kept: list[tuple[Key, Integers, Any]] = []
        late: list[Integers] = []
        unheard = 0
        for number, first in enumerate(firsts.tolist()):
            rows = order[edges[number] : edges[number + 1]]
            key = parts.key(first)
            if not self._wanted(key, kept):
                late.append(rows)
                continue
            unheard += key not in self._sums
            if unheard > MOST_UNHEARD:  # setting up a mechanism costs more than the bytes that ask for it
                late.append(rows)
                continue
            try:
                mechanism = self._mechanism(key)
            except DiscreetError:
                fates[parts.owner[rows]] = MALFORMED
                continue
            fits = parts.stop[rows] - parts.start[rows] == mechanism.width
            fates[parts.owner[rows[~fits]]] = MALFORMED
            rows = rows[fits]
            said, fine = mechanism.decode(wire.gather(frames.raw, parts.start[rows], mechanism.width))
            fates[parts.owner[rows[~fine]]] = MALFORMED
            if fine.any():
                kept.append((key, rows[fine], said if fine.all() else said[fine]))
        for rows in late:
            owners = parts.owner[rows]
            fates[owners[fates[owners] == READABLE]] = UNEXPECTED
        return kept

    def _wanted(self, key: Key, kept: list[tuple[Key, Integers, Any]]) -> bool:
        if self.campaign is not None and (key.input, key.code, key.parameter) not in self._asked:
            return False
        if self.campaign is not None and key.parts != self.campaign.reports:
            return False
        if self._epsilon is not None and key.epsilon != self._epsilon:
            return False
        if key in self._sums:
            return True
        known = sum(one.input == key.input for one in self._sums) + sum(one.input == key.input for one, *_ in kept)
        return known < self.designs

    @cached_property
    def _asked(self) -> set[tuple[int, int, int]]:
        assert self.campaign is not None
        questions = self.campaign.questions
        return {(asked.index, mechanism.code, mechanism.parameter) for asked, mechanism in questions}

    def _mechanism(self, key: Key) -> Any:
        epsilon = local_epsilon(Fraction(key.epsilon, MILLION))
        return mechanism_of(self.schema, key.input, key.code, key.parameter, epsilon / key.parts)

    def _added(self, groups: list[tuple[Key, Integers, Any]], parts: Parts, fates: Integers) -> Sums:
        """The sums that change, with the accepted reports in them."""
        changed: Sums = {}
        for key, rows, said in groups:
            good = fates[parts.owner[rows]] == READABLE
            if good.any():
                mechanism = self._mechanism(key)
                support = mechanism.support(said if good.all() else said[good])
                count, before = self._sums.get(key, (0, np.int64(0)))
                changed[key] = count + int(good.sum()), before + np.asarray(support, np.int64)
        return changed

    def _outcomes(self, frames: Frames, fates: Integers) -> list[Outcome]:
        senders = len(frames.damaged)
        table = np.bincount(frames.owners * len(FATES) + fates, minlength=senders * len(FATES))
        table = table.reshape(senders, len(FATES))
        table[:, MALFORMED] += frames.damaged
        return [Outcome(*row) for row in table.tolist()]

    # ---- what is known

    @property
    def accepted(self) -> int:
        """Reports that were counted."""
        return self._counts.accepted

    @property
    def rejected(self) -> dict[str, int]:
        """Reports that were not counted, by reason."""
        return {fate: getattr(self._counts, fate) for fate in FATES[1:]}

    def probe(self) -> None:
        """Raise unless reports could be kept now."""
        with self._turn:
            self._store.probe()

    @property
    def since(self) -> str:
        """When the store was made."""
        return str(self._store.facts["since"])

    def tallies(self) -> list[Tally]:
        """What the reports said in sum, by input and mechanism."""
        with self._turn:
            return [
                Tally(key.input, self._mechanism(key), reports, support.copy(), key.parts)
                for key, (reports, support) in sorted(self._sums.items())
            ]

    def model(self, smoothing: float = 1.0) -> NaiveBayesModel:
        """The model learned from all accepted reports, with its certificate."""
        if not self.accepted:
            rejected = sum(self.rejected.values())
            raise StatisticsError(f"there is no accepted report to learn from ({rejected} were rejected)")
        return model_of(self.schema, self.tallies(), smoothing=smoothing)

    def summary(self) -> dict[str, Any]:
        """Counts for people and machines; nothing about any single report."""
        with self._turn:
            return {
                "schema_hash": self.schema.hash,
                "campaign": self._store.facts.get("campaign"),
                "since": self.since,
                "accepted": self.accepted,
                "rejected": self.rejected,
                "tallies": [
                    {
                        "input": key.input,
                        "about": input_of(self.schema, key.input).label(self.schema),
                        "mechanism": self._mechanism(key).name,
                        "epsilon": key.epsilon / MILLION,
                        "parts": key.parts,
                        "reports": reports,
                    }
                    for key, (reports, _) in sorted(self._sums.items())
                ],
            }

    def __repr__(self) -> str:
        return f"<Collector: {self.accepted} reports accepted, {sum(self.rejected.values())} rejected>"


def token_hash(token: str) -> bytes:
    """The fingerprint by which the store knows a token."""
    return hashlib.sha256(token.encode()).digest()


def _nothing(mechanism: Any) -> Any:
    """The sum of no reports."""
    return mechanism.support(mechanism.decode(np.empty((0, mechanism.width), np.uint8))[0])
