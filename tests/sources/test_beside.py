"""Rows that workers read: by the same rules, whatever the partitions, and what comes back is data, not code."""

from __future__ import annotations

import pickle
import tracemalloc

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import (
    Categorical,
    DataError,
    FederatedNB,
    Numeric,
    PrivateHoldout,
    PrivateNB,
    PrivateSelectKBest,
    Schema,
    StatisticsError,
    collect,
    sources,
)
from discreet.sources import beside, spill
from discreet.sources.asks import Count, Hold, Workers, distinct_rows
from discreet.sources.held import HeldRows
from discreet.statistics import DETAILS


class Parted(Workers):
    """A table in partitions, each of which is read as a worker reads it."""

    def __init__(self, table, cuts):
        self.table, self.names = table, list(table.column_names)
        self.ends = [0, *cuts, len(table)]

    def _parts(self, wanted):
        for start, stop in zip(self.ends, self.ends[1:], strict=False):
            yield self.table.select(wanted)[start:stop]

    def batches(self, wanted):
        for part in self._parts(wanted):
            yield {name: part[name] for name in wanted}

    def partials(self, task):
        for part in self._parts(list(task.names)):
            yield from beside.checked_run(task.payload())(iter(part.to_batches(max_chunksize=7)))


class Cut:
    """A table and where it is cut."""

    def __init__(self, frame, *cuts):
        self.table, self.cuts = pa.Table.from_pandas(frame, preserve_index=False), cuts


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    monkeypatch.setattr("discreet.sources.streams._BACKENDS", list(sources.streams._BACKENDS))
    sources.register(
        "a cut table", lambda data: isinstance(data, Cut), lambda data, **_: Parted(data.table, data.cuts), beside=True
    )


CUTS = (100, 100, 350)  # the second partition is empty


def test_workers_count_code_and_look_at_labels_alike(schema, frame):
    data = Cut(frame, *CUTS)
    assert collect(data, schema, detail=DETAILS) == collect(frame, schema, detail=DETAILS)
    here, there = (sources.open(one, schema).held() for one in (frame, data))
    assert all(np.array_equal(*pair) for pair in zip(here.columns, there.columns, strict=True))
    assert np.array_equal(here.labels, there.labels) and there.read == len(frame)
    assert np.array_equal(sources.open(data, schema).class_counts(), here.counts)


def test_what_workers_absorb_is_added_up(schema, frame):
    bad = frame.assign(dose=frame.dose.where(frame.index % 50 != 1, np.inf), ill=frame.ill.where(frame.index != 5, "?"))
    seen = []
    for data in (bad, Cut(bad, *CUTS)):
        with sources.watching() as readings:
            seen.append((collect(data, schema, unexpected="absorb"), readings))
            seen[-1] += (len(sources.open(data, schema, unexpected="absorb").held()),)
    assert seen[0] == seen[1] and seen[0][1][0].rows == 13


@pytest.mark.parametrize("ask", [lambda s: s.statistics(), lambda s: s.held()], ids=["statistics", "held"])
def test_a_bad_row_is_refused_in_the_same_words(schema, frame, ask):
    bad = frame.assign(weight=frame.weight.where(frame.index != 417, np.inf))
    words = []
    for data in (bad, Cut(bad, *CUTS)):
        with pytest.raises(DataError) as refusal:
            ask(sources.open(data, schema))
        words.append(str(refusal.value))
    assert words[0] == words[1]


def test_no_rows_are_an_error_unless_they_are_absorbed(schema, frame):
    none = Cut(frame[:0], 0)
    for ask in ("statistics", "held", "class_counts"):
        with pytest.raises(DataError, match="there are no rows"):
            getattr(sources.open(none, schema), ask)()
        getattr(sources.open(none, schema, unexpected="absorb"), ask)()


@pytest.mark.parametrize("kind", ["numbers", "numbers as texts", "texts"])
def test_people_are_counted_over_all_partitions(schema, frame, kind):
    who = np.arange(len(frame)) % 200  # three rows each, in two or three partitions
    spelled = {"numbers": who, "numbers as texts": [f"{one}.0" for one in who], "texts": [f"p{one}" for one in who]}
    rows = frame.assign(who=spelled[kind])
    known, data = schema.having(id="who"), Cut(rows, *CUTS)
    assert collect(data, known, contributions=3) == collect(rows, known, contributions=3)
    with pytest.raises(DataError, match="stands in more than 2 rows"):
        collect(data, known, contributions=2)
    assert collect(data, known, contributions=2, unexpected="absorb").counts.sum() == 400
    missing = Cut(rows.assign(who=rows.who.where(rows.index != 300, None)), *CUTS)
    with pytest.raises(DataError, match="missing values"):
        collect(missing, known, contributions=3)


