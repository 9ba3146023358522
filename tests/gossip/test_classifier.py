"""GossipNB: the federated model without a coordinator, and what it refuses."""

import math

import numpy as np
import pytest

from discreet import Budget, BudgetError, DataError, FederatedNB, GossipNB, Ledger
from tests.gossip.common import SCHEMA


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 600)
    table = np.empty((600, 2), dtype=object)
    table[:, 0] = np.array(["p", "q", "r"], dtype=object)[rng.integers(0, 3 - y)]
    table[:, 1] = rng.uniform(0, 5 + 5 * y)
    return table, y


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
@pytest.mark.parametrize("settings", [{}, {"topology": "random-regular", "degree": 4, "clock": "free", "loss": 0.2}])
def test_it_finds_the_federated_model_on_the_same_noise(rows, numeric, settings):
    same = {"schema": SCHEMA, "n_nodes": 12, "numeric": numeric, "random_state": 4}
    gossip = GossipNB(1.0, rounds=200, **same, **settings).fit(*rows)
    federated = FederatedNB(1.0, **same).fit(*rows)
    assert gossip.gap_ <= 1e-6
    if numeric == "histogram":
        assert (gossip.predict_joint_log_proba(rows[0]) == federated.predict_joint_log_proba(rows[0])).all()
    np.testing.assert_allclose(gossip.predict_proba(rows[0]), federated.predict_proba(rows[0]), rtol=1e-5)
    assert gossip.certificate_.epsilon == "1"
    assert "peers" not in gossip.certificate_.covers  # a seed makes it a study, which guarantees nothing
    assert len(gossip.nodes_) == 12 and max(node["gap"] for node in gossip.nodes_) == gossip.gap_


def test_a_release_says_who_sees_what(rows):
    made = GossipNB(1.0, schema=SCHEMA, n_nodes=3).fit(*rows)
    assert "as its peers may have seen it" in made.certificate_.covers
    assert made.certificate_.private and not made.certificate_.simulation


def test_the_published_rule_and_few_rounds_stay_beside_it(rows):
    same = {"schema": SCHEMA, "n_nodes": 40, "random_state": 4}
    assert GossipNB(1.0, protocol="published", rounds=200, **same).fit(*rows).gap_ > 1e-3
    assert GossipNB(1.0, rounds=5, **same).fit(*rows).gap_ > 1e-2


def test_uneven_nodes_and_budgets(rows):
    made = GossipNB(schema=SCHEMA, n_nodes=5, epsilons=[0.5, 1, 2, 2, 2], partition="exponential", rounds=120)
    made.set_params(random_state=0).fit(*rows)
    assert made.gap_ <= 1e-6 and made.certificate_.epsilon == "2"


def test_a_ledger_is_charged_before_rows_are_read(rows):
    ledger = Ledger(Budget(1.5))
    GossipNB(1.0, schema=SCHEMA, n_nodes=3).fit(*rows, ledger=ledger)
    assert ledger.spent == 1
    with pytest.raises(BudgetError, match="left"):
        GossipNB(1.0, schema=SCHEMA, n_nodes=3).fit([["no row of this schema"]], [None], ledger=ledger)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_nodes": 1}, "2 nodes"),
        ({"n_nodes": 2.5}, "n_nodes"),
        ({"rounds": 0}, "rounds"),
        ({"protocol": "shouting"}, "protocol"),
        ({"topology": "star"}, "topology"),
        ({"clock": "sun"}, "clock"),
        ({"loss": 1.5}, "loss"),
        ({"degree": 3}, "degree"),
        ({"epsilons": [1.0]}, "entries"),
        ({"smoothing": -1}, "smoothing"),
    ],
)
def test_bad_settings_are_one_sentence(rows, settings, message):
    with pytest.raises(BudgetError, match=message):
        GossipNB(1.0, schema=SCHEMA, **settings).fit(*rows)


def test_rows_must_be_in_memory():
    with pytest.raises(DataError, match="in memory"):
        GossipNB(math.inf, schema=SCHEMA).fit("rows.csv")


@pytest.mark.parametrize("partition", ["log-uniform", "clustered"])
def test_a_partition_that_depends_on_other_rows_is_covered_by_nothing(rows, partition):
    made = GossipNB(1.0, schema=SCHEMA, n_nodes=4, partition=partition, rounds=20).fit(*rows)
    assert made.certificate_.simulation and made.certificate_.covers.startswith("nothing")
    assert made.model_.certificate == made.certificate_
