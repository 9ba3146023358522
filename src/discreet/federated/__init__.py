"""Federated Naive Bayes: each node noises its own integers, a coordinator adds them up and learns nothing else."""

from discreet.federated.aggregate import Aggregate
from discreet.federated.classifier import FederatedNB
from discreet.federated.refusal import Refusal
from discreet.federated.update import Settings, Update, node_update

__all__ = ["Aggregate", "FederatedNB", "Refusal", "Settings", "Update", "node_update"]
