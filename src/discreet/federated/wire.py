"""Updates as bytes or arrays: integers only, the same bytes for the same update, hardened against strangers."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.bayes.likelihoods import names
from discreet.errors import DiscreetError
from discreet.federated.refusal import Refusal, demand, refuse
from discreet.files import parse_json
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate

if TYPE_CHECKING:
    from discreet.federated.update import Key, Settings, Update

Integers = NDArray[np.int64]
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


def metadata(update: Update) -> str:
    """Everything but the integers, as canonical JSON."""
    settings, budget = update.settings, update.budget
    split = settings.split if isinstance(settings.split, str) else {name: str(share) for name, share in settings.split}
    fields = {
        "version": VERSION,
        "node": update.node,
        "round": update.round_id,
        "schema_hash": update.schema_hash,
        "adjacency": str(settings.adjacency),
        "numeric": settings.numeric,
        "split": split,
        "contributions": settings.contributions,
        "mechanism": update.mechanism,
        "epsilon": None if budget.epsilon is None else str(budget.epsilon),
        "delta": str(budget.delta),
        "rho": None if budget.rho is None else str(budget.rho),
        "rows": update.rows,
        "certificate": update.certificate.model_dump(mode="json"),
    }
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def rebuild(text: str | bytes, values: Mapping[Key, Integers]) -> Update:
    """An update out of its metadata and integers."""
    from discreet.federated.update import Update

    demand(len(text) <= MOST_TEXT, "the metadata of the update are too long")
    try:
        fields = parse_json(text)
    except (ValueError, UnicodeDecodeError):
        refuse(Refusal.MALFORMED, "the metadata of the update are no JSON")
    demand(isinstance(fields, dict) and fields.get("version") == VERSION, f"the update is not of version {VERSION}")
    demand(set(fields) == FIELDS, "the metadata of the update have other fields than this version knows")
    demand(_is_count(fields["rows"]) or fields["rows"] is None, "the declared number of rows is no whole number")
    demand(isinstance(fields["schema_hash"], str), "the update names no schema")
    demand(fields["mechanism"] in ("laplace", "gaussian", "none"), "the update names no known noise")
    try:
        certificate = Certificate.model_validate_json(json.dumps(fields["certificate"]))
    except ValidationError as error:
        refuse(Refusal.MALFORMED, f"the certificate of the update is damaged: {error.errors()[0]['msg']}")
    return Update(
        fields["node"],
        fields["round"],
        fields["schema_hash"],
        _settings(fields),
        _budget(fields),
        fields["mechanism"],
        values,
        certificate,
        fields["rows"],
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _fraction(text: Any) -> Fraction:
    demand(isinstance(text, str) and EXACT.fullmatch(text), "an amount of the update is no exact fraction")
    value = Fraction(text)
    demand(str(value) == text, "an amount of the update is not in lowest terms")
    return value


def _settings(fields: dict[str, Any]) -> Settings:
    from discreet.federated.update import Settings

    split = fields["split"]
    if isinstance(split, dict):
        demand(len(split) <= MOST_ARRAYS, "the update splits its budget over too many features")
        split = tuple(sorted((name, _fraction(share)) for name, share in split.items()))
    demand(isinstance(split, tuple) or split in ("weighted", "equal"), "the update names no known split of its budget")
    demand(fields["numeric"] in names(), "the update names no known model")
    demand(fields["adjacency"] in tuple(Adjacency), "the update names no known adjacency")
    demand(_is_count(fields["contributions"]) and fields["contributions"] > 0, "the rows per person are no count")
    return Settings(Adjacency(fields["adjacency"]), fields["numeric"], split, fields["contributions"])


def _budget(fields: dict[str, Any]) -> Budget:
    epsilon, rho = (None if fields[key] is None else _fraction(fields[key]) for key in ("epsilon", "rho"))
    delta = _fraction(fields["delta"])
    try:
        if rho is not None:
            demand(epsilon is None and not delta, "a budget is given as epsilon and delta or as rho")
            return Budget(rho=rho)
        return Budget(float("inf") if epsilon is None else epsilon, delta)
    except DiscreetError as error:
        refuse(Refusal.MALFORMED, f"the update has an impossible budget: {error}")


def to_bytes(update: Update) -> bytes:
    """Magic, metadata, then each table in the order of its key, in the narrowest width that holds it."""
    text = metadata(update).encode()
    parts = [MAGIC, struct.pack("<BII", VERSION, len(text), len(update.values)), text]
    for (kind, feature), values in update.values.items():
        low, high = int(values.min()), int(values.max())
        width = _width(low, high)
        name = feature.encode()
        parts.append(struct.pack("<BBIII", KINDS.index(kind), width, len(name), *values.shape))
        parts += [name, values.astype(WIDTHS[width]).tobytes()]
    return b"".join(parts)


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


def from_bytes(raw: bytes) -> Update:
    """The only update whose bytes these are; every other input is refused."""
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
    update = rebuild(text, values)
    demand(to_bytes(update) == reader.raw, "the update is not in its canonical form")
    return update


def to_arrays(update: Update) -> tuple[dict[str, Integers], str]:
    """Named arrays and the metadata."""
    return {f"{kind}:{feature}": values for (kind, feature), values in update.values.items()}, metadata(update)


def from_arrays(arrays: Mapping[str, Any], text: str) -> Update:
    """An update out of named arrays and the metadata."""
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
    return rebuild(text, values)
