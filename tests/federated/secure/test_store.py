"""A node's memory on disk: written before an answer leaves, private, and enough to go on."""

import numpy as np
import pytest

from discreet.federated.secure import AbortError, NodeStore, SecureNode
from discreet.federated.secure.local import run_round
from tests.federated.secure.helpers import setting


def test_a_node_restarted_before_every_message_gives_the_same_sum(tmp_path):
    round_, nodes, coordinator, held, signing = setting(4, dropouts=1)
    name = list(nodes)[2]
    store, drawn = NodeStore(tmp_path / "rounds"), []

    def draw():
        drawn.append(held[name])
        return held[name]

    class Restarted:
        def answer(self, message):
            fresh = store.node(round_, name, signing[name], draw)
            reply = fresh.answer(message)
            assert store.node(round_, name, signing[name], draw).answer(message) == reply
            return reply

    outcome = run_round({**nodes, name: Restarted()}, coordinator, drops={"unmask": list(nodes)[:1]})
    assert outcome.total.tolist() == np.sum(list(held.values()), axis=0).tolist() and len(drawn) == 1
    files = list((tmp_path / "rounds").iterdir())
    assert len(files) == 1 and files[0].stat().st_mode & 0o077 == 0


def test_nothing_is_answered_if_it_cannot_be_remembered():
    round_, nodes, _, held, signing = setting(3)
    name = next(iter(nodes))

    def full(memory):
        raise OSError("no space left on device")

    node = SecureNode(round_, name, signing[name], lambda: held[name], keep=full)
    for _ in range(2):  # the second time too: the first answer was never given
        with pytest.raises(OSError):
            node.answer(round_.to_bytes())


def test_an_ended_round_stays_ended(tmp_path):
    round_, nodes, _, held, signing = setting(3)
    name = next(iter(nodes))
    store = NodeStore(tmp_path)
    node = store.node(round_, name, signing[name], lambda: held[name])
    node.answer(round_.to_bytes())
    node.abandon()
    again = store.node(round_, name, signing[name], lambda: held[name])
    with pytest.raises(AbortError, match="abandoned"):
        again.answer(b"DSA\x01\x02")
