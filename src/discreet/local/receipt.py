"""What a report says, in words: the question that was drawn, the randomised answer, and the bytes themselves."""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import DataError
from discreet.local.campaign import Campaign, Question
from discreet.local.texts import told
from discreet.local.wire import frames as wire
from discreet.local.wire.report import MILLION, schema_mark
from discreet.schema import Schema

SETS = ("grr", "unary", "subset", "hashing", "hadamard")  # scripts of oracles whose reports speak for a set of answers
MOST = 12  # answers that are named


@dataclass(frozen=True)
class Said:
    """One part of a report: what it is about, by which mechanism, and what it says."""

    about: str
    mechanism: str
    words: str


@dataclass(frozen=True)
class Receipt:
    """A report as it was sent, and what it says."""

    epsilon: float
    id: str
    parts: tuple[Said, ...]
    hex: str
    base64: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def receipt(campaign: Campaign, frame: bytes) -> Receipt:
    """Read a report of this campaign."""
    frames = wire.frames_one_each([frame])
    states, parts = wire.parse(frames, schema_mark(campaign.schema.hash))
    if len(frames) != 1 or states[0] != wire.READABLE:
        raise DataError("these bytes are no report about the campaign's schema")
    known = {one.input.index: one for one in campaign.questions}
    said = []
    for row in range(len(parts)):
        key = parts.key(row)
        asked = known.get(key.input)
        payload = frame[int(parts.start[row]) : int(parts.stop[row])]
        if asked is None or key.code != asked.mechanism.code or len(payload) != asked.mechanism.width:
            raise DataError("the report is of another design than the campaign's")
        words = words_of(campaign.schema, asked, payload)
        said.append(Said(asked.input.label(campaign.schema), asked.mechanism.name, words))
    return Receipt(
        float(Fraction(parts.key(0).epsilon, MILLION)),
        wire.identities(frames, np.array([0])).tobytes().hex(),
        tuple(said),
        frame.hex(),
        base64.b64encode(frame).decode(),
    )


def words_of(schema: Schema, asked: Question, payload: bytes) -> str:
    """What one part says; the page's script writes the same (`js/page.mjs`)."""
    mechanism = asked.mechanism
    said, fine = mechanism.decode(np.frombuffer(payload, np.uint8).reshape(1, -1))
    if not fine.all():
        raise DataError("the report says what its mechanism cannot have said")
    if mechanism.script not in SETS:
        return told("said_numbers", numbers=", ".join(str(one) for one in np.ravel(said).tolist()))
    spoken = np.flatnonzero(mechanism.says(said)[0] > 0).tolist()
    if not spoken:
        return told("said_none", all=mechanism.d)
    names = [answer_name(schema, asked, value) for value in spoken[:MOST]]
    if len(spoken) == 1:
        return told("said_one", answer=names[0])
    rest = [told("said_more", count=len(spoken) - MOST)] if len(spoken) > MOST else []
    return told("said_some", count=len(spoken), all=mechanism.d, answers="; ".join([*names, *rest]))


def answer_name(schema: Schema, asked: Question, value: int) -> str:
    """What an answer to a question out of a list stands for."""
    feature = asked.input.feature
    if feature is None:
        return f"{schema.target}: {schema.label.labels[value]}"
    label, cell = divmod(value, feature.cells)
    return f"{feature.name}: {feature.labels[cell]}, {schema.target}: {schema.label.labels[label]}"
