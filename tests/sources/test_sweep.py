"""The sweep: machine code over columns of any type and stride gives the integers of the plain path, row for row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import blocks, cells_of, count, hold, program
from discreet.sources.blocks import Rows
from discreet.sources.columns import GONE, Codes, Column, Points, make_column
from discreet.sources.program import Program
from discreet.sources.sweep import CUTS, EVEN, FLOAT, MANY, RULE, SAME, TABLE, TILE, WHOLE
from discreet.statistics import Statistics

TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "f2", "?", ">i4", ">f8")
DETAILS: tuple[Any, ...] = (("bins",), ("moments",), ("bins", "moments"), ("lattice",), ("bins", "lattice"), ())
NUMBERS = (
    Numeric("x", -1.5, 3.25, bins=16),
    Numeric("x", 0, 1, bins=7, missing="bin"),
    Numeric("x", -3, 200, integer=True, bins=9),
    Numeric("x", -1e300, 1e300, bins=5),
    Numeric("x", 1e-300, 2e-300, bins=5, missing="bin"),
    Numeric("x", 0, 10, step=0.25, bins=(0.0, 1.0, 2.0, 5.0, 10.0)),
    Numeric("x", 0, 100, bins=tuple(float(edge) for edge in [*range(0, 90, 2), 100])),
    Numeric("x", -(2.0**40), 2.0**40, step=2.0**21, bins=200, missing="bin"),
    Numeric("x", 1 / 3, 2 / 3, bins=1),
)
CATEGORIES = (
    Categorical("x", range(10)),
    Categorical("x", range(-5, 6), other="rest", missing="category"),
    Categorical("x", [3, 1, 120, 7], other="rest"),
    Categorical("x", [2, -7], missing="category"),
    Categorical("x", [True, False], other="rest", missing="category"),
    Categorical("x", [2**53 - 2, 2**53 - 1], other="rest"),
)
ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-20, 2.0**63, -(2.0**63), 1.7e308, -1.7e308, 9.5, 2.0**53)


def made(rng: np.random.Generator, feature: Any, kind: str, size: int, odd: float) -> np.ndarray:
    """Values in and about what a feature holds, on ties and ends of its lattice too, with some that have no place."""
    if isinstance(feature, Numeric):
        lattice, spread = feature.lattice, feature.upper - feature.lower
        points = rng.integers(-lattice.half - 2, lattice.half + 3, size) + rng.choice([0, 0.5, -0.5, 0.25], size)
        ties = np.clip(lattice.middle + points * float(lattice.step), -1.7e308, 1.7e308)
        nearly = np.nextafter(ties, rng.choice([-np.inf, np.inf], size))
        even = np.clip(feature.lower + spread * rng.uniform(-0.2, 1.2, size), -1.7e308, 1.7e308)
        values = np.choose(rng.integers(0, 3, size), [ties, nearly, even])
    else:
        known = np.array([float(one) for one in feature.categories])
        values = rng.choice(known, size)
        if odd:
            values = values + (rng.random(size) < odd) * rng.choice([1.0, 0.5, -1.0, 1e-9], size)
    strange = rng.random(size) < odd
    values[strange] = rng.choice(ODD, int(strange.sum()))
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.clip(np.nan_to_num(values), float(ends.min), np.nextafter(float(ends.max), 0))
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def laid_out(rng: np.random.Generator, values: np.ndarray, layout: str) -> np.ndarray:
    """The same values at some stride: among other columns, backwards, or unaligned in packed records."""
    if layout == "matrix":
        matrix = np.zeros((len(values), 5), values.dtype)
        matrix[:, 2] = values
        return matrix[:, 2]
    if layout == "backwards":
        return values[::-1].copy()[::-1]
    if layout == "record":
        record = np.zeros(len(values), np.dtype([("pad", "u1"), ("x", values.dtype), ("end", "u2")]))
        record["x"] = values
        return record["x"]
    if layout == "one value":
        return np.broadcast_to(values[:1], values.shape)
    return values


def both(monkeypatch: pytest.MonkeyPatch, schema: Schema, rows: Rows, detail: tuple[str, ...]) -> list[Any]:
    """What the plain path and the sweep find; a bad column by its name."""
    found = []
    for small, threads in ((10**9, 1), (0, 1), (0, 3)):
        monkeypatch.setattr(count, "SMALL", small)
        monkeypatch.setattr(count, "worthwhile", lambda values: True)
        monkeypatch.setattr(blocks, "BLOCK", 1000)
        monkeypatch.setattr(program, "LATER", 2 * TILE)  # points wait, and are counted several times
        monkeypatch.setenv("DISCREET_THREADS", str(threads))
        one = count._counted(schema, rows, detail, True)
        found.append(one if isinstance(one, Statistics) else one.feature.name)
    return found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_column_counts_as_on_the_plain_path(data: st.DataObject) -> None:
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([1, 3, 1000, TILE - 1, TILE, TILE + 1, 2 * TILE + 77, 40_000]))
    width, classes = draw(st.integers(1, 5)), draw(st.integers(2, 4))
    layouts = st.sampled_from(["plain", "matrix", "backwards", "record", "one value"])
    odd = draw(st.sampled_from([0.0, 0.0, 0.0, 0.01, 0.3]))
    features, columns = [], []
    for j in range(width):
        kind = draw(st.sampled_from(TYPES))
        feature = draw(st.sampled_from([*NUMBERS, *CATEGORIES])).model_copy(update={"name": f"x{j}"})
        values = laid_out(rng, made(rng, feature, kind, size, odd), draw(layouts))
        features.append(feature)
        columns.append(make_column(feature, values))
    schema = Schema(features=features, target="y", classes=list(range(classes)))
    labels = laid_out(
        rng, rng.integers(0, classes + (odd > 0.2), size).astype(draw(st.sampled_from(TYPES[:10]))), draw(layouts)
    )
    rows = Rows(columns, size, make_column(schema.label, labels))  # type: ignore[arg-type]
    detail = draw(
        st.sampled_from([("bins",), ("moments",), ("bins", "moments"), ("lattice",), ("bins", "lattice"), ()])
    )
    with pytest.MonkeyPatch.context() as patch:
        plain, *swept = both(patch, schema, rows, detail)
    for one in swept:
        assert type(one) is type(plain)
        if isinstance(plain, Statistics):
            assert one == plain  # class counts, tables, sums, squares and points, bit for bit


@pytest.mark.parametrize("layout", ["plain", "matrix"])
@pytest.mark.parametrize("detail", [("lattice",), ("bins", "lattice"), ("bins", "moments", "lattice")])
def test_points_that_wait_are_counted_once(
    layout: str, detail: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More rows than wait at a time, and a column whose points are not counted among those whose are."""
    rng, size = np.random.default_rng(0), 5 * TILE + 77
    matrix = rng.normal(size=(size, 5))
    matrix[rng.random((size, 5)) < 0.1] = np.nan
    matrix[:, 2] = rng.integers(0, 3, size)
    features: list[Any] = [Numeric(f"x{j}", -1, 1, bins=4, missing="bin") for j in range(5)]
    features[2] = Categorical("x2", range(3))
    schema = Schema(features=features, target="y", classes=[0, 1, 2])
    values = matrix if layout == "matrix" else np.asfortranarray(matrix)
    columns = [make_column(feature, values[:, j]) for j, feature in enumerate(features)]
    rows = Rows(columns, size, make_column(schema.label, rng.integers(0, 3, size)))  # type: ignore[arg-type]
    plain, *swept = both(monkeypatch, schema, rows, detail)
    assert isinstance(plain, Statistics)
    assert plain.lattice.keys() == {"x0", "x1", "x3", "x4"} and plain.lattice["x0"].sum() > size // 2
    assert swept == [plain, plain]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_columns_that_lie_beside_each_other_count_as_on_the_plain_path(data: st.DataObject) -> None:
    """A matrix by rows, of which some columns are read, in any order, forwards or backwards."""
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([1, 3, 4, 130, TILE + 3, 2 * TILE + 77]))
    kind, odd = draw(st.sampled_from(TYPES[:10])), draw(st.sampled_from([0.0, 0.0, 0.02]))
    wide = draw(st.integers(4, 14))
    features = [
        draw(st.sampled_from([*NUMBERS, *CATEGORIES])).model_copy(update={"name": f"x{j}"}) for j in range(wide)
    ]
    matrix = np.stack([made(rng, feature, kind, size, odd) for feature in features], axis=1)
    if draw(st.booleans()):
        matrix = matrix[::-1].copy()[::-1]
    read = draw(st.permutations(range(wide)))[: draw(st.integers(1, wide))] if draw(st.booleans()) else range(wide)
    columns = [make_column(features[j], matrix[:, j]) for j in read]
    schema = Schema(features=[features[j] for j in read], target="y", classes=[0, 1])
    label = make_column(schema.label, rng.integers(0, 2, size))
    detail = draw(st.sampled_from([("bins",), ("moments",), ("bins", "moments"), ("lattice",)]))
    with pytest.MonkeyPatch.context() as patch:
        plain, *swept = both(patch, schema, Rows(columns, size, label), detail)  # type: ignore[arg-type]
    for one in swept:
        assert type(one) is type(plain)
        if isinstance(plain, Statistics):
            assert one == plain


