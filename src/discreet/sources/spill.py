"""Spill: columns put together batch by batch, past a limit in private files that are mapped into memory."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 1 << 30  # bytes that are kept in memory


def stacked(parts: Iterable[list[NDArray[Any]]]) -> list[NDArray[Any]]:
    """The columns of several batches, one below the other.

    The files have no name, so that nobody else opens them, and are gone with the arrays; TMPDIR says on which disk.
    """
    held: list[list[NDArray[Any]]] = []
    files: list[Any] = []
    size = rows = 0
    for part in parts:
        held.append(part)
        rows += len(part[0])
        size += sum(column.nbytes for column in part)
        if size > LIMIT:
            files = files or [tempfile.TemporaryFile(prefix="discreet-") for _ in part]  # noqa: SIM115 - mapped below
            _write(held, files)
            size = 0
    if not files:
        return [np.concatenate(column) for column in zip(*held, strict=True)]
    kinds = [column.dtype for column in part]
    _write(held, files)
    # Copies on write, since compiled loops know no arrays that cannot be written to.
    return [np.memmap(file, kind, "c", shape=(rows,)) for file, kind in zip(files, kinds, strict=True)]


def let_go(column: NDArray[Any], rows: slice) -> None:
    """Take rows of a column out of memory if they lie in a file, from where they come again when they are looked at.

    Columns are never written to: what a process has changed in its copy of a page would be lost.
    """
    mapped = getattr(column, "_mmap", None)
    if mapped is not None and hasattr(mapped, "madvise"):
        start, stop = (int(row * column.itemsize) for row in (rows.start, rows.stop))
        start -= start % mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, start, stop - start)


def _write(held: list[list[NDArray[Any]]], files: list[Any]) -> None:
    for file, *columns in zip(files, *held, strict=True):
        for column in columns:
            np.ascontiguousarray(column).tofile(file)
        file.flush()
    held.clear()
