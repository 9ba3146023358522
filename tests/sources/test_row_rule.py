"""A row is coded by itself: in every container and source a table is read as its rows are read one by one."""

from __future__ import annotations

import re
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet import Categorical, DataError, Numeric, Schema, collect
from discreet.sources.contract import by_the_rule, row_rule_violation
from discreet.statistics import DETAILS
from tests.sources.tables_of import HELD, KINDS, MEMORY, NAMES, PAIRS, RULES, SCHEMAS, SOURCES, pools_of, same_arrays


@st.composite
def tables(draw):
    """A schema and up to four rows: of one type in each column, mostly fine, or any at all."""
    schema = draw(st.sampled_from([*SCHEMAS, RULES]))
    kind = draw(st.sampled_from(KINDS))
    pools = {name: draw(st.sampled_from(pools_of(name, kind))) for name in [*NAMES, "c"]}
    record = st.fixed_dictionaries({name: st.sampled_from(pool) for name, pool in pools.items()})
    return schema, draw(st.lists(record, min_size=1, max_size=4))


def trial(examples):
    quiet = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    return settings(max_examples=examples, deadline=None, suppress_health_check=quiet)


def counted(data, schema, y=None):
    try:
        return collect(data, schema, y, detail=DETAILS)
    except DataError:
        return None


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", MEMORY)
@trial(40)
@given(drawn=tables())
def test_a_frame_counts_as_its_values_do_by_the_rule(name, drawn):
    schema, records = drawn
    data = MEMORY[name](records)
    if data is not None:
        assert counted(data, schema) == by_the_rule(schema, records)


@pytest.mark.parametrize("name", PAIRS)
@trial(40)
@given(drawn=tables())
def test_lists_and_arrays_count_as_their_values_do_by_the_rule(name, drawn):
    schema, records = drawn
    X, y = PAIRS[name](records)
    assert counted(X, schema, y) == by_the_rule(schema, records)


@pytest.mark.parametrize("name", SOURCES)
@trial(10)
@given(drawn=tables())
def test_a_source_counts_as_its_rows_do(name, drawn, tmp_path):
    schema, records = drawn
    assert row_rule_violation(lambda rows: SOURCES[name](rows, tmp_path), schema, records) is None


@pytest.mark.parametrize("reader", HELD)
@pytest.mark.parametrize("name", ["pandas objects", "pandas inferred", "database"])
@trial(12)
@given(drawn=tables())
def test_rows_that_models_hold_are_read_one_by_one(name, reader, drawn):
    schema, records = drawn
    make = MEMORY.get(name) or (lambda rows: SOURCES[name](rows, None))
    read, join = HELD[reader]
    assert (
        row_rule_violation(make, schema, records, read=lambda data: read(data, schema), join=join, same=same_arrays)
        is None
    )


# ---- what was found: each of these failed before


ANSWERS = Schema([Categorical("a", ["True", "False"], other="another")], "y", [0, 1])


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.DataFrame({"a": pd.Series(values, dtype=object)}),
        lambda values: [[value] for value in values],
        lambda values: np.array([[value] for value in values], dtype=object),
    ],
    ids=["pandas", "lists", "object array"],
)
def test_one_text_does_not_re_code_truth_values(make):
    values, labels = [True] * 60 + [False] * 40, [0, 1] * 50
    before = collect(make(values), ANSWERS, labels).tables["a"]
    after = collect(make([*values, "x"]), ANSWERS, [*labels, 0]).tables["a"]
    assert before.tolist() == [[30, 20, 0], [30, 20, 0]] and after.tolist() == [[30, 20, 1], [30, 20, 0]]


def test_labels_in_a_list_are_read_one_by_one():
    schema = Schema([Numeric("x", 0, 1)], "y", ["True", "b"])
    assert collect([[0.5]] * 3, schema, [True, True, "b"]).counts.tolist() == [2, 1]


def test_decimals_count_the_same_beside_others_of_another_scale():
    schema = Schema([Numeric("x", -398213422470, -398213422469)], "y", [0, 1])
    one, two = Decimal("-398213422469.3047"), Decimal("-398213422469.0000000001")

    def total(*values):
        return collect(pd.DataFrame({"x": pd.Series(values, dtype=object)}), schema, [0] * len(values)).sums["x"][0]

    assert total(one) + total(two) == total(one, two)
    assert total(one) == total(str(one)) == 25600


def test_a_polars_object_is_not_coded_by_its_address():
    import polars as pl

    schema = Schema([Categorical("a", ["x", "1"])], "y", [0, 1])
    data = pl.DataFrame({"a": pl.Series(["x", 1], dtype=pl.Object)})
    assert collect(data, schema, [0, 1]).tables["a"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    "text", ["nan(abc)", "+-1", "0x10", "１", "1_000", "\u00a01", "1e400", " 7 ", "infinity", "+nan"]
)
def test_a_text_is_the_same_number_everywhere(text, tmp_path):
    schema = Schema([Numeric("x", 0, 2000, missing="bin")], "y", [0, 1])
    (tmp_path / "d.csv").write_text(f'x,y\n"{text}",0\n1,1\n', encoding="utf-8")
    frame = pd.DataFrame({"x": pd.Series([text, 1], dtype=object), "y": [0, 1]})
    texts = pd.DataFrame({"x": [text, "1"], "y": [0, 1]})
    expected = by_the_rule(schema, frame.to_dict("records"))
    assert counted(tmp_path / "d.csv", schema) == counted(frame, schema) == counted(texts, schema) == expected


def test_the_check_for_a_container_of_your_own_runs_as_documented():
    page = Path(__file__).parents[2] / "docs" / "values.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, "values.md", "exec"), {})


def test_the_check_finds_a_container_that_re_types_its_rows():
    def joint(records):
        return pd.DataFrame({"a": np.array([record["a"] for record in records]), "y": [r["y"] for r in records]})

    schema = Schema([Categorical("a", ["1", "x"], other="another")], "y", ["no", "yes"])
    rows = [{"a": True, "y": "no"}, {"a": "x", "y": "yes"}]
    assert "not the sum of its rows" in str(row_rule_violation(joint, schema, rows))
