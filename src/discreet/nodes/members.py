"""Members: what is publicly known of each node's update, and the sum of many updates as one release."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.bayes.plan import COUNTS, Item, Plan
from discreet.bayes.release import Release
from discreet.errors import BudgetError
from discreet.mechanisms.running import mean_square
from discreet.nodes.refusals import MIXED
from discreet.nodes.settings import Settings, budget_kind, node_plan, plain_budget, read_budget
from discreet.nodes.update import Key, Update
from discreet.privacy.budget import Budget
from discreet.privacy.unexpected import TOTAL
from discreet.schema import Schema


@dataclass(frozen=True)
class Member:
    """What is remembered of a node whether or not its integers are kept; all of it is public."""

    node: str
    round_id: str
    digest: str
    budget: Budget
    mechanism: str
    rows: int | None
    simulation: bool
    sampler: str
    noise_level: float
    total: bool = False  # whether the node's certificate covers every table that it might have had
    stream: tuple[int, int] | None = None  # of how many steps, and which one, if it is one of a stream

    @classmethod
    def of(cls, update: Update, schema: Schema) -> Member:
        """The member that sent an update."""
        plan = update.plan(schema)
        level, total = noise_level(plan, update.rows, times_of(plan, update.stream)), update.certificate.tables == TOTAL
        return cls(noise_level=level, total=total, budget=update.budget, stream=update.stream, **stated(update))

    @property
    def kind(self) -> tuple[Budget, str, int | None]:
        """What its plan depends on, beside what all have in common."""
        return self.budget, self.mechanism, None if self.stream is None else self.stream[0]

    def plain(self) -> dict[str, Any]:
        """The member as values for JSON."""
        left_out = {"budget"} if self.stream is not None else {"budget", "stream"}
        return {**{key: part for key, part in vars(self).items() if key not in left_out}, **plain_budget(self.budget)}

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Member:
        """The member that `plain` wrote."""
        rest = dict(fields)
        if "stream" in rest:
            rest["stream"] = tuple(rest["stream"])
        return cls(budget=read_budget(*(rest.pop(key) for key in ("epsilon", "delta", "rho"))), **rest)


def stated(update: Update) -> dict[str, Any]:
    """What an update says of itself, but for its budget and its integers."""
    return {
        **{key: getattr(update, key) for key in ("node", "round_id", "digest", "mechanism", "rows")},
        **{key: getattr(update.certificate, key) for key in ("simulation", "sampler")},
    }


def reach(item: Item) -> int:
    """The most that one row moves one integer: of a count, a sum or a re-centred square sum."""
    return {"sum": item.half, "square": item.half * item.half // 2}.get(item.kind, 1)


def times_of(plan: Plan, stream: tuple[int, int] | None) -> float:
    """The variance of what an update holds over that of one draw of its plan: more than one in a stream."""
    return 1.0 if plan.stream is None or stream is None else mean_square(plan.stream, stream[1])


def noise_level(plan: Plan, rows: int | None, times: float = 1.0) -> float:
    """The expected relative error of an update, averaged over its integers.

    The true statistics are private. What stands in for them is the node's noised number of rows spread evenly: a
    cell of a table with k cells and C classes is taken to hold rows/(C·k), a sum to be rows/C times half its reach.
    """
    size = max(float(rows or 0), 1.0)
    classes = len(plan.schema.classes)
    errors, integers = 0.0, 0
    for item in plan.items:
        typical = size / classes / item.cells if item.kind in COUNTS else size / classes * reach(item) / 2
        errors += classes * item.cells * float(np.sqrt(item.variance * times)) / typical
        integers += classes * item.cells
    return errors / integers


def row_shares(members: Sequence[Member], counts: Callable[[Member], bool] = lambda member: True) -> dict[str, float]:
    """Each node's share of the rows as reported by those who count; they add up to one."""
    rows = {member.node: float(member.rows or 0) if counts(member) else 0.0 for member in members}
    whole = sum(rows.values())
    return {node: count / whole if whole else 0.0 for node, count in rows.items()}


def member_table(members: Sequence[Member], shares: Mapping[str, float]) -> list[dict[str, Any]]:
    """One record per node: its name, ε, δ, ρ, rows as reported, noise level and weight."""

    def spent(budget: Budget) -> dict[str, float | None]:
        parts = {part: getattr(budget, part) for part in ("epsilon", "delta", "rho")}
        return {part: None if amount is None else float(amount) for part, amount in parts.items()}

    return [
        {"node": one.node, **spent(one.budget), "rows": one.rows, "noise_level": one.noise_level,
         "weight": shares[one.node]}
        for one in members
    ]  # fmt: skip


def summed_noise(counted: Sequence[tuple[Plan, float]]) -> dict[Key, float]:
    """The variance of a sum over as many updates of each plan, or draws of its noise."""
    return {
        item.key: math.fsum(count * plan.items[i].variance for plan, count in counted)
        for i, item in enumerate(counted[0][0].items)
    }


def count_error(schema: Schema, settings: Settings, members: Sequence[Member]) -> float:
    """The standard deviation of the noise of one count in the sum over some members: of the worst table."""
    plans = _drawn(schema, settings, members)
    noise, counts = summed_noise(plans), [item.key for item in plans[0][0].items if item.kind in COUNTS]
    return math.sqrt(max(noise[key] for key in counts))


def _drawn(schema: Schema, settings: Settings, members: Sequence[Member]) -> list[tuple[Plan, float]]:
    """The plans of some members, each with how many of its draws the members' updates hold together."""
    counted = Counter((member.kind, member.stream) for member in members)
    plans = [(node_plan(schema, settings, *kind), stream, count) for (kind, stream), count in counted.items()]
    return [(plan, count * times_of(plan, stream)) for plan, stream, count in plans]


def summed_release(schema: Schema, settings: Settings, members: Sequence[Member], values: Mapping[Key, Any]) -> Release:
    """The plain sum over some members as a release: its noise is that of all of them together."""
    if len({budget_kind(member.budget) for member in members}) > 1:
        raise BudgetError(MIXED)
    plans = _drawn(schema, settings, members)
    return Release(
        plans[0][0],
        values,
        samplers=tuple(dict.fromkeys(member.sampler for member in members)),
        simulation=any(member.simulation for member in members),
        noise=summed_noise(plans),
    )
