"""People: who the rows belong to, by one key per id, counted in memory however the ids are stored."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.stored import Distinct, distinct, is_arrow, is_wide_text, simple, text_doubles
from discreet.values import LONG, NUMBERED, person

_SHORT = 256  # bytes of a text that are multiplied by keys; longer ones are rare
_ROOM = 1 << 20  # keys that are gathered before equal ones are brought together
EXACT = 2.0**53
Integers = NDArray[np.int64]


def id_keys(raw: Any) -> NDArray[Any]:
    """The key of each row's person: doubles if all ids are numbers, else doubles and texts as objects.

    A missing id is NaN among doubles and None among objects. Keys of several batches can be compared.
    """
    found = simple(raw)
    if isinstance(found, np.ndarray):
        return np.asarray(found, np.float64) + 0.0
    if is_arrow(found):
        found = distinct(found)
    table = np.empty(len(found.names) + 1, object)
    for spot, name in enumerate(found.names):
        table[spot] = person(name)
    keys: NDArray[Any] = table[found.indices]
    return keys


class People:
    """Rows per person, added up batch by batch: 16 bytes or 24 a person, none of them on disk.

    Numbers are kept as they are and texts as digests of 16 bytes under keys of this object alone, so that nobody can
    choose two texts that count as one, and none of two that come by chance is ever likely to. If some did, rows would
    be refused, or looked at again: one person never counts as two.
    """

    def __init__(self) -> None:
        self.missing = False
        self._salt = os.urandom(32)
        self._factors = np.frombuffer(os.urandom(16 * (_SHORT // 4 + 1)), np.uint64).reshape(-1, 2)
        self._numbers = _Counter(1)
        self._texts = _Counter(2)

    def add(self, raw: Any) -> None:
        """Take in the ids of some rows."""
        found = simple(raw)
        if isinstance(found, np.ndarray):
            self._add_numbers(found)
        elif isinstance(found, Distinct) or not is_wide_text(found):
            self._add_distinct(found if isinstance(found, Distinct) else distinct(found))
        else:
            self._add_texts(found)

    def most(self) -> tuple[int, float | None]:
        """The largest number of rows that one person has, and that person's number, if it is one."""
        texts, _ = self._texts.most()
        numbers, key = self._numbers.most()
        return (texts, None) if texts > numbers else (numbers, None if key is None else float(key.view(np.float64)[0]))

    def alike(self) -> People:
        """Nobody yet, by the same keys: what is counted apart can be put together."""
        fresh = People()
        fresh._salt, fresh._factors = self._salt, self._factors
        return fresh

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Keys and how often each occurs. As private as the rows."""
        found: dict[str, NDArray[Any]] = {"missing": np.array([self.missing])}
        for name, counter in (("numbers", self._numbers), ("texts", self._texts)):
            counter.join()
            found[name], found[f"{name} counts"] = counter.keys[0], counter.counts[0]
        return found

    def include(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take in what people counted apart gave as arrays."""
        self.missing = self.missing or bool(arrays["missing"][0])
        self._numbers.add(arrays["numbers"], arrays["numbers counts"])
        self._texts.add(arrays["texts"], arrays["texts counts"])

    def _add_numbers(self, values: NDArray[Any], counts: Integers | None = None) -> None:
        doubles = np.asarray(values, np.float64) + 0.0
        gone = np.isnan(doubles)
        if gone.any():
            self.missing = True
            doubles, counts = doubles[~gone], None if counts is None else counts[~gone]
        self._numbers.add(doubles.view(np.uint64)[:, None], counts)

    def _add_texts(self, raw: Any) -> None:
        """Texts in an Arrow array; those that write a number count as that number."""
        import pyarrow.compute as pc

        if raw.null_count:
            self.missing = True
            raw = raw.drop_null()
        numbered = pc.match_substring_regex(raw, rf"^(?:{NUMBERED})\z")
        if pc.any(numbered).as_py():
            self._add_numbers(text_doubles(raw.filter(numbered))[0])
            raw = raw.filter(pc.invert(numbered))
        if len(raw):
            raw = pc.replace_substring_regex(raw, pattern=rf"^(?:{LONG})\z", replacement=r"\1\2")
            self._texts.add(self._digests(raw))

    def _add_distinct(self, found: Distinct) -> None:
        counts = np.bincount(np.asarray(found.indices, np.int64), minlength=len(found.names) + 1)
        keys = [person(name) for name in found.names]
        used = [i for i, key in enumerate(keys) if counts[i]]
        self.missing = self.missing or bool(counts[len(keys)]) or any(keys[i] is None for i in used)
        numbers = [i for i in used if isinstance(keys[i], float)]
        texts = [i for i in used if isinstance(keys[i], str)]
        if numbers:
            self._add_numbers(np.array([keys[i] for i in numbers]), counts[numbers])
        if texts:
            import pyarrow as pa

            written = [str(keys[i]).encode("utf-8", "surrogatepass") for i in texts]
            self._texts.add(self._digests(pa.array(written, pa.large_binary())), counts[texts])

    def _digests(self, raw: Any) -> NDArray[np.uint64]:
        """Two words for each text or bytes of an Arrow array, by its bytes.

        A text of words w₁ … wₙ of 32 bits and size s gives s·k₀ + Σ wᵢ·kᵢ modulo 2⁶⁴, twice with random factors: two
        texts differ in some word by at most 2³² − 1 and so agree in one sum with a chance below 2⁻³², in both below
        2⁻⁶⁴, whatever they are (multilinear hashing). Long texts go through BLAKE2 instead.
        """
        import pyarrow as pa

        raw = raw.cast(pa.large_binary())
        _, places, content = raw.buffers()
        offsets = np.frombuffer(places, np.int64)[raw.offset : raw.offset + len(raw) + 1]
        data = np.frombuffer(content or b"", np.uint8)
        sizes = np.diff(offsets)
        result = np.empty((len(raw), 2), np.uint64)
        for size in np.flatnonzero(np.bincount(np.minimum(sizes, _SHORT + 1))).tolist():
            rows = np.flatnonzero(sizes == size) if size <= _SHORT else np.flatnonzero(sizes > _SHORT)
            if size > _SHORT:
                found = (blake2b(raw[row].as_py(), digest_size=16, key=self._salt).digest() for row in rows.tolist())
                result[rows] = np.frombuffer(b"".join(found), np.uint64).reshape(-1, 2)
                continue
            words = np.zeros((len(rows), -(-size // 4) * 4), np.uint8)
            if size:
                words[:, :size] = np.lib.stride_tricks.sliding_window_view(data, size)[offsets[rows]]
            factors = self._factors[1 : 1 + words.shape[1] // 4]
            result[rows] = words.view(np.uint32).astype(np.uint64) @ factors + self._factors[0] * np.uint64(size)
        return result


@dataclass(frozen=True)
class Counted:
    """What `People` tells, where somebody else counted."""

    missing: bool
    rows: int
    key: float | None

    def most(self) -> tuple[int, float | None]:
        """The largest number of rows that one person has, and that person's number, if it is one."""
        return self.rows, self.key


def _differ(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each key but the first is another one than that before it."""
    result: NDArray[np.bool_] = keys[1:, 0] != keys[:-1, 0]
    for word in range(1, keys.shape[1]):
        result |= keys[1:, word] != keys[:-1, word]
    return result


def _clash(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> bool:
    """Whether keys in the order of their first words would have to be put in order by the second as well."""
    return bool(((first[1:] == first[:-1]) & (second[1:] != second[:-1])).any())


class _Counter:
    """How often keys of one or two words occur; equal ones are brought together whenever their number has doubled."""

    def __init__(self, words: int) -> None:
        self.keys: list[NDArray[np.uint64]] = []
        self.counts: list[Integers] = []
        self.words, self.held, self.room = words, 0, _ROOM

    def add(self, keys: NDArray[np.uint64], counts: Integers | None = None) -> None:
        self.keys.append(keys)
        self.counts.append(np.ones(len(keys), np.int64) if counts is None else counts)
        self.held += len(keys)
        if self.held > self.room:
            self.join()

    def join(self) -> None:
        keys = np.concatenate([np.empty((0, self.words), np.uint64), *self.keys])
        counts = np.concatenate([np.empty(0, np.int64), *self.counts])
        self.keys.clear()
        self.counts.clear()
        first = np.sort(keys[:, 0])
        if (first[1:] == first[:-1]).any():  # else no two keys are equal
            order = np.argsort(keys[:, 0])
            if self.words > 1 and _clash(first, keys[order, 1]):
                order = np.lexsort(keys.T)
            keys, counts = keys[order], counts[order]
            starts = np.flatnonzero(np.concatenate([[True], _differ(keys)]))
            keys, counts = keys[starts], np.add.reduceat(counts, starts)
        self.keys.append(keys)
        self.counts.append(counts)
        self.held, self.room = len(keys), max(_ROOM, 2 * len(keys))

    def most(self) -> tuple[int, NDArray[np.uint64] | None]:
        self.join()
        if not self.held:
            return 0, None
        spot = int(np.argmax(self.counts[0]))
        return int(self.counts[0][spot]), self.keys[0][spot]


def refuse_people(schema: Schema, contributions: int, people: People) -> None:
    """Refuse ids that are missing, or that stand in more rows than the guarantee counts on."""
    if people.missing:
        raise DataError(f"the id column {schema.id!r} has missing values")
    most, key = people.most()
    if most <= contributions:
        return
    large = key is not None and abs(key) >= EXACT
    raise DataError(
        f"some value of the id column {schema.id!r} stands in more than {contributions} "
        f"row{'s' if contributions > 1 else ''}: keep at most that many rows per person, raise contributions, or let "
        "unexpected='absorb' (--unexpected absorb) keep that many"
        + (" (numbers beyond 2**53 are compared as floats: store such ids as text)" if large else "")
    )
