"""What travels in Flower's messages: requests as settings, updates as arrays of integers, refusals as one sentence."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from discreet.errors import DiscreetError, UpdateError
from discreet.federated.refusal import Refusal, demand
from discreet.federated.update import LONGEST, Settings, Update


class NodeRefusal(StrEnum):
    """Why a node does not answer. The sentences say nothing of its rows, its files or how much it has."""

    BUDGET = "budget"
    ROUND = "round"
    SCHEMA = "schema"
    SETTINGS = "settings"
    REQUEST = "request"
    SECURE = "secure"
    BUSY = "busy"
    FAILED = "failed"


SENTENCES = {
    NodeRefusal.BUDGET: "the node's own ledger does not pay for another round",
    NodeRefusal.ROUND: "the node has answered this round before, to another question: ask under a new name",
    NodeRefusal.SCHEMA: "the node has another schema",
    NodeRefusal.SETTINGS: "the node does not answer under this adjacency, rows per person or noise",
    NodeRefusal.REQUEST: "the node could not read the request",
    NodeRefusal.SECURE: "the node cannot go on with this secure round",
    NodeRefusal.BUSY: "the node's ledger is in use: ask again",
    NodeRefusal.FAILED: "the node failed: its own log says why",
}


class RefusedError(DiscreetError):
    """A node's refusal, as the coordinator hears it."""

    def __init__(self, reason: NodeRefusal) -> None:
        super().__init__(SENTENCES[reason])
        self.reason = reason


class BusyError(RefusedError):
    """The one refusal that is not final: the same question is asked again."""

    def __init__(self) -> None:
        super().__init__(NodeRefusal.BUSY)


FIELDS = {"adjacency", "numeric", "split", "contributions", "round", "schema_hash"}


@dataclass(frozen=True)
class Request:
    """What a coordinator asks of a node: one round, under settings that all nodes have in common."""

    round_id: str
    schema_hash: str
    settings: Settings

    def text(self) -> str:
        """The request as canonical JSON: one round has one text."""
        fields = {**asdict(self.settings), "round": self.round_id, "schema_hash": self.schema_hash}
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    def record(self) -> RecordDict:
        """The request as the content of a message."""
        return RecordDict({"request": ConfigRecord({"json": self.text()})})

    @classmethod
    def read(cls, content: RecordDict) -> Request:
        """Read what `record` wrote; anything else is a `RefusedError`."""
        try:
            text = content.config_records["request"]["json"]
            assert isinstance(text, str) and len(text) < 1 << 20
            fields = json.loads(text)
            assert set(fields) == FIELDS and type(fields["contributions"]) is int
            assert all(isinstance(fields[key], str) for key in FIELDS - {"contributions"})
            assert fields["split"] in {"weighted", "equal"}
            settings = Settings.of(fields["adjacency"], fields["numeric"], fields["split"], fields["contributions"])
            round_id, schema_hash = fields["round"], fields["schema_hash"]
            assert 0 < len(round_id) <= LONGEST and round_id.isprintable()
            return cls(round_id, schema_hash, settings)
        except (KeyError, ValueError, TypeError, AssertionError, ArithmeticError, RecursionError):
            raise RefusedError(NodeRefusal.REQUEST) from None


def secure_record(request: Request, message: bytes) -> RecordDict:
    """One step of a round under masks, as a request."""
    return RecordDict({**request.record(), "secure": ConfigRecord({"message": message})})


def secure_reply(message: bytes) -> RecordDict:
    """One step of a round under masks, as a reply."""
    return RecordDict({"secure": ConfigRecord({"message": message})})


def read_secure(content: RecordDict) -> bytes:
    """The step in a request or reply, or the error that says why there is none."""
    raise_refusal(content)
    record = content.config_records.get("secure")
    message = None if record is None else record.get("message")
    if not isinstance(message, bytes):
        raise RefusedError(NodeRefusal.REQUEST)
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
        word = content.config_records["refusal"].get("reason")
        if word == NodeRefusal.BUSY:
            raise BusyError
        if isinstance(word, str) and word in set(NodeRefusal):
            raise RefusedError(NodeRefusal(word))
        raise RefusedError(NodeRefusal.FAILED)


def read_arrays(content: RecordDict, name: str) -> dict[str, Any]:
    """The named arrays of a record as they came; whatever cannot be read is refused as malformed."""
    demand(name in content.array_records, "the reply of the node has no arrays")
    try:
        return {key: array.numpy() for key, array in content.array_records[name].items()}
    except (ValueError, TypeError, EOFError, OSError, SyntaxError, MemoryError):
        raise UpdateError(Refusal.MALFORMED, "an array of the reply cannot be read") from None


def read_update(content: RecordDict) -> Update:
    """The update in a node's reply, or the error that says why there is none."""
    raise_refusal(content)
    arrays = read_arrays(content, "update")
    about = content.config_records.get("about")
    text = None if about is None else about.get("metadata")
    demand(isinstance(text, str), "the reply of the node has no metadata")
    assert isinstance(text, str)
    return Update.from_arrays({name: np.asarray(values) for name, values in arrays.items()}, text)
