"""People: who the rows belong to, by one key per id, counted in memory however the ids are stored."""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.stored import Distinct, distinct, is_arrow, is_wide_text, simple, text_doubles
from discreet.values import NUMBERED, person

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

    Numbers are kept as they are and texts as digests of 16 bytes under a key of this process, so that nobody can choose
    two texts that count as one, and none of two that come by chance is ever likely to.
    """

    def __init__(self) -> None:
        self.missing = False
        self._salt = os.urandom(32)
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
            self._texts.add(self._digests(raw.to_pylist()))

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
            self._texts.add(self._digests([str(keys[i]) for i in texts]), counts[texts])

    def _digests(self, texts: list[str]) -> NDArray[np.uint64]:
        def digest(text: str) -> bytes:
            return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, key=self._salt).digest()

        return np.frombuffer(b"".join(map(digest, texts)), np.uint64).reshape(-1, 2)


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
        order = np.argsort(keys[:, 0], kind="stable") if self.words == 1 else np.lexsort(keys.T)
        keys, counts = keys[order], counts[order]
        if len(keys):
            starts = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1)]))
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
        f"row{'s' if contributions > 1 else ''}: keep at most that many rows per person, or raise contributions"
        + (" (numbers beyond 2**53 are compared as floats: store such ids as text)" if large else "")
    )
