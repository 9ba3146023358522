"""Ids name people by one key, whatever container they come in, and are counted without touching the disk."""

from __future__ import annotations

import math
import os
import sqlite3
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from discreet import Categorical, DataError, Numeric, Schema, Table, collect
from discreet.sources import check_people
from discreet.sources.files import open_files
from discreet.sources.people import People, _Counter, id_keys
from discreet.sources.tables import private_duckdb

IDS = Schema([Numeric("x", 0, 1)], "y", [0, 1], id="who")
SAME = [
    [1, "01"],
    ["1", "01"],
    [1.0, "1.0"],
    [True, 1],
    [0.0, -0.0],
    [Decimal("1"), "1"],
    ["a", b"a"],
    [np.int8(3), " 3 "],
]
DIFFERENT = [
    ["a", "b"],
    ["1", "2"],
    [1, "x"],
    ["12e4567", "12e4568"],
    [0.5, 0.25],
    ["", " "],
    [10**400, "a"],
    ["\ud800", 1],
]


def objects(values):
    column = np.empty(len(values), object)
    for i, value in enumerate(values):
        column[i] = value
    return column


def frame(values):
    return pd.DataFrame({"who": pd.Series(objects(values), dtype=object), "x": 0.5, "y": [0, 1]})


def tables(values, folder):
    """The same ids wherever they can be held."""
    data = frame(values)
    yield data
    yield pl.DataFrame({"who": pl.Series(values, dtype=pl.Object), "x": [0.5, 0.5], "y": [0, 1]})
    if all(type(value) in {int, float, str, bytes} and value not in {10**400, "\ud800"} for value in values):
        lite = sqlite3.connect(":memory:")
        lite.execute("CREATE TABLE people (who, x, y)")
        lite.executemany("INSERT INTO people VALUES (?, 0.5, ?)", [(values[0], 0), (values[1], 1)])
        yield Table(lite, "people")
    if {type(value) for value in values} in ({str}, {float}):
        yield data.astype({"who": "category"})
        table = pa.table({"who": pa.array(values), "x": [0.5, 0.5], "y": [0, 1]}) if "\ud800" not in values else None
        if table is not None:
            yield table
            yield table.set_column(0, "who", table.column("who").dictionary_encode())
            parquet.write_table(table, folder / "d.parquet")
            feather.write_feather(table, folder / "d.arrow")
            yield folder / "d.parquet"
            yield folder / "d.arrow"
            connection = duckdb.connect()
            connection.register("given", table)
            connection.execute("CREATE TABLE people AS SELECT * FROM given")
            yield Table(connection, "people")
            if "" not in values:
                (folder / "d.csv").write_text(
                    "".join(["who,x,y\n", *(f'"{v}",0.5,{i}\n' for i, v in enumerate(values))])
                )
                yield folder / "d.csv"


@pytest.mark.parametrize("values", SAME, ids=str)
def test_spellings_of_one_id_are_one_person_everywhere(values, tmp_path):
    for data in tables(values, tmp_path):
        with pytest.raises(DataError, match="stands in more than 1 row: keep"):
            collect(data, IDS, contributions=1)
        assert collect(data, IDS, contributions=2).counts.tolist() == [1, 1]


@pytest.mark.parametrize("values", DIFFERENT, ids=ascii)
def test_different_ids_are_different_people_everywhere(values, tmp_path):
    for data in tables(values, tmp_path):
        assert collect(data, IDS, contributions=1).counts.tolist() == [1, 1]


@pytest.mark.parametrize("gone", [None, math.nan, pd.NA, pd.NaT, Decimal("NaN")], ids=str)
@pytest.mark.parametrize("value", [1, "a", 0.5])
def test_a_missing_id_is_refused_beside_any_other(gone, value):
    with pytest.raises(DataError, match="the id column 'who' has missing values"):
        check_people(frame([value, gone]), IDS, 5)


def test_keys_of_batches_can_be_compared():
    assert id_keys(np.array([1, 2])).tolist() == [1.0, 2.0]
    assert id_keys(pa.array(["01", "b", None])).tolist() == [1.0, "b", None]
    assert id_keys(objects([True, "b", None, "2"])).tolist() == [1.0, "b", None, 2.0]
    assert np.isnan(id_keys(pa.array([1, None]))).tolist() == [False, True]


