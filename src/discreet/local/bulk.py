"""Bulk: the reports of many people at once, with the same law and the same bytes as one client each."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.local.campaign import Campaign, Question
from discreet.local.entropy import evenly, words
from discreet.local.inputs import Input, answer
from discreet.local.wire.integers import Integers, Raw
from discreet.local.wire.report import HEAD, ID_BYTES, MARKER, MILLION, SCHEMA_BYTES, TAIL, VERSION, schema_mark, varint
from discreet.schema import Schema
from discreet.sources import Numbers, Rows, cells_of, hold


class People:
    """The rows of a batch in the schema's own terms, column by column."""

    def __init__(self, schema: Schema, rows: Rows) -> None:
        assert rows.label is not None
        self.schema, self.rows = schema, rows
        self.labels: Integers = rows.label.encode()
        if rows.size and self.labels.max() >= len(schema.classes):
            rows.label.complain()

    @cached_property
    def places(self) -> list[tuple[Integers, Integers | None]]:
        """For each feature the cell of every person and, for a number, its lattice point."""
        return [_places(column) for column in self.rows.columns]

    def answers(self, asked: Input, who: Any) -> tuple[Any, ...]:
        """What the chosen people would truly answer: (value,), or (class, point) or (class, points)."""

        def some(column: int) -> Callable[[int], Any]:
            return lambda place: self.places[place][column][who]  # type: ignore[index]

        return answer(self.schema, asked, self.labels[who], some(0), some(1), partial(np.stack, axis=1))


def _places(column: Any) -> tuple[Integers, Integers | None]:
    cells = cells_of(column).astype(np.int64)
    return cells, hold(column).astype(np.int64) if isinstance(column, Numbers) else None


def choose_many(campaign: Campaign, size: int, rng: np.random.Generator | None = None) -> Integers:
    """For each person, places in the campaign's questions, drawn evenly without replacement."""
    count, k = len(campaign.questions), campaign.reports
    places = np.tile(np.arange(count), (size, 1)) if k > 1 else None
    chosen = np.empty((size, k), np.int64)
    for i in range(k):
        drawn = i + np.asarray(evenly(size, count - i, rng), np.int64)
        if places is None:
            return drawn[:, None]
        people = np.arange(size)
        chosen[:, i] = places[people, drawn]
        places[people, drawn] = places[:, i]
    return chosen


def report_rows(campaign: Campaign, rows: Rows, *, rng: np.random.Generator | None = None) -> bytes:
    """One report for each row, one after another: the contents of a report file."""
    size, questions = rows.size, campaign.questions
    identities = words(2 * size, rng).view(np.uint8).reshape(size, ID_BYTES)
    chosen = choose_many(campaign, size, rng)
    people = People(campaign.schema, rows)
    heads = [_part_head(question) for question in questions]
    lengths = np.array([len(h) + q.mechanism.width for h, q in zip(heads, questions, strict=True)], np.int64)
    front = schema_mark(campaign.schema.hash), varint(int(campaign.epsilon * MILLION)) + bytes([campaign.reports])
    fixed = SCHEMA_BYTES + ID_BYTES + len(front[1])
    bodies = fixed + lengths[chosen].sum(axis=1)
    ends = np.cumsum(bodies + HEAD + TAIL)
    starts = ends - bodies - HEAD - TAIL
    out = np.empty(int(ends[-1]) if size else 0, np.uint8)
    _write(out, starts, np.frombuffer(MARKER + bytes([VERSION]), np.uint8)[None, :])
    _write(out, starts + 5, bodies.astype("<u2").view(np.uint8).reshape(size, 2))
    _write(out, starts + HEAD, np.frombuffer(front[0], np.uint8)[None, :])
    _write(out, starts + HEAD + SCHEMA_BYTES, identities)
    _write(out, starts + HEAD + SCHEMA_BYTES + ID_BYTES, np.frombuffer(front[1], np.uint8)[None, :])
    spots = starts + HEAD + fixed
    for slot in range(campaign.reports):
        for place, question in enumerate(questions):
            who = np.flatnonzero(chosen[:, slot] == place)
            if len(who):
                said = question.mechanism.perturb(*people.answers(question.input, who), rng=rng)
                _write(out, spots[who], np.frombuffer(heads[place], np.uint8)[None, :])
                _write(out, spots[who] + len(heads[place]), question.mechanism.encode(said))
        spots = spots + lengths[chosen[:, slot]]
    view = out.data  # a checksum per frame: the standard library's is the fastest there is
    sums = [zlib.crc32(view[a:b]) for a, b in zip(starts.tolist(), (ends - TAIL).tolist(), strict=True)]
    _write(out, ends - TAIL, np.array(sums, "<u4").view(np.uint8).reshape(size, TAIL))
    return out.tobytes()


def _part_head(question: Question) -> bytes:
    mechanism = question.mechanism
    head = varint(question.input.index) + bytes([mechanism.code]) + varint(mechanism.parameter)
    return head + varint(mechanism.width)


def _write(out: Raw, spots: Any, values: Any) -> None:
    """Put a row of bytes at each spot."""
    if len(spots):
        out[spots[:, None] + np.arange(values.shape[1])] = values
