"""Pages of Parquet files are counted as decoded rows are: the same integers, or the same sentence."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import os
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import DataError
from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import collect, opened, pagecode, pages, sweep
from discreet.sources.absorb import watching
from discreet.sources.columns import make_column
from discreet.sources.footer import Chunk
from discreet.sources.program import Program
from discreet.statistics import Statistics

BINS: Any = ("bins",)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
CATEGORIES = (
    Categorical("a", range(6)),
    Categorical("a", range(-2, 5), other="rest", missing="category"),
    Categorical("a", ["1", 0, 3], other="rest", missing="category"),
)
NUMBERS = (
    Numeric("x", -1.5, 3.25, bins=16),
    Numeric("x", 0, 6, bins=7, missing="bin"),
    Numeric("x", 0, 6, integer=True, bins=(0.0, 1.0, 2.0, 6.0), missing="bin"),
    Numeric("x", 0, 1, bins=1, missing="bin"),
)
ODD = (float("nan"), float("inf"), -float("inf"), -0.0, 1e300, 5e-324, 2.5)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Files of any size are counted from their pages."""
    monkeypatch.setattr(pages, "SMALL", 0)
    monkeypatch.setattr(pages, "LOADING", 0)
    monkeypatch.setattr(pages, "kept_on_disk", lambda *_: True)


def by_pages(path: Path, schema: Schema) -> list[Any]:
    """What is made of each row group without decoding it; nothing where the file is not for pages."""
    fields = list(parquet.read_schema(path))
    return [found for *_, found in pages.counted(str(path), fields, schema, BINS) or ()]


def outcome(path: Path, schema: Schema, unexpected: str = "refuse") -> Any:
    """The statistics and what was absorbed, or the sentence."""
    with watching() as absorbed:
        try:
            return collect(path, schema, detail=BINS, unexpected=unexpected), [str(one) for one in absorbed]
        except DataError as error:
            return str(error)


def decoded(path: Path, schema: Schema, unexpected: str = "refuse") -> Any:
    """The same from decoded rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "counted", lambda *_: None)
        return outcome(path, schema, unexpected)


def columns(rng: np.random.Generator, size: int, kinds: list[str], odd: float, gone: float) -> pa.Table:
    """A category, a number and a label of the given types, some of their values out of place or missing."""
    made = {}
    for name, kind, most in zip("axy", kinds, (6, 6, 2), strict=True):
        values = rng.integers(0, most, size).astype(np.float64)
        if kind in INTEGERS:
            strange = rng.random(size) < odd
            values = values.astype(kind)
            values[strange] = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, strange.sum(), kind, endpoint=True)
        else:
            values += rng.integers(0, 3, size) * 0.37 if name == "x" else 0.0
            values = np.where(rng.random(size) < odd, rng.choice(ODD, size), values).astype(kind)
        made[name] = pa.array(values, mask=rng.random(size) < gone)
    return pa.table(made)


@st.composite
def written(draw: Any) -> tuple[pa.Table, dict[str, Any], Schema, str]:
    """A table, how it is written, its schema and what is done with unexpected values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    every = st.sampled_from([*INTEGERS, "float32", "float64"])
    kinds = [draw(every), draw(st.one_of(st.just("float64"), every)), draw(every)]
    odd, gone = (draw(st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.3])) for _ in range(2))
    table = columns(rng, draw(st.integers(1, 3000)), kinds, odd, gone)
    if draw(st.booleans()) and not any(column.null_count for column in table.columns):
        table = table.cast(pa.schema([field.with_nullable(False) for field in table.schema]))
    how = {
        "compression": draw(st.sampled_from(["none", "snappy", "zstd", "gzip", "brotli", "lz4"])),
        "use_dictionary": draw(st.sampled_from([True, True, ["a", "y"], False])),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "version": draw(st.sampled_from(["1.0", "2.6"])),
        "data_page_size": draw(st.sampled_from([64, 1000, 1 << 20])),
        "dictionary_pagesize_limit": draw(st.sampled_from([16, 300, 1 << 20])),
        "row_group_size": draw(st.sampled_from([7, 1000, 5000])),
        "write_batch_size": draw(st.sampled_from([3, 64, 1024])),
        "store_schema": draw(st.booleans()),
    }
    features = draw(st.sampled_from(CATEGORIES)), draw(st.sampled_from(NUMBERS))
    schema = Schema(list(features), "y", [0, 1])
    return table, how, schema, draw(st.sampled_from(["refuse", "absorb"]))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(written())
