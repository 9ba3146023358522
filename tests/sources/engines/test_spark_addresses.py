"""Tables at addresses of Spark on the command line: the same results as from files, written by the executors."""

from __future__ import annotations

import io
import re
import sys
from functools import partial

import pandas as pd
import pytest

from discreet import Address, CountedRows, DataError, PrivateNB, collect
from discreet.cli import app
from discreet.cli.running import run
from discreet.models import load

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark", "ignore::DeprecationWarning:pyspark"),
    pytest.mark.usefixtures("one_tree"),
]


@pytest.fixture(scope="module")
def place(spark, frame, schema, tmp_path_factory):
    """The same rows as a file of text, in Parquet files and in the catalogue."""
    folder = tmp_path_factory.mktemp("addresses")
    rows = frame.assign(weight=frame.weight.fillna(0))
    rows.to_csv(folder / "people.csv", index=False)
    rows.to_parquet(folder / "people.parquet")
    schema.save(folder / "schema.toml")
    spark.read.parquet(str(folder / "people.parquet")).repartition(2).createOrReplaceTempView("people")
    return folder


@pytest.fixture
def asked(place, monkeypatch, capsys):
    """The command in this process, whose session it uses."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), write_through=True))

    def ask(*words):
        sys.stdout.buffer.seek(0)
        sys.stdout.buffer.truncate()
        code = run(partial(app, [str(word) for word in words], standalone_mode=False))
        return code, sys.stdout.buffer.getvalue().decode(), capsys.readouterr().err

    return ask


def test_every_command_reads_a_table_of_spark_as_it_reads_a_file(asked, place):
    sources = {
        "file": ["people.csv"],
        "catalogue": ["spark:local[2,2]", "--table", "people"],
        "files": ["spark:", "--table", f"parquet:{place / 'people.parquet'}"],
        "sql": ["spark:local[2,2]", "--table", f"parquet.`{place / 'people.parquet'}`"],
    }
    told = {}
    for name, rows in sources.items():
        seen = []
        for before, after in (
            (["schema"], ["--target", "ill", "--json"]),
            (["settle"], ["-s", "schema.toml", "--epsilon", "1", "--bounds", "private", "--seed", "1", "-o", "s.toml",
                          "--json"]),
            (["select"], ["-s", "schema.toml", "-k", "2", "--seed", "1", "-o", "chosen.toml", "--json"]),
            (["fit"], ["-s", "schema.toml", "--seed", "1", "-o", "m.json", "--json"]),
            (["stats"], ["-s", "schema.toml", "-o", "part.stats", "--json"]),
            (["evaluate", "m.json"], ["--epsilon", "1", "--seed", "1", "--json"]),
            (["predict", "m.json"], ["--proba"]),
        ):  # fmt: skip
            if name in ("files", "sql") and "--epsilon" not in after[:1]:
                continue  # one is enough to see that the rows are found
            code, out, err = asked(*before, *rows, *after)
            assert code == 0, err
            seen.append(sorted(out.splitlines()))
        told[name] = seen
    expected = told.pop("file")
    assert told.pop("files") == told.pop("sql") == [expected[5]]
    found = told["catalogue"]
    assert found[1:] == expected[1:]
    assert [line for line in found[0] if '"name"' in line] == [line for line in expected[0] if '"name"' in line]


def test_predictions_are_written_by_the_executors(asked, place, tmp_path, schema):
    rows = pd.read_parquet(place / "people.parquet")
    fitted = PrivateNB(1.0, schema=schema, random_state=1).fit(rows)
    fitted.model_.save(tmp_path / "model.json")
    answers = [
        "predict",
        tmp_path / "model.json",
        "spark:local[2,2]",
        "--table",
        "people",
        "--out",
        tmp_path / "answers",
    ]
    code, out, err = asked(*answers)
    assert code == 0 and "wrote 600 predictions" in out, err
    assert len(list((tmp_path / "answers").glob("part-*.parquet"))) == 2
    found = pd.read_parquet(tmp_path / "answers")
    assert list(found.columns) == [*rows.columns, "prediction", "probability"]
    assert found.prediction.tolist() == load(tmp_path / "model.json").predict(found[rows.columns]).tolist()
    code, _, err = asked(*answers)
    assert code == 2 and "exists already" in err
    code, _, err = asked(*answers[:-1], tmp_path / "answers.csv")
    assert code == 0 and len(pd.read_csv(tmp_path / "answers.csv")) == 600, err


@pytest.mark.parametrize(
    "address, table, sentence",
    [
        ("sc://nowhere/;token=hush", "t", "has a password in it"),
        ("spark://me:hush@nowhere:7077", "t", "has a password in it"),
        ("spark://nowhere:7077", None, "name one by --table"),
        ("spark://nowhere:7077", "t", "a Spark session of another master"),
        ("spark:local[2,2]", "absent", "Spark cannot read the rows: .*absent"),
        ("spark:local[2,2]", "delta:/nowhere", "this Spark cannot read delta tables: name their package"),
        ("spark:local[2,2]", "parquet:/nowhere", "Spark cannot read the rows: .*nowhere"),
        ("duckdb:", "delta:/nowhere", "DuckDB's delta extension is not installed: run INSTALL delta"),
        ("duckdb:", "xml:/nowhere", "reads no tables of the format 'xml'"),
        ("duckdb:", "parquet:/nowhere", "nowhere"),
    ],
)
def test_a_bad_address_is_one_sentence(address, table, sentence, asked, place):
    named = [] if table is None else ["--table", table]
    code, out, err = asked("fit", address, *named, "-s", "schema.toml", "-o", "no.json")
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert re.search(sentence, err) and "hush" not in err and not (place / "no.json").exists()


def test_files_through_duckdb_need_no_database(place, schema):
    rows = place / "people.parquet"
    assert collect(Address("duckdb:", f"parquet:{rows}"), schema) == collect(rows, schema)


def test_progress_is_told_from_the_start_and_watching_may_stop_it(spark, place, schema):
    told, address = [], Address("spark:local[2,2]", "people")
    collect(address, schema, progress=lambda *step: told.append(step))
    assert told[0] == (0, None) and len(told) > 1
    fitted = PrivateNB(1.0, schema=schema).fit(address, progress=lambda *step: told.append(step))
    assert fitted.certificate_.epsilon == "1"

    def enough(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(address, schema, progress=enough)
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_the_session_of_these_tests_was_started_for_an_address(spark, schema, place):
    context = spark.sparkContext
    assert (context.appName, context.master) == ("discreet", "local[2,2]")
    for end in ("host", "bindAddress"):  # nobody else has business with it
        assert context.getConf().get(f"spark.driver.{end}") == "127.0.0.1"
    assert context.getConf().get("spark.driver.maxResultSize") == "400k"  # the rest is as spark-defaults.conf says
    rows = place / "people.parquet"
    assert collect(Address("spark:", f"parquet:{rows}"), schema) == collect(rows, schema)
    with pytest.raises(DataError, match="of another master"):
        collect(Address("spark:local[1]", "people"), schema)


@pytest.mark.slow  # one more Java process: the session above is started by the same lines
def test_a_session_is_started_for_an_address(place, schema, tmp_path, discreet, need_spark):
    """In a process of its own, which has none."""
    rows = place / "people.parquet"
    quick = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"}
    done = discreet("stats", "spark:local[1]", "--table", f"parquet:{rows}", "-s", place / "schema.toml",
                    "-o", tmp_path / "part.stats", cwd=tmp_path, env=quick)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert CountedRows.load(tmp_path / "part.stats").statistics == collect(rows, schema)
