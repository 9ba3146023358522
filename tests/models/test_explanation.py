"""Explanations: every kind explains itself, and shapes of sums of features are exact."""

import json
import sys

import numpy as np
import pytest

from discreet import (
    Categorical,
    DataError,
    ModelError,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateForestClassifier,
    PrivateJointHistogram,
    PrivateLogisticRegression,
    PrivateNB,
    PrivateSVC,
    PrivateTAN,
    PrivateTreeClassifier,
    Schema,
)

KINDS = [
    PrivateNB, PrivateAdditiveClassifier, PrivateLogisticRegression, PrivateSVC, PrivateTreeClassifier,
    PrivateForestClassifier, PrivateTAN, PrivateJointHistogram,
]  # fmt: skip
FEATURES = [
    Categorical("a", ["u", "v", "w"], other="else"),
    Numeric("x", 0, 10, missing="bin"),
    Numeric("k", 0, 5, integer=True),
]


def fitted(kind, classes=2, epsilon=4.0, **settings):
    schema = Schema(FEATURES, "y", list(range(classes)))
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, 3000)
    X = np.empty((3000, 3), object)
    X[:, 0] = np.array(["u", "v", "w"], object)[(y + (rng.random(3000) < 0.5)) % 3]
    X[:, 1] = np.clip(rng.normal(3 + 2 * y, 2), 0, 10)
    X[::40, 1] = None
    X[:, 2] = rng.integers(0, 6, 3000)
    return kind(epsilon, schema=schema, random_state=0, **settings).fit(X, y).model_, X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_explains_itself_and_one_row(kind, classes):
    model, X, _ = fitted(kind, classes)
    found = model.explain()
    assert json.loads(json.dumps(found.to_dict()))["classes"] == [str(k) for k in range(classes)][classes == 2 :]
    assert {one.name for one in found.shapes} == {"a", "x", "k"} and list(found.importances)[-1] == "k"
    assert found.importances == model.explain().importances  # no dice
    for shape in found.shapes:
        assert shape.values.shape == (1 if classes == 2 else 3, len(shape.at)) and np.isfinite(shape.values).all()
    row = dict(zip(["a", "x", "k"], X[7], strict=True))
    told = model.explain(row)
    whole = np.array(told.start) + np.sum(list(told.contributions.values()), axis=0)
    scores = model._each(model.effects, X[7:8], None, 1)[0]
    np.testing.assert_allclose(whole, scores, atol=1e-9)


@pytest.mark.parametrize("kind", [PrivateNB, PrivateAdditiveClassifier, PrivateLogisticRegression, PrivateSVC])
def test_where_scores_are_sums_the_shapes_add_up_to_them(kind):
    model, _, _ = fitted(kind, **({"pairs": 0} if kind is PrivateAdditiveClassifier else {}))
    found = {one.name: one for one in model.explain().shapes}
    assert model.separable
    rows = np.empty((12, 3), object)
    rows[:, 0], rows[:, 2] = ["u", "v", "w", "else"] * 3, [0, 3, 5] * 4
    at = found["x"].at
    rows[:, 1] = [at[i] for i in (0, 9, 30, -1) * 3]
    ours = [
        sum(found[name].values[0, found[name].at.index(value)] for name, value in zip("axk", row, strict=True))
        for row in rows
    ]
    theirs = model._each(model.effects, rows, None, 1)[:, 0]
    np.testing.assert_allclose(np.diff(ours), np.diff(theirs), atol=1e-9)


def test_bands_are_the_error_that_noise_makes():
    """The spread of released log-odds over 60 fits to the same rows, and the band that each of them states."""
    schema = Schema([Categorical("a", [0, 1, 2])], "y", [0, 1])
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 4000)
    X = np.where(rng.random(4000) < 0.2, 2, (y + (rng.random(4000) < 0.3)) % 2)[:, None]
    curves, bands = [], []
    for seed in range(60):
        model = PrivateNB(0.2, schema=schema, random_state=seed, mechanism="laplace").fit(X, y).model_
        (shape,) = model.explain().shapes
        curves.append(np.diff(model.likelihoods[0].log_prob, axis=0)[0])
        bands.append(shape.error[0])
    ratio = np.std(curves, axis=0, ddof=1) / np.mean(bands, axis=0)
    assert ((ratio > 0.6) & (ratio < 1.4)).all()  # four standard errors of a deviation of 60
    plain = PrivateNB(float("inf"), schema=schema).fit(X, y).model_
    assert plain.explain().shapes[0].error is None


def test_noise_in_a_file_must_fit():
    model, _, _ = fitted(PrivateNB)
    fields = model.to_dict()
    again = type(model).from_dict(fields)
    np.testing.assert_array_equal(again.error_of("a"), model.error_of("a"))
    for bad in (
        {"rows": [1], "deviation": {}},
        {"rows": [1, -1], "deviation": {}},
        {"rows": [1, 1], "deviation": {"q": [1, 1]}},
    ):
        with pytest.raises(ModelError):
            type(model).from_dict({**fields, "noise": bad})


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    model, X, _ = fitted(PrivateNB, 3)
    model.explain().plot(tmp_path / "shapes.svg")
    assert (tmp_path / "shapes.svg").read_text().rstrip().endswith("</svg>")
    model.explain(dict(zip(["a", "x", "k"], X[7], strict=True))).plot(tmp_path / "row.png")
    assert (tmp_path / "row.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_missing_is_said(monkeypatch):
    model, _, _ = fitted(PrivateNB)
    with pytest.raises(DataError, match="no value for 'x'"):
        model.explain({"a": "u"})
    with pytest.raises(DataError, match="mapping"):
        model.explain([1])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModelError, match="matplotlib"):
        model.explain().plot()