def test_any_file_is_counted_as_decoded(tmp_path, case):
    table, how, schema, unexpected = case
    path = tmp_path / "rows.parquet"
    parquet.write_table(table, path, **how)
    expected = decoded(path, schema, unexpected)
    assert outcome(path, schema, unexpected) == expected
    for group, found in enumerate(by_pages(path, schema)):
        if found is not None:
            rows = parquet.ParquetFile(path).read_row_group(group)
            parquet.write_table(rows, tmp_path / "one.parquet")
            assert found == decoded(tmp_path / "one.parquet", schema)[0]


SCHEMA = Schema([Categorical("a", range(6)), Numeric("x", 0, 7, bins=9, missing="bin")], "y", [0, 1])


def good(size: int = 3000, seed: int = 0, kind: str = "int8", gone: bool = False) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.normal(3, 2, size)
    return pa.table({
        "a": pa.array(rng.integers(0, 6, size).astype(kind)),
        "x": pa.array(x, mask=rng.random(size) < 0.2 if gone else None),
        "y": pa.array(rng.integers(0, 2, size).astype(kind)),
    })  # fmt: skip


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("limit", [200, 1 << 20])
def test_usual_files_are_counted_without_decoding(tmp_path, codec, version, gone, limit):
    path = tmp_path / "rows.parquet"
    parquet.write_table(
        good(gone=gone), path, compression=codec, data_page_version=version, row_group_size=1100, data_page_size=2000,
        dictionary_pagesize_limit=limit,
    )  # fmt: skip
    found = by_pages(path, SCHEMA)
    assert len(found) == 3 and all(isinstance(one, Statistics) for one in found)
    assert found[0] + found[1] + found[2] == decoded(path, SCHEMA)[0] == outcome(path, SCHEMA)[0]


@pytest.mark.parametrize("writer", ["polars", "duckdb", "pandas"])
def test_files_of_other_writers_are_counted_alike(tmp_path, writer):
    path, table = tmp_path / "rows.parquet", good(20_000)
    if writer == "polars":
        pytest.importorskip("polars").from_arrow(table).write_parquet(path)
    elif writer == "pandas":
        table.to_pandas().to_parquet(path)
    else:
        import duckdb

        duckdb.connect().from_arrow(table).write_parquet(str(path))
    assert outcome(path, SCHEMA) == decoded(path, SCHEMA)


def test_values_without_a_cell_are_left_to_the_reader_of_rows(tmp_path):
    path, table = tmp_path / "rows.parquet", good()
    bad = table.set_column(0, "a", pa.array(np.where(np.arange(3000) == 2500, 9, table["a"].to_numpy()).astype("i1")))
    parquet.write_table(bad, path, row_group_size=1000)
    assert [found is None for found in by_pages(path, SCHEMA)] == [False, False, True]
    assert outcome(path, SCHEMA) == decoded(path, SCHEMA) and "9" in outcome(path, SCHEMA)
    left_out = outcome(path, SCHEMA, "absorb")
    assert left_out == decoded(path, SCHEMA, "absorb") and left_out[0].counts.sum() == 2999


def test_what_is_said_of_progress_does_not_change(tmp_path):
    path, told = tmp_path / "rows.parquet", []
    parquet.write_table(good(), path, row_group_size=1000)
    collect(path, SCHEMA, detail=BINS, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3000), (1000, 3000), (2000, 3000), (3000, 3000)]


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_whose_pages_are_damaged_are_read_or_refused_as_before(tmp_path, codec, version):
    path, rng = tmp_path / "rows.parquet", np.random.default_rng(1)
    parquet.write_table(
        good(400, gone=True), path, compression=codec, data_page_version=version, data_page_size=500,
        dictionary_pagesize_limit=900, write_statistics=False,
    )  # fmt: skip
    whole = path.read_bytes()
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for _ in range(60):
        damaged = bytearray(whole)
        for spot in rng.integers(4, end, rng.integers(1, 4)):
            damaged[spot] = rng.integers(0, 256)
        path.write_bytes(damaged)
        found, expected = outcome(path, SCHEMA, "absorb"), decoded(path, SCHEMA, "absorb")
        assert found == expected


