"""PrivateSelectKBest: any source gives the same choice, the ledger is charged first, bad input gets a sentence."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from discreet import Budget, Categorical, Ledger, Numeric, PrivateNB, PrivateSelectKBest, Schema, collect
from discreet.audit import run_case
from discreet.errors import BudgetError, DataError, SchemaError, StatisticsError
from discreet.mechanisms.noise import ExactSampler
from discreet.mechanisms.odds import Odds
from discreet.selection import SELECTORS
from discreet.selection.scores import Score
from discreet.selection.select import select

FEATURES = [Categorical(f"f{j}", [0, 1]) for j in range(12)]
SCHEMA = Schema([*FEATURES, Numeric("x", 0, 4, bins=4)], "y", ["no", "yes"])


@pytest.fixture(scope="module")
def rows():
    """2,000 rows in which f3, f7 and x follow the class and the rest does not."""
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, 2000)
    X = rng.integers(0, 2, (2000, 13)).astype(float)
    X[:, 3] = np.where(rng.random(2000) < 0.9, label, 1 - label)
    X[:, 7] = np.where(rng.random(2000) < 0.15, label, 1 - label)
    X[:, 12] = np.clip(label * 2 + rng.random(2000) * 2, 0, 4)
    return X, np.where(label == 1, "yes", "no")


@pytest.mark.parametrize("score", ["hits", "balanced", "count", "mutual-information"])
@pytest.mark.parametrize("selector", SELECTORS)
def test_clear_features_are_found(rows, score, selector):
    bars = {"hits": 1400, "balanced": 1400 * 64, "count": 500}
    extra = {"threshold": bars.get(score)} if selector == "sparse-vector" else {}
    extra |= {"max_rows": 2000} if score == "mutual-information" else {}
    chooser = PrivateSelectKBest(3, 40.0, SCHEMA, score, selector, random_state=1, **extra).fit(*rows)
    assert chooser.names_ == ("f3", "f7", "x")
    assert chooser.schema_.names == chooser.names_
    assert chooser.schema_.classes == SCHEMA.classes
    certificate = chooser.certificate_
    assert certificate.simulation and certificate.epsilon == "40"
    assert sum(float(charge.cost.split("/")[0]) for charge in certificate.charges()) == pytest.approx(40)


def test_without_privacy_the_best_are_taken(rows):
    chooser = PrivateSelectKBest(2, math.inf, SCHEMA).fit(*rows)
    assert chooser.names_ == ("f3", "x")
    assert not chooser.certificate_.private


def test_any_source_and_statistics_alone_give_the_same(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(X, columns=list(SCHEMA.names)).astype({f"f{j}": int for j in range(12)})
    frame["y"] = y
    frame.to_parquet(tmp_path / "rows.parquet")
    settings = {"k": 4, "epsilon": 0.05, "schema": SCHEMA, "random_state": 3}
    half = [collect(X[part], SCHEMA, y[part], detail=("bins",)) for part in (slice(0, 900), slice(900, None))]
    choices = [
        PrivateSelectKBest(**settings).fit(X, y).names_,
        PrivateSelectKBest(**settings).fit(frame).names_,
        PrivateSelectKBest(**settings).fit(tmp_path / "rows.parquet").names_,
        PrivateSelectKBest(**settings).fit_statistics(half[0] + half[1]).names_,
    ]
    assert len(set(choices)) == 1


def test_transform_takes_the_chosen_columns(rows):
    X, y = rows
    chooser = PrivateSelectKBest(2, 40.0, SCHEMA, random_state=0).fit(X, y)
    assert chooser.get_support().sum() == 2
    assert np.array_equal(chooser.transform(X), X[:, chooser.get_support(indices=True)])
    frame = pd.DataFrame(X, columns=list(SCHEMA.names))
    assert list(chooser.transform(frame).columns) == list(chooser.get_feature_names_out())
    with pytest.raises(DataError, match="features"):
        chooser.transform(X[:, :5])
    with pytest.raises(DataError, match="no column"):
        chooser.transform(frame[["f0"]])
    with pytest.raises(DataError, match="in memory"):
        chooser.transform("file.csv")
    model = make_pipeline(chooser, PrivateNB(1.0, schema=chooser.schema_, random_state=0)).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.8


def test_the_ledger_is_charged_before_any_row_is_read(rows):
    ledger = Ledger(Budget(1))
    chooser = PrivateSelectKBest(2, 0.6, SCHEMA)
    chooser.fit(*rows, ledger=ledger)
    assert float(ledger.spent) == 0.6
    with pytest.raises(BudgetError, match="left"):
        clone(chooser).fit("there is no such file.csv", ledger=ledger)
    assert float(ledger.spent) == 0.6


def test_a_choice_too_large_to_draw_is_refused_before_it_is_paid_for():
    wide = Schema([Categorical(f"f{j}", [0, 1]) for j in range(3000)], "y", [0, 1])
    ledger = Ledger(Budget(1))
    with pytest.raises(BudgetError, match="joint mechanism"):
        PrivateSelectKBest(1500, 1.0, wide, selector="joint").fit("there is no such file.csv", ledger=ledger)
    assert ledger.spent == 0


def test_a_release_draws_from_the_operating_system(rows):
    chooser = PrivateSelectKBest(2, 1.0, SCHEMA).fit(*rows)
    assert not chooser.certificate_.simulation
    assert chooser.certificate_.covers.startswith("which features")
    assert chooser.certificate_.sampler == "coins: exact, of the operating system"
    counted = collect(rows[0], SCHEMA, rows[1], detail=("bins",))
    seeded = select(counted, chooser.plan(), sampler=ExactSampler(), odds=Odds(np.random.default_rng(1).bytes))
    assert seeded.certificate.simulation
    noised = PrivateSelectKBest(2, 1.0, SCHEMA, "balanced").fit(*rows).certificate_.sampler
    assert noised.startswith("opendp") and "coins" in noised


def test_both_noises_of_the_sparse_vector_technique_are_on_the_ledger():
    plan = PrivateSelectKBest(2, 1.0, SCHEMA, "count", "sparse-vector").plan()
    fence, queries = plan.node.parts
    assert (fence.spread, queries.spread) == plan.scales
    assert (fence.cost, queries.cost) == (Fraction(1, 4), Fraction(3, 4))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 14}, "k must be"),
        ({"k": True}, "k must be"),
        ({"criterion": "chi2"}, "score must be"),
        ({"selector": "best"}, "selector must be"),
        ({"criterion": "mutual-information"}, "max_rows"),
        ({"selector": "sparse-vector"}, "threshold"),
        ({"threshold": 3}, "sparse-vector"),
        ({"selector": "sparse-vector", "threshold": -1}, "threshold"),
        ({"contributions": 0}, "contributions"),
        ({"epsilon": 0}, "epsilon"),
    ],
)
def test_bad_settings_get_a_sentence(rows, settings, words):
    given = {"k": 2, "epsilon": 1.0, "schema": SCHEMA, **settings}
    with pytest.raises(BudgetError, match=words):
        PrivateSelectKBest(**given).fit(*rows)


def test_bad_data_get_a_sentence(rows):
    X, y = rows
    with pytest.raises(SchemaError, match="needs a schema"):
        PrivateSelectKBest(2).fit(X, y)
    with pytest.raises(DataError, match="requires y"):
        PrivateSelectKBest(2, 1.0, SCHEMA).fit(X)
    with pytest.raises(StatisticsError, match="bins"):
        PrivateSelectKBest(2, 1.0, SCHEMA).fit_statistics(collect(X, SCHEMA, y, detail=("moments",)))
    with pytest.raises(DataError, match="max_rows"):
        PrivateSelectKBest(
            2, 1.0, SCHEMA, "mutual-information", adjacency="replace", max_rows=1999
        ).fit(X, y)  # fmt: skip


def test_more_contributions_cost_more_noise(rows):
    one, three = (PrivateSelectKBest(2, 1.0, SCHEMA, contributions=c).plan() for c in (1, 3))
    assert one.rate == 3 * three.rate
    changed = PrivateSelectKBest(2, 1.0, SCHEMA, adjacency="replace").plan()
    assert one.rate == 2 * changed.rate


def test_counts_of_a_billion_do_not_overflow():
    table = np.array([[10**9, 3], [5, 10**9]])
    assert Score("count", 1, 2).of_tables([table]).tolist() == [10**9 - 3]
    assert Score("balanced", 64, 64).of_tables([table], np.array([64, 64])).tolist() == [2 * 64 * 10**9]
    bits = Score("mutual-information", 1, 2, 10**10).of_tables([table])[0] / 16
    assert bits == pytest.approx(2e9, rel=1e-6)
    with pytest.raises(StatisticsError, match="too many"):
        Score("hits", 1, 1).of_tables([np.array([[2**60, 0], [0, 2**60]])])


PLANTED = [("mask", "1-of-2-replace", 2, 32_000), ("permute-and-flip", "16-of-32-add-remove", 16, 3000)]
AGAIN = [("permute-and-flip", "1-of-2-replace", 2, 32_000), ("mask", "16-of-32-add-remove", 16, 6000)]


@pytest.mark.parametrize(
    ("selector", "case", "factor", "samples"),
    [*PLANTED, *(pytest.param(*one, marks=pytest.mark.slow) for one in AGAIN)],  # a rate is the same for all selectors
)
def test_audits_flag_a_choice_without_its_factors(monkeypatch, selector, case, factor, samples):
    """The factor 2 of neighbours that lift and lower, and the factor k of a choice of k.

    The bounds lie more than six standard deviations above the claim (1.36 ± 0.04 for the least of them, by the mask).
    The cases as they stand are audited with those of other rooms.
    """
    name = f"selection-{selector}-{case}"
    sure = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}
    import discreet.selection.plan as planning

    honest = planning._rate
    monkeypatch.setattr(planning, "_rate", lambda *arguments: factor * honest(*arguments))
    assert run_case(name, 1.0, samples=samples, **sure).violated


@pytest.mark.parametrize("settings", [{"epsilon": math.inf}, {"random_state": 3}])
def test_a_choice_that_was_not_private_marks_its_schema(rows, settings):
    """A later fit must not take features that the rows chose for public ones."""
    assert PrivateSelectKBest(2, **{"schema": SCHEMA, "epsilon": 1.0, **settings}).fit(*rows).schema_.inferred
    assert not PrivateSelectKBest(2, 1.0, SCHEMA).fit(*rows).schema_.inferred
