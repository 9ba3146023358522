"""Explanations: every kind explains itself, and shapes of sums of features are exact."""

import json
import sys
import warnings

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
from discreet.calibration import calibrated

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


def repeated(kind, epsilon, size=2000, fits=40, **settings):
    """Spreads of the released shape of four categories, the last of which no row has, as parts of the stated bands."""
    schema = Schema([Categorical("a", [0, 1, 2, 3]), Categorical("b", [0, 1])], "y", [0, 1])
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size)
    X = np.stack([np.where(rng.random(size) < 0.2, 2, (y + (rng.random(size) < 0.3)) % 2), rng.integers(0, 2, size)], 1)
    curves, bands = [], []
    for seed in range(fits):
        with warnings.catch_warnings(action="ignore"):
            found = kind(epsilon, schema=schema, random_state=seed, **settings).fit(X, y).model_.explain()
        (shape,) = (one for one in found.shapes if one.name == "a")
        curves.append(shape.values[0])
        bands.append(shape.error[0])
    return np.std(curves, axis=0, ddof=1) / np.mean(bands, axis=0), found


@pytest.mark.parametrize("kind", [PrivateAdditiveClassifier, PrivateLogisticRegression, PrivateSVC])
def test_bands_of_tilted_objectives_are_the_error_of_a_value_that_no_row_has_and_no_value_errs_more(kind):
    """Seeded, so that it fails for a reason: Laplace noise lets a deviation of 40 draws err by a sixth."""
    ratio, found = repeated(kind, 0.5)
    assert 0.6 < ratio[3] < 1.4 and (ratio[:3] < ratio[3]).all()
    assert found.bands.endswith("at most: that where no row has the value")
    few, _ = repeated(kind, 0.5, size=40)  # then all values are as if no row had them
    assert (few < 1.5).all() and np.median(few) > (0.4 if kind is PrivateSVC else 0.6)


def test_bands_of_noise_on_weights_are_their_error():
    ratio, found = repeated(PrivateLogisticRegression, 0.5, size=200, method="output")
    assert ((ratio > 0.6) & (ratio < 1.4)).all() and found.bands == "one standard error of the noise"
    held, _ = repeated(PrivateLogisticRegression, 0.5, size=200, method="functional")
    assert (held < 1).all()  # its matrix has noise too, which makes it steeper


def test_bands_of_pairs_add_up_the_noise_of_both_fits():
    ratio, _ = repeated(PrivateAdditiveClassifier, 2.0, fits=20, pairs=1)
    assert 0.5 < ratio[3] < 1.5 and (ratio[:3] < 1).all()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_bands_of_lines_through_knots(delta):
    """Rows in the middle of the bounds only: what lies far from them errs by its band, and is held by the penalty."""
    schema = Schema([Numeric("x", 0, 10, bins=10)], "y", [0, 1])
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1000)
    X = rng.normal(2 + 0.1 * y, 0.1)[:, None]
    curves, bands = [], []
    for seed in range(40):
        with warnings.catch_warnings(action="ignore"):
            made = PrivateAdditiveClassifier(1.0, schema=schema, random_state=seed, delta=delta).fit(X, y)
        assert bool(made.certificate_.delta_value) == bool(delta)
        (shape,) = made.model_.explain().shapes
        at = np.array(shape.at)
        curves.append(shape.values[0])
        bands.append(shape.error[0])
    spread, band = np.std(curves, axis=0, ddof=1), np.mean(bands, axis=0)
    assert 0.6 < np.median((spread / band)[at > 5]) < 1.4 and (spread < 1.6 * band).all()


def test_bands_of_trees_are_the_error_of_their_leaves():
    """Two features of two values, so that every tree has the same four leaves, whatever it asks first."""
    schema = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1])], "y", [0, 1])
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 3000)
    X = np.stack([(y + (rng.random(3000) < 0.3)) % 2, (y + (rng.random(3000) < 0.4)) % 2], 1)
    for epsilon, slack in ((0.1, 0.6), (1.0, 0.4)):
        curves, bands = [], []
        for seed in range(60):
            with warnings.catch_warnings(action="ignore"):
                made = PrivateTreeClassifier(epsilon, schema=schema, depth=2, random_state=seed).fit(X, y)
            (shape,) = (one for one in made.model_.explain().shapes if one.name == "a")
            curves.append(shape.values[0])
            bands.append(shape.error[0])
        ratio = np.std(curves, axis=0, ddof=1) / np.mean(bands, axis=0)
        assert ((ratio > 1 - slack) & (ratio < 1 + slack)).all(), ratio
    votes = PrivateForestClassifier(1.0, schema=schema, leaves="labels", random_state=0).fit(X, y).model_
    assert votes.errors is None and all(one.error is None for one in votes.explain().shapes)


def test_a_calibrated_model_keeps_its_bands_times_the_slope():
    model, X, y = fitted(PrivateNB, epsilon=1.0)
    with warnings.catch_warnings(action="ignore"):
        found = calibrated(model, X, y, 0.5, random_state=0)
    before, after = ({one.name: one.error for one in some.explain().shapes} for some in (model, found))
    assert found.noise.slope != 1
    np.testing.assert_allclose(after["k"], before["k"] * found.noise.slope, rtol=0.2)
    assert type(found).from_dict(found.to_dict()).noise.slope == found.noise.slope


@pytest.mark.parametrize("kind", [PrivateAdditiveClassifier, PrivateLogisticRegression, PrivateTreeClassifier])
def test_bands_are_in_the_file_and_there_are_none_without_noise(kind):
    model, _, _ = fitted(kind, 3)
    fields = json.loads(json.dumps(model.to_dict()))
    again = type(model).from_dict(fields).explain()
    assert again.to_dict() == model.explain().to_dict() and all(one.error.min() >= 0 for one in again.shapes)
    plain, _, _ = fitted(kind, epsilon=float("inf"))
    assert all(one.error is None for one in plain.explain().shapes) and "none" in plain.explain().bands
    older = {key: value for key, value in fields.items() if key not in {"noise", "deviation", "errors"}}
    older["certificate"] = {**older["certificate"], "parameters": ""}  # as files were before there were bands
    assert type(model).from_dict(older).explain().shapes[0].error is None


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (PrivateLogisticRegression, {"deviation": -1}),
        (PrivateLogisticRegression, {"deviation": "x"}),
        (PrivateTreeClassifier, {"errors": [[1, 1]]}),
        (PrivateAdditiveClassifier, {"noise": 3}),
        (PrivateAdditiveClassifier, {"noise": [{}]}),
        (PrivateAdditiveClassifier, {"noise": [{"cells": [1], "strengths": [1], "final": 1}]}),
        (PrivateAdditiveClassifier, {"noise": [{"cells": [1] * 3, "strengths": [0] * 3, "final": 1}]}),
        (PrivateAdditiveClassifier, {"noise": [{"cells": [1] * 3, "strengths": [1] * 3, "final": -1}]}),
    ],
)
def test_damaged_noise_is_refused(kind, bad):
    fields = fitted(kind)[0].to_dict()
    with pytest.raises(ModelError):
        type(fitted(kind)[0]).from_dict({**fields, **bad})


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
