"""Statistics merge, subtract and compare exactly, and a file gives back what was stored or nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import Categorical, Numeric, Schema, Statistics, StatisticsError, collect
from discreet.statistics import DETAILS

SMALL = Schema(
    features=[Categorical("c", ["a", "b"]), Numeric("x", 0, 4, step=1, bins=4, missing="bin")],
    target="y",
    classes=[0, 1],
)


def rows(values, detail=("bins", "moments")):
    """Statistics of (class, category, number) triples."""
    if not values:
        return Statistics.empty(SMALL, detail)
    y, c, x = zip(*values, strict=True)
    table = pa.table({"y": y, "c": c, "x": pa.array(x, pa.float64())})
    return collect(table, SMALL, detail=detail)


TRIPLES = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.one_of(st.none(), st.integers(-1, 5))), max_size=12
)


def test_the_tables_of_a_few_rows_by_hand():
    found = rows([(0, "a", 0), (0, "b", 4), (1, "b", 3), (1, "b", None), (1, "a", 9)], detail=DETAILS)
    # The lattice of [0, 4] with step 1 is -2 … 2 about the middle 2; 9 is clipped to 4.
    assert found.counts.tolist() == [2, 3]
    assert found.tables["c"].tolist() == [[1, 1], [1, 2]]
    assert found.tables["x"].tolist() == [[1, 0, 0, 1, 0], [0, 0, 0, 2, 1]]
    assert found.present["x"].tolist() == [2, 2]
    assert found.sums["x"].tolist() == [-2 + 2, 1 + 2]
    assert found.squares["x"].tolist() == [4 + 4, 1 + 4]
    assert found.lattice["x"].tolist() == [[1, 0, 0, 0, 1], [0, 0, 0, 1, 1]]
    assert found.detail == ("bins", "moments", "lattice")
    assert {values.dtype for _, _, values in found._blocks()} == {np.dtype(np.int64)}


@given(TRIPLES, TRIPLES)
def test_statistics_of_two_parts_add_up_to_those_of_the_whole(left, right):
    whole = rows(left + right, DETAILS)
    assert rows(left, DETAILS) + rows(right, DETAILS) == whole
    assert rows(right, DETAILS) + rows(left, DETAILS) == whole
    assert whole - rows(right, DETAILS) == rows(left, DETAILS)


@given(TRIPLES)
def test_empty_is_the_zero(values):
    found = rows(values)
    assert found + Statistics.empty(SMALL) == found
    assert found - found == Statistics.empty(SMALL)
    assert found - Statistics.empty(SMALL) == found


def test_equality_sees_every_block():
    found = rows([(0, "a", 1), (1, "b", 2)], DETAILS)
    blocks = {"counts": found.counts, "tables": found.tables, "present": found.present, "sums": found.sums}
    blocks |= {"squares": found.squares, "lattice": found.lattice}

    def rebuilt(**changed):
        fields = {**blocks, **changed}
        return Statistics(SMALL, fields.pop("counts"), fields.pop("tables"), **fields)

    assert rebuilt() == found
    for kind in ("present", "sums", "squares", "lattice"):
        assert rebuilt(**{kind: {"x": blocks[kind]["x"] + 1}}) != found, kind
    assert rebuilt(tables={**found.tables, "c": found.tables["c"][:, ::-1]}) != found
    assert rebuilt(lattice={}) != found
    assert found != "statistics" and found is not None
    other = Schema(features=SMALL.features, target="z", classes=[0, 1])
    assert Statistics(
        other, found.counts, found.tables, **{k: blocks[k] for k in ("present", "sums", "squares")}
    ) != rows([(0, "a", 1), (1, "b", 2)])
    with pytest.raises(TypeError):
        hash(found)


def test_operations_leave_their_sides_alone():
    left, right = rows([(0, "a", 1)]), rows([(1, "b", 2)])
    before = [values.copy() for _, _, values in left._blocks()]
    _ = left + right, left - left
    assert all(np.array_equal(a, b) for a, (_, _, b) in zip(before, left._blocks(), strict=True))


def test_a_negative_count_after_subtraction_is_caught():
    with pytest.raises(StatisticsError, match="a count is negative: the rows taken away were not all there"):
        rows([(0, "a", 1)]) - rows([(0, "b", 1)])
    with pytest.raises(StatisticsError, match="negative"):
        rows([(0, "a", 1)]) - rows([(0, "a", 1), (1, "a", 1)])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_beyond_64_bits_is_caught(sign):
    zero = Statistics.empty(SMALL)
    huge = Statistics(
        SMALL,
        zero.counts,
        zero.tables,
        present=zero.present,
        sums={"x": [sign * (2**62 + 1), 0]},
        squares=zero.squares,
    )
    with pytest.raises(StatisticsError, match="64-bit"):
        huge + huge
    assert (huge - huge) == zero
    squares = Statistics(
        SMALL, zero.counts, zero.tables, present=zero.present, sums=zero.sums, squares={"x": [2**62, 0]}
    )
    with pytest.raises(StatisticsError, match="64-bit"):
        squares + squares


def test_taking_away_the_smallest_integer_is_caught():
    zero = Statistics.empty(SMALL)
    least = Statistics(
        SMALL, zero.counts, zero.tables, present=zero.present, sums={"x": [-(2**63), 0]}, squares=zero.squares
    )
    with pytest.raises(StatisticsError, match="64-bit"):
        zero - least


def test_different_schemas_and_details_do_not_mix():
    other = Schema(features=SMALL.features, target="y", classes=[1, 0])
    with pytest.raises(StatisticsError, match="different schemas"):
        Statistics.empty(SMALL) + Statistics.empty(other)
    with pytest.raises(StatisticsError, match="one side holds"):
        Statistics.empty(SMALL, ["bins"]) + Statistics.empty(SMALL, ["moments"])
    with pytest.raises(TypeError, match="only with statistics"):
        Statistics.empty(SMALL) + 1


@pytest.mark.parametrize("detail", [("bins",), ("moments",), ("lattice",), ("bins", "moments"), DETAILS])
def test_only_the_detail_asked_for_is_held(detail):
    found = rows([(0, "a", 1), (1, "b", None)], detail)
    assert found.detail == detail == Statistics.empty(SMALL, detail).detail
    assert ("x" in found.tables) == ("bins" in detail)
    assert ("x" in found.sums) == ("x" in found.squares) == ("x" in found.present) == ("moments" in detail)
    assert ("x" in found.lattice) == ("lattice" in detail)
    assert found.tables["c"].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("counts", "tables", "fields", "words"),
    [
        ([1], {"c": [[1, 0], [0, 0]]}, {}, "the counts of the classes have the wrong shape"),
        ([1, 0], {"c": [[1], [0]]}, {}, "the tables of c have the wrong shape"),
        ([1, 0], {"c": [[0, 0], [0, 0]]}, {}, "table of 'c' does not add up"),
        ([-1, 0], {"c": [[-1, 0], [0, 0]]}, {}, "negative"),
        ([0, 0], {}, {}, "there is no table of 'c'"),
        ([0, 0], {"c": [[0, 0], [0, 0]], "z": [[0, 0], [0, 0]]}, {}, "no feature 'z'"),
        ([0, 0], {"c": [[0, 0], [0, 0]]}, {"sums": {"c": [0, 0]}}, "no feature 'c' with sums"),
        ([0, 0], {"c": [[0, 0], [0, 0]]}, {"sums": {"x": [0, 0]}}, "same features"),
        ([0, 0], {"c": [[0, 0], [0, 0]]}, {"lattice": {"x": [[0], [0]]}}, "the lattice of x have the wrong shape"),
    ],
)
def test_malformed_tables_are_refused(counts, tables, fields, words):
    with pytest.raises(StatisticsError, match=words):
        Statistics(SMALL, counts, tables, **fields)


def test_fractions_are_no_counts():
    with pytest.raises((StatisticsError, TypeError)):
        Statistics(SMALL, [1.5, 0], {"c": [[1, 0], [0, 0]]})


def test_the_text_form_gives_no_number_away():
    found = rows([(0, "a", 1)] * 137)
    assert "137" not in repr(found) and "private" in repr(found)


@pytest.mark.parametrize("name", ["s.parquet", "s.PARQUET", "s.arrow", "s.feather", "s"])
@pytest.mark.parametrize("detail", [("bins", "moments"), ("lattice",), DETAILS])
def test_a_file_keeps_the_statistics(tmp_path, schema, frame, name, detail):
    found = collect(frame, schema, detail=detail)
    found.save(tmp_path / name)
    again = Statistics.load(tmp_path / name)
    assert again == found and again.schema == schema and again.detail == detail
    assert again + found == found + found
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes()[:4] == (b"PAR1" if name.lower().endswith("parquet") else b"ARRO")


def test_a_renamed_file_is_known_by_its_content(tmp_path):
    found = rows([(0, "a", 1)])
    found.save(tmp_path / "s.parquet")
    (tmp_path / "s.parquet").rename(tmp_path / "s.arrow")
    assert Statistics.load(tmp_path / "s.arrow") == found


@pytest.mark.parametrize("name", ["s.parquet", "s.arrow"])
@pytest.mark.parametrize("keep", [0, 3, 10, 0.5, 0.9])
def test_a_truncated_file_is_refused(tmp_path, name, keep):
    path = tmp_path / name
    rows([(0, "a", 1)]).save(path)
    raw = path.read_bytes()
    path.write_bytes(raw[: keep if isinstance(keep, int) else int(len(raw) * keep)])
    with pytest.raises(StatisticsError, match=name):
        Statistics.load(path)


def test_absent_and_foreign_files_are_refused(tmp_path):
    with pytest.raises(StatisticsError, match=r"cannot read the statistics .*No such file"):
        Statistics.load(tmp_path / "absent.arrow")
    parquet.write_table(pa.table({"kind": ["counts"]}), tmp_path / "p.parquet")
    with pytest.raises(StatisticsError, match="does not hold statistics of this version"):
        Statistics.load(tmp_path / "p.parquet")
    (tmp_path / "t.arrow").write_text("not at all")
    with pytest.raises(StatisticsError, match=r"t\.arrow"):
        Statistics.load(tmp_path / "t.arrow")


def tampered(tmp_path, change):
    """A stored file after `change(table)`; the schema's metadata stay."""
    path = tmp_path / "s.arrow"
    rows([(0, "a", 1), (1, "b", 2), (1, "b", None)]).save(path)
    table = feather.read_table(path)
    feather.write_feather(change(table).replace_schema_metadata(table.schema.metadata), path)
    return path


