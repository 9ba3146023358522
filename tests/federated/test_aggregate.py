"""The aggregate: sums, joins, removals, refusals with reasons, its certificate, and its state on disk."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, BudgetError, NaiveBayesModel, PrivateNB, Schema, StatisticsError, UpdateError
from discreet.bayes.estimate import estimate
from discreet.federated import Aggregate, Refusal, Update, node_update
from discreet.federated.aggregate import WEIGHTINGS
from discreet.privacy.unexpected import REFUSED, TOTAL
from tests.federated.common import SCHEMA, SETTINGS, rows, update


def gathered(updates, **options):
    aggregate = Aggregate(SCHEMA, **options)
    for one in updates:
        aggregate.add(one)
    return aggregate


def parameters(model):
    return json.dumps([model.log_prior.tolist(), [one.to_dict() for one in model.likelihoods]])


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("weighting", ["sum", "inverse-variance"])
def test_without_noise_the_model_is_the_centralised_one_bit_for_bit(settings, weighting):
    parts = [rows(size, seed) for seed, size in enumerate((120, 0, 7, 300))]
    updates = [update(f"n{i}", math.inf, len(y), i, **settings) for i, (_, y) in enumerate(parts)]
    X, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    central = PrivateNB(math.inf, schema=SCHEMA, **settings).fit(X, y)
    model = gathered(updates, weighting=weighting).model()
    assert parameters(model) == parameters(central.model_)


def test_the_sum_of_equal_nodes_is_estimated_like_batches():
    batches = PrivateNB(1.0, schema=SCHEMA, mechanism="laplace", random_state=0)
    for seed in range(3):
        batches.partial_fit(*rows(100, seed))
    updates = [update(f"n{i}", size=100, seed=i, noise=i) for i in range(3)]
    whole = gathered(updates).release()
    assert [whole.variance(item) for item in whole.plan.items] == [
        batches.release_.variance(item) for item in batches.release_.plan.items
    ]


def test_nodes_of_different_budgets_add_up_their_noise():
    updates = [update("a", 0.5, noise=1), update("b", 2.0, noise=2), update("c", 1.0, delta=1e-6, noise=3)]
    whole = gathered(updates).release()
    for i, item in enumerate(whole.plan.items):
        wanted = math.fsum(one.plan(SCHEMA).items[i].variance for one in updates)
        assert whole.variance(item) == pytest.approx(wanted, rel=1e-15)
        assert np.array_equal(whole.values[item.key], sum(one.values[item.key] for one in updates))


@pytest.mark.parametrize("keep", [True, False])
def test_joining_later_in_any_order_gives_the_same_model(keep):
    updates = [update(f"n{i}", 1.0, 100, i, noise=i) for i in range(5)]
    first = gathered(updates, keep=keep)
    second = gathered(updates[:2], keep=keep)
    second.model()
    for one in reversed(updates[2:]):
        second.add(one)
    assert parameters(first.model()) == parameters(second.model())
    assert first.table() == sorted(second.table(), key=lambda row: row["node"])


@pytest.mark.parametrize("weighting", [w for w in WEIGHTINGS if w != "cut-off"])
def test_a_removed_node_leaves_no_trace(weighting):
    updates = [update(f"n{i}", 1.0, 100, i, noise=i) for i in range(5)]
    with_four = gathered(updates[:4], weighting=weighting)
    with_five = gathered(updates, weighting=weighting)
    with_five.remove("n4")
    assert parameters(with_four.model()) == parameters(with_five.model())
    with_five.add(updates[4])


def refusal(aggregate, one):
    before = (dict(aggregate.members), {key: value.copy() for key, value in aggregate.sums.items()})
    with pytest.raises(UpdateError) as caught:
        aggregate.add(one)
    assert dict(aggregate.members) == before[0]
    assert all(np.array_equal(aggregate.sums[key], value) for key, value in before[1].items())
    return caught.value.reason


def test_every_refusal_has_its_reason_and_changes_nothing():
    aggregate = gathered([update("a", noise=1)])
    assert refusal(aggregate, "text") == Refusal.MALFORMED
    assert refusal(aggregate, update("a", noise=1)) == Refusal.DUPLICATE_UPDATE
    assert refusal(aggregate, update("a", noise=2)) == Refusal.DUPLICATE_NODE
    assert refusal(aggregate, update("b", noise=2, numeric="gaussian")) == Refusal.SETTINGS
    assert refusal(aggregate, update("b", noise=2, adjacency="replace")) == Refusal.SETTINGS
    assert refusal(aggregate, update("b", noise=2, contributions=2)) == Refusal.SETTINGS
    assert refusal(aggregate, update("b", math.inf)) == Refusal.SETTINGS
    assert refusal(aggregate, update("b", budget=Budget(rho=1), noise=1)) == Refusal.SETTINGS
    assert refusal(aggregate, replace(update("b", noise=2), schema_hash="0" * 64)) == Refusal.SCHEMA


def test_a_forged_update_is_malformed():
    honest = update("b", noise=2)
    aggregate = Aggregate(SCHEMA)
    key = ("table", "c")
    fewer = {k: v for k, v in honest.values.items() if k != key}
    assert refusal(aggregate, replace(honest, values=fewer)) == Refusal.MALFORMED
    wider = {**honest.values, key: np.zeros((2, 9), np.int64)}
    assert refusal(aggregate, replace(honest, values=wider)) == Refusal.MALFORMED
    other = update("b", 2.0, noise=2).certificate
    assert refusal(aggregate, replace(honest, certificate=other)) == Refusal.MALFORMED
    assert refusal(aggregate, replace(honest, budget=Budget(Fraction(3)))) == Refusal.MALFORMED


def test_the_certificate_of_the_whole_counts_the_dearest_node():
    aggregate = gathered([update("a", 0.5), update("b", 2.0), update("c", 1.0, delta=1e-6)])
    whole = aggregate.certificate()
    assert (whole.epsilon, whole.delta) == ("2", "1/1000000")
    assert whole.ledger.node == "parallel"
    assert "one node" in whole.assumptions[0]
    assert not whole.simulation


def test_people_at_several_nodes_pay_the_sum():
    aggregate = gathered([update("a", 0.5), update("b", 2.0), update("c", 2.0)], overlap=True)
    whole = aggregate.certificate()
    assert whole.epsilon == "9/2"
    assert whole.ledger.node == "sequential"
    assert len(whole.ledger.parts) == 3


def test_zcdp_nodes_have_a_rho_for_all():
    aggregate = gathered([update("a", budget=Budget(rho=0.1)), update("b", budget=Budget(rho=0.3))])
    assert (aggregate.certificate().rho, aggregate.certificate().epsilon) == ("3/10", None)
    aggregate.model()


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("terms", [{}, {"delta": 1e-6, "mechanism": "laplace"}])
def test_rho_of_pure_and_approximate_nodes_counts_both(overlap, terms):
    pure, approximate = update("a", 5.0, noise=1, **terms), update("b", 1.0, delta=1e-6, noise=2)
    small = approximate.plan(SCHEMA).rho
    assert small is not None and small < Fraction(25, 2)
    both = gathered([pure, approximate], overlap=overlap).certificate()
    assert both.rho == str(Fraction(25, 2) + (small if overlap else 0))
    assert (
        gathered([pure, update("c", 1.0, noise=3)], overlap=overlap).certificate().rho is None
    )  # pure epsilon says it


def test_a_thousand_equal_nodes_have_a_short_certificate():
    members = [update("a", noise=1)]
    aggregate = gathered(members)
    one = next(iter(aggregate.members.values()))
    for i in range(1000):
        aggregate.members[f"n{i}"] = replace(one, node=f"n{i}")
    assert len(aggregate.certificate().model_dump_json()) < 5000


def test_without_kept_updates_removal_and_weights_are_refused():
    aggregate = gathered([update("a", noise=1)], keep=False)
    with pytest.raises(UpdateError) as caught:
        aggregate.remove("a")
    assert caught.value.reason == Refusal.NOT_KEPT
    with pytest.raises(UpdateError) as caught:
        aggregate.remove("b")
    assert caught.value.reason == Refusal.UNKNOWN_NODE
    with pytest.raises(BudgetError, match="keep"):
        Aggregate(SCHEMA, keep=False, weighting="inverse-variance")


def test_the_cutoff_works_from_noise_scales():
    updates = [update("loud", 0.01, noise=1), update("quiet", 5.0, noise=2), update("small", 5.0, size=3, noise=3)]
    levels = {row["node"]: row["noise_level"] for row in gathered(updates).table()}
    assert levels["loud"] > levels["small"] > levels["quiet"]
    cut = gathered(updates, weighting="cut-off", cutoff=levels["quiet"])
    alone = gathered(updates[1:2])
    assert parameters(cut.model()) == parameters(alone.model())
    assert [row["weight"] for row in cut.table()] == [0.0, 1.0, 0.0]
    assert cut.certificate().epsilon == "5"
    with pytest.raises(BudgetError, match="cutoff"):
        gathered(updates, weighting="cut-off", cutoff=0.0).model()
    with pytest.raises(BudgetError, match="no node"):
        Aggregate(SCHEMA).model()


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_state_survives_a_file(tmp_path, keep, settings):
    file = tmp_path / "state.json"
    Aggregate(SCHEMA, keep=keep).save(file)
    assert len(Aggregate.load(file)) == 0
    before = gathered([update(f"n{i}", 1.0, 100, i, noise=i, **settings) for i in range(3)], keep=keep)
    before.save(file)
    after = Aggregate.load(file)
    assert parameters(after.model()) == parameters(before.model())
    assert after.certificate() == before.certificate()
    assert after.table() == before.table()
    late = update("late", 0.5, noise=9, **settings)
    before.add(late)
    after.add(late)
    assert parameters(after.model()) == parameters(before.model())
    with pytest.raises(UpdateError):
        after.add(update("n0", 1.0, 100, 0, noise=0, **settings))


def test_a_damaged_state_is_one_sentence(tmp_path):
    file = tmp_path / "state.json"
    with pytest.raises(StatisticsError, match="cannot read"):
        Aggregate.load(file)
    aggregate = gathered([update("a", noise=1)], keep=False)
    aggregate.save(file)
    good = json.loads(file.read_text())
    for change in (
        {"format": "other"},
        {"version": 9},
        {"members": [{"node": "a"}]},
        {"sums": [["table", "c", [[1]]]]},
        {"settings": None},
        {"schema": {}},
        {"weighting": "loudest"},
    ):
        file.write_text(json.dumps({**good, **change}))
        with pytest.raises(StatisticsError) as caught:
            Aggregate.load(file)
        assert "\n" not in str(caught.value)
    file.write_text("{")
    with pytest.raises(StatisticsError):
        Aggregate.load(file)


def test_the_model_is_an_ordinary_model(tmp_path):
    model = gathered([update("a"), update("b")]).model()
    model.save(tmp_path / "model.json")
    assert NaiveBayesModel.load(tmp_path / "model.json").certificate == model.certificate
    assert not model.certificate.simulation


def test_the_table_tells_rows_as_reported():
    updates = [update("a", noise=1), update("b", noise=2, size=400)]
    table = gathered(updates).table()
    assert [row["rows"] for row in table] == [one.rows for one in updates]
    assert sum(row["weight"] for row in table) == pytest.approx(1)


def test_bytes_from_the_wire_are_what_is_counted():
    sent = [update(f"n{i}", noise=i, seed=i) for i in range(3)]
    read = [Update.from_bytes(one.to_bytes()) for one in sent]
    assert parameters(gathered(read).model()) == parameters(gathered(sent).model())
    assert estimate(gathered(read).release())[0].shape == (2,)


def test_settings_are_checked():
    for options in ({"weighting": "x"}, {"weighting": "cut-off"}, {"cutoff": 1.0}, {"robust": 0.5}, {"robust": 0}):
        with pytest.raises(BudgetError):
            Aggregate(SCHEMA, **options)
    other = Schema(features=SCHEMA.features[:1], target="y", classes=["no", "yes"])
    assert refusal(Aggregate(other), update("a", noise=1)) == Refusal.SCHEMA


def test_the_certificate_covers_the_tables_that_all_nodes_declared(tmp_path):
    X, y = rows(40, 0)
    both = [
        node_update(X, SCHEMA, Budget(1), node=name, y=y, unexpected=policy, random_state=i)
        for i, (name, policy) in enumerate((("a", "absorb"), ("b", "absorb"), ("c", "refuse")))
    ]
    both = [Update.from_bytes(one.to_bytes()) for one in both]
    total = gathered(both[:2])
    assert total.model().certificate.tables == TOTAL
    for keep in (True, False):
        kept = gathered(both[:2], keep=keep)
        kept.save(tmp_path / "state.json")
        assert Aggregate.load(tmp_path / "state.json").certificate().tables == TOTAL
    total.add(both[2])
    assert total.model().certificate.tables == REFUSED
