"""FederatedNB keeps scikit-learn's rules, equals the centralised model without noise, and says what it cost."""

import copy
import math

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import BudgetError, Categorical, DataError, FederatedNB, Ledger, Numeric, PrivateNB, Schema
from discreet.nodes.partition import PARTITIONS
from discreet.privacy.budget import Budget

SCHEMA = Schema(
    features=[Categorical("c", [0, 1, 2]), Numeric("x", 0, 10, bins=4)],
    target="y",
    classes=[0, 1],
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 600)
    return np.column_stack([(rng.random(600) * (2 + y)).astype(int) % 3, rng.normal(4 + 2 * y, 1.5)]), y


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        FederatedNB(schema="infer", epsilon=30.0, n_nodes=2, random_state=0),
        FederatedNB(schema="infer", epsilon=20.0, n_nodes=3, secure=True, random_state=0, numeric="gaussian"),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([FederatedNB(schema="infer", epsilon=math.inf, n_nodes=3)])
def test_estimator_checks_without_noise(estimator, check):
    check(estimator)


def same_model(first, second):
    assert np.array_equal(first.log_prior, second.log_prior)
    for mine, yours in zip(first.likelihoods, second.likelihoods, strict=True):
        assert mine.to_dict() == yours.to_dict()


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("weighting", ["sum", "inverse-variance"])
def test_without_noise_it_is_the_centralised_model_bit_for_bit(rows, numeric, partition, weighting):
    central = PrivateNB(math.inf, schema=SCHEMA, numeric=numeric).fit(*rows)
    made = FederatedNB(
        math.inf, schema=SCHEMA, n_nodes=7, numeric=numeric, partition=partition, weighting=weighting, random_state=1
    ).fit(*rows)
    same_model(made.model_, central.model_)


@pytest.mark.parametrize("partition", PARTITIONS)
def test_a_partition_that_depends_on_other_rows_is_covered_by_nothing(rows, partition):
    made = FederatedNB(2.0, schema=SCHEMA, n_nodes=3, partition=partition).fit(*rows).certificate_
    study = partition in {"log-uniform", "clustered"}
    assert made.simulation == study and made.covers.startswith("nothing") == study
    assert any("does not depend on other people" in text for text in made.assumptions) != study
    under_masks = FederatedNB(2.0, schema=SCHEMA, n_nodes=3, partition=partition, secure=True).fit(*rows)
    assert not under_masks.certificate_.simulation  # a sum over all rows is the same however they are dealt out


@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_secure_noise_is_that_of_one_central_release(rows, epsilon):
    """The same ledger, and the same noise: a mean over classes and trials that strays by 6 standard errors (1e-9)."""
    alone = {"schema": SCHEMA, "mechanism": "laplace"}
    central = PrivateNB(epsilon, **alone, random_state=9).fit(*rows)
    spread, trials = [], 150
    for seed in range(trials):
        made = FederatedNB(epsilon, schema=SCHEMA, n_nodes=50, secure=True, random_state=seed).fit(*rows)
        spread.append(made.model_.log_prior)
    assert made.certificate_.ledger == central.certificate_.ledger
    assert any("at least 50 honest nodes" in text for text in made.certificate_.assumptions)
    assert made.nodes_ == []
    alike = [PrivateNB(epsilon, **alone, random_state=s).fit(*rows).model_.log_prior for s in range(trials)]
    ratio = np.var(spread, axis=0) / np.var(alike, axis=0)
    # Both are variances of `trials` draws with heavier tails than a bell curve: a log ratio errs by √(2·5/trials).
    assert np.abs(np.log(ratio)).max() < 6 * math.sqrt(2 * 5 / trials)
    assert math.exp(6 * math.sqrt(2 * 5 / trials)) < 50  # noise of 50 nodes would be noticed


def test_secure_noise_under_a_delta_is_skellam(rows):
    made = FederatedNB(1.0, 1e-6, schema=SCHEMA, n_nodes=5, honest=3, secure=True, random_state=1).fit(*rows)
    assert [charge.mechanism for charge in made.certificate_.charges()] == ["Skellam noise shares"]
    assert made.certificate_.delta == "1/1000000"


