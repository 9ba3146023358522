"""The update: what one node lets out, noised integers with the certificate of their cost.

As bytes or arrays it is integers only, the same bytes for the same update, hardened against strangers.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.bayes.likelihoods import names
from discreet.bayes.plan import Plan
from discreet.bayes.release import Release
from discreet.errors import DiscreetError
from discreet.files import parse_json
from discreet.mechanisms.running import MOST, mean_square
from discreet.nodes.refusals import Refusal, demand, refuse
from discreet.nodes.settings import Settings, node_plan, plain_budget, read_budget
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema

Integers = NDArray[np.int64]
Key = tuple[str, str]
LONGEST = 200  # characters of a node's or a round's name
MAGIC = b"discreet-update\n"
VERSION = 1
MOST_TEXT = 1 << 24  # bytes of metadata
MOST_ARRAYS = 1 << 17
MOST_CELLS = 1 << 26  # integers in one update
KINDS = ("class", "table", "present", "sum", "square")
WIDTHS = ("<i1", "<i2", "<i4", "<i8")
EXACT = re.compile(r"[0-9]{1,400}(/[1-9][0-9]{0,399})?")  # no exponents: a short text stays a small number
FIELDS = {
    "version", "node", "round", "schema_hash", "adjacency", "numeric", "split", "contributions",
    "mechanism", "epsilon", "delta", "rho", "rows", "certificate",
}  # fmt: skip


@dataclass(frozen=True)
class Update:
    """Noised integers of one node: `values[kind, feature]` has a row per class. Nothing in here is exact.

    `round_id` tells two updates of one node apart; `rows` is the node's noised number of rows, if it declares one. In a
    `stream` of (how many steps, which one) the integers are the running sums of all steps so far, rounded.
    """

    node: str
    round_id: str
    schema_hash: str
    settings: Settings
    budget: Budget
    mechanism: str
    values: Mapping[Key, Integers] = field(repr=False)
    certificate: Certificate = field(repr=False)
    rows: int | None = None
    stream: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, what in ((self.node, "node"), (self.round_id, "round")):
            good = isinstance(name, str) and 0 < len(name) <= LONGEST and name.isprintable()
            demand(good, f"the name of a {what} is a text of 1 to {LONGEST} printable characters")
        frozen: dict[Key, Integers] = {}
        for key in sorted(self.values):
            array = np.array(self.values[key])
            good = array.ndim == 2 and array.size > 0 and array.dtype == np.int64
            demand(good, f"the {key[0]} of {key[1]!r} is no table of 64-bit integers")
            array.flags.writeable = False
            frozen[key] = array
        object.__setattr__(self, "values", frozen)

    def plan(self, schema: Schema) -> Plan:
        """The plan under which the integers were noised, from public knowledge alone."""
        steps = None if self.stream is None else self.stream[0]
        return node_plan(schema, self.settings, self.budget, self.mechanism, steps)

    def release(self, schema: Schema) -> Release:
        """The update as a release, for estimates from this node alone."""
        plan, held = self.plan(schema), self.certificate
        times = 1.0 if plan.stream is None or self.stream is None else mean_square(plan.stream, self.stream[1])
        return Release(plan, self.values, samplers=(held.sampler,), simulation=held.simulation, times=times)

    @property
    def epsilon(self) -> float:
        """ε as a float; infinity without noise, NaN for a budget of ρ."""
        if self.budget.rho is not None:
            return float("nan")
        return float("inf") if self.budget.epsilon is None else float(self.budget.epsilon)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of every byte of the update."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Update) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.digest)

    def metadata(self) -> str:
        """Everything but the integers, as canonical JSON."""
        fields = {
            **self.settings.plain(),
            **plain_budget(self.budget),
            "version": VERSION,
            "node": self.node,
            "round": self.round_id,
            "schema_hash": self.schema_hash,
            "mechanism": self.mechanism,
            "rows": self.rows,
            "certificate": self.certificate.model_dump(mode="json"),
            **({} if self.stream is None else {"stream": list(self.stream)}),
        }
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)

    def to_bytes(self) -> bytes:
        """Magic, metadata, then each table in the order of its key, in the narrowest width that holds it."""
        text = self.metadata().encode()
        parts = [MAGIC, struct.pack("<BII", VERSION, len(text), len(self.values)), text]
        for (kind, feature), values in self.values.items():
            low, high = int(values.min()), int(values.max())
            width = _width(low, high)
            name = feature.encode()
            parts.append(struct.pack("<BBIII", KINDS.index(kind), width, len(name), *values.shape))
            parts += [name, values.astype(WIDTHS[width]).tobytes()]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Update:
        """The only update whose bytes these are; every other input is refused as malformed."""
        demand(isinstance(raw, bytes | bytearray | memoryview), "an update is read from bytes")
        reader = _Reader(bytes(raw))
        demand(reader.take(len(MAGIC)) == MAGIC, "these bytes are no update")
        version, length, count = reader.unpack("<BII")
        demand(version == VERSION, f"the update is not of version {VERSION}")
        demand(length <= MOST_TEXT and count <= MOST_ARRAYS, "the update is too large")
        text = reader.take(length)
        values: dict[Key, Integers] = {}
        cells = 0
        for _ in range(count):
            kind, width, name_length, rows, columns = reader.unpack("<BBIII")
            demand(kind < len(KINDS) and width < len(WIDTHS), "a table of the update is of no known kind")
            cells += rows * columns
            demand(0 < cells <= MOST_CELLS and rows * columns > 0, "the update has too many integers or none")
            try:
                name = reader.take(name_length).decode()
            except UnicodeDecodeError:
                refuse(Refusal.MALFORMED, "a feature of the update has no readable name")
            block = reader.take(rows * columns * (1 << width))
            array = np.frombuffer(block, WIDTHS[width]).astype(np.int64).reshape(rows, columns)
            values[KINDS[kind], name] = array
        demand(reader.place == len(reader.raw), "there are bytes after the update's end")
        update = cls._rebuilt(text, values)
        demand(update.to_bytes() == reader.raw, "the update is not in its canonical form")
        return update

    def to_arrays(self) -> tuple[dict[str, Integers], str]:
        """The integers as named arrays, and all the rest as a JSON text, for engines that carry arrays."""
        return {f"{kind}:{feature}": values for (kind, feature), values in self.values.items()}, self.metadata()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], text: str) -> Update:
        """Read what `to_arrays` gave; anything else is refused as malformed."""
        demand(isinstance(arrays, Mapping) and len(arrays) <= MOST_ARRAYS, "the update has too many arrays")
        demand(isinstance(text, str), "the metadata of the update are no text")
        values: dict[Key, Integers] = {}
        cells = 0
        for name, given in arrays.items():
            demand(isinstance(name, str), "an array of the update has no name")
            kind, _, feature = name.partition(":")
            demand(kind in KINDS and feature, "an array of the update is of no known kind")
            demand(not any("\ud800" <= letter <= "\udfff" for letter in feature), "a feature has no readable name")
            array = np.asarray(given)
            good = array.ndim == 2 and array.dtype == np.int64 and array.size > 0
            demand(good, "an array of the update is no table of 64-bit integers")
            cells += array.size
            demand(cells <= MOST_CELLS, "the update has too many integers")
            values[kind, feature] = array
        return cls._rebuilt(text, values)

    @classmethod
    def _rebuilt(cls, text: str | bytes, values: Mapping[Key, Integers]) -> Update:
        """An update out of its metadata and integers."""
        demand(len(text) <= MOST_TEXT, "the metadata of the update are too long")
        try:
            fields = parse_json(text)
        except (ValueError, UnicodeDecodeError):
            refuse(Refusal.MALFORMED, "the metadata of the update are no JSON")
        demand(isinstance(fields, dict) and fields.get("version") == VERSION, f"the update is not of version {VERSION}")
        demand(
            set(fields) - {"stream"} == FIELDS, "the metadata of the update have other fields than this version knows"
        )
        demand(is_count(fields["rows"]) or fields["rows"] is None, "the declared number of rows is no whole number")
        demand(isinstance(fields["schema_hash"], str), "the update names no schema")
        demand(fields["mechanism"] in ("laplace", "gaussian", "none"), "the update names no known noise")
        try:
            certificate = Certificate.model_validate_json(json.dumps(fields["certificate"]))
        except ValidationError as error:
            refuse(Refusal.MALFORMED, f"the certificate of the update is damaged: {error.errors()[0]['msg']}")
        return cls(
            fields["node"],
            fields["round"],
            fields["schema_hash"],
            _settings(fields),
            _budget(fields),
            fields["mechanism"],
            values,
            certificate,
            fields["rows"],
            _stream(fields.get("stream")),
        )


def is_count(value: Any) -> bool:
    """Whether a stranger's value is a whole number that 64 bits hold, with room to add."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _stream(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    fine = isinstance(value, list) and len(value) == 2 and all(is_count(one) for one in value)
    demand(fine and 1 <= value[1] <= value[0] <= MOST, "the update names no step of a stream")
    return value[0], value[1]


