"""What an audit needs of local privacy: every registered mechanism by itself, and whole clients to their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit import AuditCase, Pair, case_at_one
from discreet.domain import exact
from discreet.local.bulk import report_rows
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.numbers import NUMBERS, NumberMechanism
from discreet.local.numbers.laplace import Coordinate
from discreet.local.oracles import ORACLES, OUE, SUE, Oracle
from discreet.local.oracles.grr import GRR
from discreet.local.oracles.unary import UnaryOracle
from discreet.local.wire.frames import frames_of_buffers
from discreet.local.wire.report import HEAD, ID_BYTES, SCHEMA_BYTES, TAIL
from discreet.privacy.shuffling import Variation, central_epsilon
from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import read_rows

_case = partial(case_at_one, adjacency="replace")

# ---- oracles: the laws treat all values alike, but for their places in bytes, rows and blocks

VALUES = 4
VALUE_PAIRS = [Pair(a, b, f"value {a} or {b}") for a, b in ((0, VALUES - 1), (1, 2))]


class MixedUnary(UnaryOracle):
    """A mix-up of two sound oracles: the true bit as symmetric encoding sends it, the others as the optimised one.

    Each is ε-private on its own; together they spend 3ε/2.
    """

    name = "mixed-unary"

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
        return np.asarray(self.oracle.says(reports), np.float64)


def oracle_case(kind: type[Oracle], simulated: bool = False, control: bool = False) -> AuditCase:
    """The audit of one oracle, as clients draw it or as studies simulate it."""
    note = "simulated" if simulated else "drawn from the system's randomness"
    name = f"{'control' if control else 'local'}-{kind.name}{'-simulated' if simulated else ''}"
    if control:
        note = "the true bit of one oracle, the others of another"
    return _case(name, lambda epsilon: Reporting(kind, epsilon, simulated), VALUE_PAIRS, note)


# ---- numbers: the person is a class and a share −1 … 1 of the bound of every number

CLASSES = 2
HALVES = (8, 3)
NUMBER_PAIRS = [
    Pair((0, -1), (0, 1), "a point moves from one bound to the other"),
    Pair((0, 1), (1, 1), "a point at a bound changes its class"),
    Pair((0, -1), (1, 1), "class and point change"),
]


@dataclass(frozen=True)
class NumberReports:
    """Many reports of one person, as a client draws them in bulk; the randomness is the operating system's."""

    kind: type[NumberMechanism]
    epsilon: float

    def sample(self, data: tuple[int, int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Reports by the vectorised client."""
        label, share = data
        halves = HALVES if self.kind.at_once else HALVES[:1]
        points = np.tile(np.array(halves) * share, (size, 1))
        mechanism = self.kind.of(CLASSES, halves, exact(self.epsilon))
        said = mechanism.perturb(np.full(size, label), points if self.kind.at_once else points[:, 0])
        return np.asarray(said, np.int64)


@dataclass(frozen=True)
class TooOpen:
    """A noisy point beside the true class, or every coordinate noisy as if a point could only come or go."""

    epsilon: float
    clear: bool

    def sample(self, data: tuple[int, int], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """The class in the clear and Lap(2·half/ε) on the point, or Lap(half/ε) where Lap(2·half/ε) is due."""
        label, share = data
        noise = Coordinate.of(HALVES[0], (1 + self.clear) * HALVES[0] / exact(self.epsilon))
        values = np.zeros((size, CLASSES), np.int64)
        values[:, label] = HALVES[0] * share
        if self.clear:
            return np.stack([np.full(size, label), noise.perturb(values[:, label], rng)], axis=1)
        return noise.perturb(values.ravel(), rng).reshape(values.shape)


def number_case(kind: type[NumberMechanism]) -> AuditCase:
    """The audit of one number mechanism on the extreme pairs."""
    note = "one report about a class and a number"
    return _case(f"local-number-{kind.name}", partial(NumberReports, kind), NUMBER_PAIRS, note, samples=40_000)


# ---- whole clients

SCHEMA = Schema([Categorical("c", ["p", "q"]), Numeric("x", 0, 4, step=1, bins=2)], target="y", classes=[0, 1])
PEOPLE = [
    Pair(("p", 0.0, 0), ("q", 4.0, 1), "everything about a person changes"),
    Pair(("p", 0.0, 0), ("p", 0.0, 1), "only the class changes"),
]
STRANGERS = [Pair(("p", 0.0, 0), ("neither", "text", None), "nothing about a person has a place in the schema")]
DESIGNS: list[tuple[str, dict[str, Any], bool]] = [
    ("auto", {}, True),
    ("auto-alone", {}, False),
    ("two-inputs", {"reports": 2}, True),
    ("one-bit", {"numeric": "one-bit"}, True),
]


@dataclass(frozen=True)
class WholeClient:
    """Reports of one person as a collector sees them, random ids left out; `bulk` draws many clients at once."""

    settings: dict[str, Any]
    bulk: bool
    epsilon: float

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
            raw = b"".join(LocalClient(self.campaign, memory=None).report(data) for _ in range(size))
        found, skip = frames_of_buffers([raw]), HEAD + SCHEMA_BYTES + ID_BYTES
        parts = [raw[a + skip : b - TAIL] for a, b in zip(found.starts, found.ends, strict=True)]
        longest = -(-max(map(len, parts)) // 4) * 4
        padded = np.frombuffer(b"".join(part.ljust(longest, b"\0") for part in parts), ">u4")
        return padded.reshape(size, -1).astype(np.int64)


# ---- reports of a batch, mixed


@dataclass(frozen=True)
class Mixed:
    """How often each value is reported in a batch of direct encoding whose central ε is the one claimed.

    `ordered` shows the first report too, as a shuffler would that keeps the order.
    """

    epsilon: float
    ordered: bool = False

    @cached_property
    def oracle(self) -> Oracle:
        """The oracle with the largest local ε that the batch amplifies to the claim."""
        low, high = self.epsilon, self.epsilon + 12
        for _ in range(14):
            middle = (low + high) / 2
            made = GRR(3, middle)
            stated = central_epsilon(Variation.of(made.epsilon, made.variation), BATCH, MIXED_DELTA)
            low, high = (middle, high) if stated <= self.epsilon else (low, middle)
        return GRR(3, low)

    def sample(self, data: tuple[int, ...], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Batches of reports of these people, drawn as clients draw."""
        reports = self.oracle.perturb(np.tile(np.array(data), size)).reshape(size, len(data))
        counts = np.stack([(reports == value).sum(axis=1) for value in range(3)], axis=1)
        return np.column_stack([reports[:, 0], counts]) if self.ordered else counts


BATCH, MIXED_DELTA = 60, 1e-3
MIXED_PAIRS = [
    Pair((0, *others), (1, *others), f"the first of {BATCH} people changes, the others have {what}")
    for others, what in (((2,) * (BATCH - 1), "a third value"), (((0, 1, 2) * BATCH)[: BATCH - 1], "all values"))
]


def audit_cases() -> list[AuditCase]:
    """Every frequency oracle and number mechanism that is registered, whole clients, and mix-ups as controls."""
    drawn = {True: "reports drawn in bulk", False: "reports drawn by one client each"}
    too_open = (
        ("class-in-the-clear", True, "the class is sent beside a noisy number"),
        ("half-the-noise", False, "noise for points that come or go"),
    )
    return [
        *(oracle_case(kind, simulated) for kind in ORACLES.values() for simulated in (False, True)),
        oracle_case(MixedUnary, control=True),
        *(number_case(kind) for kind in NUMBERS.values()),
        *(
            _case(f"control-local-number-{name}", partial(TooOpen, clear=clear), NUMBER_PAIRS, note, samples=40_000)
            for name, clear, note in too_open
        ),
        *(
            _case(f"local-client-{name}", partial(WholeClient, settings, bulk), people, drawn[bulk], samples=size)
            for name, settings, bulk in DESIGNS
            for size, people in [(100_000, PEOPLE) if bulk else (20_000, [*PEOPLE, *STRANGERS])]
        ),
        _case(
            "shuffled-reports",
            Mixed,
            MIXED_PAIRS,
            "mixed reports of direct encoding",
            samples=40_000,
            delta=MIXED_DELTA,
        ),
        _case(
            "control-reports-in-order",
            partial(Mixed, ordered=True),
            MIXED_PAIRS,
            "reports at the local epsilon of a batch, in their order",
            samples=40_000,
            delta=MIXED_DELTA,
        ),
    ]
