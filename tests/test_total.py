"""Total fits: no content of any row makes a fit fail under "absorb", and a bad row is one sentence under "refuse"."""

import math
import pickle
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from discreet import Categorical, Numeric, PrivateNB, Schema, SmoothSettings, sources
from discreet.additive import PrivateAdditiveClassifier
from discreet.additive.blocks import place_knots
from discreet.answers import PrivatePredictor
from discreet.auto import PrivateClassifier
from discreet.bounds import settle_schema
from discreet.calibration import calibrated
from discreet.dependence import PrivateJointHistogram, PrivateTAN
from discreet.errors import BudgetError, DiscreetError, SchemaError
from discreet.federated import FederatedNB, node_update
from discreet.gossip import GossipNB
from discreet.linear import PrivateLogisticRegression, PrivateSVC
from discreet.local import LocalNB
from discreet.privacy.budget import Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.unexpected import FIXED, REFUSED, TOTAL
from discreet.selection import PrivateSelectKBest, SelectiveNB
from discreet.sources import collect, read_rows
from discreet.sources.absorb import watching
from discreet.trees import PrivateForestClassifier, PrivateTreeClassifier
from discreet.tuning import PrivateGridSearch

SCHEMA = Schema(
    [
        Categorical("a", ["x", "y"], other="o"),
        Categorical("b", ["u", "v"]),
        Categorical("c", [1, 2], missing="category"),
        Numeric("n", 0, 10, bins=3),
        Numeric("m", -1, 1, bins=2, missing="bin"),
    ],
    "t",
    ["no", "yes"],
)
NAMES = [*SCHEMA.names, "t"]
GOOD = [["x", "u", 1, 2.5, 0.5, "no"], ["y", "v", 2, 9.0, None, "yes"], ["x", "v", 1, 0.0, -0.5, "yes"]] * 4
ODD = [
    None, math.nan, math.inf, -math.inf, "text", "", "\x00", "\ud800", b"\xff", True, 10**400, -(10**20), 1e308,
    Decimal("NaN"), Decimal("sNaN"), Decimal("1e400"), Fraction(1, 3), 1j, [1, 2], {"k": 1}, object(),
    np.datetime64("NaT"), pd.NA, pd.NaT, np.float32(math.inf), (), "nan", "inf", "1e999", "0x10", pd.Timestamp(0),
]  # fmt: skip
NASTY = [[*GOOD[i % 3][:j], value, *GOOD[i % 3][j + 1 :]] for j in range(6) for i, value in enumerate(ODD)]
ESTIMATORS = {
    "naive bayes": PrivateNB(),
    "bell curves": PrivateNB(numeric="gaussian"),
    "trimmed": PrivateNB(numeric="gaussian", smooth=SmoothSettings(estimator="trimmed")),
    "partition": PrivateNB(strategy="partition"),
    "bought bounds": PrivateNB(bounds="private"),
    "automatic": PrivateClassifier(),
    "additive": PrivateAdditiveClassifier(),
    "pairs": PrivateAdditiveClassifier(pairs=1),
    "tan": PrivateTAN(),
    "joint": PrivateJointHistogram(),
    "svm": PrivateSVC(),
    "logistic": PrivateLogisticRegression(numeric="scaled"),
    "output": PrivateLogisticRegression(method="output"),
    "functional": PrivateLogisticRegression(method="functional"),
    "tree": PrivateTreeClassifier(),
    "forest": PrivateForestClassifier(),
    "k best": PrivateSelectKBest(k=2),
    "information": PrivateSelectKBest(k=2, criterion="mutual-information", max_rows=50),
    "selective": SelectiveNB(),
    "predictor": PrivatePredictor(queries=2),
    "search": PrivateGridSearch([PrivateNB(), PrivateTreeClassifier()]),
    "stopping": PrivateGridSearch([PrivateNB()], method="random-stopping"),
    "federated": FederatedNB(n_nodes=2),
    "secure": FederatedNB(n_nodes=2, secure=True),
    "gossip": GossipNB(n_nodes=2, rounds=20),
    "local": LocalNB(),
}
QUICK = [
    "naive bayes",
    "bell curves",
    "partition",
    "additive",
    "tan",
    "svm",
    "tree",
    "forest",
    "selective",
    "predictor",
]
IN_MEMORY = {"federated", "secure", "gossip"}


