"""Pages: row groups of Parquet files counted from their pages, whose values are coded as they are unpacked.

A page of a dictionary holds indices: each entry is coded once, by the one rule from values to cells, and rows are
counted by what their indices stand for. Doubles are binned as they lie in the unpacked page. Whatever is not known
here, or holds a value without a cell, is left to the reader that decodes everything: it gives the same integers.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Numeric, Schema
from discreet.sources import pagecode
from discreet.sources.blocks import SMALL, workers
from discreet.sources.columns import Codes, make_column
from discreet.sources.count import BINS, joint_tables
from discreet.sources.footer import Chunk, Group, footer_bytes, row_groups
from discreet.sources.pagecode import BODY, DATA_2, DICTIONARY, LEVELS, PACKED, RAW, SQUEEZED, WHOLE, WRONG
from discreet.sources.program import Program
from discreet.sources.sweep import COMPILING, EVEN, LAST, LOADING, RULE, compiled_bins, kept_on_disk
from discreet.statistics import Detail, Statistics

Array = NDArray[Any]
_CODECS = {"UNCOMPRESSED": RAW, "SNAPPY": pagecode.SNAPPY, "ZSTD": pagecode.ZSTD, "GZIP": pagecode.GZIP}
_TYPES = {"INT32": "<i4", "INT64": "<i8", "FLOAT": "<f4", "DOUBLE": "<f8"}
_PLAIN, _INDICES = 0, (2, 8)  # encodings
_CHUNKS, _CODED = 1 << 29, 1 << 28  # bytes of column chunks and of coded rows that threads hold together
_PAGE, _PAGES = 1 << 26, 1 << 16  # bytes of a page unpacked, pages of a column chunk
_TOGETHER = 1 << 20  # bytes unpacked from which on pages are not unpacked together
_LANES = 8


class _UnknownError(Exception):
    """Bytes that are wrong, or that nobody here knows how to read."""


@dataclass(frozen=True)
class _Wanted:
    """A column: where it lies in the file, how its values are stored and what codes them."""

    name: str
    place: int
    type: str  # of the values as they are stored
    kind: np.dtype[Any]  # of the values that the file says it holds
    feature: Any
    optional: bool
    gone: int  # the code of a missing value
    bins: tuple[Array, float] | None  # for bins of equal width, what the machine code knows of them

    @property
    def stored(self) -> np.dtype[Any]:
        return np.dtype(_TYPES[self.type])

    def code(self, page: Array, at: int, out: Array) -> None:
        """The codes of values that lie in bytes from a place on, as many as there is room for."""
        if self.bins is not None and self.kind == np.float64:
            compiled_bins()(page, at, *self.bins, out)
            return
        values = np.frombuffer(page, self.stored, len(out), at).astype(self.kind)
        if self.bins is not None:
            compiled_bins()(values.astype(np.float64).view(np.uint8), 0, *self.bins, out)
        else:
            out[:] = _codes(self.feature, values)


def _codes(feature: Any, values: Array) -> NDArray[np.uint8]:
    column: Any = make_column(feature, values)
    known = isinstance(column, Codes)
    codes: Array = column.encode() if known else Program([column]).codes([[0]], 0, len(values))[0]
    return codes.astype(np.uint8)


def counted(
    path: str, fields: Collection[Any], schema: Schema, detail: Collection[Detail]
) -> Iterator[tuple[int, int, Statistics | None]] | None:  # fmt: skip
    """Each row group of a file, its rows and their statistics, or None where it must be decoded; None for any file
    of which nothing can be counted so, or for which it does not pay.
    """
    if tuple(detail) != BINS:
        return None
    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 - it is held until its last row group is counted
    except OSError:  # whoever decodes it says what is wrong
        return None
    found = _known(file, fields, schema)
    if found is None:
        file.close()
    return None if found is None else found.groups()


def _known(file: Any, fields: Collection[Any], schema: Schema) -> _File | None:
    """What counts a file, by one footer for types, places and sizes; None if it must be decoded, or had better be."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        footer = footer_bytes(file)
        if footer is None:
            return None
        facts = parquet.read_metadata(pa.BufferReader(footer))
        now = list(facts.schema.to_arrow_schema())
    except (pa.ArrowException, OSError):
        return None
    features = [schema.label, *schema.features]
    size, many = facts.num_rows * len(features), max(1, facts.num_row_groups)
    paying = size > LOADING and kept_on_disk(pagecode.__file__, "_page_headers")
    if facts.num_rows < SMALL * many or not (paying or size > 10 * COMPILING):
        return None
    if max(one.cells for one in features) + 3 > WRONG or facts.num_columns != len(now) or now != list(fields):
        return None
    groups = row_groups(footer)
    if not groups or any(len(one.chunks) != len(now) for one in groups):
        return None
    kinds = {field.name: (place, field.type) for place, field in enumerate(now)}
    wanted = [_wanted(facts.schema.column(place), place, kind, feature)
              for feature in features for place, kind in [kinds[feature.name]]]  # fmt: skip
    known = [one for one in wanted if one is not None]
    first = groups[0].chunks
    # What has neither a dictionary nor bins of equal width is counted as fast by the other reader.
    quick = all(one.bins is not None or first[one.place].dictionary_page_offset is not None for one in known)
    return _File(file, groups, schema, known) if len(known) == len(wanted) and quick else None


