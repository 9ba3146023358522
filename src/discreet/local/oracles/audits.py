"""What an audit needs of the oracles: reports of one person, and any two values that the person might have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Claim, Pair
from discreet.local.oracles.base import Oracle
from discreet.local.oracles.choice import ORACLES
from discreet.local.oracles.hadamard import HadamardResponse
from discreet.local.oracles.hashing import OLH
from discreet.local.oracles.packed import PackedOracle
from discreet.local.oracles.unary import OUE, SUE, UnaryOracle

VALUES = 4


class MixedUnary(UnaryOracle):
    """A mix-up of two sound oracles: the true bit as symmetric encoding sends it, the others as the optimised one.

    Each is ε-private on its own; together they spend 3ε/2.
    """

    name: ClassVar[str] = "mixed-unary"
    code: ClassVar[int] = 0

    def _thresholds(self) -> tuple[int, int]:
        return SUE(self.d, self.epsilon).true, OUE(self.d, self.epsilon).other


@dataclass(frozen=True)
class Reporting:
    """One person's report about a value, drawn as clients draw batches; what it says for each value is looked at."""

    kind: type[Oracle]
    epsilon: float
    simulated: bool = False

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle at the claimed ε."""
        return self.kind(VALUES, self.epsilon)

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Reports about one value."""
        reports = self.oracle.perturb(np.full(size, data), rng=rng if self.simulated else None)
        return says(self.oracle, reports)


def says(oracle: Oracle, reports: NDArray[Any]) -> NDArray[np.float64]:
    """What each report says for each value: a row per report."""
    if isinstance(oracle, PackedOracle):
        return np.unpackbits(reports, axis=1, count=oracle.d, bitorder="little").astype(np.float64)
    if isinstance(oracle, OLH):
        a, b, bucket = (reports[:, j, None].astype(np.int64) for j in range(3))
        hashes = (a * np.arange(oracle.d) + b) % oracle.prime % oracle.buckets
        return np.asarray(hashes == bucket, np.float64)
    if isinstance(oracle, HadamardResponse):
        return np.stack([oracle.members(value)[reports] for value in range(oracle.d)], axis=1).astype(np.float64)
    return np.asarray(reports, np.float64).reshape(len(reports), -1)


def _case(kind: type[Oracle], simulated: bool, note: str, control: bool = False) -> AuditCase:
    def build(kind: type[Oracle]) -> Callable[[float], Reporting]:
        return lambda epsilon: Reporting(kind, epsilon, simulated)

    # The laws treat all values alike, but for their places in bytes, rows and blocks: neighbours and the ends.
    pairs = [Pair(a, b, f"value {a} or {b}") for a, b in ((0, VALUES - 1), (1, 2))]
    return AuditCase(
        name=f"{'control' if control else 'local'}-{kind.name}{'-simulated' if simulated else ''}",
        claim=Claim(1.0),
        build=build(kind),
        pairs=lambda epsilon: pairs,
        adjacency="replace",
        control=control,
        note=note,
    )


def audit_cases() -> list[AuditCase]:
    """Every oracle as clients draw it and as studies simulate it, and a mix-up of two of them as a control."""
    honest = [
        _case(kind, simulated, "simulated" if simulated else "drawn from the system's randomness")
        for kind in ORACLES.values()
        for simulated in (False, True)
    ]
    return [*honest, _case(MixedUnary, False, "the true bit of one oracle, the others of another", control=True)]
