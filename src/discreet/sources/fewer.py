"""People with more rows than a guarantee counts on: which of their rows stay is up to coins of their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.sources.people import EXACT, id_keys

Draw = Callable[[int], bytes]
SHARED = "\0several:"  # begins the name of a digest that several ids may have


def choose_places(size: int, most: int, draw: Draw | None = None) -> frozenset[int]:
    """Which of the rows 0 … size − 1 of one person stay: `most` of them, every set of so many alike.

    Nothing but the number of that person's rows and their own random numbers decides. `draw(n)` gives n random bytes;
    None asks the operating system.
    """
    numbers = np.frombuffer((draw or os.urandom)(8 * size), np.uint64)
    return frozenset(np.argsort(numbers, kind="stable")[:most].tolist())


class Fewer:
    """Keeps at most so many rows of each person, in whatever order the rows come by.

    Rows without a key (None) go, or with `unknown` stay, whatever their number. A number that may stand for several ids
    keeps none of too many rows: a choice among them would let one person's rows push out another's and take their
    place, which is twice what one person may change. Without any, at most as many go as one person may have.
    """

    def __init__(self, counts: Counter[Any], most: int, draw: Draw | None = None, *, unknown: bool = False) -> None:
        many = [(key, size) for key, size in counts.items() if size > most and key is not None]
        self.chosen = {key: frozenset() if several(key) else choose_places(size, most, draw) for key, size in many}
        self.unknown = unknown
        self.met: Counter[Any] = Counter()

    def mask(self, keys: Iterable[Any]) -> NDArray[np.bool_]:
        """Which rows stay, by the keys of their people in the order in which they come."""
        kept = []
        for key in keys:
            places = self.chosen.get(key)
            if places is None:
                kept.append(self.unknown or key is not None)
                continue
            kept.append(self.met[key] in places)
            self.met[key] += 1
        return np.array(kept, bool)


def several(key: Any) -> bool:
    """Whether ids that differ may have this key: of the doubles of longer numbers only small whole ones are exact.

    The digest of such a key says so too, in the name that it goes by.
    """
    if isinstance(key, str):
        return key.startswith(SHARED)
    return isinstance(key, float) and not (abs(key) < EXACT and key.is_integer())


def person_keys(raw: Any) -> list[Any]:
    """One key per row, None where the id is missing."""
    return [None if key is None or key != key else key for key in id_keys(raw).tolist()]


def written_key(key: float | str) -> bytes:
    """A person's key in bytes that no other key has."""
    return b"n" + repr(key).encode() if isinstance(key, float) else b"t" + key.encode("utf-8", "surrogatepass")
