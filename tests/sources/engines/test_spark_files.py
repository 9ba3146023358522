"""Plain Parquet files on Spark: the executors read them themselves, all rows once, and whatever is not plain is not."""

from __future__ import annotations

import os
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from discreet import Account, Budget, Categorical, DataError, Numeric, Schema, collect, sources
from discreet.sources import spark as reader
from discreet.sources import sparkfiles
from discreet.statistics import DETAILS
from tests import pages

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:pyspark", "ignore::DeprecationWarning:pyspark")


@pytest.fixture(autouse=True)
def small_tasks(monkeypatch):
    monkeypatch.setattr(sparkfiles, "LEAST", 100)


@pytest.fixture(scope="module")
def rows(frame):
    """Rows with values that are missing, infinite or unknown, and an id."""
    rng = np.random.default_rng(5)
    age = frame.age.astype(float).mask(rng.random(len(frame)) < 0.02, np.inf)
    colour = frame.colour.astype(object).mask(rng.random(len(frame)) < 0.02, "broken")
    return frame.assign(age=age, colour=colour, who=rng.integers(0, 250, len(frame)), another="x")


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """Two files of several row groups, whose names an address has to write in another way."""
    place = tmp_path_factory.mktemp("files") / "a b%20ü"
    place.mkdir()
    table = pa.Table.from_pandas(rows, preserve_index=False)
    parquet.write_table(table[:350], place / "one #1.parquet", row_group_size=60)
    parquet.write_table(table[350:], place / "two.parquet", row_group_size=1000)
    return place


@pytest.fixture
def asked(monkeypatch):
    """The tasks into which files were laid out, for each reading."""
    seen, lay_out = [], reader.laid_out
    monkeypatch.setattr(reader, "laid_out", lambda *given: seen.append(lay_out(*given)) or seen[-1])
    return seen


def test_executors_read_every_row_group_of_plain_files_once(spark, schema, rows, folder, asked):
    data, known = spark.read.parquet(str(folder)), schema.having(id="who")
    with sources.watching() as here:
        expected = collect(rows, schema, detail=DETAILS, unexpected="absorb")
    with sources.watching() as there:
        found = collect(data, schema, detail=DETAILS, unexpected="absorb")
    assert found == expected and there == here and here[0].rows + here[0].values > 10
    (tasks,) = asked
    groups = sorted((path, i) for task in tasks for path, _, held in task for i in held)
    assert len(tasks) > 2 and groups == sorted(
        [(str(folder / "one #1.parquet"), i) for i in range(6)] + [(str(folder / "two.parquet"), 0)]
    )
    with pytest.raises(DataError, match=r"^column '[^']+' holds"):
        collect(data, schema)
    most = int(rows.who.value_counts().max())
    assert collect(data, known, contributions=most, unexpected="absorb") == collect(rows, known, unexpected="absorb")
    with pytest.raises(DataError, match=f"stands in more than {most - 1} rows"):
        collect(data, known, contributions=most - 1)
    held = sources.open(data, schema, unexpected="absorb").held()
    assert held.read == len(rows) and held.statistics(("bins",)) == collect(
        rows, schema, detail=("bins",), unexpected="absorb"
    )
    assert None not in asked


NOT_PLAIN = {
    "some rows": lambda data: data.where("dose > 1"),
    "fewer rows": lambda data: data.limit(5),
    "another column": lambda data: data.withColumn("dose", data.dose + 1),
    "another name": lambda data: data.withColumnsRenamed({"dose": "weight", "weight": "dose"}),
    "each row twice": lambda data: data.union(data),
    "each row as often as another has rows": lambda data: data.crossJoin(data.select("who").limit(2).toDF("o")),
    "other rows at random": lambda data: data.sample(0.5),
    "distinct rows": lambda data: data.distinct(),
    "rows in cached memory": lambda data: data.cache(),
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_no_other_plan_is_taken_for_plain_files(name, spark, folder):
    data = spark.read.parquet(str(folder))
    made = NOT_PLAIN[name](data)
    try:
        assert sparkfiles.laid_out(made, ["dose"]) is None
    finally:
        made.unpersist()
    assert sparkfiles.laid_out(data.select("dose", "who"), ["dose"])


def test_files_of_other_types_or_columns_are_read_by_spark(spark, tmp_path, asked):
    schema = Schema([Numeric("x", 0, 9), Categorical("a.b", [1, 2], other="more")], "y", [0, 1])
    good = pa.table({"x": [1.0, 2.0], "a.b": [1, 2], "y": [0, 1]})
    others = {
        "decimal": good.set_column(0, "x", pa.array([Decimal("1.10"), Decimal("2.5")])),
        "unsigned": good.set_column(1, "a.b", pa.array([1, 2], pa.uint32())),
        "column that is not everywhere": [good, good.drop_columns(["x"])],
        "partitions": None,
    }
    for name, tables in others.items():
        place = tmp_path / name
        if tables is None:
            spark.createDataFrame(good.to_pandas()).write.partitionBy("y").parquet(str(place))
            tables = [good]
        else:
            place.mkdir()
            tables = tables if isinstance(tables, list) else [tables]
            for i, table in enumerate(tables):
                parquet.write_table(table, place / f"{i}.parquet")
        data = spark.read.option("mergeSchema", True).parquet(str(place))
        whole = pa.concat_tables(tables, promote_options="default")
        assert collect(data, schema, unexpected="absorb") == collect(whole, schema, unexpected="absorb"), name
    assert asked == [None] * len(others)
    parquet.write_table(good, tmp_path / "good.parquet")
    assert collect(spark.read.parquet(str(tmp_path / "good.parquet")), schema) == collect(good, schema)
    assert asked[-1] is not None


def test_a_file_that_changes_before_it_is_read_is_refused(spark, schema, frame, tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    data, lay_out = spark.read.parquet(str(path)), reader.laid_out

    def changed(*given):
        found = lay_out(*given)
        os.utime(path, ns=(0, 0))
        return found

    monkeypatch.setattr(reader, "laid_out", changed)
    with pytest.raises(DataError, match="a file of these rows changed while they were read"):
        collect(data, schema)


def test_the_page_is_followed(spark, schema, frame, tmp_path):
    """docs/clusters.md, with folders here in place of buckets."""
    frame.to_parquet(tmp_path / "patients.parquet")
    here = {
        "s3://bucket/patients/": str(tmp_path / "patients.parquet"),
        "s3://bucket/answers/": str(tmp_path / "answers"),
        '"model.json"': repr(str(tmp_path / "model.json")),
    }
    space = {"spark": spark, "schema": schema, "account": Account.create(tmp_path / "a.account", Budget(1))}
    for block in pages.blocks("clusters.md"):
        for there, place in here.items():
            block = block.replace(there, place)
        space = pages.run([block], "clusters.md", **space)
        space["clf"].model_.save(tmp_path / "model.json")
    assert {"prediction"} < set(spark.read.parquet(str(tmp_path / "answers")).columns)
    assert space["account"].spent == 1