class Guarded(np.ndarray):
    """Bytes that nobody reads or writes before their start or after their end."""

    def __getitem__(self, spot: Any) -> Any:
        self._within(spot)
        return super().__getitem__(spot)

    def __setitem__(self, spot: Any, value: Any) -> None:
        self._within(spot)
        super().__setitem__(spot, value)

    def _within(self, spot: Any) -> None:
        ends = (spot.start or 0, spot.stop) if isinstance(spot, slice) else (spot, spot + 1)
        assert 0 <= int(ends[0]) <= len(self) and (ends[1] is None or 0 <= int(ends[1]) <= len(self)), spot


def guarded(values: Any) -> Any:
    return np.array(values, np.uint8).view(Guarded)


@functools.cache
def as_written() -> Any:
    """The loops as plain Python, whatever has been compiled by now."""
    spec: Any = importlib.util.spec_from_file_location("loops_as_written", pagecode.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module._even = sweep._even_bin
    return module


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 70), st.integers(1, 300), st.integers(0, 40))
def test_no_place_outside_the_bytes_is_read(data, size, entries, width):
    pagecode = as_written()
    start = guarded([width % 33, *data]) if width < 40 else guarded(list(data))
    table = np.full(max(256, entries + 1), pagecode.WRONG, np.uint8)
    table[:entries] = np.arange(entries) % 200
    with np.errstate(over="ignore"):
        found = pagecode._indexed(start, 0, len(start), table.view(Guarded), guarded(np.zeros(size)))
        assert found in (-1, size)
        present = pagecode._page_levels(start, 0, len(start), size, guarded(np.zeros(size)))
        assert -1 <= present <= size
        frame = guarded([0x28, 0xB5, 0x2F, 0xFD, *data])
        if pagecode._unpacked(frame, 0, len(frame), pagecode.ZSTD) >= 0:
            assert pagecode._is_frame(frame, 0, len(frame)) in (True, False)
        for codec in range(4):
            places = np.zeros((4, 9), np.int64)
            many = pagecode._page_headers(start, len(start), codec, places)
            assert -1 <= many <= 4
            for _, whole, packed, values, _, body, front, *_ in places[: max(many, 0)].tolist():
                assert min(whole, packed, values, body, front) >= 0 and body + packed <= len(start)


PLAINS = [(0, 0, 0), (8, 0, 0), (4, 0, 0), (4, 8, 1), (4, 32, 0), (8, 64, 0)]
REALS = np.array([0.0, 1.0, -9.0, 9.0, 0.5, 4.5])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=90), st.lists(st.integers(0, 30), max_size=4), st.integers(0, 12), st.data())
def test_no_place_outside_the_pages_unpacked_together_is_read(data, cuts, values, draw):
    """Whatever headers say: places are those that were found wrong or right by their reader, values any number."""
    pagecode = as_written()
    ends = np.minimum(np.cumsum([0, *cuts]), len(data))
    places = np.zeros((len(cuts), 9), np.int64)
    for place, start, stop in zip(places, ends, ends[1:], strict=False):
        kind, way = draw.draw(st.sampled_from([0, 3])), draw.draw(st.sampled_from([0, 2, 8, 5]))
        place[pagecode.KIND], place[pagecode.ENCODING] = kind, way
        place[pagecode.VALUES] = draw.draw(st.integers(0, 12))
        place[pagecode.LEVELS] = draw.draw(st.integers(0, stop - start)) if kind == 3 else 0
        place[pagecode.WHOLE] = stop - start + place[pagecode.LEVELS] + draw.draw(st.integers(0, 1))
        place[pagecode.BODY] = draw.draw(st.integers(0, len(data) - place[pagecode.LEVELS]))
    table = np.full(256, pagecode.WRONG, np.uint8)
    table[:9] = range(9)
    table = table if draw.draw(st.booleans()) else table[:0]
    page, out = guarded(list(data)), guarded(np.zeros(values))
    with np.errstate(all="ignore"):
        found = pagecode._coded(
            page, page, places, draw.draw(st.booleans()), table.view(Guarded),
            np.array(draw.draw(st.sampled_from(PLAINS))), REALS, 9.0, 10, guarded(np.zeros(values)), out,
        )  # fmt: skip
    assert found in (-1, places[:, pagecode.VALUES].sum())


