"""One reader: what a Source counts and holds, what it shares, and a new kind of source in one file."""

import json
import math
import sqlite3
import sys
import tomllib
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow.feather as feather
import pytest

from discreet import Address, Categorical, DataError, Numeric, PrivateNB, Schema, Table, sources
from discreet.additive import PrivateAdditiveClassifier
from discreet.answers import PrivatePredictor
from discreet.auto import PrivateClassifier
from discreet.dependence import PrivateJointHistogram, PrivateTAN
from discreet.evaluation import PrivateHoldout
from discreet.federated import FederatedNB
from discreet.gossip import GossipNB
from discreet.linear import PrivateLogisticRegression, PrivateSVC
from discreet.local import LocalNB
from discreet.selection import PrivateSelectKBest, SelectiveNB
from discreet.sources import Source, streams
from discreet.sources.contract import row_rule_violation
from discreet.sources.files import _Parquet, open_files
from discreet.statistics import DETAILS
from discreet.trees import PrivateForestClassifier, PrivateTreeClassifier
from discreet.tuning import PrivateGridSearch
from tests.pages import blocks, entry_point, install

FEATURES = [
    Categorical("a", ["x", "y"], other="o"),
    Categorical("b", ["u", "v"]),
    Numeric("n", 0, 10, bins=3),
    Numeric("m", -1, 1, bins=4, missing="bin"),
]
SCHEMA = Schema(FEATURES, "t", ["no", "yes"])
PEOPLE = Schema(FEATURES, "t", ["no", "yes"], id="who")


def table(size, seed=0, *, bad=False):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["x", "y", "z"], size),
            "b": rng.choice(["u", "v", "w"] if bad else ["u", "v"], size),
            "n": rng.normal(5, 4, size),
            "m": np.where(rng.random(size) < 0.2, np.nan, rng.normal(0, 1, size)),
            "t": rng.choice(["no", "yes", "else"] if bad else ["no", "yes"], size),
            "who": rng.integers(0, size // 2, size).astype(str),
        }
    )
    if bad:
        frame.loc[rng.random(size) < 0.1, "n"] = np.inf
    return frame


@pytest.fixture
def readings(monkeypatch):
    """Which columns were read from start to end, one list for each reading of a stream's batches."""
    found = []
    for kind in (streams.Stream, *_kinds(streams.Stream)):
        if "batches" in vars(kind):

            def batches(self, wanted, kind=kind, inner=kind.batches):
                if kind is _Parquet or not isinstance(self, _Parquet):  # which may ask DuckDB, as part of its reading
                    found.append(list(wanted))
                return inner(self, wanted)

            monkeypatch.setattr(kind, "batches", batches)
    return found


def _kinds(kind):
    return [one for below in kind.__subclasses__() for one in (below, *_kinds(below))]


# ---- statistics, held rows and class counts tell of the same rows


@pytest.mark.parametrize("size", [300, 120_000], ids=["few", "compiled"])
@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
def test_held_rows_count_as_the_stream_does(size, unexpected):
    frame = table(size, bad=unexpected == "absorb")
    streamed = sources.open(frame, SCHEMA, unexpected=unexpected)
    held = sources.open(frame, SCHEMA, unexpected=unexpected)
    rows = held.held()
    whole = streamed.statistics(DETAILS)
    assert held.statistics(DETAILS) == whole
    assert streamed._kept == []  # statistics alone hold nothing
    assert np.array_equal(rows.counts, whole.counts)
    assert rows.statistics(("bins", "moments")) == sources.collect(frame, SCHEMA, unexpected=unexpected)
    assert [column.dtype for column in rows.columns] == [np.uint8, np.uint8, np.int32, np.int32]