def objects(rows):
    frame = pd.DataFrame(index=range(len(rows)))
    for j, name in enumerate(NAMES):
        column = np.empty(len(rows), object)
        for i, row in enumerate(rows):
            column[i] = row[j]
        frame[name] = pd.Series(column, dtype=object)
    return frame


def lists(rows):
    return [row[:-1] for row in rows], [row[-1] for row in rows]


def total(name, **changes):
    return clone(ESTIMATORS[name]).set_params(schema=SCHEMA, unexpected="absorb", **changes)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_nasty_table_is_fitted(name, tmp_path):
    total(name).fit(objects(GOOD + NASTY))
    fitted = total(name).fit(*lists(GOOD + NASTY))
    certificate = fitted.certificate_
    assert certificate.tables == TOTAL and Certificate.model_validate(certificate.model_dump()) == certificate
    if name not in IN_MEMORY:
        path = tmp_path / "nasty.csv"
        lines = [",".join(NAMES).encode()]
        lines += [",".join(_written(value) for value in row).encode("utf-8", "surrogateescape") for row in GOOD + NASTY]
        lines += [b"x,u", b"x,u,1,1,0,no,more", b"\xff,u,1,1,0,no", b"x" * 100]
        path.write_bytes(b"\n".join(lines) + b"\n")
        total(name).fit(path)


def _written(value):
    text = "" if value is None else str(value).encode("utf-8", "replace").decode().replace("\x00", "?")
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_table_is_refused_in_one_sentence(name):
    with pytest.raises(DiscreetError) as caught:
        clone(ESTIMATORS[name]).set_params(schema=SCHEMA).fit(objects(GOOD + NASTY))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "local"])
def test_no_rows_at_all_are_fitted(name, adjacency):
    """All rows left out, and a table without any: noise is released all the same."""
    for rows in ([["x", "zz", 1, 1, 0, "no"]] * 2, []):
        fitted = total(name, adjacency=adjacency).fit(objects(rows))
        assert fitted.certificate_.private


@pytest.mark.parametrize("name", ["tree", "forest", "selective", "predictor", "svm"])
def test_without_privacy_too(name):
    for rows in (GOOD + NASTY, []):
        total(name, epsilon=math.inf).fit(objects(rows))


def test_where_people_are_asked_everybody_reports():
    fitted = total("local", random_state=1).fit(objects(NASTY))
    assert sum(one.reports for one in fitted.tallies_) == len(NASTY)


VALUE = st.one_of(
    st.sampled_from(ODD), st.text(max_size=3), st.integers(), st.floats(), st.binary(max_size=3), st.none(),
    st.booleans(), st.decimals(), st.sampled_from(["x", "y", "u", "v", 1, 2, "1", 2.0, "no", "yes", 5, "7.5"]),
)  # fmt: skip
ROW = st.lists(VALUE, min_size=6, max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ROW, max_size=5), st.sampled_from(QUICK))
def test_no_content_of_any_row_makes_a_fit_fail(rows, name):
    total(name).fit(objects(rows))
    total(name).fit(*lists([*GOOD[:2], *rows]))


# ---- rows that are held are those of each row alone


