"""Secure aggregation: the coordinator learns the sum of the nodes' integers and nothing else."""

from discreet.federated.secure.coordinator import SecureCoordinator
from discreet.federated.secure.errors import MalformedMessage, Refused, RoundAborted, SecureError, TooFewNodes
from discreet.federated.secure.keys import KeySigner, Signer
from discreet.federated.secure.node import SecureNode
from discreet.federated.secure.round import Round, abandoned, accept, threshold_for
from discreet.federated.secure.store import NodeStore

__all__ = [
    "KeySigner",
    "MalformedMessage",
    "NodeStore",
    "Refused",
    "Round",
    "RoundAborted",
    "SecureCoordinator",
    "SecureError",
    "SecureNode",
    "Signer",
    "TooFewNodes",
    "abandoned",
    "accept",
    "threshold_for",
]
