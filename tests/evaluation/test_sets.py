"""Prediction sets of a hold-out: what is released, at which noise, and what the sets hold."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import (
    Categorical,
    ModelError,
    Numeric,
    PrivateHoldout,
    PrivateNB,
    PrivateSVC,
    PrivateTreeClassifier,
    Schema,
    load,
)
from discreet.evaluation import holdout as room
from discreet.evaluation.edges import made_up_scores
from discreet.evaluation.sets import set_edges
from discreet.models import set_bins

THREE = Schema([Categorical("a", ["a", "b", "c"]), Numeric("x", 0, 10)], "y", ["l", "m", "h"])


def rows(size=3000, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    a = np.array(list("abc"), object)[(y + (rng.random(size) < 0.4)) % 3]
    x = np.clip(rng.normal(3 * y + 2, 2.5), 0, 10)
    return np.stack([a, x.astype(object)], axis=1), np.array(THREE.classes, object)[y]


class Recorder:
    name, simulation = "recorder", False

    def __init__(self):
        self.seen = []

    def laplace(self, values, scale):
        self.seen.append((values.copy(), scale))
        return values


@pytest.mark.parametrize(("adjacency", "reach"), [("add-remove", 1), ("replace", 2)])
def test_the_tables_get_the_noise_of_their_parts(monkeypatch, adjacency, reach):
    sampler = Recorder()
    monkeypatch.setattr(room, "sampler_for", lambda random_state: sampler)
    monkeypatch.setattr(room, "RowCoins", lambda share, sampler: AllHeldBut(100))
    X, y = rows(600)
    held = PrivateHoldout(PrivateNB(0.5, schema=THREE, adjacency=adjacency, random_state=1), sets=0.4).fit(X, y)
    *figures, (total, total_scale), (bins, scale) = sampler.seen
    assert sum(1 / one for _, one in sampler.seen) == Fraction(1, 2) / reach
    assert total_scale == reach / (Fraction(1, 2) * Fraction(4, 10) / 4) and scale == total_scale / 3
    truth = np.array([THREE.classes.index(label) for label in y[100:]])
    scores = held.model_.predict_log_proba(X[100:])
    assert total.tolist() == [[500]] and figures[0][0].sum() == 500
    assert bins.sum() == (scores.argmax(axis=1) != truth).sum()  # each row once, and none whose class is the best
    places = set_bins(scores, set_edges(made_up_scores(held.model_), True), True)[np.arange(500), truth]
    np.testing.assert_array_equal(bins[0], np.bincount(places, minlength=bins.size + 1)[:-1])
    told = held.evaluation_.sets
    assert (Fraction(told.spread), Fraction(told.rows_spread)) == (scale, total_scale)
    assert told.counts == tuple(bins[0].tolist()) and told.rows == 500
    parts = held.certificate_.ledger.parts[1].parts
    assert [one.what for one in parts[-2:]] == [
        "rows held out, for prediction sets", "rows by the lead of their class if another is ahead"
    ]  # fmt: skip


class AllHeldBut:
    keyed = False

    def __init__(self, first):
        self.first = first

    def held(self, start, size, keys=None):
        return np.arange(start, start + size) >= self.first


@pytest.mark.parametrize("kind", [PrivateNB, PrivateTreeClassifier, PrivateSVC])
def test_sets_hold_the_best_class_and_grow_with_the_coverage(kind, tmp_path):
    X, y = rows()
    held = PrivateHoldout(kind(4.0, schema=THREE, random_state=0), random_state=1).fit(X, y)
    new, truth = rows(4000, 1)
    best, order = held.predict(new), {label: k for k, label in enumerate(held.classes_)}
    truth, best = (np.array([order[label] for label in one]) for one in (truth, best))
    before = None
    for coverage in (0.6, 0.8, 0.9, 0.97):
        found = held.predict_set(new, coverage)
        assert found.shape == (4000, 3) and found.dtype == bool and found[np.arange(4000), best].all()
        assert before is None or (found >= before).all()
        covered = found[np.arange(4000), truth].mean()
        assert coverage - 0.03 < covered  # these rows are fixed, and so is the seed
        before = found
    held.model_.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json").predict_set(new, 0.97)
    np.testing.assert_array_equal(again[:, np.argsort(THREE.class_array())], before)


def test_without_a_holdout_there_are_no_sets():
    X, y = rows(300)
    with pytest.raises(ModelError, match="hold-out"):
        PrivateNB(1.0, schema=THREE).fit(X, y).predict_set(X)
    with pytest.raises(ModelError, match="hold-out"):
        PrivateHoldout(PrivateNB(1.0, schema=THREE), sets=0).fit(X, y).predict_set(X)


def test_score_of_a_file_needs_no_labels_beside_it(tmp_path):
    import pandas as pd

    X, y = rows(300)
    frame = pd.DataFrame(X, columns=["a", "x"]).assign(y=y)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    fitted = PrivateNB(1.0, schema=THREE, random_state=0).fit(frame)
    assert fitted.score(tmp_path / "rows.csv") == fitted.score(X, y) == fitted.score(frame)