@pytest.mark.parametrize(("unexpected", "known"), [("refuse", True), ("absorb", True), ("absorb", False)])
def test_class_counts_are_of_the_rows_that_a_fit_keeps(tmp_path, unexpected, known, readings):
    """Where every label is `known`, other columns alone say which rows are left out."""
    frame = table(400, bad=unexpected == "absorb")
    if known:
        frame["t"] = frame["t"].replace("else", "no")
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    expected = sources.collect(frame, SCHEMA, unexpected=unexpected).counts
    assert unexpected == "refuse" or expected.sum() < (frame["t"] != "else").sum()  # other columns cost rows, too
    for data in (frame, tmp_path / "d.csv", tmp_path / "d.parquet", open_files(tmp_path / "d.parquet")):
        readings.clear()
        opened = sources.open(data, SCHEMA, unexpected=unexpected)
        assert np.array_equal(opened.class_counts(), expected)
        assert len(readings) == 1
        if unexpected == "refuse" and isinstance(data, Path):
            assert readings == [["t"]] and opened._kept == []  # the labels alone


def test_class_counts_refuse_what_a_fit_refuses_of_people_and_labels(tmp_path):
    frame = table(50)
    frame.to_parquet(tmp_path / "d.parquet")
    for data in (frame, tmp_path / "d.parquet"):
        with pytest.raises(DataError, match="more than 1 row"):
            sources.open(data, PEOPLE, contributions=1).class_counts()
    frame.assign(t="else").to_parquet(tmp_path / "bad.parquet")
    frame.head(0).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match="'else'"):
        sources.open(tmp_path / "bad.parquet", SCHEMA).class_counts()
    with pytest.raises(DataError, match="there are no rows"):
        sources.open(tmp_path / "none.parquet", SCHEMA).class_counts()


IDENTIFIED = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1], id="who")


