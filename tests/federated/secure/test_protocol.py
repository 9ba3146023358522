"""The coordinator gets the exact sum of the survivors, whoever drops out wherever, or the round ends cleanly."""

from itertools import combinations

import numpy as np
import pytest

from discreet.federated.secure import AbortError, Round, SecureCoordinator, SecureError, TooFewNodesError, threshold_for
from discreet.federated.secure.local import aggregate, run_round
from tests.federated.secure.helpers import STAGES, setting, signers, vectors


def total(held, survivors):
    """The sum in Python's unbounded integers, brought to 64 bits."""
    sums = [sum(int(held[name][i]) for name in survivors) for i in range(len(next(iter(held.values()))))]
    return [(value + 2**63) % 2**64 - 2**63 for value in sums]


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_sums_are_exact(count):
    signing, held = signers(count), vectors(count, 37, reach=2**62)
    outcome = aggregate(signing, {name: lambda v=v: v for name, v in held.items()}, 37)
    assert outcome.survivors == tuple(held) and outcome.charges == outcome.attempts == 1
    assert outcome.total.tolist() == total(held, held)


def test_values_at_the_ends_of_the_range():
    held = {"a": [2**62, -(2**62), 2**63 - 1], "b": [2**62 - 1, -(2**62), -(2**63)], "c": [0, 0, 0]}
    held = {name: np.array(values, np.int64) for name, values in held.items()}
    signing = dict(zip(held, signers(3).values(), strict=True))
    outcome = aggregate(signing, {name: lambda v=v: v for name, v in held.items()}, 3)
    assert outcome.total.tolist() == [2**63 - 1, -(2**63), -1]


@pytest.mark.parametrize("stage", STAGES)
def test_every_set_of_tolerated_dropouts_at_every_stage(stage):
    """Five nodes, up to two gone: all 15 sets of dropouts."""
    for size in range(3):
        for gone in combinations(range(5), size):
            _, nodes, coordinator, held, _ = setting(5, dropouts=2)
            missing = [list(nodes)[i] for i in gone]
            outcome = run_round(nodes, coordinator, drops={stage: missing})
            early = STAGES.index(stage) <= STAGES.index("share list")
            assert set(outcome.survivors) == set(held) - (set(missing) if early else set())
            assert outcome.total.tolist() == total(held, outcome.survivors)


@pytest.mark.parametrize("colluding", [0, 3])
@pytest.mark.parametrize("stage", STAGES)
def test_twenty_nodes_lose_as_many_as_the_threshold_allows(stage, colluding):
    dropouts = 20 - threshold_for(20, colluding)
    _, nodes, coordinator, held, _ = setting(20, colluding=colluding, dropouts=dropouts)
    outcome = run_round(nodes, coordinator, drops={stage: list(nodes)[::2][:dropouts]})
    assert outcome.total.tolist() == total(held, outcome.survivors)


def test_dropouts_at_several_stages_of_one_round():
    _, nodes, coordinator, held, _ = setting(20, dropouts=9)
    order = list(nodes)
    drops = {"invite": order[:2], "key list": order[5:7], "share list": order[9:11], "survivors": order[12:13]}
    outcome = run_round(nodes, coordinator, drops={**drops, "unmask": order[15:17]})
    assert set(outcome.survivors) == set(order) - {*order[:2], *order[5:7], *order[9:11]}
    assert outcome.total.tolist() == total(held, outcome.survivors)


@pytest.mark.parametrize("stage", STAGES)
def test_one_dropout_too_many_ends_the_round(stage):
    _, nodes, coordinator, _, _ = setting(5, dropouts=2)
    with pytest.raises(TooFewNodesError):
        run_round(nodes, coordinator, drops={stage: list(nodes)[:3]})
    assert not coordinator.done and not coordinator.opened


def test_a_restart_draws_fresh_noise_and_keys_and_is_charged_once():
    signing, drawn, messages = signers(4), [], []

    class Recorded:
        def __init__(self, signer):
            self.signer, self.public = signer, signer.public

        def sign(self, message):
            messages.append(message)
            return self.signer.sign(message)

    def draw():
        drawn.append(np.random.default_rng().integers(-(2**40), 2**40, 3))
        return drawn[-1]

    outcome = aggregate(
        {name: Recorded(signer) for name, signer in signing.items()},
        dict.fromkeys(signing, draw),
        3,
        dropouts=1,
        drops=[{"survivors": list(signing)[:2]}],
    )
    assert (outcome.attempts, outcome.charges) == (2, 1)
    assert len(drawn) == 8 and len({tuple(vector) for vector in drawn}) == 8
    assert outcome.total.tolist() == np.sum(drawn[4:], axis=0).tolist()
    keys = [message for message in messages if b"keys" in message]
    assert len(set(keys)) == len(keys) == 8


@pytest.mark.parametrize(("count", "helped"), [(2, False), (3, True), (7, True)])
def test_a_wrong_answer_is_noticed_and_worked_around_if_others_suffice(count, helped):
    """Two nodes are both needed; of three or seven, the others can do without the one that lies."""
    _, nodes, coordinator, held, _ = setting(count)

    def tamper(stage, name, way, message):
        wrong = stage == "unmask" and way == "from" and name == next(iter(nodes))
        return message[:-1] + bytes([message[-1] ^ 1]) if wrong else message

    if helped:
        assert run_round(nodes, coordinator, tamper=tamper).total.tolist() == total(held, held)
        return
    with pytest.raises(AbortError, match="do not fit its keys"):
        run_round(nodes, coordinator, tamper=tamper)
    assert coordinator.opened  # enough was sent to open the sum: the next round is a second charge


@pytest.mark.parametrize("nodes", range(2, 12))
def test_the_threshold_leaves_no_room_for_two_survivor_sets(nodes):
    """Enumerated: however honest nodes are divided between two sets, not both reach the threshold; one less would."""
    for colluding in range(nodes):
        threshold, honest = threshold_for(nodes, colluding), nodes - colluding
        best = max(min(first, honest - first) + colluding for first in range(honest + 1))
        assert best < threshold
        assert best == threshold - 1  # so it is the least such threshold


def test_a_round_needs_terms_that_can_be_met():
    registry = {name: signer.public for name, signer in signers(4).items()}
    for settings in ({"colluding": 4}, {"colluding": 2, "dropouts": 1}, {"dropouts": 2}, {"colluding": -1}):
        with pytest.raises(SecureError):
            Round.open(registry, 3, **settings)
    with pytest.raises(SecureError):
        Round.open({"only": next(iter(registry.values()))}, 3)
    with pytest.raises(SecureError):
        Round.open(dict.fromkeys(registry, next(iter(registry.values()))), 3)
    with pytest.raises(SecureError):
        Round.open({**registry, "e": b"no key"}, 3)


def test_the_coordinator_refuses_strangers_and_second_answers():
    _, nodes, coordinator, _, _ = setting(3)
    first, second, _ = nodes
    answer = nodes[first].answer(coordinator.message(first))
    with pytest.raises(SecureError, match="another name"):
        coordinator.receive(second, answer)
    with pytest.raises(SecureError, match="no answer is due"):
        coordinator.receive("stranger", answer)
    coordinator.receive(first, answer)
    coordinator.receive(first, answer)
    with pytest.raises(SecureError, match="differently"):
        coordinator.receive(first, answer + b"\0")
    with pytest.raises(SecureError, match="not finished"):
        _ = coordinator.result
    assert isinstance(coordinator, SecureCoordinator) and not coordinator.done
