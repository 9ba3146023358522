"""Gossip Naive Bayes: nodes that noise their own integers and pass shares of the sum around, with no coordinator."""

from typing import TYPE_CHECKING, Any

from discreet.gossip.protocol import Ack, Message, Published, PushShare, PushSum
from discreet.gossip.topology import Crash, Network

if TYPE_CHECKING:
    from discreet.gossip.classifier import GossipNB
    from discreet.gossip.simulate import Simulation

__all__ = ["Ack", "Crash", "GossipNB", "Message", "Network", "Published", "PushShare", "PushSum", "Simulation"]


def __getattr__(name: str) -> Any:
    # Nodes do without scikit-learn and compiled loops, whose imports take a second.
    if name == "GossipNB":
        from discreet.gossip.classifier import GossipNB

        return GossipNB
    if name == "Simulation":
        from discreet.gossip.simulate import Simulation

        return Simulation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
