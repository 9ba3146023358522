"""Court of claims: other libraries' private learners, each run in an environment of its own and audited by ours."""

from discreet.peers.cases import CASES, PeerCase, chosen
from discreet.peers.court import hear, not_run
from discreet.peers.environments import BuildError, build, pinned
from discreet.peers.journal import Journal
from discreet.peers.page import page

__all__ = ["CASES", "BuildError", "Journal", "PeerCase", "build", "chosen", "hear", "not_run", "page", "pinned"]
