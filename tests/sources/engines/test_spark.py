"""Spark alone: what it is asked, what comes back, what it says when something is wrong, and a worker that dies."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import (
    Account,
    Budget,
    Categorical,
    DataError,
    ModelError,
    Numeric,
    PrivateClassifier,
    PrivateHoldout,
    PrivateNB,
    Schema,
)
from discreet import collect as count
from discreet.evaluation.exact import evaluate
from discreet.kinds import REGISTRY
from discreet.sources import Source, beside, open_frame
from discreet.sources.absorb import Absorbed
from discreet.spark import predict
from tests.sources.engines.conftest import kill

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:pyspark", "ignore::DeprecationWarning:pyspark")


@pytest.fixture(scope="module")
def rows(frame):
    return frame.assign(weight=frame.weight.fillna(0), another="x" * 50)


@pytest.fixture(scope="module")
def data(spark, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    rows.to_parquet(path)
    return spark.read.parquet(str(path))


@pytest.fixture
def plans(monkeypatch):
    """The physical plans of whatever is collected."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen = []

    def watch(name):
        ask = getattr(DataFrame, name)

        def watched(self, *arguments, **settings):
            seen.append(self._jdf.queryExecution().executedPlan().toString())
            return ask(self, *arguments, **settings)

        monkeypatch.setattr(DataFrame, name, watched)

    for name in ("collect", "toLocalIterator", "toPandas", "toArrow", "count"):
        watch(name)
    return seen


def test_a_reading_projects_the_columns_that_it_needs_and_maps_them_in_the_executors(schema, data, plans):
    spread = data.repartition(2)  # else the executors read the file by themselves
    count(spread, schema)
    discreet.sources.open(spread, schema).class_counts()
    assert len(plans) == 2 and all("MapInArrow" in plan for plan in plans)
    read = [re.search(r"ReadSchema: struct<([^>]*)>", plan).group(1) for plan in plans]
    names = [{part.split(":")[0] for part in one.split(",")} for one in read]
    assert names == [{*schema.names, "ill"}, {"ill"}]


def test_held_rows_come_as_codes_and_distinct_rows_once(schema, data, spark, rows, plans):
    many = data.select("colour", "ill").sample(True, 20.0, seed=1)
    small = Schema([Categorical("colour", ["red", "green", "blue"], missing="category")], "ill", ["no", "yes"])
    sent = []
    opened = beside.opened_message
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(beside, "opened_message", lambda raw: (sent.append(len(raw)), opened(raw))[1])
        held = discreet.sources.open(many, small).held()
    assert len(held) > 10_000 and sum(sent) < 2000
    assert held.statistics(("bins",)) == count(many, small, detail=("bins",))
    assert all("MapInArrow" in plan for plan in plans)


@pytest.mark.parametrize("kind", [kind.name for kind in REGISTRY.kinds() if kind.automatic])
def test_every_kind_that_may_be_chosen_fits(kind, schema, data, rows):
    fitted = PrivateClassifier(1.0, schema=schema, model=kind).fit(data)
    assert fitted.certificate_.epsilon == "1" and len(fitted.predict(rows)) == len(rows)


def test_holdouts_and_figures_are_those_of_codes(schema, spark, rows, plans, monkeypatch):
    monkeypatch.setattr("discreet.sources.spark.Spark.batches", lambda self, wanted: pytest.fail("rows are read"))
    known = schema.having(id="who")
    made = spark.createDataFrame(rows.assign(who=[f"id {i // 2}" for i in range(len(rows))])).coalesce(1)
    held = PrivateHoldout(PrivateNB(1.0, schema=known, contributions=2)).fit(made)
    assert held.certificate_.epsilon == "1"
    assert evaluate(held.model_, made) == evaluate(held.model_, rows)
    assert plans and all("MapInArrow" in plan for plan in plans)


