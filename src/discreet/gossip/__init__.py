"""Gossip Naive Bayes: nodes that noise their own integers and pass shares of the sum around, with no coordinator."""

from discreet.gossip.classifier import GossipNB
from discreet.gossip.protocol import Ack, Message, Published, PushShare, PushSum
from discreet.gossip.simulate import Simulation
from discreet.gossip.topology import Crash, Network

__all__ = ["Ack", "Crash", "GossipNB", "Message", "Network", "Published", "PushShare", "PushSum", "Simulation"]
