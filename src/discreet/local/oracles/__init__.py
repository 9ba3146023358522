"""Frequency oracles: randomised reports about one value of a small public domain."""

from __future__ import annotations

from discreet.local.oracles.base import ORACLES, Oracle
from discreet.local.oracles.choice import Choice, choose_oracle, make_oracle
from discreet.local.oracles.grr import GRR
from discreet.local.oracles.hadamard import HadamardResponse
from discreet.local.oracles.hashing import OLH
from discreet.local.oracles.histogram import SHE, THE
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import OUE, SUE

__all__ = [
    "GRR", "OLH", "ORACLES", "OUE", "SHE", "SUE", "THE",
    "Choice", "HadamardResponse", "Oracle", "SubsetSelection", "choose_oracle", "make_oracle",
]  # fmt: skip