def _fraction(text: Any) -> Fraction:
    demand(isinstance(text, str) and EXACT.fullmatch(text), "an amount of the update is no exact fraction")
    value = Fraction(text)
    demand(str(value) == text, "an amount of the update is not in lowest terms")
    return value


def _settings(fields: dict[str, Any]) -> Settings:
    split = fields["split"]
    if isinstance(split, dict):
        demand(len(split) <= MOST_ARRAYS, "the update splits its budget over too many features")
        split = tuple(sorted((name, _fraction(share)) for name, share in split.items()))
    demand(isinstance(split, tuple) or split in ("weighted", "equal"), "the update names no known split of its budget")
    demand(fields["numeric"] in names(), "the update names no known model")
    demand(fields["adjacency"] in tuple(Adjacency), "the update names no known adjacency")
    demand(is_count(fields["contributions"]) and fields["contributions"] > 0, "the rows per person are no count")
    return Settings(Adjacency(fields["adjacency"]), fields["numeric"], split, fields["contributions"])


def _budget(fields: dict[str, Any]) -> Budget:
    epsilon, rho = (None if fields[key] is None else _fraction(fields[key]) for key in ("epsilon", "rho"))
    delta = _fraction(fields["delta"])
    demand(rho is None or (epsilon is None and not delta), "a budget is given as epsilon and delta or as rho")
    try:
        return read_budget(epsilon, delta, rho)
    except DiscreetError as error:
        refuse(Refusal.MALFORMED, f"the update has an impossible budget: {error}")


def _width(low: int, high: int) -> int:
    return next(i for i, bits in enumerate((7, 15, 31, 63)) if -(1 << bits) <= low and high < 1 << bits)


class _Reader:
    """Bytes read in order; a read past the end is refused."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.place = raw, 0

    def take(self, size: int) -> bytes:
        demand(self.place + size <= len(self.raw), "the update is cut short")
        self.place += size
        return self.raw[self.place - size : self.place]

    def unpack(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))
