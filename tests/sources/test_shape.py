"""Slips that show without a look at any row cost nothing: whatever charges, looks at its source first."""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from discreet import (
    Budget,
    Categorical,
    Ledger,
    LocalNB,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateGridSearch,
    PrivateHoldout,
    PrivateLogisticRegression,
    PrivateNB,
    PrivatePredictor,
    PrivateSelectKBest,
    PrivateTAN,
    PrivateTreeClassifier,
    Schema,
    SelectiveNB,
    Table,
    collect,
    evaluate_privately,
    settle_schema,
)
from discreet.calibration import calibrated
from discreet.errors import BudgetError, DataError
from discreet.federated import node_update
from discreet.sources import check_columns, check_shape
from discreet.sources.jsonlines import JSONLines
from discreet.sources.streams import opened

SCHEMA = Schema([Categorical("a", ["x", "y"]), Numeric("b", 0, 1)], "t", ["no", "yes"])
NAMED = Schema(SCHEMA.features, "t", ["no", "yes"], id="who")
ROWS = pd.DataFrame({"a": ["x", "y"] * 30, "b": np.linspace(0, 1, 60), "t": ["no", "yes", "yes"] * 20})
MODEL = PrivateNB(1.0, schema=SCHEMA, random_state=0).fit(ROWS).model_

CALLS = {
    "PrivateNB": lambda X, y, s, p: PrivateNB(1.0, schema=s).fit(X, y, account=p),
    "PrivateNB in batches": lambda X, y, s, p: PrivateNB(1.0, schema=s).partial_fit(X, y, account=p),
    "private bounds": lambda X, y, s, p: PrivateNB(1.0, schema=s, bounds="private").fit(X, y, account=p),
    "PrivateClassifier": lambda X, y, s, p: PrivateClassifier(1.0, schema=s).fit(X, y, account=p),
    "PrivateHoldout": lambda X, y, s, p: PrivateHoldout(PrivateNB(1.0, schema=s)).fit(X, y, account=p),
    "PrivatePredictor": lambda X, y, s, p: PrivatePredictor(1.0, schema=s, queries=5).fit(X, y, account=p),
    "PrivateGridSearch": lambda X, y, s, p: PrivateGridSearch(
        PrivateNB(schema=s), {"smoothing": [1.0, 2.0]}, epsilon=1.0
    ).fit(X, y, account=p),
    "PrivateSelectKBest": lambda X, y, s, p: PrivateSelectKBest(1, 1.0, s).fit(X, y, account=p),
    "SelectiveNB": lambda X, y, s, p: SelectiveNB(epsilon=1.0, schema=s, k=1).fit(X, y, account=p),
    "PrivateLogisticRegression": lambda X, y, s, p: PrivateLogisticRegression(1.0, schema=s).fit(X, y, account=p),
    "PrivateTreeClassifier": lambda X, y, s, p: PrivateTreeClassifier(1.0, schema=s).fit(X, y, account=p),
    "PrivateAdditiveClassifier": lambda X, y, s, p: PrivateAdditiveClassifier(1.0, schema=s).fit(X, y, account=p),
    "PrivateTAN": lambda X, y, s, p: PrivateTAN(1.0, schema=s).fit(X, y, account=p),
    "LocalNB": lambda X, y, s, p: LocalNB(1.0, schema=s).fit(X, y, account=p),
    "node_update": lambda X, y, s, p: node_update(X, s, Budget(1.0), node="n", y=y, account=p),
    "evaluate_privately": lambda X, y, s, p: evaluate_privately(_model(s), X, y, epsilon=1.0, account=p),
    "calibrated": lambda X, y, s, p: calibrated(_model(s), X, y, 1.0, account=p),
    "settle_schema": lambda X, y, s, p: settle_schema(s, X, 1.0, bounds="private", account=p),
}


def _model(schema: Schema) -> Any:
    rows = ROWS.assign(who=range(len(ROWS)))
    return MODEL if schema is SCHEMA else PrivateNB(1.0, schema=schema, random_state=0).fit(rows).model_


def _refused(call: Any, X: Any, y: Any = None, schema: Schema = SCHEMA) -> str:
    """The one sentence of the refusal, which has charged nothing."""
    payer = Ledger(Budget(100.0))
    with pytest.raises(DataError) as caught:
        call(X, y, schema, payer)
    assert payer.spent == 0
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_cannot_be_opened_or_lacks_a_column_costs_nothing(call: Any, tmp_path: Path) -> None:
    assert "there is no file" in _refused(call, str(tmp_path / "typo.csv"))
    assert "there is no file" in _refused(call, tmp_path / "typo.parquet")
    assert "no file matches" in _refused(call, str(tmp_path / "typo-*.csv"))
    assert "is a directory" in _refused(call, tmp_path)
    (tmp_path / "empty.csv").write_text("")
    assert "is empty" in _refused(call, tmp_path / "empty.csv")
    (tmp_path / "short.csv").write_text("b,t\n0.5,no\n")
    assert "no column 'a'" in _refused(call, tmp_path / "short.csv")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 and then nothing")
    assert "not a readable Parquet file" in _refused(call, tmp_path / "torn.parquet")
    assert "refuses to read" in _refused(call, Table(sqlite3.connect(":memory:"), "nowhere"))
    assert "no column 'a'" in _refused(call, ROWS.drop(columns="a"))
    assert "1 features" in _refused(call, np.zeros((4, 1)), np.array(["no"] * 4))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_missing_id_column_costs_nothing(call: Any, tmp_path: Path) -> None:
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    assert "no column 'who'" in _refused(call, tmp_path / "rows.csv", schema=NAMED)
    assert "no column 'who'" in _refused(call, ROWS, schema=NAMED)
    assert "id column 'who'" in _refused(call, ROWS[["a", "b"]].to_numpy(), ROWS["t"].to_numpy(), schema=NAMED)