def test_fours_are_columns_of_one_matrix() -> None:
    feature = Categorical("x", range(10))
    matrix, other = np.zeros((9, 14)), np.zeros((9, 3))
    columns = [make_column(feature, values) for values in (*matrix.T, *other.T)]
    found = Program(columns).fours.tolist()
    assert found == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12], [11, 12, 13, 14]]
    assert Program([make_column(feature, values) for values in np.asfortranarray(matrix).T]).fours.tolist() == []
    apart = [*matrix.T[:3], *matrix.T[4:7], *matrix.astype("i4").T[:3]]
    assert Program([make_column(feature, values) for values in apart]).fours.tolist() == []


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(TYPES), st.sampled_from([*NUMBERS, *CATEGORIES]), st.booleans())
def test_every_row_is_coded_as_on_the_plain_path(seed: int, kind: str, feature: Any, matrix: bool) -> None:
    rng = np.random.default_rng(seed)
    values = made(rng, feature, kind, 2 * TILE + 5, 0.2)
    column: Column = make_column(feature, laid_out(rng, values, "matrix" if matrix else "plain"))
    good = np.flatnonzero(~column.bad())
    column = Rows([column], len(values)).take(good).columns[0]
    with pytest.MonkeyPatch.context() as patch:
        plain, swept = [], []
        for small, found in ((10**9, plain), (0, swept)):
            patch.setattr("discreet.sources.coded.SMALL", small)
            found += [hold(column), cells_of(column)]
            if isinstance(feature, Numeric):
                found.append(cells_of(Points(feature, found[0])))
    for a, b in zip(plain, swept, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_every_rule_is_reached() -> None:
    """Or else the tests above would not have tried it."""
    rules = set()
    for feature in (*NUMBERS, *CATEGORIES):
        for kind in ("i8", "f8"):
            column = make_column(feature, np.zeros(3, kind))
            assert isinstance(column, Codes) or isinstance(feature, Numeric)
            rules.add(int(Program([column]).whole[1, RULE]))
    assert rules == {SAME, TABLE, WHOLE, FLOAT, EVEN, CUTS, MANY}


def test_a_missing_point_is_missing() -> None:
    feature = Numeric("x", 0, 1, bins=4, missing="bin")
    held = np.array([GONE, -feature.lattice.half, feature.lattice.half, 0], np.int32)
    assert Program([Points(feature, held)]).codes([[0]], 0, 4).tolist() == [[4, 0, 3, 2]]
