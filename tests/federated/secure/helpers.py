"""Nodes and vectors for the tests of secure aggregation."""

import numpy as np

from discreet.federated.secure import KeySigner, Round, SecureCoordinator, SecureNode

STAGES = ("invite", "key list", "share list", "survivors", "unmask")


def names(count):
    return [f"node {i:03d}" for i in range(count)]


def signers(count):
    return {name: KeySigner.generate() for name in names(count)}


def vectors(count, length, reach=2**40, seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.integers(-reach, reach, length) for name in names(count)}


def setting(count=5, length=4, colluding=0, dropouts=0, seed=0):
    """A round with its nodes and coordinator, and the vectors that the nodes hold."""
    signing, held = signers(count), vectors(count, length, seed=seed)
    registry = {name: signer.public for name, signer in signing.items()}
    round_ = Round.open(registry, length, colluding=colluding, dropouts=dropouts)
    nodes = {name: SecureNode(round_, name, signer, lambda name=name: held[name]) for name, signer in signing.items()}
    return round_, nodes, SecureCoordinator(round_), held, signing


def advance(nodes, coordinator, until):
    """Drive a round up to (not including) a stage, everybody answering."""
    while coordinator.stage != until:
        for name in coordinator.awaiting:
            coordinator.receive(name, nodes[name].answer(coordinator.message(name)))
        coordinator.close()