def _wanted(column: Any, place: int, kind: Any, feature: Any) -> _Wanted | None:
    """What is known of a column; None if it is nested or holds other things than numbers."""
    import pyarrow as pa

    known = pa.types
    simple = known.is_integer(kind) or known.is_float32(kind) or known.is_float64(kind)
    stored = _TYPES.get(column.physical_type)
    flat = column.max_repetition_level == 0 and column.max_definition_level <= 1
    if not simple or stored is None or not flat or column.path != column.name:
        return None
    holds = np.dtype(kind.to_pandas_dtype())
    # Whole numbers of up to four bytes are stored in four; all else is stored as it is.
    if stored[1] != ("i" if holds.kind in "iu" else "f") or int(stored[2]) != max(4, holds.itemsize):
        return None
    gone = int(_codes(feature, np.array([np.nan]))[0])
    bins = None
    if isinstance(feature, Numeric) and feature.plain:
        program = Program([make_column(feature, np.zeros(1))])
        if program.whole[1, RULE] == EVEN:
            bins = program.real[1].copy(), float(program.whole[1, LAST])
    optional = column.max_definition_level == 1
    return _Wanted(column.name, place, column.physical_type, holds, feature, optional, gone, bins)


class _File:
    """A Parquet file whose row groups are counted, one by each thread."""

    def __init__(self, file: Any, found: list[Group], schema: Schema, wanted: list[_Wanted]) -> None:
        self.file, self.found, self.schema, self.wanted = file, found, schema, wanted
        self.own, self.threads = threading.local(), min(workers(), _LANES)

    def groups(self) -> Iterator[tuple[int, int, Statistics | None]]:
        threads = self.threads
        with self.file, ThreadPoolExecutor(threads) as pool:

            def begun(group: int) -> Any:
                return group, pool.submit(self._group, self.file.fileno(), self.found[group])

            order = iter(range(len(self.found)))
            ahead = deque(begun(group) for group in islice(order, 2 * threads))
            while ahead:
                group, found = ahead.popleft()
                statistics = found.result()
                ahead.extend(begun(one) for one in islice(order, 1))
                yield group, self.found[group].num_rows, statistics

    def _group(self, file: int, group: Group) -> Statistics | None:
        """The statistics of a row group; None if they are not for us to count."""
        import pyarrow as pa

        rows = group.num_rows
        if not 0 < rows * len(self.wanted) * self.threads <= _CODED:
            return None
        codes = self._room("codes", rows * len(self.wanted)).reshape(-1, rows)
        try:
            for column, out in zip(self.wanted, codes, strict=True):
                self._chunk(file, group.chunks[column.place], column, out)
        except (_UnknownError, pa.ArrowException, OSError, ValueError, KeyError):
            return None
        return joint_tables(self.schema, codes)

    def _room(self, name: str, size: int) -> Array:
        """Bytes of this thread's own, as many as are asked for, which are used again."""
        found = getattr(self.own, name, None)
        if found is None or len(found) < size:
            found = np.empty(size, np.uint8)
            setattr(self.own, name, found)
        return np.asarray(found[:size])

    def _chunk(self, file: int, facts: Chunk, column: _Wanted, out: Array) -> None:
        """The codes of a column chunk."""
        headers, levels, indexed, spread, _ = pagecode.compiled_pages()
        size, codec = facts.total_compressed_size, facts.compression
        start = min(one for one in (facts.dictionary_page_offset, facts.data_page_offset) if one)
        # What the footer says of its size is not believed before there is room for it.
        if not 0 < size * self.threads <= _CHUNKS or size > os.fstat(file).st_size - start or codec not in _CODECS:
            raise _UnknownError
        if (facts.physical_type, facts.path_in_schema, facts.num_values) != (column.type, column.name, len(out)):
            raise _UnknownError
        data = self._room("data", size)
        if os.preadv(file, [data.data], start) != size:
            raise _UnknownError
        places = self._room("places", _PAGES * 72).view(np.int64).reshape(_PAGES, 9)
        many = headers(data, size, _CODECS[codec], places)
        if many < 0:
            raise _UnknownError
        table, done = None, 0
        valid = self._room("valid", len(out))
        for kind, values, encoding, body, front, page in _unpacked(codec, data, places[:many].tolist()):
            if kind == DICTIONARY:
                if table is not None or encoding not in (_PLAIN, 2) or values * column.stored.itemsize > len(page):
                    raise _UnknownError
                table = np.full(max(256, values + 1), WRONG, np.uint8)
                column.code(page, 0, table[:values])
                continue
            if values > len(out) - done:
                raise _UnknownError
            mine, at, present = out[done : done + values], 0, values
            done += values
            if column.optional:
                if kind == DATA_2:
                    present = levels(data, body, body + front, values, valid)
                else:
                    at = 4 + int.from_bytes(page[:4].tobytes(), "little")
                    if at > len(page):
                        raise _UnknownError
                    present = levels(page, 4, at, values, valid)
            if present < 0:
                raise _UnknownError
            self._values(column, page, at, encoding, table, mine[:present], indexed)
            if present < values:
                spread(valid, present, column.gone, mine)
        if done != len(out):
            raise _UnknownError

    def _values(
        self, column: _Wanted, page: Array, at: int, encoding: int, table: Array | None, out: Array, indexed: Any
    ) -> None:  # fmt: skip
        """The codes of the values of a page that are there."""
        if encoding in _INDICES and table is not None:
            if indexed(page, at, len(page), table, out) < 0:
                raise _UnknownError
            return
        if encoding != _PLAIN or column.bins is None or len(out) * column.stored.itemsize > len(page) - at:
            raise _UnknownError
        column.code(page, at, out)


