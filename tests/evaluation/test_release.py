"""What a private evaluation hands to the sampler, what it computes from the answer, and when it is charged."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, Numeric, PrivateLogisticRegression, PrivateNB, PrivateSVC, Schema
from discreet.errors import BudgetError, DataError
from discreet.evaluation import PrivateEvaluation, evaluate_privately
from discreet.evaluation import evaluate as room
from discreet.evaluation.edges import made_up_scores, scales
from discreet.evaluation.exact import evaluate
from discreet.evaluation.plan import make_evaluation_plan
from discreet.evaluation.release import cells_of, count_rows
from discreet.privacy.budget import Adjacency
from discreet.sources import Source, read_rows

TWO = Schema([Categorical("a", range(6)), Numeric("x", -4, 4)], "y", ["n", "p"])
THREE = Schema([Categorical("a", range(6)), Numeric("x", -4, 4)], "y", ["n", "p", "q"])


def rows_of(schema, size, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(schema.classes), size)
    X = np.column_stack([np.minimum(rng.integers(0, 5, size) + (truth > 0), 5), rng.normal(truth, 1.5)])
    return X, np.array(schema.classes)[truth]


def model_of(schema, kind=PrivateNB):
    return kind(math.inf, schema=schema).fit(*rows_of(schema, 600, 1)).model_


class Recorder:
    """A sampler that notes what it is given and answers with tables of its own."""

    name, simulation = "recorder", False

    def __init__(self, answers=None):
        self.seen, self.answers = [], answers

    def laplace(self, values, scale):
        self.seen.append((values.copy(), scale))
        return values if self.answers is None else self.answers(values)


@pytest.fixture
def recorded(monkeypatch):
    def use(answers=None):
        sampler = Recorder(answers)
        monkeypatch.setattr(room, "sampler_for", lambda random_state: sampler)
        return sampler

    return use


@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(("adjacency", "contributions", "reach"), [
    ("add-remove", 1, 1), ("replace", 1, 2), ("add-remove", 3, 3), ("replace", 3, 6),
])  # fmt: skip
def test_the_sampler_gets_exact_tables_at_the_scale_of_the_adjacency(recorded, schema, adjacency, contributions, reach):
    sampler, (X, y) = recorded(), rows_of(schema, 200)
    model = model_of(schema)
    found = evaluate_privately(model, X, y, epsilon=0.2, adjacency=adjacency, contributions=contributions)
    exact = np.array(evaluate(model, X, y)["confusion"])
    costs = [reach / scale for _, scale in sampler.seen]
    assert sum(costs) == Fraction(1, 5)  # the noise of every table, not what the plan says of it
    assert all(values.sum() == 200 and (values >= 0).all() for values, _ in sampler.seen)
    if len(schema.classes) == 2:
        ((table, _),) = sampler.seen
        cut = int(scales(made_up_scores(model), model.probabilistic)[0].place(0.0)) + 1
        assert np.array_equal(np.stack([table[:, :cut].sum(1), table[:, cut:].sum(1)], 1), exact)
    else:
        assert np.array_equal(sampler.seen[0][0], exact)
        for k, (table, _) in enumerate(sampler.seen[1:]):
            assert table[1].sum() == (y == schema.classes[k]).sum()
    assert [float(Fraction(c.cost)) for c in found.certificate.charges()] == pytest.approx([float(c) for c in costs])


@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
def test_figures_come_from_the_noisy_tables_alone(recorded, schema):
    """Whatever the rows say, the same noisy tables give the same figures: no exact count has another way out."""
    model, answers = model_of(schema), iter([])

    def fixed(values):
        return next(answers)

    recorded(fixed)
    found = []
    for seed, size in ((0, 50), (1, 3000)):
        rng = np.random.default_rng(7)
        shapes = (
            [(2, scales(made_up_scores(model), model.probabilistic)[0].bins)]
            if schema is TWO
            else [(3, 3), *((2, s.bins) for s in scales(made_up_scores(model), model.probabilistic))]
        )
        answers = iter([rng.integers(-5, 90, shape) for shape in shapes])
        found.append(evaluate_privately(model, *rows_of(schema, size, seed), epsilon=0.2))
    assert found[0] == found[1]
    assert found[0].auc.low < found[0].auc.noise_low < found[0].auc.noise_high < found[0].auc.high


@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
def test_intervals_are_as_wide_as_the_noise_that_was_drawn(recorded, schema):
    """By the scale that the sampler was asked for, not by what the release says of it."""
    sampler, model = recorded(), model_of(schema)
    found = evaluate_privately(model, *rows_of(schema, 2000), epsilon=0.2)
    table, scale = sampler.seen[0]
    least = 1.95 * math.sqrt(table.size * 2 * float(scale) ** 2 - table.size / 2)  # a discrete law has a little less
    assert found.rows.noise_high - found.rows.value >= least
    assert found.accuracy.noise_high - found.accuracy.noise_low >= least / 2000


@pytest.mark.parametrize("kind", [PrivateNB, PrivateSVC, PrivateLogisticRegression])
@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
def test_a_row_has_the_same_cell_alone_as_among_others(kind, schema):
    model = model_of(schema, kind)
    plan = make_evaluation_plan(model, Budget(1), adjacency=Adjacency.ADD_REMOVE)
    X, y = rows_of(schema, 60)
    together = cells_of(model, plan, next(read_rows(X, schema, y)))
    for i in range(len(X)):
        alone = cells_of(model, plan, next(read_rows(X[i : i + 1], schema, y[i : i + 1])))
        assert [int(one[0]) for one in alone] == [int(one[i]) for one in together]
    whole = count_rows(model, plan, X, y)
    parts = count_rows(model, plan, X[:25], y[:25]), count_rows(model, plan, X[25:], y[25:])
    assert all(np.array_equal(w, a + b) for w, a, b in zip(whole, *parts, strict=True))


def test_edges_follow_from_the_model_alone(monkeypatch):
    """They are there before a row is read, and other rows do not move them."""
    model, order = model_of(TWO), []
    monkeypatch.setattr("discreet.evaluation.plan.scales", lambda *m: order.append("edges") or scales(*m))
    read = Source.map
    monkeypatch.setattr(Source, "map", lambda *a, **k: order.append("rows") or read(*a, **k))
    found = [evaluate_privately(model, *rows_of(TWO, n, n), epsilon=1, random_state=0) for n in (10, 900)]
    assert order == ["edges", "rows"] * 2
    ends = [[(one.above, one.upto) for one in each.calibration[0].bins] for each in found]
    assert ends[0] == ends[1] and any(one[1] == 0.5 for one in ends[0])


def test_the_charge_comes_first(tmp_path):
    model, ledger = model_of(TWO), Ledger(Budget(0.5))
    (tmp_path / "bad.csv").write_text(",".join([*TWO.names, TWO.target]) + "\nonly one value\n")
    with pytest.raises(DataError):
        evaluate_privately(model, tmp_path / "bad.csv", epsilon=0.4, ledger=ledger)
    assert ledger.spent == Fraction(2, 5)
    with pytest.raises(BudgetError, match="left"):
        evaluate_privately(model, "no such file", epsilon=0.4, ledger=ledger)
    evaluate_privately(model, *rows_of(TWO, 30), epsilon=0.1, ledger=ledger)
    assert ledger.remaining == 0


@pytest.mark.parametrize("schema", [TWO, THREE], ids=["two", "three"])
def test_no_rows_and_one_class_are_answered(schema):
    model = model_of(schema)
    X, y = rows_of(schema, 300)
    nothing = evaluate_privately(model, X[:0], y[:0], epsilon=1, random_state=0)
    assert (nothing.accuracy.low, nothing.accuracy.high) == (0, 1)
    assert (nothing.auc.low, nothing.auc.high) == (0, 1)
    one = evaluate_privately(model, X[y == "n"], y[y == "n"], epsilon=1, random_state=0)
    assert (one.recall[1].low, one.recall[1].high) == (0, 1) and one.recall[0].high - one.recall[0].low < 0.6


def test_the_certificate_and_the_file(tmp_path):
    model, (X, y) = model_of(TWO), rows_of(TWO, 200)
    found = evaluate_privately(model, X, y, epsilon=0.25, adjacency="replace", contributions=2)
    assert found.certificate.epsilon == "1/4" and found.certificate.contributions == 2
    assert found.certificate.private and not found.certificate.simulation
    assert "one cell" in found.certificate.accounting and found.certificate.adjacency == "replace"
    found.save(tmp_path / "figures.json")
    assert PrivateEvaluation.load(tmp_path / "figures.json") == found
    assert "balanced accuracy" in str(found)
    seeded = evaluate_privately(model, X, y, epsilon=0.25, random_state=1)
    assert seeded.certificate.simulation and "not for release" in seeded.certificate.covers


@pytest.mark.parametrize("settings", [
    {"epsilon": 0}, {"epsilon": "much"}, {"epsilon": 1, "contributions": 0}, {"epsilon": 1, "confidence": 1.5},
    {"epsilon": 1, "adjacency": "near"}, {"epsilon": 1, "random_state": -1},
])  # fmt: skip
def test_bad_settings_are_refused_unread(settings):
    with pytest.raises(BudgetError):
        evaluate_privately(model_of(TWO), "no such file", **settings)


def test_more_rows_than_a_person_may_have_are_refused():
    import pandas as pd

    schema = Schema(TWO.features, "y", TWO.classes, id="who")
    X, y = rows_of(TWO, 40)
    frame = pd.DataFrame({"a": X[:, 0], "x": X[:, 1], "y": y, "who": [1, 1, *range(2, 40)]})
    model = PrivateNB(math.inf, schema=schema, contributions=2).fit(frame).model_
    with pytest.raises(DataError, match="more than 1 row"):
        evaluate_privately(model, frame, epsilon=1)
    assert evaluate_privately(model, frame, epsilon=1, contributions=2).certificate.contributions == 2
