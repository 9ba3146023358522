"""Federated Naive Bayes: each node noises its own integers, a coordinator adds them up and learns nothing else."""

from typing import TYPE_CHECKING, Any

from discreet.federated.aggregate import Aggregate
from discreet.nodes.refusals import Refusal
from discreet.nodes.settings import Settings
from discreet.nodes.site import node_update
from discreet.nodes.update import Update

if TYPE_CHECKING:
    from discreet.federated.classifier import FederatedNB

__all__ = ["Aggregate", "FederatedNB", "Refusal", "Settings", "Update", "node_update"]


def __getattr__(name: str) -> Any:
    # Nodes and coordinators do without scikit-learn, whose import takes a second.
    if name != "FederatedNB":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from discreet.federated.classifier import FederatedNB

    return FederatedNB