def test_a_frame_that_draws_random_numbers_is_refused_where_people_have_a_limit(schema, spark, rows):
    from pyspark.sql.functions import rand

    limited = schema.having(id="who")
    made = spark.createDataFrame(rows.assign(who=range(len(rows)))).coalesce(1)
    drawn = made.where(rand() < 2)
    with pytest.raises(DataError, match="draws random numbers"):
        count(drawn, limited, contributions=1)
    assert count(drawn, schema) == count(rows, schema)
    kept = drawn.persist()
    assert count(kept, limited, contributions=1).counts.sum() == count(made, limited, contributions=1).counts.sum()
    kept.unpersist()


def test_a_frame_of_spark_is_never_opened_whole(data):
    with pytest.raises(DataError, match="lazy frame"):
        open_frame(data)


def test_names_with_dots_and_of_any_case(spark):
    frame = pd.DataFrame({"a.b": [1, 2, 2], "A": [0.1, 0.2, 0.9], "b`c": ["x", "y", "x"], "y": [0, 1, 1]})
    schema = Schema([Categorical("a.b", [1, 2]), Numeric("A", 0, 1), Categorical("b`c", ["x", "y"])], "y", [0, 1])
    with_other = spark.createDataFrame(frame.assign(a="0")[["a", *frame.columns]].rename(columns={"a": "Z"}))
    assert count(with_other, schema) == count(frame, schema)


def test_workers_of_another_version_are_refused_and_told_what_to_install(schema, data, monkeypatch):
    monkeypatch.setattr(beside, "own_version", lambda: "9.9.9")
    with pytest.raises(DataError, match=r"have discreet \S+ and this process has 9\.9\.9: install discreet 9\.9\.9"):
        count(data, schema)


def test_workers_without_the_package_say_so(schema, need_spark, tmp_path):
    """The function that is sent runs where there is no package, and tells."""
    from pyspark import cloudpickle

    run = beside.checked_run(b"never read")
    (tmp_path / "run").write_bytes(cloudpickle.dumps(run))
    code = (
        "import sys; sys.modules['discreet'] = None; from pyspark import cloudpickle; "
        "(raw,) = cloudpickle.load(open('run', 'rb'))(iter([])); sys.stdout.buffer.write(raw)"
    )
    raw = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True).stdout
    task = beside.Task(None, schema, (), True, "refuse")
    with pytest.raises(DataError, match=r"the workers cannot import discreet .*: install discreet .* there \(pip"):
        list(beside.answers([raw], task, Absorbed()))


def test_answers_for_another_schema_are_refused(schema):
    task = beside.Task(None, schema, (), True, "refuse")
    with pytest.raises(DataError, match="another schema"):
        list(beside.answers([beside.message({"schema": "0" * 64, "values": 0, "rows": 0})], task, Absorbed()))


def test_what_stops_spark_is_one_sentence(spark, schema, rows, tmp_path):
    rows.to_parquet(tmp_path / "rows.parquet")
    gone = spark.read.parquet(str(tmp_path / "rows.parquet"))
    (tmp_path / "rows.parquet").unlink()
    with pytest.raises(DataError, match=r"^Spark cannot read the rows: [^\n]+$"):
        count(gone, schema)


def test_predictions_need_the_model_file_alone(schema, data, rows, tmp_path):
    fitted = PrivateNB(1.0, schema=schema, random_state=1).fit(rows)
    fitted.model_.save(tmp_path / "model.json")
    found = predict(data, tmp_path / "model.json", proba=True)
    assert found.columns == [*rows.columns, "prediction", "probability", "P(no)", "P(yes)"]
    wanted = fitted.predict(rows)
    got = found.select("prediction", "P(yes)", "age").toPandas()
    assert got.prediction.tolist() == wanted.tolist() and got.age.tolist() == rows.age.tolist()
    assert np.allclose(got["P(yes)"], fitted.predict_proba(rows)[:, 1])
    with pytest.raises(DataError, match="no column 'dose'"):
        predict(data.drop("dose"), fitted.model_)
    with pytest.raises(DataError, match="already"):
        predict(found, fitted.model_)
    with pytest.raises(ModelError, match="cannot read the model"):
        predict(data, tmp_path / "absent.json")


