"""Twenty node processes with mutual TLS: they find the federated sum, through losses, doubles and kill -9 alike."""

import random
import time

import numpy as np
import pytest

from discreet import NaiveBayesModel
from tests.gossip.common import Fleet, audit_states

pytest.importorskip("grpc")
NODES, PATIENCE = 20, 360.0
PACE = ("--beat", "0.15", "--wait", str(PATIENCE), "--linger", "30")


@pytest.fixture
def fleet(tmp_path):
    made = Fleet(tmp_path, NODES)
    yield made
    made.close()


def check_result(fleet):
    """Nothing was lost or counted twice, every node found the sum, and all wrote the federated model."""
    machines, held, brought, sums, aggregate = audit_states([fleet.state(name) for name in fleet.names])
    assert held == brought
    average = sums / NODES
    for machine in machines.values():
        error = np.abs(machine.own.ratio() - average) / np.maximum(np.abs(average), 1 / NODES)
        assert error.max() <= 1e-6
    models = {(fleet.root / f"{name}.json").read_bytes() for name in fleet.names}
    assert len(models) == 1
    model, federated = NaiveBayesModel.load(fleet.root / "n0.json"), aggregate.model()
    X = [["p", 1.0], ["q", 6.5], ["r", 9.0]]
    assert (model.predict_joint_log_proba(X) == federated.predict_joint_log_proba(X)).all()
    assert model.certificate.private and float(model.certificate.epsilon) == 1.0


@pytest.mark.slow  # the next test asks for the same end, by a harder way
def test_twenty_processes_find_the_federated_sum(fleet):
    for name in fleet.names:
        fleet.start(name, *PACE)
    assert set(fleet.wait(PATIENCE).values()) == {0}
    check_result(fleet)


def test_lost_and_doubled_messages_and_three_nodes_killed_at_random_moments(fleet):
    for name in fleet.names:
        fleet.start(name, *PACE, "--chaos", "0.1")
    dice = random.Random()
    end = time.monotonic() + PATIENCE / 2
    for victim in dice.sample(fleet.names, 3):
        target = dice.randint(1, 15)  # messages sent, so that a slow machine kills nodes at work as well
        while fleet.beats(victim) < target and time.monotonic() < end:
            time.sleep(0.01)
        fleet.kill(victim)
        time.sleep(dice.uniform(0, 0.5))
        fleet.start(victim, *PACE, "--chaos", "0.1")
    assert set(fleet.wait(PATIENCE).values()) == {0}
    check_result(fleet)
