"""What travels in Flower's messages: requests as settings, updates as arrays of integers, refusals as one sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from discreet.mechanisms.running import MOST
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError, Refusal, demand, refuse
from discreet.nodes.settings import Settings
from discreet.nodes.update import LONGEST, Update

FIELDS = {"adjacency", "numeric", "split", "contributions", "round", "schema_hash"}


@dataclass(frozen=True)
class Request:
    """What a coordinator asks of a node: one round, under settings that all nodes have in common."""

    round_id: str
    schema_hash: str
    settings: Settings
    stream: tuple[int, int] | None = None  # of how many steps, and which one

    @classmethod
    def read(cls, content: RecordDict) -> Request:
        """Read what `record` wrote; anything else is a `NodeRefusedError`."""
        try:
            text = content.config_records["request"]["json"]
            assert isinstance(text, str) and len(text) < 1 << 20
            fields = json.loads(text)
            assert set(fields) - {"stream"} == FIELDS and type(fields["contributions"]) is int
            assert all(isinstance(fields[key], str) for key in FIELDS - {"contributions"})
            assert fields["split"] in {"weighted", "equal"}
            settings = Settings.of(fields["adjacency"], fields["numeric"], fields["split"], fields["contributions"])
            round_id, schema_hash = fields["round"], fields["schema_hash"]
            assert 0 < len(round_id) <= LONGEST and round_id.isprintable()
            return cls(round_id, schema_hash, settings, _step(fields["stream"]) if "stream" in fields else None)
        except (KeyError, ValueError, TypeError, AssertionError, ArithmeticError, RecursionError):
            raise NodeRefusedError(NodeRefusal.REQUEST) from None

    def text(self) -> str:
        """The request as canonical JSON: one round has one text."""
        fields = {**self.settings.plain(), "round": self.round_id, "schema_hash": self.schema_hash}
        if self.stream is not None:
            fields["stream"] = list(self.stream)
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    def record(self) -> RecordDict:
        """The request as the content of a message."""
        return RecordDict({"request": ConfigRecord({"json": self.text()})})


def _step(value: Any) -> tuple[int, int]:
    steps, step = value
    assert type(steps) is int and type(step) is int and 1 <= step <= steps <= MOST
    return steps, step


def _value(content: RecordDict, record: str, name: str) -> Any:
    """A value of a message, or None where there is none."""
    found = content.config_records.get(record)
    return None if found is None else found.get(name)


def masked_record(message: bytes, request: Request | None = None) -> RecordDict:
    """One step of a round under masks: in a request, or as a reply without one."""
    return RecordDict({**(request.record() if request else {}), "secure": ConfigRecord({"message": message})})


def read_masked(content: RecordDict) -> bytes:
    """The step in a request or reply, or the error that says why there is none."""
    raise_refusal(content)
    message = _value(content, "secure", "message")
    if not isinstance(message, bytes):
        raise NodeRefusedError(NodeRefusal.REQUEST)
    return message


def update_record(update: Update) -> RecordDict:
    """An update as the content of a reply: 64-bit integers, and all the rest as one JSON text."""
    arrays, metadata = update.to_arrays()
    return RecordDict(
        {
            "update": ArrayRecord({name: Array(values) for name, values in arrays.items()}),
            "about": ConfigRecord({"metadata": metadata}),
        }
    )


def refusal_record(reason: NodeRefusal) -> RecordDict:
    """A refusal as the content of a reply: a word out of a fixed list."""
    return RecordDict({"refusal": ConfigRecord({"reason": str(reason)})})


def raise_refusal(content: RecordDict) -> None:
    """Raise if the reply is a refusal."""
    if "refusal" in content.config_records:
        word = _value(content, "refusal", "reason")
        known = isinstance(word, str) and word in set(NodeRefusal)
        raise NodeRefusedError(NodeRefusal(word) if known else NodeRefusal.FAILED)


def read_update(content: RecordDict) -> Update:
    """The update in a node's reply, or the error that says why there is none; what cannot be read is malformed."""
    raise_refusal(content)
    demand("update" in content.array_records, "the reply of the node has no arrays")
    try:
        arrays = {key: np.asarray(array.numpy()) for key, array in content.array_records["update"].items()}
    except (ValueError, TypeError, EOFError, OSError, SyntaxError, MemoryError):
        refuse(Refusal.MALFORMED, "an array of the reply cannot be read")
    text = _value(content, "about", "metadata")
    demand(isinstance(text, str), "the reply of the node has no metadata")
    return Update.from_arrays(arrays, str(text))
