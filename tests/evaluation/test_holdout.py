"""Hold-outs: which rows each side sees, in every source; what is charged; what the model carries."""

import math
import sqlite3
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from discreet import (
    Account,
    Budget,
    Categorical,
    DataError,
    Ledger,
    LocalNB,
    ModelError,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateForestClassifier,
    PrivateGridSearch,
    PrivateHoldout,
    PrivateJointHistogram,
    PrivateLogisticRegression,
    PrivateNB,
    PrivatePredictor,
    PrivateSVC,
    PrivateTAN,
    PrivateTreeClassifier,
    Schema,
    SelectiveNB,
    Table,
    evaluate_privately,
)
from discreet.cli.inspect import show
from discreet.errors import BudgetError, SchemaError
from discreet.evaluation import holdout as room
from discreet.evaluation.holdout import EMPTY
from discreet.files import parse_json
from discreet.mechanisms.deal import KeyCoins, RowCoins
from discreet.mechanisms.noise import ExactSampler, SimulationSampler
from discreet.models import load_model
from discreet.privacy.nodes import concentrated, cost
from discreet.sources import part
from discreet.sources.absorb import watching
from discreet.sources.files import open_files
from discreet.sources.kept import kept_table
from discreet.sources.part import Part, deal_rows
from discreet.sources.source import open_source

pytestmark = pytest.mark.usefixtures("one_engine")

SCHEMA = Schema([Categorical("a", ["u", "v", "w"]), Numeric("x", 0, 10, integer=True)], "y", ["n", "p"])
WHO = Schema(SCHEMA.features, "y", ["n", "p"], id="who")
KINDS = [
    PrivateNB, PrivateSVC, PrivateLogisticRegression, PrivateTreeClassifier, PrivateForestClassifier,
    PrivateAdditiveClassifier, PrivateTAN, PrivateJointHistogram, PrivateClassifier, SelectiveNB,
]  # fmt: skip


def frame(size=400, seed=0, people=None):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, size)
    found = pd.DataFrame({
        "a": np.array(["u", "v", "w"])[np.minimum(rng.integers(0, 2, size) + truth, 2)],
        "x": np.minimum(rng.integers(0, 8, size) + 3 * truth, 10),
        "y": np.array(["n", "p"])[truth],
    })  # fmt: skip
    found["who"] = np.arange(size) if people is None else rng.integers(0, people, size)
    return found


