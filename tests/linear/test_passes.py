"""Passes over encoded rows: part by part, afresh or kept, in any number of threads, they give the same sums."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import PrivateAdditiveClassifier, PrivateClassifier, PrivateLogisticRegression, sources
from discreet.additive.blocks import Packed, place_knots
from discreet.linear import encode
from discreet.linear.encode import Encoding, added
from discreet.sources import spill

PART = 100


@pytest.fixture
def in_parts(monkeypatch):
    monkeypatch.setattr(encode, "PART", PART)


@pytest.fixture
def afresh(in_parts, monkeypatch):
    monkeypatch.setattr(encode, "KEPT", 0)


@pytest.fixture
def path(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("numeric", ["binned", "scaled"])
def test_sums_are_the_same_to_the_last_bit(numeric, schema, frame, in_parts, monkeypatch):
    encoding, rows = Encoding(schema, numeric), sources.open(frame, schema).held()
    rng = np.random.default_rng(0)
    weights, rates = rng.normal(size=encoding.columns), rng.normal(size=len(rows))
    found = []
    for kept, threads in ((1 << 30, 1), (0, 1), (0, 3)):
        monkeypatch.setattr(encode, "KEPT", kept)
        monkeypatch.setenv("DISCREET_THREADS", str(threads))
        design = encoding.design(rows)
        assert len(design.codes) == (len(rows) if kept else 0) and len(design) == len(rows)
        found.append([design.margins(weights), design.gather(rates), design.outer(np.ones(len(rows), np.int64))])
    for other in found[1:]:
        assert all(np.array_equal(one, two) for one, two in zip(found[0], other, strict=True))
    matrix = encoding.matrix(frame.drop(columns="ill"))
    assert np.allclose(found[0][0], matrix @ weights) and np.allclose(found[0][1], matrix.T @ rates)


def test_sums_of_parts_carry_what_additions_drop():
    """1 + 2⁻⁶⁰ many times: plain sums of parts would lose all the small ones."""
    small = 2.0**-60
    parts = [(np.array([1.0]), np.array([small])) for _ in range(1000)] + [(np.array([small]), np.array([0.0]))] * 1000
    assert added(parts, (1,))[0] == 1000.0 + 2000 * small == 1000.0
    assert added([*parts, (np.array([-1000.0]), np.array([0.0]))], (1,))[0] == 2000 * small


@pytest.mark.parametrize("kind", [PrivateAdditiveClassifier, PrivateLogisticRegression])
def test_rows_encoded_afresh_give_the_same_model(kind, schema, frame, path, in_parts, monkeypatch):
    kept = kind(1.0, schema=schema, random_state=1).fit(frame).model_.to_dict()
    monkeypatch.setattr(encode, "KEPT", 0)
    monkeypatch.setattr(spill, "LIMIT", 500)
    monkeypatch.setattr("discreet.sources.tables.BATCH", 256)
    assert kind(1.0, schema=schema, random_state=1).fit(path).model_.to_dict() == kept


def test_pairs_are_looked_for_part_by_part(schema, frame, monkeypatch):
    whole = PrivateAdditiveClassifier(5.0, schema=schema, pairs=2, random_state=1).fit(frame).model_.blocks.pairs
    monkeypatch.setattr(encode, "PART", PART)
    assert (
        PrivateAdditiveClassifier(5.0, schema=schema, pairs=2, random_state=1).fit(frame).model_.blocks.pairs == whole
    )


def test_spilled_columns_leave_memory_and_come_again(monkeypatch):
    monkeypatch.setattr(spill, "LIMIT", 0)
    parts = [[np.arange(start, start + 5000)] for start in range(0, 50_000, 5000)]
    (column,) = spill.stacked(parts)
    assert isinstance(column, np.memmap)
    spill.let_go(column, slice(10_000, 20_000))
    assert np.array_equal(column, np.arange(50_000))
    spill.let_go(np.arange(5), slice(0, 5))  # of memory nothing is let go
    spill.let_go(column[5:], slice(0, 5))


def test_progress_is_told_from_the_start_and_in_every_pass(schema, frame, path, afresh):
    told = []
    PrivateClassifier(5.0, schema=schema, model="additive").fit(path, progress=lambda *step: told.append(step))
    assert told[0][0] == 0
    reading = told.index((len(frame), len(frame)))
    passes = [step for step in told[reading + 1 :] if step[0] % PART == 0]
    assert passes.count((len(frame), len(frame))) > 5 and any(done < len(frame) for done, _ in passes)


def test_packed_rows_are_the_rows(schema, frame, in_parts, monkeypatch):
    blocks, rows = place_knots(schema, 5, levels=()), sources.open(frame, schema).held()
    plain, packing = blocks.design(rows), Packed(blocks)
    monkeypatch.setattr(encode, "KEPT", len(rows) * packing.bytes)
    packed = blocks.design(rows)
    assert not len(packed.codes) and packing.bytes < plain.codes[0].nbytes + plain.values[0].nbytes
    for part in (slice(0, 7), slice(50, len(rows))):
        assert all(np.array_equal(one, two) for one, two in zip(plain.some(part), packed.some(part), strict=True))
    thin, same = plain.thinned(len(rows) // 3), packed.thinned(len(rows) // 3)
    assert len(rows) // 4 < len(thin) < len(rows) // 2 + encode.RUN
    assert np.array_equal(thin.codes, same.codes) and np.array_equal(thin.values, same.values)
    assert np.array_equal(thin.labels, same.labels)
    monkeypatch.setattr(encode, "KEPT", 0)
    assert blocks.design(rows).encode == blocks.encode