def test_sums_over_partitions_that_leave_64_bits_are_refused_or_stay_at_the_end(monkeypatch):
    schema = Schema([Numeric("x", 0, 1)], "y", [0, 1])
    rows = pd.DataFrame({"x": np.ones(8), "y": np.zeros(8, int)})
    large = collect(rows, schema, detail=("moments",))
    while large.squares["x"][0] < 2**62:
        large = large.saturated(large)
    monkeypatch.setattr("discreet.sources.asks.tally", lambda *_: large)
    with pytest.raises(StatisticsError, match="64-bit"):
        collect(Cut(rows, 4), schema, detail=("moments",))
    assert collect(Cut(rows, 4), schema, detail=("moments",), unexpected="absorb").squares["x"][0] == 2**63 - 1


def test_any_error_of_ours_crosses_as_what_it_is(schema, frame, monkeypatch):
    def overflow(*_):
        raise StatisticsError("a sum left the range")

    monkeypatch.setattr("discreet.sources.asks.tally", overflow)
    with pytest.raises(StatisticsError, match=r"^a sum left the range$"):
        collect(Cut(frame, 4), schema)


def test_alike_rows_travel_once_and_count_as_often_as_they_are():
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 4, 5000).astype(np.uint8), rng.integers(-2, 2, 5000).astype(np.int32)]
    sent = distinct_rows(columns)
    assert sent["times"].sum() == 5000 and len(sent["times"]) == 16
    again = [np.repeat(sent[str(j)], sent["times"]) for j in range(2)]
    assert np.array_equal(np.sort(again[0] * 8 + again[1]), np.sort(columns[0] * 8 + columns[1]))
    apart = [np.arange(5000, dtype=np.int32), columns[0]]
    assert "times" not in distinct_rows(apart)
    schema = Schema([Categorical("a", [0, 1])], "y", [0, 1])
    rows = pd.DataFrame({"a": [0, 1] * 500, "y": [0, 0, 1, 1] * 250})
    held = sources.open(Cut(rows, 400), schema).held()
    assert len(held) == 1000 and held.statistics(("bins",)) == collect(rows, schema, detail=("bins",))


def test_rows_past_the_limit_lie_in_a_file_that_nobody_else_opens(schema, frame, monkeypatch):
    here = sources.open(frame, schema).held()
    monkeypatch.setattr(spill, "LIMIT", 3000)
    there = sources.open(Cut(frame, *range(20, 600, 20)), schema).held()
    assert all(isinstance(column, np.memmap) and column.filename is None for column in there.columns)
    assert all(np.array_equal(*pair) for pair in zip(here.columns, there.columns, strict=True))
    assert there.statistics(("bins", "moments")) == here.statistics(("bins", "moments"))
    there.columns[0][:] = 0  # an array like any other
    assert sum(one.nbytes for one in there.columns) > spill.LIMIT


def test_places_of_rows_past_the_limit_lie_in_a_file_too(monkeypatch):
    """What is in memory at a time is the limit and a part or two of 160 kB, a bit for each row beside."""
    schema = Schema([Categorical("a", ["u", "v"])], "y", [0, 1])
    size, count = 20_000, 100
    kept = np.flatnonzero(np.arange(size) % 10)

    def parts():
        for _ in range(count):
            yield HeldRows(schema, [np.zeros(len(kept), np.uint8)], np.zeros(len(kept), np.int64), kept, size)

    monkeypatch.setattr(spill, "LIMIT", 1 << 20)
    tracemalloc.start()
    held = HeldRows.gathered(parts(), schema)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(held) == 9 * size * count // 10 and held.read == size * count
    assert all(isinstance(one, np.memmap) for one in (held.columns[0], held.labels, held.places))
    assert most < 3 << 20 < held.places.nbytes / 4  # what all places would take is fourteen times the limit
    assert np.array_equal(held.places, np.flatnonzero(np.arange(size * count) % 10))


