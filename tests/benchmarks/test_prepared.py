"""Every method sees the same rows, splits, bounds and categories."""

import io
import json

import numpy as np
import pytest
from benchmarks.peers.prepared import Feature, Prepared, spread
from benchmarks.peers.scores import accuracy, auc
from benchmarks.peers.splits import entries, prepare
from benchmarks.peers.worker import answer, limited, work
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split


@pytest.fixture
def small() -> Prepared:
    rng = np.random.default_rng(1)
    features = (Feature("age", None, (0.0, 50.0)), Feature("sex", 2, None), Feature("job", 4, None))
    X = np.column_stack([rng.uniform(-5, 60, 40), rng.integers(0, 2, 40), rng.integers(0, 4, 40)]).astype(float)
    y = np.arange(40) % 2
    return Prepared("small", features, 2, X, y, {0: (np.arange(30), np.arange(30, 40))})


def test_a_file_keeps_everything(small, tmp_path):
    small.save(tmp_path / "small.npz")
    again = Prepared.load(tmp_path / "small.npz")
    assert (again.name, again.features, again.classes) == (small.name, small.features, small.classes)
    assert np.array_equal(again.X, small.X) and np.array_equal(again.y, small.y)
    assert [np.array_equal(a, b) for a, b in zip(again.splits[0], small.splits[0], strict=True)] == [True, True]


def test_encodings_use_public_bounds_and_lists_alone(small):
    assert small.ordinal.shape == (40, 3) and small.one_hot.shape == (40, 1 + 1 + 4)
    assert np.array_equal(small.ordinal[:, 0], np.clip(small.X[:, 0], 0, 50) / 50)
    assert np.array_equal(small.ordinal[:, 2], small.X[:, 2] / 3)
    assert (small.one_hot[:, 2:].sum(axis=1) == 1).all()
    # No row is longer than the norm that diffprivlib's logistic regression is told.
    assert (np.square(small.one_hot).sum(axis=1) <= len(small.features)).all()
    codes, sizes = small.codes
    assert sizes == [16, 2, 4] and (codes >= 0).all() and (codes < sizes).all()
    assert codes[small.X[:, 0] > 50][:, 0].tolist() == [15] * int((small.X[:, 0] > 50).sum())


def test_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 200)
    scores = np.column_stack([np.zeros(200), np.round(rng.normal(size=200) + truth, 1)])
    assert auc(truth, scores) == pytest.approx(roc_auc_score(truth, scores[:, 1]), abs=1e-12)
    assert accuracy(truth, scores) == ((scores[:, 1] > 0) == truth).mean()
    assert auc(truth, np.zeros((200, 3))) is None and auc(np.ones(200), scores) is None
    assert auc(truth, np.zeros((200, 2))) == 0.5


def test_a_class_that_training_lacked_is_never_the_answer():
    scores = spread([[np.nan, -1.0], [-np.inf, -800.0]], [0, 2], 3)
    assert scores.shape == (2, 3) and np.isfinite(scores).all()
    assert scores.argmax(axis=1).tolist() == [2, 2] and (scores.argmin(axis=1) == 1).all()


def test_the_worker_answers_every_task_and_survives_failures(small, monkeypatch):
    def score(data, method, epsilon, seed):
        if method == "broken":
            raise RuntimeError("no such thing")
        assert epsilon == (float("inf") if method == "plain" else 0.5)
        scores = np.eye(2)[data.y[data.splits[seed][1]]]
        return (scores, "tan") if method == "good" else scores

    module = type("Module", (), {"score": staticmethod(score)})
    monkeypatch.setattr("benchmarks.peers.worker.importlib.import_module", lambda name: module)
    tasks = [{"method": m, "epsilon": e, "seed": 0} for m, e in (("broken", 0.5), ("good", 0.5), ("plain", None))]
    answers = io.StringIO()
    work("any", small, io.StringIO("".join(json.dumps(task) + "\n" for task in tasks)), answers)
    broken, good, plain = map(json.loads, answers.getvalue().splitlines())
    assert broken["error"] == "RuntimeError: no such thing" and broken["accuracy"] is None
    assert (good["accuracy"], good["auc"], good["error"]) == (1.0, 1.0, None)
    assert good["note"] == "tan" and "note" not in plain
    assert plain["method"] == "plain" and plain["epsilon"] is None and plain["accuracy"] == 1.0


def test_a_fit_that_takes_too_long_is_given_up(small):
    def endless(*_):
        while True:
            pass

    got = answer(endless, small, {"method": "m", "epsilon": 1.0, "seed": 0, "limit": 1})
    assert got["error"] == "TimeoutError: longer than 1 s" and 1 <= got["seconds"] < 30
    with limited(None):
        pass


@pytest.mark.data
def test_splits_are_the_declared_ones_or_drawn_by_the_seed(data_dir):
    sets = entries(data_dir)
    assert [entry.rows for entry in sets.values()] == sorted(entry.rows for entry in sets.values())
    votes = prepare(data_dir, "votes", range(2))
    train, test = train_test_split(np.arange(435), test_size=0.2, random_state=1)
    assert np.array_equal(votes.splits[1][0], train) and np.array_equal(votes.splits[1][1], test)
    assert len(train) == sets["votes"].train and not sets["votes"].fixed
    spect = prepare(data_dir, "spect", range(2))
    assert sets["spect"].fixed and np.array_equal(spect.splits[0][1], spect.splits[1][1])
    assert (len(spect.splits[0][0]), len(spect.splits[0][1])) == (80, 187) and sets["spect"].train == 80


@pytest.mark.data
@pytest.mark.parametrize(
    "family, method", [("discreet", "nb"), ("discreet", "logistic"), ("scikit_learn", "sklearn/bayes")]
)
def test_methods_that_live_here_score_every_row_and_repeat(data_dir, family, method):
    import importlib

    score = importlib.import_module(f"benchmarks.peers.with_{family}").score
    data = prepare(data_dir, "pima", range(1))
    first, second = (score(data, method, 4.0, 0) for _ in range(2))
    assert first.shape == (len(data.splits[0][1]), 2) and np.array_equal(first, second)
    assert auc(data.y[data.splits[0][1]], first) > 0.6