def readers():
    from discreet.bounds.plan import make_settle_plan
    from discreet.bounds.release import count_finest
    from discreet.calibration.calibrate import read_scores, score_reach
    from discreet.linear.encode import Encoding

    model = PrivateNB(schema=SCHEMA, random_state=0).fit(objects(GOOD)).model_
    reach = score_reach(model)

    def design(data, numeric):
        found = Encoding(SCHEMA, numeric).design(opened(data).held())
        values = np.zeros((len(found), 0)) if found.values is None else found.values
        return np.column_stack([found.codes, values, found.labels])

    def opened(data):
        return sources.open(data, SCHEMA, unexpected="absorb")

    def held(data):
        found = opened(data).held()
        return np.column_stack([*found.columns, found.labels])

    def codes(data):
        found = opened(data).held()
        return np.column_stack([found.cells, found.labels])

    def knots(data):
        found = place_knots(SCHEMA, 3).design(opened(data).held())
        return np.column_stack([found.codes, found.values, found.labels])

    def finest(data):
        plan = make_settle_plan(SCHEMA, Budget(1.0), bounds="private", unexpected="absorb")
        return np.concatenate(list(count_finest(data, plan).values()))[None, :]

    return {
        "codes": codes,
        "binned": lambda data: design(data, "binned"),
        "scaled": lambda data: design(data, "scaled"),
        "held": held,
        "additive": knots,
        "labels": lambda data: opened(data).class_counts()[None, :],
        "scores": lambda data: np.column_stack(read_scores(model, opened(data), reach)),
        "settle": finest,
    }


