"""The encoding: no row is longer than one in exact arithmetic, whatever the values; all sources agree."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Categorical, DataError, Numeric, Schema
from discreet.errors import BudgetError
from discreet.linear.encode import Encoding
from tests.linear.designs import read_design

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(finite, finite, st.sampled_from(["a", "b"])), min_size=1, max_size=8),
    st.sampled_from(["binned", "scaled"]),
    st.sampled_from([(-1e-3, 7e5), (0.1, 0.3), (-5.0, 5.0), (1000.0, 1001.0)]),
    st.integers(1, 6),
)
def test_norm_is_at_most_one(rows, numeric, bounds, copies):
    features = [Numeric(f"n{k}", *bounds) for k in range(2 * copies)] + [Categorical("c", ["a", "b"])]
    schema = Schema(features, "y", [0, 1])
    frame = pd.DataFrame({f"n{k}": [row[k % 2] for row in rows] for k in range(2 * copies)})
    frame["c"] = [row[2] for row in rows]
    encoding = Encoding(schema, numeric)
    design = read_design(frame, [0] * len(rows), encoding)
    unit = Fraction(design.unit)
    for i in range(len(design)):
        numbers = [1] * encoding.slots if design.values is None else [int(v) for v in design.values[i]]
        assert sum((unit * v) ** 2 for v in numbers) <= 1  # exactly, of the doubles that are used
        assert sum(abs(unit * v) for v in numbers) <= encoding.one_norm
        assert len(set(design.codes[i].tolist())) == encoding.slots - 1


@pytest.mark.parametrize("slots", range(1, 60))
def test_scale_is_the_largest_that_keeps_the_norm(slots):
    schema = Schema([Categorical(f"c{k}", [0, 1]) for k in range(slots)], "y", [0, 1])
    scale = Encoding(schema).scale
    assert Fraction(scale) ** 2 * (slots + 1) <= 1
    assert Fraction(math.nextafter(scale, 2)) ** 2 * (slots + 1) > 1


@pytest.mark.parametrize("numeric", ["binned", "scaled"])
def test_dense_matrix_and_kernels_agree(schema, frame, numeric):
    encoding = Encoding(schema, numeric)
    dense = encoding.matrix(frame.drop(columns="ill"))
    design = read_design(frame, None, encoding)
    rng = np.random.default_rng(0)
    w, r = rng.normal(size=encoding.columns), rng.normal(size=len(design))
    assert np.allclose(design.margins(w), dense @ w, atol=1e-12)
    assert np.allclose(design.gather(r), dense.T @ r, atol=1e-10)
    assert np.allclose(design.outer(r) * design.unit**2, dense.T @ (dense * r[:, None]), atol=1e-10)
    assert len(encoding.names()) == encoding.columns == dense.shape[1]
    assert np.linalg.norm(dense, axis=1).max() <= 1 + 1e-12


def test_files_and_frames_agree(schema, frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet")
    encoding = Encoding(schema)
    one, two = (read_design(source, None, encoding) for source in (frame, str(tmp_path / "rows.parquet")))
    assert (one.codes == two.codes).all()
    assert (one.labels == two.labels).all()


def test_missing_and_bad_values(schema, frame):
    encoding = Encoding(schema, "scaled")
    design = read_design(frame, None, encoding)
    column = list(encoding.names()).index("weight=(missing)")
    gone = frame["weight"].isna().to_numpy()
    assert ((design.codes == column).any(axis=1) == gone).all()
    bad = frame.assign(age=frame["age"].astype(float))
    bad.loc[3, "age"] = math.nan
    for numeric in ("binned", "scaled"):
        with pytest.raises(DataError, match="age"):
            read_design(bad, None, Encoding(schema, numeric))
    bad.loc[3, "age"] = math.inf
    with pytest.raises(DataError, match="infinite"):
        read_design(bad, None, encoding)
    with pytest.raises(DataError, match="no rows"):
        read_design(frame.head(0), None, encoding)
    with pytest.raises(BudgetError, match="binned"):
        Encoding(schema, "dense")


def test_people_are_counted(schema, frame, tmp_path):
    named = Schema.from_dict({**schema.to_dict(), "id": "person"})
    twice = frame.assign(person=np.arange(len(frame)) // 2)
    twice.to_parquet(tmp_path / "rows.parquet")
    for source in (twice, str(tmp_path / "rows.parquet")):
        with pytest.raises(DataError):
            read_design(source, None, Encoding(named))
        assert len(read_design(source, None, Encoding(named), contributions=2)) == len(frame)