def _unpacked(name: str, data: Array, places: list[list[int]]) -> Iterator[tuple[int, int, int, int, int, Array]]:
    """The pages of a column chunk: kind, values, encoding, where body and values begin, and the bytes unpacked.

    Pages of Zstandard that follow each other are unpacked together, about a megabyte at a time: headers between them
    were made into frames that are skipped.
    """
    import pyarrow as pa

    codec = None if name == "UNCOMPRESSED" else pa.Codec(name.lower())
    raw, most = data.data, _TOGETHER if name == "ZSTD" else 0
    first = 0
    while first < len(places):
        start = places[first][BODY] + places[first][LEVELS]
        last, size = first, 0
        while last < len(places) and (last == first or (places[last][SQUEEZED] and size < most)):
            if places[last][WHOLE] > _PAGE:
                raise _UnknownError
            size += places[last][WHOLE] - places[last][LEVELS]
            last += 1
            if not places[first][SQUEEZED]:
                break
        stop = places[last - 1][BODY] + places[last - 1][PACKED]
        page = data[start:stop]
        if places[first][SQUEEZED] and codec is not None:
            # As many bytes are written as are counted. What Snappy and Zstandard have packed names this size itself, as
            # was seen, and their libraries hold it to that; Arrow does not say how much Gzip has written.
            squeezed = raw[start:stop]
            whole = _inflated(squeezed, size) if name == "GZIP" else codec.decompress(squeezed, decompressed_size=size)
            page = np.frombuffer(whole, np.uint8)
        at = 0
        for kind, long, _, values, encoding, body, front, *_ in places[first:last]:
            yield kind, values, encoding, body, front, page[at : at + long - front]
            at += long - front
        first = last


def _inflated(squeezed: Any, size: int) -> bytearray:
    """The bytes of a page that is one member of Gzip and nothing else."""
    reader = zlib.decompressobj(wbits=31)
    try:
        page = reader.decompress(squeezed, size + 1)
    except zlib.error:
        raise _UnknownError from None
    if len(page) != size or not reader.eof or reader.unused_data:
        raise _UnknownError
    return bytearray(page)  # the loops take arrays that may be written
