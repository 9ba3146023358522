"""Settlements: what they find, from which sources, what they cost, and what they refuse."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    DataError,
    Ledger,
    Numeric,
    PrivateGridSearch,
    PrivateNB,
    PrivateSVC,
    Schema,
    SchemaError,
    settle_schema,
)
from discreet.bounds.plan import FALSE, make_settle_plan
from discreet.bounds.read import Cells, confirmed
from discreet.privacy.ledger import cost
from discreet.sources.files import open_files

OPEN = Schema(
    [
        Categorical("c", ["p", "q"]),
        Numeric("wage", bounds="private", missing="bin"),
        Numeric("age", 0, bounds="private", integer=True, bins=8),
    ],
    "y",
    [0, 1],
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    size = 20_000
    y = rng.integers(0, 2, size)
    wage = np.exp(rng.normal(9 + 0.8 * y, 0.5, size))
    wage[rng.random(size) < 0.05] = np.nan
    age = np.clip(rng.normal(40 + 8 * y, 12, size), 17, 95).astype(int)
    return pd.DataFrame({"c": rng.choice(["p", "q"], size), "wage": wage, "age": age, "y": y})


def test_bounds_are_the_powers_of_two_around_the_rows(people):
    # ε = 1 over two numbers: noise of scale 2 against octaves of thousands of rows, and outer ones of a few.
    found = settle_schema(OPEN, people, 1.0, edges="declared", random_state=0)
    wage, age = found.schema.numeric
    assert found.schema.unsettled == () and wage.missing == "bin" and isinstance(wage.bins, int)
    assert 256 <= wage.lower <= 2048 and 2**15 <= wage.upper <= 2**18
    assert age.lower == 16 and age.upper == 128 and age.integer and age.bins == 8
    assert found.certificate.epsilon == "1" and found.certificate.simulation
    assert found.certificate.schema_hash == found.schema.hash


def test_edges_hold_the_rows_in_many_bins(people):
    wage, age = settle_schema(OPEN, people, 1.0, random_state=0).schema.numeric
    counts, _ = np.histogram(people["wage"].dropna(), wage.edges)
    assert len(wage.edges) == 17 and (counts > 300).sum() >= 12
    counts, _ = np.histogram(people["age"], age.edges)
    assert (counts > 600).sum() >= 6


def test_without_noise_the_outermost_rows_decide():
    table = np.array([[0.0], [3.0], [-5.0], [100.0]])
    schema = Schema([Numeric("x", bounds="private")], "y", [0, 1])
    (x,) = settle_schema(schema, table, math.inf, edges="declared").schema.numeric
    assert (x.lower, x.upper) == (-8.0, 128.0)
    (x,) = settle_schema(schema, np.zeros((5, 1)), math.inf).schema.numeric
    assert x.lower <= 0 < x.upper


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize("epsilon", [math.inf, 4.0])
def test_a_number_that_is_never_negative_begins_at_zero(epsilon, integer):
    """A third of the rows are 0, the others positive."""
    amounts = np.random.default_rng(3).integers(1, 500, (3000, 1)).astype(float)
    amounts[::3] = 0.0
    schema = Schema([Numeric("x", bounds="private", integer=integer)], "y", [0, 1])
    (x,) = settle_schema(schema, amounts, epsilon, random_state=1).schema.numeric
    assert x.lower == 0 and 500 <= x.upper <= 1024 and x.edges[0] == 0 and len(x.edges) > 8


def test_rows_beyond_the_anchor_count_as_it():
    """No row is lost when the anchor becomes the lower bound; at the upper end it keeps the octave beyond."""
    cells = Cells([0, 1, 2, 3], [0, 128, 256, 384], [(-1, -0.5), (0, 0), (0.5, 1), (1, 2)], [True, True, False, True])
    over = np.array([False, True, True, False])
    kept, counts = confirmed(cells, np.array([3, 100, 50, 2]), over, 10, anchor=1)
    assert kept.octaves == [1, 2, 3] and counts.tolist() == [103, 50, 2]
    kept, counts = confirmed(cells, np.array([3, 50, 100, 2]), over, 10, anchor=2)
    assert kept.octaves == [0, 1, 2, 3] and counts.tolist() == [3, 50, 100, 2]
    kept, counts = confirmed(cells, np.array([3, 100, 1, 2]), over, 10, anchor=1)  # nothing but the anchor
    assert kept.octaves == [0, 1, 2] and counts.tolist() == [3, 100, 3]


def test_offsets_are_resolved_from_a_declared_limit():
    years = np.random.default_rng(0).integers(1950, 2021, (5000, 1)).astype(float)
    loose = Schema([Numeric("year", 1900, 1e6, integer=True)], "y", [0, 1])
    (year,) = settle_schema(loose, years, math.inf, edges="private").schema.numeric
    assert sum(1950 <= edge <= 2021 for edge in year.edges) >= 12


def test_every_source_gives_the_same(people, tmp_path):
    # Digits of the CSV file are read back exactly.
    people.to_parquet(tmp_path / "people.parquet")
    people.to_csv(tmp_path / "people.csv", index=False)
    first = settle_schema(OPEN, people, 1.0, random_state=3).schema
    for file in ("people.parquet", "people.csv"):
        assert settle_schema(OPEN, tmp_path / file, 1.0, random_state=3).schema == first


@pytest.mark.parametrize("edges", [None, "declared"])
@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_the_plan_adds_up(adjacency, contributions, edges):
    from discreet import Adjacency

    plan = make_settle_plan(
        OPEN, Budget(0.3), edges=edges, adjacency=Adjacency.of(adjacency), contributions=contributions
    )
    assert cost(plan.node, "epsilon") == Fraction(3, 10)
    each = contributions * (1 if adjacency == "add-remove" else 2) * 2
    for charge in plan.node.parts:
        assert charge.spread * charge.cost == each


def test_noise_alone_seldom_widens_bounds():
    """All rows at one value: over 4,000 settlements the share with wider bounds stays below 2·FALSE.

    Each errs with chance below FALSE = 0.01, independently; 80 or more of 4,000 do with chance below 1e-7.
    """
    from discreet.bounds.release import count_finest, settled
    from discreet.mechanisms.noise import SimulationSampler

    schema = Schema([Numeric("x", bounds="private", integer=True)], "y", [0, 1])
    plan = make_settle_plan(schema, Budget(1), edges="declared")
    finest, sampler = count_finest(np.full((200, 1), 5.0), plan), SimulationSampler(11)
    wide = sum(settled(finest, plan, sampler).numeric[0].upper != 8 for _ in range(4000))
    assert wide < 2 * FALSE * 4000


def test_a_fit_pays_for_its_bounds(people, tmp_path):
    X, y = people.drop(columns="y"), people["y"]
    ledger = Ledger(Budget(1))
    fitted = PrivateNB(1.0, schema=OPEN).fit(X, y, ledger=ledger)
    assert ledger.spent == 1 and len(ledger.nodes) == 1
    assert [cost(part, "epsilon") for part in ledger.nodes[0].parts] == [Fraction(1, 10), Fraction(9, 10)]
    certificate = fitted.certificate_
    assert certificate.epsilon == "1" and certificate.schema_hash == fitted.model_.schema.hash
    assert [entry.what[:12] for entry in certificate.charges()[:2]] == ["rows by powe", "rows by part"]
    assert sum(Fraction(entry.cost) for entry in certificate.charges()) == 1
    fitted.model_.save(tmp_path / "model.json")
    assert fitted.score(X, y) > 0.7
    with pytest.raises(BudgetError, match="left"):
        PrivateNB(0.5, schema=OPEN).fit("no-such-file.csv", ledger=ledger)


@pytest.mark.parametrize(("settings", "study"), [((math.inf, None), True), ((1.0, 7), True), ((1.0, None), False)])
def test_bounds_found_without_privacy_are_no_secret_to_later_certificates(people, settings, study):
    """A private fit with bounds that were read off the rows says so; bounds that were bought are public."""
    epsilon, seed = settings
    found = settle_schema(OPEN, people, epsilon, random_state=seed)
    later = PrivateNB(1.0, schema=found.schema).fit(people.drop(columns="y"), people["y"]).certificate_
    assert found.schema.inferred is study
    assert any("read off the data" in stated for stated in later.assumptions) is study
    assert ("read off the data" in later.covers) is study
    assert not any("rest of the schema" in stated for stated in found.certificate.assumptions)  # it was declared


def test_twins_and_simulations_of_fits_that_buy_bounds_still_work(people):
    X, y = people.drop(columns="y"), people["y"]
    for epsilon, seed in ((math.inf, None), (1.0, 5)):
        fitted = PrivateNB(epsilon, schema=OPEN, bounds="private", random_state=seed).fit(X, y)
        assert fitted.score(X, y) > 0.7 and fitted.certificate_.covers.startswith("nothing")
        assert fitted.model_.schema.inferred


def test_with_a_delta_the_bounds_are_added(people):
    X, y = people.drop(columns="y"), people["y"]
    ledger = Ledger(Budget(1, 1e-6), composition="basic")
    fitted = PrivateNB(1.0, 1e-6, schema=OPEN, bounds_share=0.2, mechanism="gaussian").fit(X, y, ledger=ledger)
    assert fitted.certificate_.epsilon == "1" and fitted.certificate_.delta == "1/1000000"
    rhos = [Fraction(charge.cost) for charge in fitted.certificate_.charges() if charge.measure == "rho"]
    assert Fraction(fitted.certificate_.rho) >= sum(rhos) + Fraction(1, 50) > Fraction(1, 50)  # ε = 1/5 is ρ = 1/50
    assert "(epsilon 1/5)" in fitted.certificate_.accounting
    assert fitted.model_.certificate == fitted.certificate_
    assert ledger.spent <= 1


def test_a_stream_that_can_be_read_once_is_refused_before_it_costs(people, tmp_path):
    people.head(100).to_parquet(tmp_path / "p.parquet")
    ledger = Ledger(Budget(1))
    with pytest.raises(DataError, match="pass the path"):
        PrivateNB(1.0, schema=OPEN).fit(open_files(tmp_path / "p.parquet"), ledger=ledger)
    assert not ledger.nodes


def test_scikit_learn_knows_the_settings(people):
    X, y = people[["wage", "age"]].fillna(0.0), people["y"]
    schema = Schema(OPEN.features[1:], "y", [0, 1])
    fresh = clone(PrivateNB(2.0, schema=schema, bounds="private", edges="declared", random_state=1))
    assert fresh.get_params()["bounds"] == "private" and fresh.get_params()["bounds_share"] == 0.1
    pipeline = make_pipeline("passthrough", fresh).fit(X, y)
    assert pipeline.score(X, y) > 0.6 and fresh.settlement().edges == ()
    bells = PrivateNB(2.0, schema=schema, numeric="gaussian")
    assert bells.settlement().edges == ()  # bell curves have no bins
    assert PrivateNB(2.0, schema=schema).plan().budget.epsilon == Fraction(9, 5)


def test_loose_bounds_cost_little_with_private_edges(data_dir):
    """Adult with every bound at 0..1e9: private edges win back most of what loose bounds lose.

    Means of five seeded fits; they stand more than ten standard errors apart.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as parquet

    from discreet.evaluation.exact import evaluate

    rows = parquet.read_table(data_dir / "adult.parquet")
    train, test = (rows.filter(pc.equal(rows["split"], part)) for part in ("train", "test"))
    tight = Schema.from_manifest(data_dir / "datasets.json", "adult")
    features = [Numeric(f.name, 0, 1e9, integer=True) if isinstance(f, Numeric) else f for f in tight.features]
    loose = Schema(features, tight.target, tight.classes)

    def auc(schema, **settings):
        fits = (PrivateNB(1.0, schema=schema, random_state=seed, **settings).fit(train) for seed in range(5))
        return np.mean([evaluate(one.model_, test)["auc"] for one in fits])

    lost = auc(tight) - auc(loose)
    assert lost > 0.02
    assert auc(tight) - auc(loose, edges="private") < 0.25 * lost


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": "guess"}, "bounds"),
        ({"edges": "guess"}, "edges"),
        ({"contributions": 0}, "contributions"),
        ({"adjacency": "near"}, "adjacency"),
        ({"epsilon": 0}, "epsilon"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_nonsense_is_refused_before_rows_are_read(settings, message):
    with pytest.raises(BudgetError, match=message):
        settle_schema(OPEN, "no-such-file.csv", **{"epsilon": 1.0, **settings})


def test_bad_schemas_and_rows_are_refused(people):
    settled = Schema([Numeric("x", 0, 1)], "y", [0, 1])
    with pytest.raises(SchemaError, match="no bounds to find"):
        settle_schema(settled, people, 1.0)
    with pytest.raises(SchemaError, match="schema"):
        settle_schema("infer", people, 1.0)
    with pytest.raises(DataError, match="no rows"):
        settle_schema(OPEN, people[:0], 1.0)
    with pytest.raises(DataError, match="infinite"):
        settle_schema(OPEN, people.assign(wage=math.inf), 1.0)
    with pytest.raises(DataError, match="missing"):
        settle_schema(OPEN, people.assign(age=math.nan), 1.0)
    with pytest.raises(SchemaError, match="cannot be declared"):
        Numeric("x", bounds="private", step=0.5)
    with pytest.raises(SchemaError, match="cannot be declared"):
        Numeric("x", 0, 1, bounds="private", bins=[0, 0.5, 1])


def test_bad_settings_of_estimators_are_refused(people):
    X, y = people.drop(columns="y"), people["y"]
    for share in (0, 1, -0.1, "much"):
        with pytest.raises(BudgetError, match="bounds_share"):
            PrivateNB(1.0, schema=OPEN, bounds_share=share).fit(X, y)
    with pytest.raises(SchemaError, match="declared schema"):
        PrivateNB(1.0, schema="infer", bounds="private").fit(X, y)
    with pytest.raises(BudgetError, match="private_bounds"):
        PrivateNB(1.0, schema=OPEN).partial_fit(X, y)
    with pytest.raises(SchemaError, match="private_bounds"):
        PrivateSVC(1.0, schema=OPEN).fit(X, y)
    with pytest.raises(SchemaError, match="private_bounds"):
        PrivateGridSearch(PrivateNB(schema=OPEN), {"smoothing": [1, 2]}).fit(X, y)
    with pytest.raises(BudgetError, match="private_bounds"):
        PrivateGridSearch(PrivateNB(schema=OPEN, bounds="private"), {"smoothing": [1, 2]}).fit(X, y)
