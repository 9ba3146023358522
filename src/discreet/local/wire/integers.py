"""Whole numbers as bytes: little-endian, in as few bytes as the largest needs, and whole rows of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Raw = NDArray[np.uint8]
Integers = NDArray[np.int64]


class Run(NamedTuple):
    """Columns that stand side by side in a report and hold whole numbers from `low` to `high`."""

    low: int
    high: int
    size: int = 1

    @property
    def each(self) -> int:
        """Bytes of one number, the sign included where there is one."""
        return signed_width(max(-self.low, self.high)) if self.low < 0 else width_of(self.high)

    @property
    def width(self) -> int:
        """Bytes of all of them."""
        return self.size * self.each


def width_of(largest: int) -> int:
    """Bytes that hold whole numbers up to `largest`."""
    return max(1, -(-int(largest).bit_length() // 8))


def to_bytes(values: Any, width: int) -> Raw:
    """Whole numbers as little-endian bytes, `width` each (at most 8), in two's complement below zero."""
    wide = np.asarray(values)
    wide = np.ascontiguousarray(wide, "<i8" if wide.dtype.kind == "i" else "<u8")
    return wide.view(np.uint8).reshape(*wide.shape, 8)[..., :width]


def from_bytes(raw: Raw) -> NDArray[np.uint64]:
    """Little-endian bytes along the last axis (at most 8) as whole numbers."""
    wide = np.zeros((*raw.shape[:-1], 8), np.uint8)
    wide[..., : raw.shape[-1]] = raw
    return wide.view("<u8")[..., 0]


def signed_width(largest: int) -> int:
    """Bytes that hold whole numbers from −largest to largest in two's complement."""
    return int(largest).bit_length() // 8 + 1


def signed_from(raw: Raw) -> Integers:
    """Whole numbers out of two's complement along the last axis."""
    shift = np.int64(64 - 8 * raw.shape[-1])
    return (from_bytes(raw).view(np.int64) << shift) >> shift


def rows_to_bytes(rows: Any, runs: tuple[Run, ...]) -> Raw:
    """Rows of whole numbers as bytes, run by run."""
    parts, first = [], 0
    for run in runs:
        parts.append(to_bytes(rows[:, first : first + run.size], run.each).reshape(len(rows), run.width))
        first += run.size
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def rows_from_bytes(raw: Raw, runs: tuple[Run, ...]) -> tuple[Integers, NDArray[np.bool_]]:
    """Rows out of bytes, and which of them have every number in its range."""
    given = np.asarray(raw, np.uint8)
    parts, fine, first = [], np.ones(len(given), bool), 0
    for run in runs:
        cells = given[:, first : first + run.width].reshape(len(given), run.size, run.each)
        values = signed_from(cells) if run.low < 0 else from_bytes(cells).view(np.int64)
        good = (values <= run.high) if run.low == 0 else (values >= run.low) & (values <= run.high)
        fine &= good[:, 0] if run.size == 1 else good.all(axis=1)
        parts.append(values)
        first += run.width
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1), fine
