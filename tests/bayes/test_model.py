"""The model: safe files, no underflow, synthetic rows, and export to scikit-learn."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, ModelError, NaiveBayesModel, Numeric, PrivateNB, Schema
from discreet.evaluation.exact import evaluate


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 700)
    table = pd.DataFrame(
        {"c": np.array(["r", "g", "b"])[(rng.integers(0, 3, 700) + y) % 3], "x": rng.normal(size=700) + y}
    )
    table["y"] = np.array(["no", "yes"])[y]
    return table


SCHEMA = Schema(features=[Categorical("c", ["r", "g", "b"]), Numeric("x", -4, 5)], target="y", classes=["no", "yes"])


@pytest.mark.parametrize("numeric", ["histogram", "gaussian", "truncated-gaussian"])
def test_round_trip_is_exact(frame, tmp_path, numeric):
    model = PrivateNB(2.0, schema=SCHEMA, numeric=numeric).fit(frame).model_
    model.save(tmp_path / "m.json")
    again = NaiveBayesModel.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict_log_proba(frame), model.predict_log_proba(frame))
    assert again.certificate == model.certificate and again.schema == SCHEMA


def broken(model, **changes):
    fields = json.loads(json.dumps(model.to_dict()))
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = fields
        for key in parents:
            place = place[int(key) if key.isdigit() else key]
        if value is ...:
            del place[last]
        else:
            place[int(last) if last.isdigit() else last] = value
    return fields


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "pickle"}, "not a Naive Bayes model"),
        ({"version": 2}, "version"),
        ({"log_prior": [0.0]}, "class probabilities"),
        ({"log_prior": ["a", "b"]}, "damaged"),
        ({"features": ...}, "damaged"),
        ({"features__0__log_prob": [[0.0, 0.0], [0.0, 0.0]]}, "wrong shape"),
        ({"features__0__log_prob": [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]}, "log-probabilities"),
        ({"features__0__kind": "code"}, "unknown kind"),
        ({"features__0__name": "other"}, "features are not"),
        ({"schema__target": ""}, "schema is damaged"),
        ({"schema__classes": ["no", "maybe"]}, "another schema"),
        ({"certificate__epsilon": "a lot"}, "certificate is damaged"),
        ({"certificate__ledger": {}}, "certificate is damaged"),
        ({"certificate__extra": 1}, "certificate is damaged"),
    ],
)
def test_damaged_models_are_refused(frame, tmp_path, changes, words):
    model = PrivateNB(2.0, schema=SCHEMA, random_state=0).fit(frame).model_
    path = tmp_path / "m.json"
    path.write_text(json.dumps(broken(model, **changes)))
    with pytest.raises(ModelError, match=words):
        NaiveBayesModel.load(path)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[" * 100_000, b'{"format": NaN}', pickle.dumps([1]), b"\xff\xfe\x00", b"null", b"[]"]
)
def test_foreign_files_are_refused(tmp_path, content):
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"m\.json"):
        NaiveBayesModel.load(path)


def test_thousands_of_features_do_not_underflow():
    count = 4_000
    schema = Schema(features=[Categorical(f"w{j}", [0, 1]) for j in range(count)], target="y", classes=[0, 1])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    X = (rng.random((40, count)) < 0.3 + 0.4 * y[:, None]).astype(np.int8)
    fitted = PrivateNB(math.inf, schema=schema).fit(X, y)
    joint, log = fitted.predict_joint_log_proba(X), fitted.predict_log_proba(X)
    assert joint.max() < -2000 and np.isfinite(log).all()
    np.testing.assert_allclose(np.exp(log).sum(axis=1), 1)
    assert (fitted.predict(X) == y).all()


@pytest.mark.parametrize("numeric", ["histogram", "gaussian", "truncated-gaussian"])
def test_large_and_small_inputs_score_alike(frame, numeric, monkeypatch):
    import discreet.bayes.score as score

    model = PrivateNB(2.0, schema=SCHEMA, numeric=numeric, random_state=0).fit(frame).model_
    plain, labels = model.predict_joint_log_proba(frame), model.predict(frame)
    monkeypatch.setattr(score, "SMALL", 0)
    np.testing.assert_allclose(model.predict_joint_log_proba(frame), plain, rtol=1e-13)
    np.testing.assert_array_equal(model.predict(frame), labels)


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_synthetic_rows_follow_the_model(frame, numeric):
    model = PrivateNB(math.inf, schema=SCHEMA, numeric=numeric).fit(frame).model_
    rows = pd.DataFrame(model.sample(20_000, rng=np.random.default_rng(0)))
    again = PrivateNB(math.inf, schema=SCHEMA, numeric=numeric).fit(rows).model_
    np.testing.assert_allclose(again.predict_proba(frame), model.predict_proba(frame), atol=0.12)


CELLS = Schema(
    features=[
        Categorical("c", ["r", "g"], other="rest", missing="category"),
        Categorical("d", [0, 1]),
        Numeric("x", -4, 5, bins=7),
    ],
    target="y",
    classes=["yes", "no"],
)


@pytest.mark.parametrize(
    ("schema", "numeric", "kind"),
    [
        (CELLS, "histogram", "CategoricalNB"),
        (Schema(features=[Numeric("x", -4, 5)], target="y", classes=["no", "yes"]), "gaussian", "GaussianNB"),
        (SCHEMA, "gaussian", "LogisticRegression"),
        (SCHEMA, "truncated-gaussian", "LogisticRegression"),
    ],
)
def test_export_to_scikit_learn_gives_the_same_probabilities(frame, schema, numeric, kind):
    table = frame.assign(d=(frame.x > 0).astype(int), c=frame.c.astype(object))
    if schema is CELLS:
        table.loc[:50, "c"] = None
    fitted = PrivateNB(5.0, schema=schema, numeric=numeric, random_state=0).fit(table)
    exported = fitted.to_sklearn()
    assert type(exported[-1]).__name__ == kind
    features = table[list(schema.names)]
    np.testing.assert_allclose(exported.predict_proba(features), fitted.predict_proba(features), atol=1e-9)
    np.testing.assert_array_equal(exported.predict(features), fitted.predict(features))
    assert list(exported.classes_) == list(fitted.classes_)


def test_export_says_what_cannot_be_expressed(frame):
    schema = Schema(features=[Numeric("x", -4, 5, missing="bin")], target="y", classes=["no", "yes"])
    with pytest.raises(ModelError, match="missing values"):
        PrivateNB(5.0, schema=schema, numeric="gaussian", random_state=0).fit(frame).to_sklearn()


def test_evaluation_matches_scikit_learn(frame):
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, confusion_matrix, log_loss, roc_auc_score

    model = PrivateNB(2.0, schema=SCHEMA, random_state=0).fit(frame).model_
    figures = evaluate(model, frame)
    predicted, score = model.predict(frame), model.predict_proba(frame)
    assert figures["accuracy"] == pytest.approx(accuracy_score(frame.y, predicted))
    assert figures["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(frame.y, predicted))
    assert figures["auc"] == pytest.approx(roc_auc_score(frame.y, score[:, 1]))
    assert figures["log_loss"] == pytest.approx(log_loss(frame.y, score))
    assert figures["confusion"] == confusion_matrix(frame.y, predicted).tolist()
    assert evaluate(model, frame[frame.y == "no"])["auc"] is None


@pytest.mark.parametrize("names", [("a__b", "verbose"), ("n_jobs", "x")])
def test_export_of_arrays_and_of_awkward_names(frame, names):
    schema = Schema(
        features=[Categorical(names[0], [0, 1, 2]), Numeric(names[1], -4, 5)], target="y", classes=["no", "yes"]
    )
    X = np.column_stack([frame.c.map({"r": 0, "g": 1, "b": 2}), frame.x]).astype(float)
    for numeric in ("histogram", "gaussian"):
        fitted = PrivateNB(5.0, schema=schema, numeric=numeric, random_state=0).fit(X, frame.y)
        np.testing.assert_allclose(fitted.to_sklearn().predict_proba(X), fitted.predict_proba(X), atol=1e-9)


def test_a_certificate_that_claims_less_than_its_ledger_spends_is_refused(frame, tmp_path):
    model = PrivateNB(1.0, schema=SCHEMA, random_state=0).fit(frame).model_
    for epsilon in ("1/1000", "9" * 400):
        path = tmp_path / "m.json"
        path.write_text(json.dumps(broken(model, certificate__epsilon=epsilon)))
        with pytest.raises(ModelError, match="certificate is damaged"):
            NaiveBayesModel.load(path)
