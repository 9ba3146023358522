"""Federated Naive Bayes: each node noises its own integers, a coordinator adds them up and learns nothing else."""

from discreet.federated.aggregate import Aggregate
from discreet.federated.classifier import FederatedNB
from discreet.nodes.refusals import Refusal
from discreet.nodes.settings import Settings
from discreet.nodes.site import node_update
from discreet.nodes.update import Update

__all__ = ["Aggregate", "FederatedNB", "Refusal", "Settings", "Update", "node_update"]