def _written(path, size):
    frame = pd.DataFrame({"n": [0.5] * size, "y": 0, "who": range(size)})
    writers = {".csv": frame.to_csv, ".parquet": frame.to_parquet, ".arrow": frame.to_feather}
    writers[path.suffix](path, **({"index": False} if path.suffix != ".arrow" else {}))
    return str(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
@pytest.mark.parametrize("ask", ["statistics", "held", "class_counts"])
def test_a_file_that_is_written_after_its_ids_were_counted_is_refused(tmp_path, suffix, unexpected, ask, monkeypatch):
    path = tmp_path / f"rows{suffix}"
    source = sources.open(_written(path, 9), IDENTIFIED, contributions=1, unexpected=unexpected)
    within = Source._within

    def written_meanwhile(self, stream):
        kept = within(self, stream)
        _written(path, 12)
        return kept

    monkeypatch.setattr(Source, "_within", written_meanwhile)
    with pytest.raises(DataError, match="changed while they were read"):
        getattr(source, ask)()
    monkeypatch.setattr(Source, "_within", within)
    assert sources.open(str(path), IDENTIFIED, contributions=1).statistics().counts.sum() == 12


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
@pytest.mark.parametrize("ask", ["statistics", "held", "class_counts"])
def test_a_file_that_is_written_while_it_is_read_is_refused(tmp_path, suffix, unexpected, ask):
    """A row that moves behind the place of the reader would count twice."""
    path, told = tmp_path / f"rows{suffix}", []
    plain = Schema(IDENTIFIED.features, "y", [0, 1])

    def written_meanwhile(done, total):
        if not told:
            _written(path, 12)
        told.append(done)

    source = sources.open(_written(path, 9), plain, unexpected=unexpected, progress=written_meanwhile)
    with pytest.raises(DataError, match="changed while they were read"):
        getattr(source, ask)()
    assert source.statistics().counts.sum() == 12


@pytest.mark.parametrize("other", [False, True])
def test_a_table_of_sqlite_that_is_written_after_its_ids_were_counted_is_refused(tmp_path, other, monkeypatch):
    connection = sqlite3.connect(tmp_path / "rows.db")
    connection.execute("CREATE TABLE t (n REAL, y INTEGER, who INTEGER)")
    connection.execute("INSERT INTO t VALUES (0.5, 0, 1)")
    connection.commit()
    writer = sqlite3.connect(tmp_path / "rows.db") if other else connection
    within = Source._within

    def written_meanwhile(self, stream):
        kept = within(self, stream)
        with writer:
            writer.execute("INSERT INTO t VALUES (0.5, 0, 1)")
        return kept

    source = sources.open(Table(connection, "t"), IDENTIFIED, contributions=1)
    assert source.statistics().counts.sum() == 1
    monkeypatch.setattr(Source, "_within", written_meanwhile)
    with pytest.raises(DataError, match="changed while they were read"):
        source.statistics()


def test_a_table_of_duckdb_is_read_as_it_was_when_its_ids_were_counted(tmp_path, monkeypatch):
    connection = duckdb.connect(str(tmp_path / "rows.db"))
    connection.execute("CREATE TABLE t AS SELECT 0.5 AS n, 0 AS y, 1 AS who")
    within = Source._within

    def written_meanwhile(self, stream):
        kept = within(self, stream)
        connection.cursor().execute("INSERT INTO t VALUES (0.5, 0, 1)")
        return kept

    source = sources.open(Table(connection, "t"), IDENTIFIED, contributions=1)
    with monkeypatch.context() as patch:
        patch.setattr(Source, "_within", written_meanwhile)
        assert source.statistics().counts.sum() == 1
    with pytest.raises(DataError, match="more than 1 row"):
        source.statistics()
    connection.execute("BEGIN TRANSACTION")
    connection.execute("DELETE FROM t")
    connection.execute("INSERT INTO t VALUES (0.5, 0, 1)")
    assert source.statistics().counts.sum() == 1
    connection.execute("COMMIT")  # the owner's own


def test_files_at_an_address_count_as_files_do(tmp_path):
    for name, values in (("a", [1, 2]), ("b", [1.5, 2.5, 7.9])):
        pd.DataFrame({"n": values, "y": 0}).to_parquet(tmp_path / f"{name}.parquet")
    schema = Schema([Numeric("n", 0, 10, bins=20)], "y", [0, 1])
    pattern = str(tmp_path / "*.parquet")
    assert sources.collect(Address("duckdb:", f"parquet:{pattern}"), schema) == sources.collect(pattern, schema)


def test_a_person_keeps_the_same_rows_in_all_that_shares_a_reading():
    opened = sources.open(table(60), PEOPLE, contributions=1, unexpected="absorb")
    first = opened.held()
    assert opened.statistics(("bins",)).counts.tolist() == first.counts.tolist() == opened.class_counts().tolist()
    assert sources.open(opened, PEOPLE, contributions=1, unexpected="absorb").held() is first


@pytest.mark.parametrize("batch", [7, 2048])
def test_a_person_keeps_as_many_rows_however_they_come_in_batches(tmp_path, monkeypatch, batch):
    monkeypatch.setattr("discreet.sources.tables.BATCH", batch)
    frame = table(200).assign(who=np.arange(200) % 5)
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet", row_group_size=9)
    feather.write_feather(frame, tmp_path / "d.arrow", chunksize=9)
    for name in ("d.csv", "d.parquet", "d.arrow"):
        for most in (1, 3):
            opened = sources.open(tmp_path / name, PEOPLE, contributions=most, unexpected="absorb")
            assert opened.statistics(("bins",)).counts.sum() == len(opened.held()) == 5 * most


# ---- what is shared


def test_other_bins_share_what_is_held_and_other_rules_read_again():
    opened = sources.open(table(300), SCHEMA)
    rows = opened.held()
    finer = Schema([*FEATURES[:2], Numeric("n", 0, 10, bins=7), FEATURES[3]], "t", ["no", "yes"])
    again = sources.open(opened, finer)
    assert again.held().columns is rows.columns
    assert again.statistics(DETAILS) == sources.collect(table(300), finer, detail=DETAILS)
    wider = Schema([*FEATURES[:2], Numeric("n", 0, 20, bins=3), FEATURES[3]], "t", ["no", "yes"])
    for other in (
        sources.open(opened, wider),
        sources.open(opened, Schema(FEATURES, "t", ["yes", "no"])),
        sources.open(opened, SCHEMA, unexpected="absorb"),
        sources.open(opened, SCHEMA, contributions=1),
        sources.open(opened, SCHEMA, labelled=False),
    ):
        assert other._kept == [] and other.data is opened.data
    assert sources.collect(opened, wider) == sources.collect(table(300), wider)
    with pytest.raises(DataError, match="knows its labels"):
        sources.open(opened, SCHEMA, [0])


FITS = {
    "naive bayes": PrivateNB(random_state=0),
    "partition": PrivateNB(strategy="partition", random_state=0),
    "bounds": PrivateNB(bounds="private", random_state=0),
    "automatic": PrivateClassifier(random_state=0),
    "additive": PrivateAdditiveClassifier(random_state=0),
    "tan": PrivateTAN(random_state=0),
    "joint": PrivateJointHistogram(random_state=0),
    "svm": PrivateSVC(random_state=0),
    "logistic": PrivateLogisticRegression(numeric="scaled", random_state=0),
    "tree": PrivateTreeClassifier(random_state=0),
    "forest": PrivateForestClassifier(random_state=0),
    "selective": SelectiveNB(random_state=0),
    "local": LocalNB(random_state=0),
    "federated": FederatedNB(n_nodes=2, random_state=0),
    "gossip": GossipNB(n_nodes=2, rounds=20, random_state=0),
    "holdout": PrivateHoldout(PrivateNB(), random_state=0),
    "search": PrivateGridSearch([PrivateNB(), PrivateTreeClassifier()], random_state=0),
}


@pytest.mark.parametrize("name", FITS)
def test_any_fit_takes_an_opened_source(name):
    from sklearn.base import clone

    frame, kind = table(400), FITS[name]

    def fitted(*rows):
        one = clone(kind)
        (one.estimator if name == "holdout" else one).set_params(schema=SCHEMA)
        return one.fit(*rows).model_.to_dict()

    labels, matrix = frame["t"].to_numpy(), frame[list(SCHEMA.names)].to_numpy(object)
    expected = fitted(frame)
    assert fitted(sources.open(frame, SCHEMA)) == expected
    assert fitted(sources.open(matrix, SCHEMA, labels)) == fitted(matrix, labels)


def test_what_is_no_classifier_of_a_file_takes_one_too():
    frame = table(400)
    chosen = [PrivateSelectKBest(2, schema=SCHEMA, random_state=0).fit(X) for X in (frame, sources.open(frame, SCHEMA))]
    assert chosen[0].names_ == chosen[1].names_
    answers = [
        PrivatePredictor(50.0, schema=SCHEMA, queries=3, random_state=0).fit(X).predict(frame.head(3))
        for X in (frame, sources.open(frame, SCHEMA))
    ]
    assert np.array_equal(*answers)


@pytest.mark.parametrize("model", ["naive-bayes", "additive", "additive-pairs", "tan", "joint"])
def test_the_automatic_choice_reads_rows_once_and_a_file_twice(tmp_path, model, readings):
    frame = table(3000)
    frame.to_parquet(tmp_path / "d.parquet")
    for data, most in ((frame, 1), (tmp_path / "d.parquet", 2)):
        readings.clear()
        PrivateClassifier(4.0, schema=SCHEMA, model=model, random_state=0).fit(data)
        assert len(readings) <= most, readings


# ---- a new kind of source is one file

PAGE = "how-to-add/source.md"


@pytest.fixture
def lines(tmp_path, monkeypatch):
    (module,) = blocks(PAGE)
    monkeypatch.syspath_prepend(str(install(tmp_path, {"json_lines.py": module})))
    monkeypatch.setattr(streams, "_BACKENDS", list(streams._BACKENDS))
    yield tmp_path / "d.jsonl"
    sys.modules.pop("json_lines", None)


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def records_of(frame):
    return [{k: None if v != v else v for k, v in row.items()} for row in frame.to_dict("records")]


@pytest.mark.parametrize("way", ["call", "entry point"])
def test_a_registered_source_is_fitted_like_any_other(lines, monkeypatch, way):
    if way == "call":
        import json_lines

        json_lines.add()
    else:
        install(lines.parent, {}, entry_point(PAGE))
        streams._load_others.cache_clear()
    frame = table(60)
    path = write(lines, records_of(frame))
    assert sources.is_outside(path)
    assert sources.collect(path, SCHEMA, detail=DETAILS) == sources.collect(frame, SCHEMA, detail=DETAILS)
    for kind in (PrivateNB, PrivateClassifier, PrivateTreeClassifier):
        one, two = (kind(schema=SCHEMA, random_state=0).fit(data).model_.to_dict() for data in (path, frame))
        assert one == two
    held = [
        PrivateHoldout(PrivateNB(schema=SCHEMA), random_state=0).fit(data).model_.to_dict() for data in (path, frame)
    ]
    assert held[0] == held[1]
    with pytest.raises(DataError, match="more than 1 row"):
        sources.collect(path, PEOPLE, contributions=1)
    with pytest.raises(DataError, match="do not pass y"):
        sources.collect(path, SCHEMA, frame["t"])
    odd = [{"a": "x", "b": "u", "n": 1, "m": None, "t": "no"}, {"a": 1, "b": "v", "n": "2", "m": True, "t": "yes"}]
    assert row_rule_violation(lambda some: write(lines, some), SCHEMA, odd) is None
    streams._load_others.cache_clear()


def test_every_room_is_under_the_contract_of_rows():
    root = Path(__file__).parents[2]
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (rows,) = [one for one in contracts if "discreet.sources.*" in one.get("forbidden_modules", ())]
    rooms = {f"discreet.{path.parent.name}" for path in (root / "src/discreet").glob("*/__init__.py")}
    rooms |= {f"discreet.{path.stem}" for path in (root / "src/discreet").glob("*.py")}
    assert rooms - set(rows["source_modules"]) == {"discreet.sources", "discreet.__init__", "discreet.__main__"}


def test_rows_that_a_seed_chose_do_not_serve_a_fit_that_no_seed_repeats():
    opened = sources.open(table(60), PEOPLE, contributions=1, unexpected="absorb", draw=np.random.default_rng(0).bytes)
    opened.held()
    again = sources.open(opened, PEOPLE, contributions=1, unexpected="absorb")
    assert again._kept == [] and again.draw is None
    assert sources.open(again, PEOPLE, contributions=1, unexpected="absorb")._kept is again._kept


def test_categories_that_only_compare_alike_are_not_shared():
    rows = np.array([["True"], ["False"], ["1"], ["0"]], object)
    truths, numbers = (
        Schema([Categorical("a", values, other="else")], "t", [0, 1]) for values in ([True, False], [1, 0])
    )
    opened = sources.open(rows, truths, [0, 1, 0, 1])
    opened.held()
    assert sources.open(opened, numbers).statistics() == sources.collect(rows, numbers, [0, 1, 0, 1])


@pytest.mark.parametrize("numeric", ["gaussian", "truncated-gaussian", "histogram"])
def test_held_numbers_score_as_the_numbers_that_they_are(numeric):
    from discreet.bayes.score import joint_log_probability

    schema = Schema([Numeric("n", 0, 64, integer=True, missing="bin")], "t", [0, 1])
    values = np.array([[0.0], [7.0], [33.0], [64.0], [np.nan]] * 20)
    model = PrivateNB(math.inf, schema=schema, numeric=numeric).fit(values, np.arange(100) % 2).model_
    opened = sources.open(values, schema, np.arange(100) % 2)
    (plain,) = opened.rows()
    held = opened.held().rows()
    scores = [joint_log_probability(rows, model.log_prior, model.likelihoods) for rows in (plain, held)]
    assert np.allclose(*scores, rtol=1e-9, atol=1e-9)