def sources(rows, folder):
    """The same rows in the same order, from everywhere."""
    rows.to_csv(folder / "rows.csv", index=False)
    table = pa.Table.from_pandas(rows, preserve_index=False)
    parquet.write_table(table, folder / "rows.parquet", row_group_size=64)
    feather.write_feather(table, folder / "rows.arrow")
    parquet.write_table(table[: len(table) // 2], folder / "part-1.parquet")
    parquet.write_table(table[len(table) // 2 :], folder / "part-2.parquet")
    lite, duck = sqlite3.connect(":memory:"), duckdb.connect()
    rows.to_sql("people", lite, index=False)
    duck.register("view", table)
    duck.execute("CREATE TABLE people AS SELECT * FROM view")
    return {
        "pandas": rows, "polars": pl.from_pandas(rows), "arrow": table, "csv": folder / "rows.csv",
        "parquet": str(folder / "rows.parquet"), "feather": folder / "rows.arrow",
        "parts": str(folder / "part-*.parquet"), "sqlite": Table(lite, "people"), "duckdb": Table(duck, "people"),
        "stream": open_files(folder / "rows.csv", ordered=True),
    }  # fmt: skip


@pytest.mark.parametrize("schema", [SCHEMA, WHO], ids=["rows", "people"])
@pytest.mark.parametrize("kind", [PrivateNB, PrivateClassifier])
def test_every_source_is_dealt_alike(tmp_path, schema, kind):
    rows = frame(300)
    fits = {
        name: PrivateHoldout(kind(math.inf, schema=schema), share=0.3, random_state=4).fit(data)
        for name, data in sources(rows, tmp_path).items()
    }
    first = fits["pandas"]
    assert 50 < first.evaluation_.rows.value < 140
    for name, one in fits.items():
        assert one.evaluation_ == first.evaluation_, name
        assert np.array_equal(one.predict(rows), first.predict(rows)), name
    plain = PrivateHoldout(kind(math.inf, schema=SCHEMA), share=0.3, random_state=4)
    if schema is SCHEMA:
        X = rows[["a", "x"]].to_numpy(dtype=object)
        assert plain.fit(X, rows["y"]).evaluation_ == first.evaluation_
        assert plain.fit(X.tolist(), list(rows["y"])).evaluation_ == first.evaluation_


def seen(monkeypatch, data, schema, y=None, **settings):
    """(training, tested) rows of a production call, in the order they came."""
    tested, trained = [], []
    measure, collect = room.measure, PrivateNB._release

    def watch_test(model, plan, sampler, X, labels=None, **rest):
        tested.append((X, labels))
        return measure(model, plan, sampler, X, labels, **rest)

    def watch_train(self, source, *rest):
        trained.append((source.data, source.labels))
        return collect(self, source, *rest)

    monkeypatch.setattr(room, "measure", watch_test)
    monkeypatch.setattr(PrivateNB, "_release", watch_train)
    fitted = PrivateHoldout(PrivateNB(1.0, schema=schema, **settings)).fit(data, y)
    assert len(tested) == len(trained) == 1
    return trained[0][0], tested[0][0], fitted


def test_a_row_is_on_one_side_and_not_by_where_it_stands(monkeypatch):
    """Odds of a false alarm below 1e-6: each of 60 sides would have to repeat itself thirty times."""
    rows, sides = frame(60), []
    for _ in range(30):
        train, test, _ = seen(monkeypatch, rows, SCHEMA)
        assert sorted([*train["who"], *test["who"]]) == list(range(60))
        sides.append(np.isin(np.arange(60), test["who"]))
    sides = np.array(sides)
    assert (sides.any(axis=0).sum() >= 50) and not sides.all(axis=0).any()
    assert len({tuple(one) for one in sides.tolist()}) == 30


@pytest.mark.parametrize("schema", [SCHEMA, WHO], ids=["rows", "people"])
def test_the_sides_of_a_file_have_every_row_once(tmp_path, schema):
    """Rows of files, and people of databases too, are filtered as they are read, each side by a reading of its own."""
    every = sources(frame(300), tmp_path)
    for name in ("csv", "parquet", "feather", "parts", *(("sqlite", "duckdb") if schema is WHO else ())):
        coins = (RowCoins if schema is SCHEMA else KeyCoins)(Fraction(1, 5), ExactSampler())
        sides = [side for side, _ in deal_rows(every[name], schema, None, coins)]
        assert all(isinstance(side, Part) for side in sides)
        found = [[int(str(one)) for batch in side.stream().batches(["who"]) for one in batch["who"]] for side in sides]
        assert sorted(found[0] + found[1]) == list(range(300)), name


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_a_file_that_changes_between_its_sides_is_refused(tmp_path, suffix, monkeypatch):
    """Coins of rows go by their order in the file: rows that move would be trained on and tested on."""
    from discreet.evaluation import holdout

    path, measured = sources(frame(300), tmp_path)[suffix], holdout.measure

    def measure(*given, **settings):
        sources(frame(300)[::-1], tmp_path)
        return measured(*given, **settings)

    PrivateHoldout(PrivateNB(1.0, schema=SCHEMA)).fit(path)
    monkeypatch.setattr(holdout, "measure", measure)
    with pytest.raises(DataError, match="changed while they were read"):
        PrivateHoldout(PrivateNB(1.0, schema=SCHEMA)).fit(path)


@pytest.mark.parametrize("held", [False, True])
def test_a_file_that_changes_while_a_side_is_read_is_refused(tmp_path, held):
    path = sources(frame(300), tmp_path)["csv"]
    side = deal_rows(path, SCHEMA, None, RowCoins(Fraction(1, 5), ExactSampler()))[held][0]
    told = []

    def written(done, total):
        if not told:
            sources(frame(300)[::-1], tmp_path)
        told.append(done)

    with pytest.raises(DataError, match="changed while they were read"):
        open_source(side, SCHEMA, progress=written).statistics()


def test_rows_that_are_kept_are_of_files_and_tables_that_stay_as_they_are(tmp_path, monkeypatch):
    from discreet.sources.streams import Stream

    path, keep = sources(frame(300), tmp_path)["csv"], Stream.kept

    def kept(self, schema):
        found = keep(self, schema)
        sources(frame(300)[::-1], tmp_path)
        return found

    monkeypatch.setattr(Stream, "kept", kept)
    with pytest.raises(DataError, match="changed while they were read"):
        kept_table(path, SCHEMA)


def test_coins_do_not_look_at_rows_and_a_row_more_does_not_shift_them():
    for share in (Fraction(1, 5), Fraction(1, 2)):
        coins = RowCoins(share, SimulationSampler(1))
        whole = coins.held(0, 20_000)
        assert abs(whole.mean() - share) < 6 * math.sqrt(float(share * (1 - share)) / 20_000)
        assert np.array_equal(coins.held(5, 11), whole[5:16]) and np.array_equal(
            coins.held(9_999, 3), whole[9999:10002]
        )
        again = RowCoins(share, SimulationSampler(1))
        steps = [again.held(i, 1)[0] for i in range(100)]
        assert steps == whole[:100].tolist()
        more = coins.held(0, 30_000)
        assert np.array_equal(more[:20_000], whole)
    a, b = (RowCoins(Fraction(1, 2), ExactSampler()).held(0, 400) for _ in range(2))
    assert (a != b).any()


def test_rows_of_one_person_stay_together(monkeypatch, tmp_path):
    rows = frame(400, people=80)
    most = int(rows["who"].value_counts().max())
    for data in (rows, pl.from_pandas(rows)):
        train, test, _ = seen(monkeypatch, data, WHO, contributions=most)
        assert not set(train["who"]) & set(test["who"]) and len(test) > 10
    for name, data in sources(rows, tmp_path).items():
        if name == "pandas":
            continue
        fitted = PrivateHoldout(PrivateNB(math.inf, schema=WHO, contributions=most), random_state=0).fit(data)
        sides = deal_rows(rows, WHO, None, KeyCoins(Fraction(1, 5), SimulationSampler(0)))
        assert fitted.evaluation_.rows.value == len(sides[1][0]), name
    with pytest.raises(DataError, match="more than 1 row"):
        PrivateHoldout(PrivateNB(1.0, schema=WHO)).fit(rows)


def test_spellings_of_one_id_share_a_key():
    def keys(*values):
        column = np.empty(len(values), object)
        column[:] = values
        return part._keys(column)

    assert len(set(keys(1, 1.0, "1", " 01", "1.0", np.int64(1), np.float64(1), True))) == 1
    assert len(set(keys(0.0, -0.0, "0", "-0", "00"))) == 1
    assert len(set(keys(1, 2, "a1", "1a", "nan", None))) == 6
    coins = KeyCoins(Fraction(1, 5), ExactSampler())
    everybody = keys(*range(5000))
    held = coins.held(0, 5000, everybody)
    assert abs(held.mean() - 0.2) < 6 * 0.4 / math.sqrt(5000)
    assert np.array_equal(coins.held(0, 5000, everybody[::-1]), held[::-1])
    assert (KeyCoins(Fraction(1, 5), ExactSampler()).held(0, 5000, everybody) != held).any()


def test_a_file_is_read_in_one_order_whatever_columns_are_asked_for(tmp_path):
    rows = frame(20_000)
    rows["who"] = np.arange(len(rows))
    parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "r.parquet", row_group_size=1000)
    rows.to_csv(tmp_path / "r.csv", index=False)
    for name in ("r.parquet", "r.csv"):
        coins = RowCoins(Fraction(1, 5), SimulationSampler(0))
        for wanted in (["who"], ["x", "who"], ["a", "x", "y", "who"]):
            got = []
            for side in (False, True):
                stream = Part(str(tmp_path / name), "", coins, side).stream()
                got.append(np.concatenate([np.asarray(b["who"]).astype(int) for b in stream.batches(wanted)]))
                stream.close()
            assert np.array_equal(got[1], np.flatnonzero(coins.held(0, len(rows))))
            assert np.array_equal(np.sort(np.concatenate(got)), np.arange(len(rows)))


def test_lines_that_are_no_rows_are_the_same_ones_whatever_columns_are_asked_for(tmp_path):
    """Else a line left out in one reading alone would shift the coins of all rows after it."""
    lines = [b"%d,u,1,n" % i for i in range(1000)]
    lines[0], lines[500], lines[501] = b"0,\xff,1,n", b"500,u,\xc3,p", b"501,u"
    (tmp_path / "r.csv").write_bytes(b"who,a,x,y\n" + b"\n".join(lines) + b"\n")
    coins = RowCoins(Fraction(1, 5), SimulationSampler(0))
    readings = []
    for wanted in (["who"], ["x", "who"], ["who", "a", "y"], ["a", "x", "y", "who"]):
        got = []
        for side in (False, True):
            stream = Part(str(tmp_path / "r.csv"), "", coins, side, lenient=True).stream()
            got.append([int(value) for b in stream.batches(wanted) for value in b["who"].to_pylist()])
            stream.close()
        assert sorted(got[0] + got[1]) == sorted({*range(1000)} - {0, 500, 501})
        readings.append(got)
    assert all(reading == readings[0] for reading in readings)


# ---- cost


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("kind", [PrivateNB, PrivateClassifier, PrivateTreeClassifier])
def test_one_charge_of_epsilon_before_a_row_is_read(kind, adjacency, tmp_path):
    ledger = Ledger(Budget(1))
    held = PrivateHoldout(kind(0.8, schema=SCHEMA, adjacency=adjacency))
    with pytest.raises(DataError, match="no file"):
        held.fit("no such file", ledger=ledger)
    assert ledger.spent == 0
    frame().assign(**{SCHEMA.target: "neither"}).to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(DataError):
        held.fit(tmp_path / "bad.csv", ledger=ledger)
    assert ledger.spent == Fraction(4, 5) and len(ledger.nodes) == 1
    with pytest.raises(BudgetError, match="left"):
        held.fit("no such file", ledger=ledger)
    ledger = Ledger(Budget(1))
    held.fit(frame(), ledger=ledger)
    assert ledger.spent == Fraction(4, 5) and len(ledger.nodes) == 1
    assert held.certificate_.epsilon == "4/5" and held.certificate_.ledger.node == "parallel"
    assert "coin of its own" in held.certificate_.ledger.assumption
    assert "held out" in held.certificate_.covers
    parts = held.certificate_.ledger.parts
    assert len(parts) == 2 and [one.cost for one in parts[1].parts] == ["16/25", "1/25", "3/25"]


def test_an_account_is_charged_once(tmp_path):
    rows = frame()
    account = Account.create(tmp_path / "rows.account", Budget(2))
    held = PrivateHoldout(PrivateClassifier(0.5, schema=SCHEMA)).fit(rows, account=account)
    assert account.spent == Fraction(1, 2)
    evaluate_privately(held.model_, rows, epsilon=0.25, account=tmp_path / "rows.account")
    assert account.spent == Fraction(3, 4)
    with account:  # pays for what is fitted inside, and the fit inside the hold-out is paid for already
        PrivateHoldout(PrivateNB(0.5, schema=SCHEMA)).fit(rows)
        PrivateHoldout(PrivateGridSearch([PrivateNB()], epsilon=0.25, schema=SCHEMA)).fit(rows)
        evaluate_privately(held.model_, rows, epsilon=0.25)
    assert account.spent == Fraction(7, 4)
    with pytest.raises(BudgetError, match="left"):
        PrivateHoldout(PrivateNB(0.5, schema=SCHEMA)).fit("no such file", account=account)
    with pytest.raises(BudgetError, match="left"):
        evaluate_privately(held.model_, "no such file", epsilon=0.5, account=account)


def test_both_sides_get_all_of_epsilon(monkeypatch):
    scales = []

    class Recorder:
        name, simulation = "recorder", False

        def laplace(self, values, scale):
            scales.append((values.sum(), scale))
            return values

    monkeypatch.setattr(room, "sampler_for", lambda random_state: Recorder())
    monkeypatch.setattr("discreet.estimators.base.sampler_for", lambda random_state: Recorder())
    monkeypatch.setattr(room, "RowCoins", lambda share, sampler: RowCoins(share, SimulationSampler(0)))
    one = Schema(SCHEMA.features[:1], "y", ["n", "p"])
    PrivateHoldout(PrivateNB(0.5, schema=one, mechanism="laplace", adjacency="replace"), sets=0).fit(frame(100))
    assert len(scales) > 1 and {scale for _, scale in scales} == {4}
    assert sum(total for total, _ in scales) == 100  # every row reaches one sampler, and one only


def test_approximate_budgets():
    held = PrivateHoldout(PrivateNB(1.0, schema=SCHEMA, delta=1e-6, mechanism="gaussian")).fit(frame())
    assert held.certificate_.epsilon == "1" and held.certificate_.delta == "1/1000000"
    assert Fraction(held.certificate_.rho) >= Fraction(1, 2)
    ledger = Ledger(Budget(2, 4e-6))
    held.fit(frame(), ledger=ledger)
    assert len(ledger.nodes) == 1 and ledger.totals.epsilon == 1 and ledger.totals.delta == Fraction(1, 10**6)


def test_a_fit_with_a_delta_keeps_its_rho():
    """The larger of the fit's ρ and ε²/2 of the measurement; budgets of ρ, and zCDP composition, can pay for it."""
    nb = PrivateNB(1.0, schema=SCHEMA, delta=1e-6, mechanism="gaussian")
    alone, ledger = concentrated(nb.plan().node), Ledger(Budget(10, 1e-5), composition="zcdp")
    assert concentrated(PrivateHoldout(nb, sets=0).plan().node) == max(alone, Fraction(1, 2))
    held = PrivateHoldout(nb, sets=0)
    for fits in (1, 2):
        held.fit(frame(), ledger=ledger)
        assert ledger.totals.rho == fits * max(alone, Fraction(1, 2))
    assert Fraction(held.certificate_.rho) == ledger.totals.rho / 2
    ledger = Ledger(Budget(rho=2))
    held.fit(frame(), ledger=ledger)
    assert ledger.spent == max(alone, Fraction(1, 2))


def spent_on(estimator):
    ledger = Ledger(Budget(10, 1e-3))
    return estimator.fit(frame(), ledger=ledger).certificate_, ledger.totals


@pytest.mark.parametrize(
    "kind, spends", [(PrivateTAN, False), (PrivateTreeClassifier, False), (PrivateClassifier, True)]
)
def test_a_delta_is_charged_where_the_fit_alone_is_charged_with_it(kind, spends):
    """What has no Gaussian mechanism leaves δ whole; the choice among kinds has the δ of all of them."""
    alone, totals = spent_on(kind(1.0, schema=SCHEMA, delta=1e-6, random_state=0))
    certificate, held = spent_on(PrivateHoldout(kind(1.0, schema=SCHEMA, delta=1e-6, random_state=0)))
    assert held.delta == totals.delta == Fraction(spends, 10**6)
    assert certificate.delta == alone.delta == str(held.delta)


@pytest.mark.parametrize(
    "mechanism, bounds, spends",
    [("laplace", "declared", 0), ("laplace", "private", 0), ("gaussian", "private", 1), ("auto", "private", 1)],
)
def test_a_delta_that_neither_bounds_nor_counts_spend_is_not_charged(mechanism, bounds, spends):
    for wrap in (lambda one: one, PrivateHoldout):
        nb = PrivateNB(1.0, schema=SCHEMA, delta=1e-6, mechanism=mechanism, bounds=bounds, random_state=0)
        certificate, totals = spent_on(wrap(nb))
        assert totals.delta == Fraction(spends, 10**6) and Fraction(certificate.delta) == totals.delta


@pytest.mark.parametrize("kind", [*KINDS, PrivateGridSearch])
def test_the_charge_is_the_plan_of_the_fit_beside_the_measurement(kind):
    one = kind([PrivateNB()], epsilon=1.0, schema=SCHEMA) if kind is PrivateGridSearch else kind(1.0, schema=SCHEMA)
    plan = one.plan()
    node = PrivateHoldout(one, sets=0).plan().node
    assert node.parts[0] == getattr(plan, "node", plan) and len(node.parts) == 2
    assert cost(node, "epsilon") == 1 and concentrated(node) == Fraction(1, 2)


def test_a_schema_read_off_the_rows_has_its_plan_once_it_is_read():
    ledger = Ledger(Budget(3, 1e-5))
    rows = frame()[["a", "x", "y"]]
    held = PrivateHoldout(PrivateNB(1.0, schema="infer", delta=1e-6)).fit(rows[["a", "x"]], rows["y"], ledger=ledger)
    assert held.model_.schema.inferred and ledger.totals.rho is not None
    with pytest.raises(BudgetError, match="mechanism"):
        PrivateHoldout(PrivateNB(1.0, schema="infer", mechanism="nonsense")).fit(
            rows[["a", "x"]], rows["y"], ledger=ledger
        )
    assert len(ledger.nodes) == 1


def test_rows_of_one_person_are_not_dealt_to_both_sides():
    """Without an id column nobody knows which rows those are."""
    ledger = Ledger(Budget(1))
    for schema in (SCHEMA, "infer"):
        for kind in (PrivateNB, PrivateClassifier, PrivateTreeClassifier):
            with pytest.raises(BudgetError, match="declare an id column"):
                PrivateHoldout(kind(1.0, schema=schema, contributions=2)).fit("no such file", ledger=ledger)
    assert not ledger.nodes
    assert PrivateHoldout(PrivateNB(1.0, schema=WHO, contributions=2)).plan().contributions == 2


def test_bounds_that_are_bought_are_in_the_same_charge():
    open_schema = Schema([SCHEMA.features[0], Numeric("x", bounds="private", lower=-100, upper=100)], "y", ["n", "p"])
    ledger = Ledger(Budget(1))
    held = PrivateHoldout(PrivateNB(1.0, schema=open_schema)).fit(frame(), ledger=ledger)
    assert ledger.spent == 1 and held.certificate_.epsilon == "1"
    assert held.model_.schema.features[1].upper <= 100


# ---- what it yields


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_carries_its_figures(kind, tmp_path):
    held = PrivateHoldout(kind(8.0, schema=SCHEMA), share=0.5).fit(frame(800))
    held.model_.save(tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.evaluation == held.evaluation_ == held.model_.evaluation
    assert loaded.certificate == held.certificate_ and not held.certificate_.simulation
    assert loaded.evaluation.held_out == 0.5 and loaded.evaluation.certificate is None
    assert held.evaluation_.accuracy.value > 0.6 and held.score(frame(200, 1)[["a", "x"]], frame(200, 1)["y"]) > 0.6
    fields = parse_json((tmp_path / "model.json").read_bytes())
    plain = {key: value for key, value in fields.items() if key != "evaluation"}
    unnamed = {key: value for key, value in fields["certificate"].items() if key != "evaluation"}
    old = type(loaded).from_dict({**fields, "certificate": unnamed})  # files from before still load
    assert old.evaluation == loaded.evaluation and old.to_dict() == loaded.to_dict() == fields
    assert type(loaded).from_dict({**plain, "certificate": unnamed}).evaluation is None
    counts = fields["evaluation"]["rows"]
    more = {**fields["evaluation"], "rows": {**counts, "high": counts["high"] + 1}}
    for changed in (plain, {**fields, "evaluation": more}):
        with pytest.raises(ModelError, match="measured figures belong to another model, or were changed"):
            type(loaded).from_dict(changed)
    for broken in (
        {**fields["evaluation"], "auc": {"value": 2}},
        {"x": 1},
        3,
        {**fields["evaluation"], "classes": ["n"]},
        {**fields["evaluation"], "classes": ["no", "yes"]},
        {**fields["evaluation"], "classes": ["p", "n"]},
        {**fields["evaluation"], "held_out": None},
        {**fields["evaluation"], "certificate": fields["certificate"]},
    ):
        with pytest.raises(ModelError, match="measured figures"):
            type(loaded).from_dict({**fields, "evaluation": broken})


def test_inspect_shows_what_is_paid_side_by_side(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    rows = frame(200)
    show(PrivateHoldout(PrivateNB(1.0, schema=SCHEMA, mechanism="laplace")).fit(rows).model_)
    shown = capsys.readouterr().out
    assert shown.index("training rows and rows held out (in parallel, the dearest counts):") < shown.index(
        "(costs added up):"
    )
    assert "    class" in shown or "    rows" in shown
    show(PrivateNB(1.0, schema=SCHEMA).fit(rows).model_)
    assert "in parallel" not in capsys.readouterr().out


NASTY = [
    ["u", 3, "p"], ["v", 5, "n"], ["w", 9, "p"], ["u", None, "n"], [None, "text", "p"], [[1, 2], 10**400, "n"],
    ["u", math.nan], ["u", 1, "p", "more"], [], None, 7, "row", [{"k": 1}, object(), "n"], ["\ud800", -math.inf, "?"],
]  # fmt: skip


def test_any_table_whatever_is_held_out_and_evaluated_where_it_is_absorbed():
    """Lists of lists with values, labels and rows that are none: each has a place by public rules, or is left out."""
    X = [row[:2] if isinstance(row, list) else row for row in NASTY] * 10
    y = [row[2] if isinstance(row, list) and len(row) > 2 else [row] for row in NASTY] * 10
    for kind in (PrivateNB, PrivateClassifier, PrivateTreeClassifier):
        held = PrivateHoldout(kind(2.0, schema=SCHEMA, unexpected="absorb")).fit(X, y)
        assert held.certificate_.epsilon == "2" and "every" in held.certificate_.tables
        assert EMPTY not in held.certificate_.assumptions
        found = evaluate_privately(held.model_, X, y, epsilon=1, unexpected="absorb")
        assert found.certificate.epsilon == "1" and "every" in found.certificate.tables
        for table, labels in (([], []), ([None] * 3, [None] * 3)):
            PrivateHoldout(kind(2.0, schema=SCHEMA, unexpected="absorb")).fit(table, labels)
            evaluate_privately(held.model_, table, labels, epsilon=1, unexpected="absorb")
        with pytest.raises(DataError):
            evaluate_privately(held.model_, X, y, epsilon=1)


def test_a_search_can_be_held_out():
    trees = PrivateTreeClassifier(schema=SCHEMA)
    search = PrivateGridSearch(trees, {"depth": [0, 2]}, epsilon=4.0, schema=SCHEMA)
    held = PrivateHoldout(search).fit(frame(600))
    assert held.certificate_.epsilon == "4" and held.model_.evaluation is not None


def test_three_classes_and_infinite_epsilon():
    schema = Schema(SCHEMA.features, "y", ["n", "p", "q"])
    rows = frame(600)
    rows.loc[::3, "y"] = "q"
    held = PrivateHoldout(PrivateNB(2.0, schema=schema)).fit(rows)
    assert len(held.evaluation_.recall) == 3 and len(held.certificate_.charges()) > 4
    twin = PrivateHoldout(PrivateNB(math.inf, schema=schema), random_state=0).fit(rows)
    assert not twin.certificate_.private


class Derived(PrivateGridSearch):
    """What its `fit` does nobody has proved."""


@pytest.mark.parametrize("wrong", [
    None, LocalNB(schema=SCHEMA), PrivatePredictor(schema=SCHEMA), PrivateNB, "model",
    Derived(PrivateTreeClassifier(1.0, schema=SCHEMA), {"depth": [0, 2]}, epsilon=4.0, schema=SCHEMA),
])  # fmt: skip
def test_what_does_not_release_a_model_centrally_is_refused(wrong):
    with pytest.raises(BudgetError, match="not a private estimator"):
        PrivateHoldout(wrong).fit("no such file")


def test_bad_settings_are_refused_unread():
    ledger = Ledger(Budget(1))
    for settings in ({"share": 0}, {"share": 0.7}, {"share": "some"}, {"confidence": 1}, {"random_state": -3}):
        with pytest.raises(BudgetError):
            PrivateHoldout(PrivateNB(1.0, schema=SCHEMA), **settings).fit("no such file", ledger=ledger)
    for wrong in (
        PrivateNB(1.0, schema=SCHEMA, mechanism="nonsense"), PrivateNB(1.0, schema=SCHEMA, smoothing=-1),
        PrivateTreeClassifier(1.0, schema=SCHEMA, smoothing=-1),
        PrivateClassifier(1.0, schema=SCHEMA, model="nonsense"),
        PrivateTreeClassifier(1.0, schema=SCHEMA, depth=-1), SelectiveNB(1.0, schema=SCHEMA, share=2),
        PrivateNB(1.0, schema=SCHEMA, bounds="nonsense"), PrivateSVC(1.0, schema=SCHEMA, regularisation=-1),
        PrivateNB(math.inf, schema=SCHEMA, mechanism="nonsense"),
    ):  # fmt: skip
        with pytest.raises(BudgetError):
            PrivateHoldout(wrong).fit("no such file", ledger=ledger)
    with pytest.raises(SchemaError):
        PrivateHoldout(PrivateNB(1.0)).fit(frame(), ledger=ledger)
    assert ledger.spent == 0 and not ledger.nodes
    with pytest.raises(DataError, match="target column"):
        PrivateHoldout(PrivateNB(1.0, schema=SCHEMA)).fit("rows.csv", ["n"])


def test_a_seed_makes_it_a_simulation():
    fits = [PrivateHoldout(PrivateNB(1.0, schema=SCHEMA), random_state=7).fit(frame()) for _ in range(2)]
    assert fits[0].evaluation_ == fits[1].evaluation_ and fits[0].certificate_.simulation
    assert PrivateHoldout(PrivateNB(1.0, schema=SCHEMA, random_state=1)).fit(frame()).certificate_.simulation


@pytest.mark.parametrize("seed", range(3))
def test_what_is_absorbed_of_both_sides_is_told_in_full(seed, tmp_path):
    """Values are absorbed where their rows were dealt to, and a line that is no row on neither side."""
    schema = Schema([Categorical("a", ["x", "y"], missing="category"), Numeric("b", 0, 1)], "t", ["no", "yes"])
    good = [f"x,0.{i % 10},{'yes' if i % 2 else 'no'}" for i in range(200)]
    moved, gone, torn = ["z,0.5,no"] * 20, ["x,far,no"] * 30, ["x,0.5"] * 7
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,t", *good, *moved, *gone, *torn]) + "\n")
    with watching() as readings:
        inner = PrivateNB(1.0, schema=schema, unexpected="absorb")
        PrivateHoldout(inner, share=0.4, random_state=seed).fit(str(tmp_path / "rows.csv"))
    assert [(one.values, one.rows) for one in readings] == [(20, 37)]


def test_a_model_of_some_columns_is_measured_on_an_array_of_all():
    rows = np.array([[i % 2, (i // 2) % 2, (i // 4) % 2] for i in range(400)])
    schema = Schema([Categorical(name, [0, 1]) for name in "abc"], "y", [0, 1])
    held = PrivateHoldout(SelectiveNB(20, schema, k=1)).fit(rows, rows[:, 1])
    assert (
        held.n_features_in_ == 3 and held.evaluation_.to_dict() and held.predict(rows).tolist() == rows[:, 1].tolist()
    )
