"""What an audit needs of local privacy: every mechanism on its own, and the whole client down to its bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.local.bulk import report_rows
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.numbers.audits import audit_cases as number_cases
from discreet.local.oracles.audits import audit_cases as oracle_cases
from discreet.local.report import HEAD, ID_BYTES, SCHEMA_BYTES, TAIL, frames
from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import read_rows

SCHEMA = Schema([Categorical("c", ["p", "q"]), Numeric("x", 0, 4, step=1, bins=2)], target="y", classes=[0, 1])
PAIRS = [
    Pair(("p", 0.0, 0), ("q", 4.0, 1), "everything about a person changes"),
    Pair(("p", 0.0, 0), ("p", 0.0, 1), "only the class changes"),
]


@dataclass(frozen=True)
class WholeClient:
    """Reports of one person as a collector sees them, random ids left out; `bulk` draws many clients at once."""

    epsilon: float
    settings: dict[str, Any]
    bulk: bool

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign all these reports belong to."""
        return Campaign(SCHEMA, self.epsilon, **self.settings)

    def sample(self, data: tuple[Any, ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """The parts of every report, as whole numbers; the randomness is the system's own and ignores `rng`."""
        if self.bulk:
            table = np.empty((size, 3), object)
            table[:] = [data] * size
            raw = report_rows(self.campaign, next(read_rows(table[:, :2], SCHEMA, table[:, 2])))
        else:
            raw = b"".join(LocalClient(self.campaign).report(data) for _ in range(size))
        skip = HEAD + SCHEMA_BYTES + ID_BYTES
        parts = [frame[skip:-TAIL] for frame in frames(raw) if frame is not None]
        longest = -(-max(map(len, parts)) // 4) * 4
        padded = np.frombuffer(b"".join(part.ljust(longest, b"\0") for part in parts), ">u4")
        return padded.reshape(size, -1).astype(np.int64)


def _clients() -> list[AuditCase]:
    def build(settings: dict[str, Any], bulk: bool) -> Callable[[float], WholeClient]:
        return lambda epsilon: WholeClient(epsilon, settings, bulk)

    designs: list[tuple[str, dict[str, Any], bool]] = [
        ("auto", {}, True),
        ("auto-alone", {}, False),
        ("two-inputs", {"reports": 2}, True),
        ("one-bit", {"numeric": "one-bit"}, True),
    ]
    return [
        AuditCase(
            name=f"local-client-{name}",
            claim=Claim(1.0),
            build=build(settings, bulk),
            pairs=lambda epsilon: PAIRS,
            adjacency="replace",
            note="reports drawn in bulk" if bulk else "reports drawn by one client each",
            samples=100_000 if bulk else 20_000,
        )
        for name, settings, bulk in designs
    ]


def audit_cases() -> list[AuditCase]:
    """Frequency oracles, number mechanisms and whole clients."""
    return [*oracle_cases(), *number_cases(), *_clients()]
