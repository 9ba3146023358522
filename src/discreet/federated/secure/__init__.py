"""Secure aggregation: the coordinator learns the sum of the nodes' integers and nothing else."""

from discreet.federated.secure.coordinator import SecureCoordinator
from discreet.federated.secure.node import NodeStore, SecureNode
from discreet.federated.secure.round import Round, abandoned, accept
from discreet.federated.threshold import most_dropouts, threshold_for
from discreet.nodes.refusals import AbortError, MessageError, RefusedError, SecureError, TooFewNodesError
from discreet.nodes.signing import KeySigner, Signer

__all__ = [
    "AbortError", "KeySigner", "MessageError", "NodeStore", "RefusedError", "Round", "SecureCoordinator", "SecureError",
    "SecureNode", "Signer", "TooFewNodesError", "abandoned", "accept", "most_dropouts", "threshold_for",
]  # fmt: skip
