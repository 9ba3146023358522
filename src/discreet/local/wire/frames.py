"""Frames in bulk: the reports in a buffer or a file as arrays, as `report` lays them out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import IO, Any, NamedTuple

import numpy as np

from discreet.local.wire.integers import Integers, Raw
from discreet.local.wire.report import HEAD, ID_BYTES, SCHEMA_BYTES
from discreet.local.wire.scan import compiled

CHUNK = 1 << 22  # bytes of a file that are looked at together
READABLE, MALFORMED, FOREIGN = 0, 1, 2


@dataclass(frozen=True)
class Frames:
    """Whole frames in a buffer, the damaged stretches between them, and whose they are if several sent them."""

    raw: Raw
    starts: Integers
    ends: Integers
    owners: Integers
    damaged: Integers

    def __len__(self) -> int:
        return int(self.starts.size)


class Key(NamedTuple):
    """What parts that can be counted together have in common; ε in millionths, of the whole report."""

    input: int
    code: int
    parameter: int
    epsilon: int
    parts: int


@dataclass(frozen=True)
class Parts:
    """The parts of the readable reports: whose they are, what they are about, and where their payloads lie."""

    owner: Integers
    keys: Integers  # a row for each field of `Key`
    start: Integers
    stop: Integers

    def __len__(self) -> int:
        return len(self.owner)

    def key(self, row: int) -> Key:
        """What one part is."""
        return Key(*self.keys[:, row].tolist())

    def groups(self) -> tuple[Integers, Integers]:
        """The group of each part among those with equal input, mechanism and design, and one part of each group."""
        labels, firsts = compiled().group(self.keys, _salt())
        return labels, firsts


@lru_cache(1)
def _salt() -> np.uint64:
    """A number that nobody outside knows, so that nobody can choose reports that collide."""
    return np.uint64(int.from_bytes(os.urandom(8), "little"))


def frames_of_file(file: IO[bytes], size: int = CHUNK) -> Iterator[Frames]:
    """The frames of an open file, piece by piece; an unfinished frame waits for the next piece."""
    rest, seeking, final = b"", False, False
    while not final:
        piece = file.read(size)
        final = not piece
        raw = np.frombuffer(rest + piece, np.uint8)
        starts, ends, damaged, spot, seeking = _split(raw, 0, len(raw), final, seeking)
        rest = raw[spot:].tobytes()
        yield Frames(raw, starts, ends, np.zeros(len(starts), np.int64), np.array([damaged], np.int64))


def frames_of_buffers(buffers: Sequence[Any]) -> Frames:
    """The frames of several buffers, each of which stands for itself: none can swallow what another sent."""
    raw, edges = _joined(buffers)
    found = [_split(raw, start, stop) for start, stop in pairwise(edges)]
    starts, ends = (np.concatenate([np.empty(0, np.int64), *(one[k] for one in found)]) for k in (0, 1))
    owners = np.repeat(np.arange(len(found)), np.array([len(one[0]) for one in found], np.int64))
    return Frames(raw, starts, ends, owners, np.array([one[2] for one in found], np.int64))


def frames_one_each(reports: Iterable[Any]) -> Frames:
    """Frames of which each must be exactly one of the given byte strings; any other string is one damaged record."""
    given = list(reports)
    raw, edges = _joined(given)
    fine = np.zeros(len(given), bool)
    for i, (start, stop) in enumerate(pairwise(edges)):
        starts, ends, *_ = _split(raw, start, stop)
        fine[i] = len(starts) == 1 and starts[0] == start and ends[0] == stop
    return Frames(raw, edges[:-1][fine], edges[1:][fine], np.flatnonzero(fine), (~fine).astype(np.int64))


def _split(raw: Raw, start: int, stop: int, final: bool = True, seeking: bool = False) -> Any:
    loops = compiled()
    return loops.split(raw, start, stop, final, seeking, loops.table, loops.powers)


def _joined(buffers: Sequence[Any]) -> tuple[Raw, Integers]:
    edges = np.zeros(len(buffers) + 1, np.int64)
    np.cumsum([len(one) for one in buffers], out=edges[1:])
    return np.frombuffer(bytes(buffers[0]) if len(buffers) == 1 else b"".join(buffers), np.uint8), edges


def parse(frames: Frames, mark: bytes) -> tuple[Integers, Parts]:
    """The state of each frame (readable, malformed, of another schema) and the parts of the readable ones."""
    wanted = np.frombuffer(mark, np.uint8)
    states, parts, owners = compiled().parse(frames.raw, frames.starts, frames.ends, wanted)
    return states, Parts(owners, parts[:-2], parts[-2], parts[-1])


def identities(frames: Frames, chosen: Integers) -> Raw:
    """The ids of the chosen reports, a row of bytes each."""
    return gather(frames.raw, frames.starts[chosen] + HEAD + SCHEMA_BYTES, ID_BYTES)


def gather(raw: Raw, spots: Integers, width: int) -> Raw:
    """Rows of `width` bytes from each spot of a buffer."""
    out = np.empty((len(spots), width), np.uint8)
    compiled().gather(raw, spots, out)
    return out


def cut(frames: Frames, chosen: Integers) -> bytes:
    """The chosen frames one after another."""
    found: bytes = compiled().cut(frames.raw, frames.starts[chosen], frames.ends[chosen]).tobytes()
    return found