def test_a_message_is_data_alone(schema, frame):
    found = collect(frame, schema)
    raw = beside.message({"schema": schema.hash}, Count(("bins",)).pack(found))
    assert pickle.dumps(found)[:2] not in raw[:8]
    head, arrays = beside.opened_message(raw)
    assert head["schema"] == schema.hash and type(found).of_arrays(schema, arrays) == found


def test_what_a_worker_lacks_is_one_sentence(schema, frame, monkeypatch):
    def absent(*_, **__):
        raise ModuleNotFoundError("No module named 'numba'")

    monkeypatch.setattr("discreet.sources.asks.tally", absent)
    with pytest.raises(DataError, match="a worker cannot read the rows: No module named 'numba'; install it there"):
        collect(Cut(frame, 3), schema)


def test_an_empty_partition_adds_no_message_of_rows(schema, frame):
    task = beside.Task(Hold(), schema, (*schema.names, "ill"), True, "refuse")
    (last,) = beside.answer(task.payload(), iter([]))
    assert beside.opened_message(last) == ({"schema": schema.hash, "values": 0, "rows": 0}, None)
    assert len(HeldRows.gathered([], schema)) == 0


# ---- lazy frames do what frames in memory do


@pytest.fixture
def lazy(frame):
    return pl.from_pandas(frame).lazy()


def test_labels_beside_a_lazy_frame_keep_its_order(schema, frame, lazy, monkeypatch):
    monkeypatch.setattr("discreet.sources.tables.BATCH", 64)
    y = frame.ill.to_numpy()
    assert collect(lazy.drop("ill"), schema, y) == collect(frame, schema)
    assert np.array_equal(sources.open(lazy.drop("ill"), schema, y).class_counts(), collect(frame, schema).counts)
    for wrong in (y[:-1], [*y, "no"]):
        with pytest.raises(DataError, match="inconsistent numbers of samples"):
            collect(lazy.drop("ill"), schema, wrong)
    fitted = PrivateHoldout(PrivateNB(1.0, schema=schema)).fit(lazy.drop("ill"), y)
    assert len(fitted.predict(lazy)) == len(frame)


def test_estimators_see_the_names_and_select_without_reading(schema, frame, lazy):
    chosen = PrivateSelectKBest(2, 1.0, schema=schema).fit(lazy)
    assert chosen.feature_names_in_.tolist() == list(schema.names)
    narrow = chosen.transform(lazy)
    assert isinstance(narrow, pl.LazyFrame) and set(narrow.collect_schema().names()) == set(chosen.names_)
    assert FederatedNB(1.0, schema=schema, n_nodes=2).fit(lazy).predict(lazy).shape == (len(frame),)


def test_a_lazy_frame_is_never_collected(schema, frame, lazy, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("collected whole")

    monkeypatch.setattr(pl.LazyFrame, "collect", refuse)
    fitted = PrivateNB(1.0, schema=schema).fit(lazy)
    assert len(fitted.predict(lazy)) == len(frame)


def test_a_query_that_fails_is_one_sentence(schema, tmp_path):
    gone = pl.scan_parquet(tmp_path / "absent.parquet")
    with pytest.raises(DataError, match=r"^polars cannot read the rows: [^\n]+$"):
        collect(gone, schema)


def test_an_ibis_table_is_read_in_batches(schema, frame):
    class Expression:
        """What is used of an ibis table."""

        def __init__(self, table):
            self.table, self.columns = table, table.column_names

        def select(self, *names):
            return type(self)(self.table.select(list(names)))

        def to_pyarrow_batches(self, *, chunk_size):
            return pa.RecordBatchReader.from_batches(self.table.schema, self.table.to_batches(max_chunksize=50))

    Expression.__module__, Expression.__name__ = "ibis.expr.types.relations", "Table"
    data = Expression(pa.Table.from_pandas(frame.assign(more=1), preserve_index=False))
    assert collect(data, schema) == collect(frame, schema)


@pytest.mark.parametrize("make", [lambda f: pl.from_pandas(f).lazy(), lambda f: duckdb.connect().from_df(f),
                                  lambda f: Cut(f, 100, 300)], ids=["polars", "DuckDB", "workers"])  # fmt: skip
def test_a_draft_is_the_same_and_not_drawn_in_memory(frame, make, monkeypatch):
    monkeypatch.setattr("discreet.sources.tables.BATCH", 64)
    assert Schema.infer(make(frame), target="ill") == Schema.infer(frame, target="ill")