def test_exact_noise_is_for_release_and_seeded_noise_is_not(rows):
    assert not FederatedNB(2.0, schema=SCHEMA, n_nodes=3).fit(*rows).certificate_.simulation
    assert FederatedNB(2.0, schema=SCHEMA, n_nodes=3, random_state=1).fit(*rows).certificate_.simulation
    feared = FederatedNB(2.0, schema=SCHEMA, n_nodes=4, secure=True, honest=2).fit(*rows)
    assert not feared.certificate_.simulation


def test_the_dearest_node_counts(rows):
    made = FederatedNB(schema=SCHEMA, n_nodes=3, epsilons=[0.5, 2.0, 1.0], random_state=0).fit(*rows)
    assert made.certificate_.epsilon == "2"
    assert [node["epsilon"] for node in made.nodes_] == [0.5, 2.0, 1.0]
    assert sum(node["weight"] for node in made.nodes_) == pytest.approx(1)


def test_a_ledger_is_charged_before_rows_are_read(rows):
    ledger = Ledger(Budget(1.5))
    FederatedNB(1.0, schema=SCHEMA, n_nodes=3).fit(*rows, ledger=ledger)
    assert ledger.spent == 1
    with pytest.raises(BudgetError, match="left"):
        FederatedNB(1.0, schema=SCHEMA, n_nodes=3).fit([["no row of this schema"]], [None], ledger=ledger)


def test_rows_where_the_user_says(rows):
    X, y = rows
    where = np.arange(len(y)) % 4
    made = FederatedNB(math.inf, schema=SCHEMA, n_nodes=4, partition=where).fit(X, y)
    assert [node["rows"] for node in made.nodes_] == [150] * 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_nodes": 0}, "n_nodes"),
        ({"n_nodes": 2.5}, "n_nodes"),
        ({"partition": "by hand"}, "partition"),
        ({"weighting": "loudest"}, "weighting"),
        ({"weighting": "cut-off"}, "cutoff"),
        ({"epsilons": [1.0]}, "entries"),
        ({"epsilons": "normal"}, "epsilons"),
        ({"secure": True, "weighting": "trimmed"}, "secure"),
        ({"secure": True, "honest": 11}, "honest"),
        ({"smoothing": -1}, "smoothing"),
        ({"robust": 0.6}, "robust"),
        ({"random_state": "luck"}, "random_state"),
    ],
)
def test_bad_settings_are_one_sentence(rows, settings, message):
    with pytest.raises(BudgetError, match=message):
        FederatedNB(1.0, schema=SCHEMA, **settings).fit(*rows)


def test_rows_must_be_in_memory_and_placed(rows):
    with pytest.raises(DataError, match="in memory"):
        FederatedNB(1.0, schema=SCHEMA).fit("rows.csv")
    with pytest.raises(DataError, match="every row"):
        FederatedNB(1.0, schema=SCHEMA, n_nodes=2, partition=[0, 1, 2]).fit(*rows)


def test_steps_of_a_stream_in_one_process():
    """Without noise the models after each step are those of all rows so far; a copy cannot go on; one charge."""
    from tests.bayes.test_stream import SCHEMA, batch

    made, ledger = FederatedNB(math.inf, schema=SCHEMA, n_nodes=3, stream=3), Ledger(Budget(1.0))
    seen = []
    for step in range(3):
        seen.append(batch(60, step))
        made.partial_fit(*seen[-1])
        whole = PrivateNB(math.inf, schema=SCHEMA).fit(*(np.concatenate(part) for part in zip(*seen, strict=True)))
        np.testing.assert_allclose(made.predict_proba(seen[0][0]), whole.predict_proba(seen[0][0]))
    with pytest.raises(BudgetError, match="steps are over"):
        made.partial_fit(*batch())
    paid = FederatedNB(1.0, schema=SCHEMA, n_nodes=3, stream=3)
    for step in range(2):
        paid.partial_fit(*batch(60, step), ledger=ledger)
    assert len(ledger.nodes) == 1 and paid.step_ == 2 and len(paid.nodes_) == 3
    with pytest.raises(BudgetError, match="this is a copy"):
        copy.deepcopy(paid).partial_fit(*batch())
    with pytest.raises(BudgetError, match="settings of its first step"):
        paid.set_params(epsilon=2.0).partial_fit(*batch())
    with pytest.raises(BudgetError, match="use partial_fit"):
        FederatedNB(1.0, schema=SCHEMA, stream=3).fit(*batch())
    for wrong in ({"secure": True}, {"weighting": "trimmed"}):
        with pytest.raises(BudgetError, match=r"masks|sum"):
            FederatedNB(1.0, schema=SCHEMA, stream=3, **wrong).partial_fit(*batch())
    assert not hasattr(FederatedNB(1.0, schema=SCHEMA), "partial_fit")


