"""People: who the rows belong to, by one key per id, counted in memory however the ids are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.schema import Schema
from discreet.sources.stored import Distinct, distinct, is_arrow, is_wide_text, simple, text_doubles
from discreet.values import NUMBERED, person

_ROOM = 1 << 20  # keys that are gathered before equal ones are brought together
EXACT = 2.0**53


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
    """Rows per person, added up batch by batch: about 30 bytes a person, none of them on disk."""

    def __init__(self) -> None:
        self.missing = False
        self._numbers: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []
        self._texts: list[Any] = []
        self._room = [_ROOM, _ROOM]

    def add(self, raw: Any) -> None:
        """Take in the ids of some rows."""
        found = simple(raw)
        if isinstance(found, np.ndarray):
            self._add_numbers(found)
        elif isinstance(found, Distinct) or not is_wide_text(found):
            self._add_distinct(found if isinstance(found, Distinct) else distinct(found))
        else:
            self._add_texts(found)

    def most(self) -> tuple[int, float | str | None]:
        """The largest number of rows that one person has, and that person's key."""
        self._join_numbers()
        self._join_texts()
        best: tuple[int, float | str | None] = (0, None)
        for values, counts in self._numbers:
            if len(counts):
                spot = int(np.argmax(counts))
                best = max(best, (int(counts[spot]), float(values[spot])), key=lambda pair: pair[0])
        for table in self._texts:
            counts = table.column("rows").to_numpy()
            if len(counts):
                spot = int(np.argmax(counts))
                best = max(best, (int(counts[spot]), table.column("key")[spot].as_py()), key=lambda pair: pair[0])
        return best

    def _add_numbers(self, values: NDArray[Any], counts: NDArray[np.int64] | None = None) -> None:
        doubles = np.asarray(values, np.float64) + 0.0
        gone = np.isnan(doubles)
        if gone.any():
            self.missing = True
            doubles, counts = doubles[~gone], None if counts is None else counts[~gone]
        self._numbers.append((doubles, np.ones(len(doubles), np.int64) if counts is None else counts))
        if sum(len(one) for one, _ in self._numbers) > self._room[0]:
            self._join_numbers()

    def _join_numbers(self) -> None:
        if not self._numbers:
            return
        values = np.concatenate([one for one, _ in self._numbers])
        counts = np.concatenate([one for _, one in self._numbers])
        self._numbers.clear()
        order = np.argsort(values, kind="stable")
        values, counts = values[order], counts[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if len(values) else order
        self._numbers.append((values[starts], np.add.reduceat(counts, starts) if len(starts) else counts))
        self._room[0] = max(_ROOM, 2 * len(starts))

    def _add_texts(self, raw: Any) -> None:
        """Texts in an Arrow array; those that write a number count as that number."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if raw.null_count:
            self.missing = True
            raw = raw.drop_null()
        numbered = pc.match_substring_regex(raw, rf"^(?:{NUMBERED})\z")
        if pc.any(numbered).as_py():
            self._add_numbers(text_doubles(raw.filter(numbered))[0])
            raw = raw.filter(pc.invert(numbered))
        if len(raw):
            rows = pa.array(np.ones(len(raw), np.int64))
            self._append(pa.table({"key": raw.cast(pa.large_string()), "rows": rows}))

    def _add_distinct(self, found: Distinct) -> None:
        import pyarrow as pa

        counts = np.bincount(np.asarray(found.indices, np.int64), minlength=len(found.names) + 1)
        keys = [person(name) for name in found.names]
        used = [i for i, key in enumerate(keys) if counts[i]]
        self.missing = self.missing or bool(counts[len(keys)]) or any(keys[i] is None for i in used)
        numbers = [i for i in used if isinstance(keys[i], float)]
        texts = [i for i in used if isinstance(keys[i], str)]
        if numbers:
            self._add_numbers(np.array([keys[i] for i in numbers]), counts[numbers])
        if texts:
            # Text that is not Unicode has no place in Arrow; its escapes do.
            written = [str(keys[i]).encode("utf-8", "backslashreplace") for i in texts]
            key = pa.array(written, pa.large_binary()).cast(pa.large_string())
            self._append(pa.table({"key": key, "rows": pa.array(counts[texts])}))

    def _append(self, table: Any) -> None:
        self._texts.append(table)
        if sum(one.num_rows for one in self._texts) > self._room[1]:
            self._join_texts()

    def _join_texts(self) -> None:
        import pyarrow as pa

        if not self._texts:
            return
        whole = pa.concat_tables(self._texts)
        self._texts.clear()
        groups = pa.TableGroupBy(whole, ["key"], use_threads=False).aggregate([("rows", "sum")])
        self._texts.append(groups.rename_columns({"rows_sum": "rows"}).select(["key", "rows"]))
        self._room[1] = max(_ROOM, 2 * groups.num_rows)


def refuse_people(schema: Schema, contributions: int, people: People) -> None:
    """Refuse ids that are missing, or that stand in more rows than the guarantee counts on."""
    if people.missing:
        raise DataError(f"the id column {schema.id!r} has missing values")
    most, key = people.most()
    if most <= contributions:
        return
    large = isinstance(key, float) and abs(key) >= EXACT
    raise DataError(
        f"some value of the id column {schema.id!r} stands in more than {contributions} "
        f"row{'s' if contributions > 1 else ''}: keep at most that many rows per person, or raise contributions"
        + (" (numbers beyond 2**53 are compared as floats: write such ids with a letter in front)" if large else "")
    )
