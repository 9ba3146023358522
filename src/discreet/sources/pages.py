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
from functools import cached_property
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
from discreet.sources.pagecode import BODY, DICTIONARY, KIND, LEVELS, PACKED, RAW, SQUEEZED, VALUES, WHOLE, WRONG
from discreet.sources.program import Program
from discreet.sources.sweep import COMPILING, EVEN, LAST, LOADING, RULE, kept_on_disk
from discreet.statistics import Detail, Statistics

Array = NDArray[Any]
_CODECS = {"UNCOMPRESSED": RAW, "SNAPPY": pagecode.SNAPPY, "ZSTD": pagecode.ZSTD, "GZIP": pagecode.GZIP}
_TYPES = {"INT32": "<i4", "INT64": "<i8", "FLOAT": "<f4", "DOUBLE": "<f8"}
_CHUNKS, _CODED = 1 << 29, 1 << 28  # bytes of column chunks and of coded rows that threads hold together
_PAGE, _PAGES = 1 << 26, 1 << 16  # bytes of a page unpacked, pages of a column chunk
_TOGETHER = 1 << 20  # bytes unpacked from which on pages are not unpacked together
_LANES = 8
_DOUBLES, _NO_BINS, _NOTHING = np.array([8, 0, 0]), np.zeros(6), np.zeros(0, np.uint8)


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
    bins: tuple[Array, float] | None  # for bins of equal width, what the machine code knows of them

    @property
    def stored(self) -> np.dtype[Any]:
        return np.dtype(_TYPES[self.type])

    @cached_property
    def plain(self) -> Array:
        """What the machine code knows of values that lie in pages themselves."""
        whole = self.kind.kind in "iu"
        bits = 8 * self.kind.itemsize if whole else 0
        return np.array([0 if self.bins is None else self.stored.itemsize, bits, self.kind.kind == "i"], np.int64)

    @cached_property
    def gone(self) -> int:
        """The code of a missing value."""
        return int(self.code(np.array([np.nan]))[0])

    def code(self, values: Array) -> Array:
        """The codes of some values."""
        if self.bins is None:
            return _codes(self.feature, values)
        out = np.empty(len(values), np.uint8)
        doubles = values.astype(np.float64, copy=False).view(np.uint8)
        pagecode.compiled_pages()[2](doubles, 0, _DOUBLES, *self.bins, out)
        return out


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
    if tuple(detail) != BINS or not hasattr(os, "preadv"):  # which not every system has
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
    if not simple or stored is None or not flat or not column.path == column.name == feature.name:
        return None
    holds = np.dtype(kind.to_pandas_dtype())
    # Whole numbers of up to four bytes are stored in four; all else is stored as it is.
    if stored[1] != ("i" if holds.kind in "iu" else "f") or int(stored[2]) != max(4, holds.itemsize):
        return None
    bins = None
    if isinstance(feature, Numeric) and feature.plain:
        program = Program([make_column(feature, np.zeros(1))])
        if program.whole[1, RULE] == EVEN:
            bins = program.real[1].copy(), float(program.whole[1, LAST])
    optional = column.max_definition_level == 1
    return _Wanted(column.name, place, column.physical_type, holds, feature, optional, bins)


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
        headers, coded, *_ = pagecode.compiled_pages()
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
        table, done = _NOTHING, 0
        valid = self._room("valid", len(out))
        reals, end = column.bins if column.bins is not None else (_NO_BINS, 0.0)
        for found, page in _unpacked(codec, data, places[:many]):
            if found[0, KIND] == DICTIONARY:
                values = int(found[0, VALUES])
                known = found[0, pagecode.ENCODING] in (0, 2) and values * column.stored.itemsize <= len(page)
                if len(table) or not known:
                    raise _UnknownError
                table = np.full(max(256, values + 1), WRONG, np.uint8)
                entries = np.frombuffer(page, column.stored, values).astype(column.kind, copy=False)
                table[:values] = column.code(entries)
                continue
            rows = coded(
                data, page, found, column.optional, table, column.plain, reals, end, column.gone, valid, out[done:]
            )  # fmt: skip
            if rows < 0:
                raise _UnknownError
            done += rows
        if done != len(out):
            raise _UnknownError


def _unpacked(name: str, data: Array, places: Array) -> Iterator[tuple[Array, Array]]:
    """The pages of a column chunk: those whose bytes were unpacked together, and the bytes; a dictionary is by itself.

    Pages of Zstandard that follow each other are unpacked together, about a megabyte at a time: headers between them
    were made into frames that are skipped.
    """
    import pyarrow as pa

    codec = None if name == "UNCOMPRESSED" else pa.Codec(name.lower())
    raw, most = data.data, _TOGETHER if name == "ZSTD" else 0
    if (places[:, WHOLE] > _PAGE).any():
        raise _UnknownError
    sizes = (places[:, WHOLE] - places[:, LEVELS]).tolist()
    alone = ((places[:, SQUEEZED] == 0) | (places[:, KIND] == DICTIONARY)).tolist()
    first = 0
    while first < len(places):
        last, size = first + 1, sizes[first]
        while last < len(places) and not alone[first] and not alone[last] and size < most:
            size += sizes[last]
            last += 1
        start = int(places[first, BODY] + places[first, LEVELS])
        stop = int(places[last - 1, BODY] + places[last - 1, PACKED])
        page = data[start:stop]
        if places[first, SQUEEZED] and codec is not None:
            # As many bytes are written as are counted. What Snappy and Zstandard have packed names this size itself, as
            # was seen, and their libraries hold it to that; Arrow does not say how much Gzip has written.
            squeezed = raw[start:stop]
            whole = _inflated(squeezed, size) if name == "GZIP" else codec.decompress(squeezed, decompressed_size=size)
            page = np.frombuffer(whole, np.uint8)
        yield places[first:last], page
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
