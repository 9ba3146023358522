"""Footers of Parquet files are read as Arrow reads them, and damaged ones never end the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.sources.footer import Chunk, Group, footer_bytes, row_groups

ROOT = Path(__file__).parents[2]


def table(size: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    texts = rng.integers(0, 30, size).astype(str)
    return pa.table({
        "a": pa.array(rng.integers(0, 5, size)), "x": pa.array(rng.random(size) * 5, mask=rng.random(size) < 0.1),
        "y": pa.array(rng.integers(0, 2, size).astype(bool)), "t": pa.array(texts),
        "f": pa.array(rng.random(size, "f4")),
    })  # fmt: skip


def agree(path: Path) -> None:
    """What is read here of a footer is what Arrow reads."""
    with open(path, "rb") as file:
        found = row_groups(footer_bytes(file) or b"")
    facts = parquet.read_metadata(path)
    assert found is not None and len(found) == facts.num_row_groups
    for i, group in enumerate(found):
        expected = facts.row_group(i)
        assert group.num_rows == expected.num_rows and len(group.chunks) == expected.num_columns
        for j, chunk in enumerate(group.chunks):
            column = expected.column(j)
            for name in set(Chunk._fields) - {"compression"}:
                assert getattr(chunk, name) == getattr(column, name), name
            if column.compression in ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI"):
                assert chunk.compression == column.compression
            else:
                assert chunk.compression not in ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_footers_say_what_arrow_reads_in_them(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("footer") / "rows.parquet"
    how: dict[str, Any] = {
        "compression": data.draw(st.sampled_from(["none", "snappy", "zstd", "gzip", "brotli", "lz4"])),
        "version": data.draw(st.sampled_from(["1.0", "2.4", "2.6"])),
        "data_page_version": data.draw(st.sampled_from(["1.0", "2.0"])),
        "write_statistics": data.draw(st.sampled_from([True, False, ["a"]])),
        "write_page_index": data.draw(st.booleans()),
        "write_page_checksum": data.draw(st.booleans()),
        "use_dictionary": data.draw(st.booleans()),
        "row_group_size": data.draw(st.sampled_from([10, 100, 1000])),
        "store_schema": data.draw(st.booleans()),
    }
    parquet.write_table(table(data.draw(st.integers(0, 300))), path, **how)
    agree(path)


@pytest.mark.parametrize("writer", ["polars", "duckdb", "pandas"])
def test_footers_of_other_writers_are_read_alike(tmp_path, writer):
    path, rows = tmp_path / "rows.parquet", table(20_000)
    if writer == "polars":
        pytest.importorskip("polars").from_arrow(rows).write_parquet(path, row_group_size=3000)
    elif writer == "pandas":
        rows.to_pandas().to_parquet(path)
    else:
        import duckdb

        duckdb.connect().from_arrow(rows).write_parquet(str(path), row_group_size=4096)
    agree(path)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 200), st.binary(max_size=6))
def test_any_bytes_are_a_footer_or_none(data, cut, other):
    assert row_groups(data + b"\0\0\0\0PAR1") is None or data
    sink = pa.BufferOutputStream()
    parquet.write_table(table(3), sink)
    whole = sink.getvalue().to_pybytes()
    length = int.from_bytes(whole[-8:-4], "little")
    footer = whole[-8 - length :]
    damaged = footer[:cut] + other + footer[cut + len(other) :]
    found = row_groups(damaged)
    assert found is None or all(isinstance(one.num_rows, int) for one in found)


def test_lists_of_lists_and_lists_of_absurd_length_are_refused():
    ends = b"\0\0\0\0PAR1"
    assert row_groups(b"\x99" + b"\x19" * 5000 + b"\0" * 9 + ends) is None
    assert row_groups(b"\x1c" * 5000 + b"\0" * 5001 + ends) is None
    assert row_groups(b"\x49\xfc\xff\xff\xff\xff\x07" + b"\0" * 9 + ends) is None
    assert row_groups(b"\x19\xf1\xff\xff\xff\xff\x07" + b"\0" * 9 + ends) is None


def test_chunks_in_other_files_and_encrypted_ones_are_not_for_us():
    ends, elsewhere = b"\0\0\0\0PAR1", b"\x18\x01f"
    known = b"\x15\x0a\x29\x18\x01x\x15\0" + b"\x16\x02" * 3 + b"\x26\x08\0"
    for before, after, read in ((b"\x3c", b"", True), (elsewhere + b"\x2c", b"", False), (b"\x3c", b"\x5c\0", False)):
        chunk = before + known + after + b"\0"
        footer = b"\x36\x02\x19\x1c\x19\x1c" + chunk + b"\x26\x02\0\0" + ends
        expected = [Group(1, [Chunk("DOUBLE", "x", "UNCOMPRESSED", 1, 1, 1, 4, None)])]
        assert row_groups(footer) == (expected if read else None)
    assert row_groups(b"\x36\0\x19\x0c\0" + ends) == []
    assert row_groups(b"\x36\0\x19\x0c\x4c\0\0" + ends) is None


DAMAGE = """
import sys, numpy as np, pyarrow.parquet as parquet
from pathlib import Path
from discreet.sources import pages
from tests.sources.test_pages import SCHEMA, decoded, good, outcome
pages.SMALL = pages.LOADING = 0
pages.kept_on_disk = lambda *_: True
path, rng, counted = Path(sys.argv[1]), np.random.default_rng(int(sys.argv[2])), 0
parquet.write_table(good(400, gone=True), path, row_group_size=200)
whole, right = path.read_bytes(), outcome(path, SCHEMA, "absorb")
length = int.from_bytes(whole[-8:-4], "little")
for _ in range(int(sys.argv[3])):
    damaged = bytearray(whole)
    for spot in rng.integers(len(whole) - 8 - length, len(whole) - 8, rng.integers(1, 3)):
        damaged[spot] = rng.integers(0, 256) if rng.random() < 0.5 else damaged[spot] ^ 1 << rng.integers(0, 8)
    path.write_bytes(damaged)
    found, expected = outcome(path, SCHEMA, "absorb"), decoded(path, SCHEMA, "absorb")
    counted += not isinstance(found, str)
    # What Arrow refuses for words that nobody needs to count, such as statistics, may be counted: to what is there.
    assert found == expected or (isinstance(expected, str) and (isinstance(found, str) or found == right)), (
        found, expected, bytes(damaged).hex())
print(counted)
"""


@pytest.mark.parametrize("seed", [0, 1])
def test_damaged_footers_are_counted_rightly_or_refused_and_never_end_the_process(tmp_path, seed):
    arguments = [sys.executable, "-c", DAMAGE, str(tmp_path / "rows.parquet"), str(seed), "250"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 20
