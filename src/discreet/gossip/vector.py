"""Vectors: a node's noised integers in one row, the units they travel in, and the way back to statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.plan import Plan
from discreet.errors import StatisticsError
from discreet.gossip.protocol import PushShare
from discreet.nodes.members import reach
from discreet.nodes.update import Integers, Key

Floats = NDArray[np.float64]
BITS = 64  # the units of a network of machines: 2^-64 of a row and of a node's weight
MOST_ROWS = 40  # bits of the number of rows that a member can have
ROOM = 62  # bits that a simulated sum of magnitudes may take


@dataclass(frozen=True)
class Layout:
    """Where each statistic stands in the row."""

    shapes: tuple[tuple[Key, tuple[int, int]], ...]

    @classmethod
    def of(cls, plan: Plan) -> Layout:
        """The layout of all updates with this plan's statistics."""
        classes = len(plan.schema.classes)
        return cls(tuple(sorted((item.key, (classes, item.cells)) for item in plan.items)))

    @property
    def size(self) -> int:
        """Integers in a row."""
        return sum(rows * columns for _, (rows, columns) in self.shapes)

    def flat(self, values: Mapping[Key, Integers]) -> Integers:
        """All integers in one row."""
        if {key: table.shape for key, table in values.items()} != dict(self.shapes):
            raise StatisticsError("the update has other statistics than this network's")
        return np.concatenate([np.ravel(values[key]) for key, _ in self.shapes])

    def tables(self, row: NDArray[np.generic]) -> dict[Key, NDArray[np.generic]]:
        """The row as tables again."""
        result, start = {}, 0
        for key, (rows, columns) in self.shapes:
            result[key] = row[start : start + rows * columns].reshape(rows, columns)
            start += rows * columns
        return result


def largest(plans: Sequence[Plan], members: int) -> PushShare:
    """More than all that these members and others like them, so many in all, can have together, by their plans.

    A member has at most 2^40 rows, and noise beyond 64 standard deviations is met less than once in e^64 draws.
    """
    classes, sizes = len(plans[0].schema.classes), dict[Key, int]()
    for plan in plans:
        for item in plan.items:
            size = (reach(item) << MOST_ROWS) + 64 * math.ceil(math.sqrt(item.variance))
            sizes[item.key] = max(sizes.get(item.key, 0), size)
    each = [size for key, size in sorted(sizes.items()) for _ in range(classes * _cells(plans[0], key))]
    return PushShare(tuple(members * size << BITS for size in each), members << BITS)


def _cells(plan: Plan, key: Key) -> int:
    return next(item.cells for item in plan.items if item.key == key)


def share_of(row: Sequence[int] | Integers, bits: int = BITS) -> PushShare:
    """A node's first share: its integers and a weight of one, in units of 2^-bits."""
    return PushShare(tuple(int(value) << bits for value in row), 1 << bits)


def units(rows: Integers, most: int = 40) -> Integers:
    """The bits after the point that each column of a simulation can have, so that no sum can leave 64 bits."""
    sums = np.abs(rows.astype(np.float64)).sum(axis=0)
    if sums.max() >= 2.0**ROOM:
        raise StatisticsError("the nodes' integers are too large to be simulated: take a coarser lattice")
    free = ROOM - np.ceil(np.log2(np.maximum(sums, 1.0) * 1.001))
    return np.asarray(np.clip(free, 0, most), dtype=np.int64)


def whole(average: Floats, nodes: int) -> Integers:
    """The sum over all nodes, as the whole numbers that it is made of."""
    return _bounded(np.rint(average * nodes))


def sum_of(share: PushShare, nodes: int) -> Integers:
    """The same from a share of any size, by exact arithmetic: values by weight times the number of nodes."""
    if share.weight <= 0:
        raise StatisticsError("this node holds no weight now: ask it again after its next message")
    twice = 2 * share.weight
    total = [(2 * value * nodes + share.weight) // twice for value in share.values]
    return _bounded(total)


def _bounded(total: Sequence[int] | Floats) -> Integers:
    if not all(-(2**62) < value < 2**62 for value in total):
        raise StatisticsError("an estimate is beyond what any sum of updates may be")
    return np.array(total, dtype=np.int64)
