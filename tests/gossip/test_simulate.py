"""The simulator: the vectorised twin makes the same moves as the state machines, bit for bit, and fast."""

import math

import numpy as np
import pytest

from discreet.errors import BudgetError, StatisticsError
from discreet.gossip.protocol import Published, PushShare, PushSum
from discreet.gossip.simulate import Simulation
from discreet.gossip.topology import Crash, Network
from discreet.gossip.vector import sum_of, units, whole
from tests.clock import work_seconds

NETWORKS = [
    Network(6),
    Network(6, clock="free"),
    Network(9, "ring", clock="free", loss=0.3),
    Network(12, "random-regular", degree=4, loss=0.2),
    Network(12, "small-world", degree=4, clock="free", crashes=[Crash(3, 2, 9), Crash(7, 5)]),
    Network(8, loss=0.4, crashes=[Crash(0, 1, 4)]),
]


def rows_of(nodes, columns=5, seed=1):
    return np.random.default_rng(seed).integers(-1000, 5000, (nodes, columns))


def machines(simulation):
    """A state machine for each node, in the simulator's units."""
    shares = [
        PushShare(tuple(map(int, row)), int(w)) for row, w in zip(simulation.values, simulation.weights, strict=True)
    ]
    return [PushSum(str(i), share) for i, share in enumerate(shares)]


@pytest.mark.parametrize("network", NETWORKS, ids=lambda n: f"{n.topology}-{n.clock}-{n.loss}-{len(n.crashes)}")
def test_push_sum_is_the_state_machine_bit_for_bit(network):
    rows = rows_of(network.nodes)
    simulation = Simulation(rows, network)
    nodes, start = machines(simulation), simulation.mass()
    due: dict[int, list] = {}
    for number, turn in enumerate(network.turns(25, rng=np.random.default_rng(3))):
        simulation.step(turn)

        def deliver(message):
            nodes[int(message.sender)].acknowledged(message.receiver, nodes[int(message.receiver)].receive(message))

        for message in due.pop(number, ()):
            deliver(message)
        sent = []
        for sender, peer, delay in zip(turn.senders, turn.peers, turn.delays, strict=True):
            message = nodes[sender].send(str(peer))
            if delay:
                due.setdefault(number + int(delay), []).append(message)
            elif network.clock == "free":
                deliver(message)
            else:
                sent.append(message)
        for message in sent:
            deliver(message)
        assert simulation.values.tolist() == [list(node.own.values) for node in nodes]
        assert simulation.weights.tolist() == [node.own.weight for node in nodes]
    values, weight = simulation.mass()
    assert values.tolist() == start[0].tolist() and weight == start[1]


@pytest.mark.parametrize("network", NETWORKS[:4], ids=lambda n: f"{n.topology}-{n.clock}-{n.loss}")
def test_the_published_rule_is_the_state_machine(network):
    rows = rows_of(network.nodes)
    simulation = Simulation(rows, network, "published")
    nodes = [Published(str(i), row) for i, row in enumerate(rows)]
    for turn in network.turns(25, rng=np.random.default_rng(3)):
        simulation.step(turn)
        sent = []
        for sender, peer, delay in zip(turn.senders, turn.peers, turn.delays, strict=True):
            estimate = nodes[sender].step()
            if not delay and network.clock == "free":
                nodes[peer].receive(estimate)
            elif not delay:
                sent.append((peer, estimate))
        for peer, estimate in sent:
            nodes[peer].receive(estimate)
        np.testing.assert_allclose(simulation.averages(), [node.estimate() for node in nodes], rtol=1e-13)
        assert simulation.counters[1].tolist() == [node.last.steps for node in nodes]


@pytest.mark.parametrize("topology", ["complete", "random-regular", "small-world", "ring"])
@pytest.mark.parametrize("clock", ["rounds", "free"])
def test_every_topology_converges_to_the_sum(topology, clock):
    rows = rows_of(30)
    network = Network(30, topology, clock=clock, loss=0.1)
    simulation = Simulation(rows, network).run(2500 if topology == "ring" else 200, rng=np.random.default_rng(0))
    assert simulation.gaps().max() <= 1e-6
    assert (whole(simulation.averages()[7], 30) == rows.sum(axis=0)).all()


def test_the_published_rule_stays_beside_the_sum():
    rows = rows_of(200)
    simulation = Simulation(rows, Network(200), "published").run(400, rng=np.random.default_rng(0))
    assert np.median(simulation.gaps()) > 1e-3


def test_a_node_that_crashes_for_good_takes_its_share_along():
    rows = rows_of(50)
    network = Network(50, crashes=[Crash(4, 1)])
    simulation = Simulation(rows, network).run(200, rng=np.random.default_rng(0))
    # Mass is still all there, at the dead node and on its way to it, but nobody else can reach it.
    assert simulation.mass()[0].tolist() == (rows.sum(axis=0) << simulation.bits).tolist()
    alive = np.arange(50) != 4
    assert 1e-6 < simulation.gaps()[alive].max() < 0.5


def test_a_crash_and_return_changes_nothing_in_the_end():
    rows = rows_of(50)
    crashes = [Crash(i, 3 + i, 30 + i) for i in range(10)]
    simulation = Simulation(rows, Network(50, crashes=crashes, loss=0.1)).run(200, rng=np.random.default_rng(0))
    assert simulation.gaps().max() <= 1e-6


def test_a_thousand_nodes_and_adults_parameters_in_seconds():
    rows = rows_of(1000, 396)
    simulation = Simulation(rows, Network(1000))
    rng = np.random.default_rng(0)
    simulation.run(1, rng=rng)  # compile
    start = work_seconds()
    simulation.run(100, rng=rng)
    assert work_seconds() - start < 10
    assert simulation.gaps().max() <= 1e-6


def test_units_leave_room_for_every_sum():
    rows = np.array([[2**40, 5], [-(2**40), 5]])
    bits = units(rows)
    assert bits.tolist() == [20, 40]
    with pytest.raises(StatisticsError):
        units(np.array([[2**61], [2**61]]))


def test_sums_come_back_as_whole_numbers():
    assert sum_of(PushShare((10, -7), 2), 4).tolist() == [20, -14]
    assert whole(np.array([2.5000001, -1.0]), 4).tolist() == [10, -4]
    with pytest.raises(StatisticsError):
        sum_of(PushShare((1,), 0), 3)
    with pytest.raises(StatisticsError):
        whole(np.array([math.inf]), 3)


@pytest.mark.parametrize(
    "settings",
    [{"nodes": 1}, {"nodes": True}, {"topology": "star"}, {"clock": "sun"}, {"loss": 1.0}, {"loss": "x"},
     {"degree": 3}, {"degree": 2.5}, {"degree": 4.0}],
)  # fmt: skip
def test_impossible_networks_are_refused(settings):
    with pytest.raises(BudgetError):
        Network(**{"nodes": 5, **settings})


@pytest.mark.parametrize("topology", ["random-regular", "small-world", "ring"])
@pytest.mark.parametrize("nodes", [4, 5, 8, 9, 12])
def test_nobody_is_its_own_neighbour(topology, nodes):
    near = Network(nodes, topology, rewired=0.5).neighbours(rng=np.random.default_rng(0))
    assert near is None or not (near == np.arange(nodes)[:, None]).any()