def columns(table):
    return [table.column(key).to_pylist() for key in ("kind", "feature", "value")]


def rebuilt(kinds, names, values):
    return pa.table({"kind": kinds, "feature": names, "value": values})


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.slice(1),
        lambda t: t.slice(0, t.num_rows - 1),
        lambda t: t.slice(0, 2),
        lambda t: t.slice(0, 0),
        lambda t: t.drop_columns(["value"]),
        lambda t: rebuilt(*columns(t)[:2], [-1] * t.num_rows),
        lambda t: rebuilt(*columns(t)[:2], [v + 1 for v in columns(t)[2]]),
        lambda t: rebuilt(*columns(t)[:2], [v + 0.5 for v in columns(t)[2]]),
        lambda t: rebuilt(*columns(t)[:2], [None] * t.num_rows),
        lambda t: rebuilt(*columns(t)[:2], ["many"] * t.num_rows),
        lambda t: rebuilt(columns(t)[0], ["zzz" if n == "x" else n for n in columns(t)[1]], columns(t)[2]),
        lambda t: rebuilt(["noise" if k == "sums" else k for k in columns(t)[0]], *columns(t)[1:]),
        lambda t: rebuilt(["noise"] * t.num_rows, *columns(t)[1:]),
    ],
    ids=[
        "first row gone",
        "last row gone",
        "counts alone",
        "no rows",
        "no values",
        "negative",
        "one more everywhere",
        "fractions",
        "nulls",
        "texts",
        "another feature",
        "no sums",
        "unknown blocks",
    ],
)
def test_tampered_statistics_are_refused(tmp_path, change):
    path = tampered(tmp_path, change)
    with pytest.raises(StatisticsError):
        Statistics.load(path)


def test_numbers_must_be_held_alike(tmp_path):
    two = Schema(features=[Numeric("u", 0, 1), Numeric("v", 0, 1)], target="y", classes=[0, 1])
    zero = Statistics.empty(two)
    with pytest.raises(StatisticsError):
        Statistics(two, zero.counts, {"u": zero.tables["u"]})


def test_a_damaged_schema_inside_is_refused(tmp_path):
    path = tmp_path / "s.parquet"
    rows([(0, "a", 1)]).save(path)
    table = parquet.read_table(path)
    for bad in (b"{", b"[]", b'{"target": "y"}', b"[" * 50_000):
        metadata = {b"discreet.statistics": b"1", b"discreet.schema": bad}
        parquet.write_table(table.replace_schema_metadata(metadata), path)
        with pytest.raises(StatisticsError, match="not a file of statistics"):
            Statistics.load(path)