@pytest.mark.parametrize("fails", ["running_update", "Aggregate.model"])
def test_a_step_that_is_cut_off_and_repeated_counts_its_rows_once(monkeypatch, fails):
    """At some nodes already, or at all of them: no node has taken a step that is not taken at every one."""
    from discreet.federated import steps
    from tests.bayes.test_stream import SCHEMA, batch

    made, ledger = FederatedNB(math.inf, schema=SCHEMA, n_nodes=3, stream=4), Ledger(Budget(1.0))
    made.partial_fit(*batch(60, 0))
    place = steps if fails == "running_update" else steps.Aggregate
    name, calls = fails.split(".")[-1], []
    whole = getattr(place, name)

    def dies(*given, **more):
        calls.append(given)
        if len(calls) > (fails == "running_update"):
            raise KeyboardInterrupt
        return whole(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(place, name, dies)
        with pytest.raises(KeyboardInterrupt):
            made.partial_fit(*batch(90, 1))
    assert made.step_ == 1 and sum(node["rows"] for node in made.nodes_) == 60
    made.partial_fit(*batch(90, 1))
    assert made.step_ == 2 and sum(node["rows"] for node in made.nodes_) == 150
    both = PrivateNB(math.inf, schema=SCHEMA).fit(
        *(np.concatenate(part) for part in zip(batch(60, 0), batch(90, 1), strict=True))
    )
    np.testing.assert_allclose(made.predict_proba(batch()[0]), both.predict_proba(batch()[0]))
    paid = FederatedNB(1.0, schema=SCHEMA, n_nodes=3, stream=4)
    calls.clear()
    with monkeypatch.context() as patched:
        patched.setattr(place, name, dies)
        with pytest.raises(KeyboardInterrupt):
            paid.partial_fit(*batch(60, 0), ledger=ledger)
    paid.partial_fit(*batch(60, 0), ledger=ledger)
    assert len(ledger.nodes) == 1 and paid.step_ == 1
    paid._begun[1][0].step = 2
    with pytest.raises(BudgetError, match="not at one step"):
        paid.partial_fit(*batch(60, 1))


@pytest.mark.parametrize("epsilons", [None, [1.0, 0.5], "log-uniform"])
def test_a_stream_keeps_the_settings_of_its_first_step(epsilons):
    """Whether nodes have budgets of their own or not; budgets that are drawn are drawn once."""
    from tests.bayes.test_stream import SCHEMA, batch

    made = FederatedNB(1.0, schema=SCHEMA, n_nodes=2, stream=3, epsilons=epsilons)
    made.partial_fit(*batch())
    first = [node["epsilon"] for node in made.nodes_]
    for other in (
        {"adjacency": "replace"}, {"n_nodes": 3, "epsilons": None}, {"unexpected": "absorb"}, {"contributions": 2},
        {"epsilons": [1.0, 0.25]}, {"partition": "clustered"}, {"split": "equal"}, {"stream": 4},
    ):  # fmt: skip
        before = made.get_params(deep=False)
        with pytest.raises(BudgetError, match="settings of its first step"):
            made.set_params(**other).partial_fit(*batch(40, 1))
        made.set_params(**before)
    made.partial_fit(*batch(40, 1))
    assert made.step_ == 2 and [node["epsilon"] for node in made.nodes_] == first
