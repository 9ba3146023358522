"""The update: what one node lets out of its house, noised integers with the certificate of their cost."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.certificates import release_certificate
from discreet.bayes.estimate import class_totals
from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.release import Release, release
from discreet.errors import BudgetError
from discreet.federated.refusal import demand
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.certificate import Certificate
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.sources import Progress, charge, check_shape, collect
from discreet.statistics import Statistics

Integers = NDArray[np.int64]
Key = tuple[str, str]
COVERS = "every integer of this node's update and everything computed from them"
LONGEST = 200  # characters of a node's or a round's name


@dataclass(frozen=True)
class Settings:
    """What all nodes of a federation have in common beside the schema; budgets and laws of noise may differ."""

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    numeric: str = "histogram"
    split: str | tuple[tuple[str, Fraction], ...] = "weighted"
    contributions: int = 1

    @classmethod
    def of(cls, adjacency: Any, numeric: str, split: Any, contributions: int) -> Settings:
        """Settings out of what a user wrote; `make_plan` checks the rest."""
        if isinstance(split, Mapping):
            split = tuple(sorted((str(name), number(share, f"the share of {name!r}")) for name, share in split.items()))
        return cls(Adjacency.of(adjacency), numeric, split, contributions)


@lru_cache(4096)
def node_plan(schema: Schema, settings: Settings, budget: Budget, mechanism: str) -> Plan:
    """The plan of a node, which follows from public knowledge: nobody has to believe a node about its noise."""
    if mechanism == "knorm":
        raise BudgetError("updates carry laplace or gaussian noise: K-norm noise is for one curator")
    split = settings.split if isinstance(settings.split, str) else dict(settings.split)
    return make_plan(
        schema,
        budget,
        adjacency=settings.adjacency,
        mechanism="auto" if mechanism == "none" else mechanism,
        numeric=settings.numeric,
        split=split,
        contributions=settings.contributions,
    )


@dataclass(frozen=True)
class Update:
    """Noised integers of one node: `values[kind, feature]` has a row per class. Nothing in here is exact.

    `round_id` tells two updates of one node apart; `rows` is the node's noised number of rows, if it declares one.
    """

    node: str
    round_id: str
    schema_hash: str
    settings: Settings
    budget: Budget
    mechanism: str
    values: Mapping[Key, Integers] = field(repr=False)
    certificate: Certificate = field(repr=False)
    rows: int | None = None

    def __post_init__(self) -> None:
        for name, what in ((self.node, "node"), (self.round_id, "round")):
            good = isinstance(name, str) and 0 < len(name) <= LONGEST and name.isprintable()
            demand(good, f"the name of a {what} is a text of 1 to {LONGEST} printable characters")
        frozen: dict[Key, Integers] = {}
        for key in sorted(self.values):
            array = np.array(self.values[key])
            good = array.ndim == 2 and array.size > 0 and array.dtype == np.int64
            demand(good, f"the {key[0]} of {key[1]!r} is no table of 64-bit integers")
            array.flags.writeable = False
            frozen[key] = array
        object.__setattr__(self, "values", frozen)

    def plan(self, schema: Schema) -> Plan:
        """The plan under which the integers were noised, from public knowledge alone."""
        return node_plan(schema, self.settings, self.budget, self.mechanism)

    def release(self, schema: Schema) -> Release:
        """The update as a release, for estimates from this node alone."""
        simulation = self.certificate.simulation
        return Release(self.plan(schema), self.values, samplers=(self.certificate.sampler,), simulation=simulation)

    @property
    def epsilon(self) -> float:
        """ε as a float; infinity without noise, NaN for a budget of ρ."""
        if self.budget.rho is not None:
            return float("nan")
        return float("inf") if self.budget.epsilon is None else float(self.budget.epsilon)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of every byte of the update."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Update) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_bytes(self) -> bytes:
        """A compact, versioned form: the same update is the same bytes everywhere."""
        from discreet.federated.wire import to_bytes

        return to_bytes(self)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Update:
        """Read what `to_bytes` wrote; anything else is refused as malformed."""
        from discreet.federated.wire import from_bytes

        return from_bytes(raw)

    def to_arrays(self) -> tuple[dict[str, Integers], str]:
        """The integers as named arrays, and all the rest as a JSON text, for engines that carry arrays."""
        from discreet.federated.wire import to_arrays

        return to_arrays(self)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], metadata: str) -> Update:
        """Read what `to_arrays` gave; anything else is refused as malformed."""
        from discreet.federated.wire import from_arrays

        return from_arrays(arrays, metadata)


def node_update(
    source: Any,
    schema: Schema,
    budget: Budget,
    *,
    node: str,
    adjacency: str = "add-remove",
    numeric: str = "histogram",
    split: Any = "weighted",
    mechanism: str = "auto",
    contributions: int = 1,
    unexpected: str = REFUSE,
    random_state: Any = None,
    ledger: Payer | None = None,
    account: Any = None,
    y: Any = None,
    progress: Progress | None = None,
    round_id: str | None = None,
) -> Update:
    """Count the node's rows and noise every integer; the cost is charged before the first row is read.

    `source` is an array, a data frame, a file or a database table, with labels `y` for an array. A seed in
    `random_state` makes it a simulation, which is not for release. With `unexpected="absorb"` no content of a row can
    make it fail. Each call draws fresh noise and is a fresh
    charge: a node that is asked twice for the same round sends the bytes it has kept.
    """
    if not isinstance(budget, Budget):
        raise BudgetError("the budget of a node is a Budget, such as Budget(1.0) or Budget(1.0, delta=1e-6)")
    settings = Settings.of(adjacency, numeric, split, contributions)
    # How a node reads its rows is its own affair: nodes of one federation may differ in it.
    plan = replace(node_plan(schema, settings, budget, mechanism), unexpected=check_unexpected(unexpected))
    sampler = sampler_for(random_state)
    check_shape(source, y, schema, who="a node")
    charge(paying(ledger, account), plan, source, schema=schema)
    # No rows is an answer like any other: an error would tell that there are none.
    statistics = collect(
        source, schema, y, detail=plan.detail, contributions=contributions, unexpected=unexpected,
        draw=bytes_of(sampler), progress=progress, empty=True,
    )  # fmt: skip
    return update_of(statistics, plan, settings, sampler, node=node, round_id=round_id)


def update_of(
    statistics: Statistics, plan: Plan, settings: Settings, sampler: Sampler, *, node: str, round_id: str | None = None
) -> Update:
    """Noise statistics that were counted already; the caller has charged the plan."""
    released = release(statistics, plan, sampler)
    certificate = release_certificate(released, plan.node, covers=COVERS, kind="this update is")
    return Update(
        node,
        secrets.token_hex(16) if round_id is None else round_id,
        plan.schema.hash,
        settings,
        plan.budget,
        plan.mechanism,
        released.values,
        certificate,
        noised_rows(released),
    )


def noised_rows(released: Release) -> int:
    """The number of rows as the noised tables tell it: it costs nothing more and is never the exact one."""
    totals, _ = class_totals(released)
    return max(0, round(float(totals.sum())))