def test_a_partition_that_is_tried_again_changes_no_integer_and_costs_nothing_more(data, schema, rows, tmp_path):
    died = tmp_path / "died"

    def dying(batches):
        yield from batches
        try:
            os.close(os.open(died, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os._exit(1)  # the first that comes to its end dies, with all its rows counted

    account, seen, ask = Account.create(tmp_path / "account", Budget(3.0)), [], Source.statistics
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Source, "statistics", lambda self, *a, **k: seen.append(ask(self, *a, **k)) or seen[-1])
        PrivateNB(1.0, schema=schema).fit(data.mapInArrow(dying, data.schema), account=account)
    (found,) = seen
    assert died.exists()
    wanted = count(rows, schema, detail=("bins",)).arrays()
    assert {key: values.tolist() for key, values in found.arrays().items()} == {
        key: values.tolist() for key, values in wanted.items()
    }
    assert [entry.grant.epsilon for entry in account.entries()] == [1]


# ---- a cluster of two workers, one of which dies

DRIVER = """
import json, os, sys, uuid, time, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from discreet import Account, PrivateNB, Schema
from discreet.sources import Source

master, path, schema, account, begun = sys.argv[1:]
java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
settings = {
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m",
    "spark.executor.memory": "512m", "spark.driver.extraJavaOptions": java, "spark.executor.extraJavaOptions": java,
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.maxResultSize": "1m",
    "spark.sql.adaptive.enabled": "false", "spark.speculation": "true", "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
builder = SparkSession.builder.master(master)
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("OFF")


def slowly(batches):
    open(f"{begun}/{os.getsid(0)} {uuid.uuid4()}", "w").close()  # one for each attempt at a partition, and where
    time.sleep(1.5)
    yield from batches


rows = spark.read.parquet(path).repartition(PARTS)
seen, ask = [], Source.statistics
Source.statistics = lambda self, *a, **k: seen.append(ask(self, *a, **k)) or seen[-1]
fitted = PrivateNB(1.0, schema=Schema.load(schema)).fit(
    rows.mapInArrow(slowly, rows.schema), account=Account.open(account)
)
(found,) = seen
print(json.dumps({key: values.tolist() for key, values in found.arrays().items()}))
spark.stop()
"""
PARTS = 6


@pytest.mark.slow  # three more Java processes, two executors and a driver: a partition tried again is above
def test_a_worker_that_dies_changes_no_integer_and_costs_nothing_more(cluster, schema, rows, tmp_path):
    master, workers, surroundings = cluster
    begun = tmp_path / "begun"
    begun.mkdir()
    rows.to_parquet(tmp_path / "rows.parquet")
    schema.save(tmp_path / "schema.toml")
    Account.create(tmp_path / "account", Budget(3.0))
    named = [str(tmp_path / name) for name in ("rows.parquet", "schema.toml", "account", "begun")]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER.replace("PARTS", str(PARTS)), master, *named],
        env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline, seen = time.monotonic() + 300, set()
        while len(seen) < 3 and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            fresh = set(begun.iterdir()) - seen
            seen |= fresh
        busy = {int(one.name.split()[0]) for one in fresh}  # has just begun, and takes a while
        kill(next(worker for worker in workers if worker.pid in busy))
        told, errors = driver.communicate(timeout=300)
    finally:
        driver.kill()
    assert driver.returncode == 0, errors
    expected = {key: values.tolist() for key, values in count(rows, schema, detail=("bins",)).arrays().items()}
    assert json.loads(told) == expected
    assert len(list(begun.iterdir())) > PARTS  # some partitions were tried again
    assert [entry.grant.epsilon for entry in Account.open(tmp_path / "account").entries()] == [1]