@pytest.mark.parametrize("call", [CALLS[name] for name in CALLS if name != "settle_schema"])
def test_labels_that_are_missing_or_too_many_cost_nothing(call: Any, tmp_path: Path) -> None:
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    assert "do not pass y as well" in _refused(call, tmp_path / "rows.csv", ROWS["t"])
    assert "no column 't'" in _refused(call, ROWS.drop(columns="t"))
    assert "requires y" in _refused(call, ROWS[["a", "b"]].to_numpy())
    assert "inconsistent numbers" in _refused(call, ROWS[["a", "b"]], ROWS["t"][1:])
    for odd in (None, 3, {"a": ["x"]}, np.zeros(4), np.zeros((2, 2, 2))):
        assert "2D array" in _refused(call, odd, ["no", "yes"])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_good_source_is_charged(call: Any, tmp_path: Path) -> None:
    """The refusals above are not those of a call that never charges."""
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    payer = Ledger(Budget(100.0))
    call(str(tmp_path / "rows.csv"), None, SCHEMA, payer)
    assert payer.spent == 1


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_who_cannot_pay_is_told_so_before_a_file_is_looked_for(call: Any) -> None:
    with pytest.raises(BudgetError, match="left"):
        call("no such file", None, SCHEMA, Ledger(Budget(0.5)))


def test_no_row_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bad rows pass: to refuse them before the charge would be an answer that nobody paid for."""
    bad = 'a,b,t\nx,0.5\nz,nan,perhaps,,\n"open'
    (tmp_path / "bad.csv").write_text(bad)
    (tmp_path / "raw.csv").write_bytes(b"a,b,t\n\xff\xfe,1,no\n")
    for name in ("bad.csv", "raw.csv"):
        check_columns(tmp_path / name, SCHEMA)
        payer = Ledger(Budget(1.0))
        with pytest.raises(DataError):
            PrivateNB(1.0, schema=SCHEMA).fit(tmp_path / name, account=payer)
        assert payer.spent == 1
    check_shape(pd.DataFrame({"a": [7], "b": ["x"], "t": [None]}), schema=SCHEMA)
    check_shape([["x"], 5, None], ["no"], SCHEMA)


@pytest.mark.parametrize("unexpected", ["refuse", "absorb"])
def test_json_keys_cost_the_same_whether_a_line_has_them_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unexpected: Any
) -> None:
    """With the only row that has a key and without it the ledger is charged alike, and before any line is parsed."""
    schema = Schema([*SCHEMA.features, Categorical("hiv", ["no", "yes"], missing="category")], "t", ["no", "yes"])
    rows = [json.dumps(row) for row in ROWS.to_dict("records")] * 3  # more than the lines that names are taken from
    path = tmp_path / "rows.jsonl"
    parsed, seen = JSONLines._parsed, []

    def watched(self: Any, *where: Any) -> Any:
        seen.append(payer.spent)
        return parsed(self, *where)

    monkeypatch.setattr(JSONLines, "_parsed", watched)
    said = []
    for last in (['{"a": "x", "b": 0.5, "t": "no", "hiv": "yes"}'], []):
        path.write_text("\n".join([*rows, *last]))
        payer, text = Ledger(Budget(1.0)), ""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                PrivateNB(1.0, schema=schema, unexpected=unexpected).fit(path, account=payer)
            except DataError as error:
                text = str(error)
        said.append(text)
        assert payer.spent == 1
    assert seen and set(seen) == {1}
    assert not said[0] and ("no line of" in said[1]) == (unexpected == "refuse")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_json_lines_are_paid_for_by_every_call(call: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS.drop(columns="b").to_dict("records")))
    payer = Ledger(Budget(100.0))
    with pytest.raises(DataError):
        call(path, None, SCHEMA, payer)
    assert payer.spent == 1
    (tmp_path / "torn.jsonl.gz").write_bytes(b"no gzip")
    assert "cannot be read" in _refused(call, tmp_path / "torn.jsonl.gz")


def column_names(data):
    with opened(data, lenient=True) as stream:
        return stream.names


def test_names_of_columns_are_those_that_reading_gives(tmp_path: Path) -> None:
    table = pa.Table.from_pandas(ROWS, preserve_index=False)
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    ROWS.to_csv(tmp_path / "rows.csv.gz", index=False, sep=";")
    parquet.write_table(table, tmp_path / "rows.parquet")
    feather.write_feather(table, tmp_path / "rows.arrow")

    def names(data: Any) -> list[str]:
        with opened(data) as stream:
            return list(stream.names)

    for name in ("rows.csv", "rows.csv.gz", "rows.parquet", "rows.arrow"):
        assert names(tmp_path / name) == ["a", "b", "t"]
        assert collect(tmp_path / name, SCHEMA) == collect(ROWS, SCHEMA)
    connection = sqlite3.connect(":memory:")
    ROWS.to_sql("rows", connection, index=False)
    assert names(Table(connection, "rows")) == ["a", "b", "t"]
    (tmp_path / "rows-2.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="another header line"):
        names(tmp_path / "rows*.csv")


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "may not be read" in _refused(CALLS["PrivateNB"], tmp_path / "rows.csv")