@pytest.mark.parametrize("name", readers())
def test_a_row_is_read_alike_alone_and_among_others(name):
    read = readers()[name]
    crowd = [["y", "v", 2, 9.0, 0.9, "yes"]] * 60  # most rows are in cells and at points that no bad value belongs to
    rows = [*GOOD[:2], *NASTY[:: len(NASTY) // 40], *GOOD[:1], *crowd]
    alone, whole = [read(objects([row])) for row in rows], read(objects(rows))
    expected = sum(alone) if name in {"settle", "labels"} else np.concatenate(alone)
    assert np.array_equal(whole, expected)


def test_many_rows_are_counted_alike_by_compiled_loops():
    frame = objects((GOOD + NASTY) * 2)
    clean = pd.DataFrame(dict(zip(NAMES, ["x", "u", 1, 1.0, 0.5, "no"], strict=True)), index=np.arange(100_000))
    one = collect(pd.concat([clean, frame], ignore_index=True), SCHEMA, unexpected="absorb")
    assert one == collect(clean, SCHEMA) + collect(frame, SCHEMA, unexpected="absorb")


def test_sums_that_leave_64_bits_are_held_there():
    schema = Schema([Numeric("x", 0, 1)], "t", [0, 1])
    large = collect(np.ones((4, 1)), schema, [0, 0, 1, 1], detail=("moments",))
    for _ in range(70):
        large = large.saturated(large)
    assert large.squares["x"].tolist() == [2**63 - 1] * 2


# ---- files, tables and people

IDS = Schema([Categorical("a", ["x", "y"])], "t", [0, 1], id="who")


def test_every_source_keeps_as_many_rows_of_a_person(tmp_path):
    import sqlite3

    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from discreet.sources import Table

    table = pa.table({
        "who": ["a"] * 5 + ["b"] * 2 + [None, "c", "d"],
        "a": ["x", "y", "x", "y", "x", "x", "y", "x", "zz", "y"],
        "t": [0, 1, 0, 1, 0, 1, 1, 0, 0, 1],
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "t.parquet")
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    lite = sqlite3.connect(":memory:")
    table.to_pandas().to_sql("t", lite, index=False)
    duck = duckdb.connect()
    duck.register("t", table)
    sources = [table, table.to_pandas(), tmp_path / "t.parquet", tmp_path / "t.csv", Table(lite, "t"), Table(duck, "t")]
    for source in sources:
        for most, expected in ((1, 3), (2, 5), (5, 8)):
            found = collect(source, IDS, contributions=most, unexpected="absorb")
            assert found.counts.sum() == expected, (source, most)
            parts = list(read_rows(source, IDS, contributions=most, unexpected="absorb"))
            assert sum(rows.size for rows in parts) == expected
        with pytest.raises(DiscreetError, match="missing"):
            collect(source, IDS, contributions=9)


def test_an_open_quote_is_a_fault_of_the_file(tmp_path):
    path = tmp_path / "open.csv"
    path.write_text('who,a,t\n1,x,0\n2,"y,1\n3,x,1\n')
    with pytest.raises(DiscreetError, match="quote is not closed"):
        collect(path, IDS, unexpected="absorb")
    path.write_text('who,a,t\n1,x,0\n2,y\n3,x,1\n4,"x\ny",0\n')
    assert collect(path, IDS, unexpected="absorb").counts.tolist() == [1, 1]


def test_rows_that_are_no_list_of_the_right_length_are_rows_without_values():
    """Each goes where values go that cannot be read, by itself: no other row and no label moves."""

    class Odd:
        def __len__(self):
            return -1

        def __iter__(self):
            raise RuntimeError

    rows = [["x"], [], ["y", "y"], "x", {"x": 1}, {"x"}, np.zeros((1, 1)), np.array(3), 5, Odd(), [10**5000], ["y"]]
    labels = [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1]
    strict = Schema([Categorical("a", ["x", "y"])], "t", [0, 1])
    assert collect(rows, strict, labels, unexpected="absorb").tables["a"].tolist() == [[1, 0], [0, 1]]
    other = Schema([Categorical("a", ["x", "y"], other="o")], "t", [0, 1])
    assert collect(rows, other, labels, unexpected="absorb").tables["a"].tolist() == [[1, 0, 7], [0, 1, 3]]
    nodes = FederatedNB(schema=strict, n_nodes=2, partition=[0, 1] * 6, unexpected="absorb")
    assert nodes.fit(rows, labels).certificate_.tables == TOTAL
    people = LocalNB(2.0, schema=strict, unexpected="absorb", random_state=0).fit(rows, labels)
    assert sum(one.reports for one in people.tallies_) == len(rows)


@pytest.mark.parametrize("policy", ["refuse", "absorb"])
def test_rows_and_labels_of_any_make_are_read_value_by_value(policy):
    schema = Schema([Categorical("a", ["True", "False"], other="o")], "t", [0, 1])

    def counted(X, y):
        return collect(X, schema, y, unexpected=policy).tables["a"].tolist()

    rows, labels = [[True]] * 4 + [[False]] * 3, [0] * 7
    assert counted(rows, labels) == [[4, 3, 0], [0, 0, 0]]
    for more in (range(5, 6), pd.Series(["x"]), deque(["x"]), np.array(["x"])):
        assert counted([*rows, more], [*labels, 1]) == [[4, 3, 0], [0, 0, 1]]
        assert counted(deque([*rows, more]), deque([*labels, 1])) == [[4, 3, 0], [0, 0, 1]]
        assert counted([*rows, more], [[one] for one in labels] + [1]) == [[4, 3, 0], [0, 0, 1]]


def test_a_schema_read_off_the_rows_absorbs_nothing():
    with pytest.raises(SchemaError, match="declare one"):
        PrivateNB(schema="infer", unexpected="absorb").fit(*lists(GOOD))


def test_statistics_do_not_say_how_their_rows_were_read():
    statistics = collect(*lists(GOOD)[:1], SCHEMA, lists(GOOD)[1], detail=("bins",))
    for one in (SelectiveNB(k=2), PrivateSelectKBest(2)):
        fitted = clone(one).set_params(schema=SCHEMA, unexpected="absorb", epsilon=1.0).fit_statistics(statistics)
        assert fitted.certificate_.tables == REFUSED


# ---- what is said


def test_only_two_words_are_known():
    X, y = lists(GOOD)
    for name in ESTIMATORS:
        with pytest.raises(BudgetError, match="'refuse' or 'absorb'"):
            clone(ESTIMATORS[name]).set_params(schema=SCHEMA, unexpected="ignore").fit(objects(GOOD))
    model = PrivateNB(schema=SCHEMA).fit(X, y).model_
    for call in (
        lambda: collect(X, SCHEMA, y, unexpected=None),
        lambda: list(read_rows(X, SCHEMA, y, unexpected="x")),
        lambda: sources.open(X, SCHEMA, y, unexpected="x"),
        lambda: settle_schema(SCHEMA, X, 1.0, bounds="private", unexpected="x"),
        lambda: calibrated(model, X, y, unexpected="x"),
        lambda: node_update(X, SCHEMA, Budget(1.0), node="n", y=y, unexpected="x"),
    ):
        with pytest.raises(BudgetError, match="'refuse' or 'absorb'"):
            call()


def test_functions_absorb_too():
    X, y = lists(GOOD + NASTY)
    model = PrivateNB(schema=SCHEMA, unexpected="absorb").fit(X, y).model_
    assert calibrated(model, X, y, 0.1, unexpected="absorb").certificate.tables == TOTAL
    assert calibrated(model, *lists(GOOD), 0.1).certificate.tables == REFUSED
    assert (
        settle_schema(SCHEMA, objects(GOOD + NASTY), 1.0, bounds="private", unexpected="absorb").certificate.tables
        == TOTAL
    )
    assert node_update(X, SCHEMA, Budget(1.0), node="n", y=y, unexpected="absorb").certificate.tables == TOTAL


def test_certificates_say_which_tables_they_cover():
    for policy, said in (("refuse", REFUSED), ("absorb", TOTAL)):
        fitted = PrivateSVC(schema=SCHEMA, unexpected=policy).fit(objects(GOOD))
        assert fitted.certificate_.tables == said
        assert (FIXED in fitted.certificate_.assumptions) == (policy == "absorb")
    bought = PrivateNB(schema=SCHEMA, bounds="private", unexpected="absorb").fit(objects(NASTY))
    assert bought.certificate_.tables == TOTAL


def test_certificates_of_earlier_versions_are_read_and_written_as_they_were():
    fields = PrivateNB(schema=SCHEMA).fit(objects(GOOD)).certificate_.model_dump(mode="json")
    del fields["tables"]
    old = Certificate.model_validate(fields)
    assert old.tables == "" and old.model_dump(mode="json") == fields


def test_exact_counts_are_for_the_holder_alone():
    rows = GOOD + [["x", "u", "zz", 1, 0, "no"]] * 7 + [["x", "zz", 1, 1, 0, "no"]] * 5
    with watching() as readings:
        fitted = total("naive bayes").fit(objects(rows))
    assert [(one.values, one.rows) for one in readings] == [(7, 5)]
    assert not any("bsorbed" in name for name in vars(fitted)) and b"Absorbed" not in pickle.dumps(fitted)


def test_a_seed_repeats_the_choice_among_rows():
    table = pd.DataFrame({"who": [1] * 50, "a": ["x", "y"] * 25, "t": [0, 1] * 25})
    fits = [PrivateNB(schema=IDS, unexpected="absorb", random_state=3).fit(table).model_.to_dict() for _ in range(2)]
    assert fits[0] == fits[1]


def test_the_command_line_absorbs_and_tells_the_holder(tmp_path, monkeypatch, capsys):
    import json
    import sys

    from discreet.cli import main

    monkeypatch.chdir(tmp_path)
    IDS.save("s.toml")
    people = [f"{i // 2},{'xy'[i % 2]},{i % 2}" for i in range(40)]
    (tmp_path / "d.csv").write_text("\n".join(["who,a,t", *people, "91,zz,0", "92,x", ",x,1", "93,x,"]) + "\n")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["discreet", *words])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr()

    fit = ("fit", "d.csv", "--schema", "s.toml", "--out", "m.json")
    code, said = run(*fit)
    assert code == 2 and said.err.count("\n") == 1
    code, said = run(*fit, "--unexpected", "absorb")
    assert code == 0 and "0 value(s) absorbed, 24 row(s) left out" in said.err and "holder of the data only" in said.err
    assert "absorbed" not in said.out
    assert json.loads((tmp_path / "m.json").read_text())["certificate"]["tables"] == TOTAL
    code, said = run("inspect", "m.json")
    assert code == 0 and "no content of a row can make the fit fail" in said.out
    code, said = run("select", "d.csv", "--schema", "s.toml", "--k", "1", "--unexpected", "absorb")
    assert code == 0 and "24 row(s) left out" in said.err
    code, said = run(*fit, "--unexpected", "ignore")
    assert code == 2