@pytest.mark.parametrize("kind", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_plain_values_of_every_type_fall_into_the_bins_of_their_doubles(kind):
    stored = {"f": kind, "i": "i4", "u": "u4"}[kind[0]] if np.dtype(kind).itemsize <= 4 else kind
    rng = np.random.default_rng(0)
    raw = rng.bytes(5000 * np.dtype(stored).itemsize)
    with np.errstate(all="ignore"):
        values = np.frombuffer(raw, stored).astype(kind)
        low, high = {1: (-90, 170), 2: (-9e3, 2e4), 4: (-1e9, 2e9), 8: (-4e18, 1e19)}[np.dtype(kind).itemsize]
        feature = Numeric("x", low, high, bins=9)
        expected = pages._codes(feature, values)
    program = Program([make_column(feature, np.zeros(1))])
    bins = program.real[1].copy(), float(program.whole[1, sweep.LAST])
    types = {"f8": "DOUBLE", "f4": "FLOAT", "i4": "INT32", "u4": "INT32", "i8": "INT64", "u8": "INT64"}
    column = pages._Wanted("x", 0, types[stored], np.dtype(kind), feature, False, bins)
    page, out = np.frombuffer(b"?" + raw, np.uint8).copy(), np.zeros(5000, np.uint8)
    pagecode.compiled_pages()[2](page, 1, column.plain, *bins, out)
    assert np.array_equal(out, expected) and len(set(out.tolist())) > 3


def test_an_index_beyond_its_dictionary_is_refused():
    pagecode.compiled_pages()
    indexed, table, out = pagecode._indexed, np.full(256, pagecode.WRONG, np.uint8), np.zeros(8, np.uint8)
    table[:3] = 7, 8, 9
    for index, code in ((2, 9), (3, -1)):
        page = np.array([2, 8 << 1, index], np.uint8)
        assert indexed(page, 0, 3, table, out) == (8 if code > 0 else -1)
        packed = np.array([2, 3, index, 0], np.uint8)
        assert indexed(packed, 0, 4, table, out) == (8 if code > 0 else -1)


def number(value: int) -> bytes:
    """A whole number as headers of pages write it."""
    value, out = value << 1, b""
    while value > 127:
        value, out = value >> 7, out + bytes([value & 127 | 128])
    return out + bytes([value])


def page_of(body: bytes, whole: int, values: int = 125, kind: int = 0) -> bytes:
    """A page of plain values with its header, which says to how many bytes the body unpacks."""
    head = b"\x15" + number(kind) + b"\x15" + number(whole) + b"\x15" + number(len(body))
    head += b"\x2c" if kind == 0 else b"\x4c"
    tail = b"\x15" + number(3) + b"\x15" + number(3) if kind == 0 else b""
    return head + b"\x15" + number(values) + b"\x15" + number(0) + tail + b"\0\0" + body


def headers_of(*pages: bytes) -> tuple[int, Any, Any]:
    """How many pages are found in a chunk of them, its bytes and what is known of each."""
    data, places = np.frombuffer(b"".join(pages), np.uint8).copy(), np.zeros((8, 9), np.int64)
    return pagecode.compiled_pages()[0](data, len(data), pagecode.ZSTD, places), data, places


def packed(values: bytes) -> bytes:
    return pa.Codec("zstd").compress(values, asbytes=True)


def test_a_page_that_unpacks_to_more_than_it_says_is_refused():
    """Headers and packed bytes both say how much there will be; where they differ nothing is unpacked here."""
    for whole, expected in ((1000, 1), (999, -1), (1 << 30, -1)):
        assert headers_of(page_of(packed(bytes(1000)), whole))[0] == expected


def test_a_page_is_one_frame_from_end_to_end():
    """Neighbours are unpacked together: bytes of one must not be taken for those of another."""
    noise = np.random.default_rng(0).bytes(300_000)  # of several blocks
    body = packed(noise)
    assert headers_of(page_of(body, len(noise)))[0] == 1
    for wrong in (body + b"\0", body[:-1], body + packed(b""), body + packed(noise), body[: len(body) // 2]):
        assert headers_of(page_of(wrong, len(noise)))[0] == -1
    # A frame that ends in the next page, and one more frame there so that the whole is as long as it should be.
    assert headers_of(page_of(body[:-1], len(noise)), page_of(body[-1:] + body, len(noise)))[0] == -1


def test_neighbours_are_unpacked_together_to_their_own_bytes():
    rng = np.random.default_rng(0)
    bodies = [rng.bytes(size) for size in (800, 300_000, 8, 800_000, 700_000)]
    many, data, places = headers_of(*(page_of(packed(one), len(one)) for one in bodies), page_of(b"", 0, 0))
    assert many == 6
    found = list(pages._unpacked("ZSTD", data, places[:6]))
    assert [len(rows) for rows, _ in found] == [4, 1, 1]  # from a megabyte on they are not, nor what is not packed
    assert b"".join(page.tobytes() for _, page in found) == b"".join(bodies)


def test_a_dictionary_is_unpacked_by_itself():
    bodies = [(bytes(800), pagecode.DICTIONARY), (bytes(8), 0), (bytes(16), 0)]
    many, data, places = headers_of(*(page_of(packed(one), len(one), len(one) // 8, kind) for one, kind in bodies))
    found = list(pages._unpacked("ZSTD", data, places[:many]))
    assert [(len(rows), len(page)) for rows, page in found] == [(1, 800), (2, 24)]


def test_a_page_of_absurd_size_is_refused_before_it_is_unpacked():
    """A few packed bytes may say that they unpack to a lot, and truly do."""
    size = pages._PAGE + 8
    many, data, places = headers_of(page_of(packed(bytes(800)), 800), page_of(packed(bytes(size)), size))
    assert many == 2 and len(data) < 1 << 15
    tracemalloc.start()
    try:
        with pytest.raises(pages._UnknownError):
            list(pages._unpacked("ZSTD", data, places[:2]))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def reader(path: Path) -> Any:
    """What counts a file, and its column of numbers."""
    with open(path, "rb", buffering=0) as file:
        one: Any = pages._known(file, list(parquet.read_schema(path)), SCHEMA)
    return one, one.wanted[2]


def chunk_of(size: int, values: int) -> Chunk:
    """What a footer says of a chunk of the column of numbers that begins after the mark of its file."""
    return Chunk("DOUBLE", "x", "ZSTD", values, size, size, 4, None)


@pytest.mark.parametrize("values", [1 << 40, 126])
def test_a_dictionary_of_more_values_than_its_page_holds_is_refused_before_there_is_room_for_it(tmp_path, values):
    path = tmp_path / "rows.parquet"
    parquet.write_table(good(), path)
    one, column = reader(path)
    page = page_of(packed(bytes(1000)), 1000, values, pagecode.DICTIONARY)
    path.write_bytes(b"PAR1" + page)
    tracemalloc.start()
    try:
        with open(path, "rb") as file, pytest.raises(pages._UnknownError):
            one._chunk(file.fileno(), chunk_of(len(page), 125), column, np.zeros(125, np.uint8))
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1 << 62, 1 << 27, 1 << 16])
def test_a_chunk_that_is_larger_than_its_file_is_refused_before_there_is_room_for_it(tmp_path, size):
    path = tmp_path / "rows.parquet"
    parquet.write_table(good(), path, compression="zstd")
    one, column = reader(path)
    with open(path, "rb") as file, pytest.raises(pages._UnknownError):
        one._chunk(file.fileno(), chunk_of(size, 3000), column, np.zeros(3000, np.uint8))
    assert not hasattr(one.own, "data")


def test_files_that_end_too_early_are_refused_as_before(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(good(gone=True), path, row_group_size=1000)
    whole = path.read_bytes()
    for size in (*range(1, len(whole), len(whole) // 40), len(whole) - 1):
        path.write_bytes(whole[:size])
        assert outcome(path, SCHEMA) == decoded(path, SCHEMA) and isinstance(outcome(path, SCHEMA), str)


def test_a_file_that_is_cut_after_it_was_opened_is_not_counted_beyond_its_end(tmp_path):
    path = tmp_path / "rows.parquet"
    parquet.write_table(good(), path, row_group_size=1000)
    facts = parquet.read_metadata(path)
    fields = list(parquet.read_schema(path))
    found = pages.counted(str(path), fields, SCHEMA, BINS)
    os.truncate(path, facts.row_group(1).column(1).data_page_offset + 8)
    assert [one is None for *_, one in found] == [False, True, True]


@pytest.mark.parametrize("kinds", [("float64", "float32"), ("float32", "float64"), ("int64", "uint64")])
def test_a_file_that_another_takes_the_place_of_is_counted_by_its_own_types(tmp_path, kinds):
    """What was known of a file when it was opened says nothing of the one that is there when it is counted."""
    path, table, schema = tmp_path / "rows.parquet", good(), Schema([Numeric("x", 0, 7, bins=9)], "y", [0, 1])
    first, then = (
        table.set_column(1, "x", pa.array(np.clip(np.abs(table["x"].to_numpy()), 0, 7).astype(kind))) for kind in kinds
    )
    parquet.write_table(first, path)
    with opened(path) as stream:
        parquet.write_table(then, path)
        assert collect(stream, schema, detail=BINS) == decoded(path, schema)[0]
    fields = list(first.schema)
    assert pages.counted(str(path), fields, schema, BINS) is None


def test_values_are_of_the_width_and_family_that_their_type_says(tmp_path):
    kinds = {"INT32": "i1 u1 i2 u2 i4 u4", "INT64": "i8 u8", "FLOAT": "f4", "DOUBLE": "f8"}
    for stored, like in (("INT32", "i4"), ("INT64", "i8"), ("FLOAT", "f4"), ("DOUBLE", "f8")):
        path = tmp_path / f"{stored}.parquet"
        parquet.write_table(pa.table({"x": np.zeros(3, like)}), path)
        column = parquet.read_metadata(path).schema.column(0)
        for kind in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]:
            found = pages._wanted(column, 0, pa.from_numpy_dtype(kind), SCHEMA.features[1])
            assert (found is not None) == (kind in kinds[stored].split()), (stored, kind)


@pytest.mark.parametrize("counting", [True, False])
def test_rows_do_not_vanish_where_a_column_has_too_few_values(tmp_path, counting):
    """A page that says that it has fewer values than it has rows: Arrow leaves rows out without a word."""
    path, fewer = tmp_path / "rows.parquet", 0
    parquet.write_table(good(3), path, compression="none", row_group_size=1, write_statistics=False)
    whole = path.read_bytes()
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for spot in range(4, end):
        for value in {0, 1, 5, 20} - {whole[spot]}:
            path.write_bytes(whole[:spot] + bytes([value]) + whole[spot + 1 :])
            found = outcome(path, SCHEMA) if counting else decoded(path, SCHEMA)
            if isinstance(found, str):
                fewer += "rows are there where the file says" in found
            else:
                assert found[0].counts.sum() == 3
    assert fewer or not counting


def test_a_page_of_gzip_is_one_member_and_nothing_else():
    """Arrow takes other things for Gzip, and does not say how many bytes it wrote: the rest would be anything."""
    values = bytes(range(200))
    body = pa.Codec("gzip").compress(values, asbytes=True)
    assert pages._inflated(body, 200) == values
    stream = zlib.compress(values)
    size = int.from_bytes(stream[-4:], "little")
    wrong = [(stream, 200), (stream, size), (body + body, 200), (body + b"\0", 200), (body[:-1], 200), (body, 199),
             (body, 201), (pa.Codec("gzip").compress(bytes(50), asbytes=True) + stream, 250), (b"", 0)]  # fmt: skip
    for page, whole in wrong:
        with pytest.raises(pages._UnknownError):
            pages._inflated(page, whole)


def test_the_machine_code_knows_the_rule_of_bins_as_it_is():
    """The compiler keeps its work for as long as a file stays as it is, and the rule stands in another one."""
    names = ("_ROUND", "_LARGEST", "TILE", "MIDDLE", "INVERSE", "BOTTOM", "TOP", "FACTOR", "BASE")
    rule = inspect.getsource(sweep._even_bin) + repr([getattr(sweep, name) for name in names])
    written = hashlib.sha256(rule.encode()).hexdigest()[:12]
    assert written == pagecode.EVEN_BIN, f"write {written} there"


def test_a_run_that_says_more_groups_than_there_are_bytes_is_refused():
    """Readers that decode refuse it, too, whether or not values that are wanted reach so far."""
    loops, table, out = as_written(), np.zeros(256, np.uint8), np.zeros(8, np.uint8)
    for groups, expected in ((1, 8), (2, -1)):
        run = np.array([groups << 1 | 1, 0], np.uint8)
        assert loops._page_levels(run, 0, 2, 8, out) == (0 if expected > 0 else -1)
        assert loops._indexed(np.array([1, *run], np.uint8), 0, 3, table, out) == expected
