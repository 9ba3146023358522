"""Frequency oracles: randomised reports about one value of a small public domain."""

from __future__ import annotations

from discreet.local.oracles.base import Oracle
from discreet.local.oracles.grr import GRR

__all__ = ["GRR", "Oracle"]
