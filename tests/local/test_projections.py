"""Projections: the right directions, bounds that hold at every corner, and no look at private rows."""

from itertools import product

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from discreet import Categorical, DataError, LocalNB, Numeric, Schema, SchemaError
from discreet.local.projections import PublicDCA, PublicPCA

SCHEMA = Schema([Numeric("a", 0, 10), Numeric("b", -1, 1), Numeric("c", 0, 1000)], "y", [0, 1, 2])


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 600)
    a, b, c = 5 + y + rng.normal(0, 1, 600), rng.normal(0, 0.3, 600), 500 - 60 * (y == 2) + rng.normal(0, 90, 600)
    return np.column_stack([np.clip(a + b, 0, 10), np.clip(b, -1, 1), np.clip(c, 0, 1000)]), y


class Untouchable:
    """Private rows that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError("private rows were looked at")


def scaled(X):
    return (X - [5, 0, 500]) / [5, 1, 500]


def test_principal_components_are_those_of_the_scaled_sample(sample):
    X, _ = sample
    found = PublicPCA(3, SCHEMA, X).fit()
    expected = PCA(3).fit(scaled(X)).components_
    for mine, theirs in zip(found.components_, expected, strict=True):
        assert abs(mine @ theirs) / np.linalg.norm(mine) == pytest.approx(1)
        assert np.abs(mine).sum() == pytest.approx(1)


def test_discriminant_components_are_fisher_s_and_then_the_rest(sample):
    X, y = sample
    found = PublicDCA(3, SCHEMA, X, y, ridge=1e-9).fit()
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(scaled(X), y).scalings_[:, 0]
    mine = found.components_[0]
    assert abs(mine @ theirs) / np.linalg.norm(mine) / np.linalg.norm(theirs) == pytest.approx(1, abs=1e-6)
    assert np.linalg.matrix_rank(found.components_) == 3
    assert found.components_[2] @ found.components_[:2].T == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.parametrize("kind", [PublicPCA, PublicDCA])
def test_no_row_inside_the_bounds_leaves_the_projected_ones(kind, sample):
    found = kind(2, SCHEMA, *sample, bins=8).fit()
    assert found.bounds_.tolist() == [[-1, 1], [-1, 1]]
    corners = found.transform(np.array(list(product([0, 10], [-1, 1], [0, 1000])), float))
    assert np.abs(corners).max(axis=0) == pytest.approx([1, 1])  # reached, so they are tight
    assert found.schema_.names == ("component1", "component2")
    assert found.schema_.features[0].cells == 8
    assert found.schema_.classes == SCHEMA.classes
    narrow = kind(2, SCHEMA, *sample, bounds="sample").fit()
    seen = narrow.transform(sample[0])
    assert seen.min(axis=0) == pytest.approx(narrow.bounds_[:, 0])
    assert seen.max(axis=0) == pytest.approx(narrow.bounds_[:, 1])
    assert (narrow.transform(np.array([[10, 1, 0.0]])) <= narrow.bounds_[:, 1]).all()


@pytest.mark.parametrize("kind", [PublicPCA, PublicDCA])
def test_private_rows_are_never_looked_at_in_fit(kind, sample):
    alone = kind(1, SCHEMA, *sample).fit()
    among = kind(1, SCHEMA, *sample).fit(Untouchable(), Untouchable())
    assert (alone.components_ == among.components_).all()


def test_in_a_pipeline_with_local_reports(sample):
    X, y = sample
    projection = PublicDCA(1, SCHEMA, X[:100], y[:100], bins=6).fit()
    whole = make_pipeline(projection, LocalNB(epsilon=8, schema=projection.schema_, random_state=0))
    whole.fit(X[100:], y[100:])
    assert whole.score(X[100:], y[100:]) > 0.5
    assert whole[:-1].get_feature_names_out().tolist() == ["component1"]


def test_what_cannot_be_projected_is_refused(sample):
    X, y = sample
    with pytest.raises(DataError, match="public rows only"):
        PublicPCA(1, SCHEMA).fit(X, y)
    with pytest.raises(DataError, match="from 1 to 3"):
        PublicPCA(4, SCHEMA, X).fit()
    with pytest.raises(DataError, match="one class only"):
        PublicDCA(1, SCHEMA, X[y == 1], y[y == 1]).fit()
    with pytest.raises(DataError, match="ridge"):
        PublicDCA(1, SCHEMA, X, y, ridge=0).fit()
    with pytest.raises(DataError, match="bounds must be"):
        PublicPCA(1, SCHEMA, X, bounds="data").fit()
    with pytest.raises(DataError, match="two public rows"):
        PublicPCA(1, SCHEMA, X[:1]).fit()
    with pytest.raises(SchemaError, match="needs a schema"):
        PublicPCA(1, None, X).fit()
    mixed = Schema([Numeric("a", 0, 1), Categorical("b", [0, 1])], "y", [0, 1])
    with pytest.raises(SchemaError, match="'b' is not"):
        PublicPCA(1, mixed, X[:, :2]).fit()
    with pytest.raises(DataError, match="missing value"):
        PublicPCA(1, SCHEMA, np.full((3, 3), np.nan)).fit()


def test_a_drafted_schema_stays_a_draft(sample):
    X, y = sample
    drafted = Schema(SCHEMA.features, SCHEMA.target, SCHEMA.classes, inferred=True)
    assert PublicDCA(1, drafted, X, y).fit().schema_.inferred
    assert not PublicDCA(1, SCHEMA, X, y).fit().schema_.inferred