@pytest.mark.parametrize("room", [1, 7, 1 << 20])
def test_batches_add_up(room, monkeypatch):
    monkeypatch.setattr("discreet.sources.people._ROOM", room)
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 40, 300)
    people = People()
    for start in range(0, 300, 30):
        part = ids[start : start + 30]
        people.add([part, pa.array([f"0{one}" for one in part]), objects([f"p{one}" for one in part])][start // 30 % 3])
    words = np.concatenate([ids[s : s + 30] for s in range(60, 300, 90)])
    digits = np.concatenate([ids[s : s + 30] for s in range(0, 300, 30) if s // 30 % 3 != 2])
    assert people.most()[0] == max(np.bincount(words).max(), np.bincount(digits).max())
    assert not people.missing


TEXTS = ["", "a", "b", "ab", "a\0", "abcd", "abcde", "é", "x" * 256, "x" * 257, "x" * 256 + "y", "z" * 5000, "a b c"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_texts_of_any_length_are_one_person_each_however_they_come(kind):
    people = People()
    array = pa.array(["before", *TEXTS, *TEXTS], pa.string()).cast(kind)
    people.add(array[1:])  # a slice, whose bytes do not begin where the array's do
    assert people.most()[0] == 2
    assert people._texts.held == len(TEXTS)
    people.add(objects([*TEXTS, "\ud800"]))
    people.add(np.array(TEXTS[1:4]))
    assert people.most()[0] == 4
    assert people._texts.held == len(TEXTS) + 1


def test_digests_of_many_texts_differ():
    rng = np.random.default_rng(2)
    texts = sorted({"".join(rng.choice(list("ab\0"), rng.integers(0, 12))) for _ in range(20_000)})
    digests = People()._digests(pa.array(texts))
    for lane in digests.T:
        assert len(np.unique(lane)) == len(texts)
    assert (People()._digests(pa.array(texts[1:9])) != digests[1:9]).all()  # other factors each time


def test_equal_first_words_are_told_apart_by_the_second():
    counter = _Counter(2)
    keys = [[1, 5], [1, 4], [1, 5], [0, 4], [1, 4], [1, 5]]
    counter.add(np.array(keys, np.uint64))
    found = counter.most()
    assert (found[0], found[1].tolist(), counter.held) == (3, [1, 5], 3)


def test_large_numbers_say_what_to_do():
    data = pd.DataFrame({"who": [2**53, 2**53 + 1], "x": 0.5, "y": [0, 1]})
    with pytest.raises(DataError, match="store such ids as text"):
        check_people(data, IDS, 1)


@pytest.mark.parametrize("wrap", [objects, pa.array, np.array])
def test_long_numbers_in_texts_are_people_of_their_own(wrap):
    ids = ["110101199003070010", "110101199003070011", "4000000000000002", "4000000000000003"]
    assert len(set(id_keys(wrap(ids)).tolist())) == 4
    data = pd.DataFrame({"who": ids, "x": 0.5, "y": [0, 1, 0, 1]})
    check_people(data, IDS, 1)
    with pytest.raises(DataError, match="more than 1 row"):
        check_people(pd.concat([data, data[:1]]), IDS, 1)
    same = ["110101199003070010", " 0110101199003070010", "+110101199003070010.00", "110101199003070010\n"]
    assert len(set(id_keys(wrap(same)).tolist())) == 1
    people = People()
    people.add(wrap(same))
    assert people.most()[0] == 4
    assert len(set(id_keys(wrap(["-1101011990030700", "1101011990030700"])).tolist())) == 2


# ---- nothing raw on disk


def test_our_databases_spill_where_nobody_else_reads_and_nothing_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connection, folder = private_duckdb(memory_limit="32MB", threads=1)
    assert os.stat(folder.name).st_mode & 0o777 == 0o700
    query = "SELECT count(*) FROM (SELECT r, count(*) FROM (SELECT hash(range) AS r FROM range(3000000)) GROUP BY r)"
    assert connection.execute(query).fetchall() == [(3_000_000,)]
    assert os.listdir(tmp_path) == []
    connection.close()
    folder.cleanup()


def test_a_file_of_many_ids_leaves_nothing_behind(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    count = 200_000
    pd.DataFrame({"who": [f"p{i}" for i in range(count)], "x": 0.5, "y": [0, 1] * (count // 2)}).to_csv(
        tmp_path / "d.csv", index=False
    )
    stream = open_files(tmp_path / "d.csv")
    folder = stream.folder.name
    check_people(stream, IDS, 1)
    assert os.listdir(folder) == os.listdir(work) == []
    stream.close()
    assert not os.path.exists(folder)


def test_a_number_that_may_stand_for_several_ids_keeps_none_of_too_many_rows():
    """Else the rows of one person could take the place of another's: two rows would change for one person's one."""
    schema = Schema([Categorical("a", ["x", "z"])], "y", [0, 1], id="who")
    first = pd.DataFrame({"a": ["x", "x"], "y": 0, "who": [2**60, 5]})
    for more, kept in ((2**60 + 1, {(1,)}), (2**60, {(1,)}), (5, {(2,)}), (6, {(3,)})):
        rows = pd.concat([first, pd.DataFrame({"a": ["z"], "y": 0, "who": [more]})])
        found = {
            tuple(collect(rows, schema, contributions=1, unexpected="absorb").counts[:1].tolist()) for _ in range(20)
        }
        assert found == kept
