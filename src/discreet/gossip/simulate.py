"""Simulation: the state machines of all nodes of a network at once, in 64-bit arrays, for studies and rehearsals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from discreet.errors import BudgetError
from discreet.gossip.topology import Network, Turn
from discreet.gossip.vector import ROOM, Floats, units
from discreet.nodes.update import Integers

PROTOCOLS = ("push-sum", "published")
Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """The loop in machine code."""
    return cast(Loop, numba.njit(cache=True)(loop))


@compiled
def _send(values: Any, weights: Any, senders: Any, peers: Any, away: Any, out: Any, out_weights: Any) -> None:
    """Halve one share after the other: a half that is `away` waits in `out`, others arrive before the next is sent."""
    late = 0
    for k in range(len(senders)):
        i = senders[k]
        if away[k]:
            to, to_weights, row = out, out_weights, late
            late += 1
        else:
            to, to_weights, row = values, weights, peers[k]
        half = weights[i] >> 1
        weights[i] -= half
        to_weights[row] += half
        for j in range(values.shape[1]):
            half = values[i, j] >> 1
            values[i, j] -= half
            to[row, j] += half


@compiled
def _arrive(values: Any, weights: Any, peers: Any, out: Any, out_weights: Any) -> None:
    for k in range(len(peers)):
        p = peers[k]
        weights[p] += out_weights[k]
        for j in range(values.shape[1]):
            values[p, j] += out[k, j]


@compiled
def _merge(i: int, local: Any, before: Any, last: Any, current: Any, t_before: Any, t_last: Any, steps: Any) -> None:
    total = t_before[i] + t_last[i] + 1
    a, b = t_before[i] / total, t_last[i] / total
    steps[i] = t_last[i] + 1
    for j in range(local.shape[1]):
        current[i, j] = a * before[i, j] + b * last[i, j] + local[i, j] / total


@compiled
def _hand(i: int, p: int, before: Any, last: Any, current: Any, t_before: Any, t_last: Any, steps: Any) -> None:
    t_before[p] = t_last[p]
    t_last[p] = steps[i]
    for j in range(current.shape[1]):
        before[p, j] = last[p, j]
        last[p, j] = current[i, j]


@compiled
def _published(
    free: bool, senders: Any, peers: Any, delays: Any, local: Any,
    before: Any, last: Any, current: Any, t_before: Any, t_last: Any, steps: Any,
) -> None:  # fmt: skip
    if not free:
        for i in senders:
            _merge(i, local, before, last, current, t_before, t_last, steps)
    for k in range(len(senders)):
        i = senders[k]
        if free:
            _merge(i, local, before, last, current, t_before, t_last, steps)
        if delays[k] == 0:  # the paper sends nothing twice: what is lost is lost
            _hand(i, peers[k], before, last, current, t_before, t_last, steps)


@compiled
def _gaps(values: Any, weights: Any, factors: Any, truth: Any, floor: Any) -> Any:
    result = np.empty(len(weights))
    for i in range(len(weights)):
        worst = 0.0
        for j in range(len(truth)):
            gap = abs(values[i, j] / weights[i] * factors[j] - truth[j]) / max(abs(truth[j]), floor[j])
            if gap > worst:
                worst = gap
        result[i] = worst
    return result


class Simulation:
    """All nodes of a network; `rows` has a row of noised integers for each.

    Push-sum is exact: values and weights are 64-bit integers in units of 2^-`bits` of a row, with as many bits for
    each column as the largest possible sum leaves.
    """

    def __init__(self, rows: Integers | Floats, network: Network, protocol: str = "push-sum") -> None:
        if protocol not in PROTOCOLS:
            raise BudgetError(f"protocol must be one of {', '.join(PROTOCOLS)}, not {protocol!r}")
        if rows.shape[0] != network.nodes:
            raise BudgetError(f"{rows.shape[0]} rows of integers were given for {network.nodes} nodes")
        self.network, self.protocol = network, protocol
        self.truth = rows.mean(axis=0, dtype=np.float64)
        self.turn = 0
        nodes, size = rows.shape
        if protocol == "published":
            self.local = rows.astype(np.float64)
            self.before, self.last, self.current = np.zeros((nodes, size)), np.zeros((nodes, size)), self.local.copy()
            self.counters = tuple(np.zeros(nodes, np.int64) for _ in range(3))
            self.factors = np.ones(size)
            return
        if rows.dtype != np.int64:
            raise BudgetError("push-sum is exact: it takes rows of 64-bit integers")
        exact = cast(Integers, rows)
        self.bits = units(exact)
        self.weight_bits = min(40, ROOM - int(np.ceil(np.log2(nodes))))
        self.values = exact << self.bits
        self.weights = np.full(nodes, 1 << self.weight_bits, np.int64)
        self.factors = 2.0 ** (self.weight_bits - self.bits.astype(np.float64))
        self.late: dict[int, list[tuple[Integers, Integers, Integers]]] = {}

    def run(self, rounds: int, *, rng: np.random.Generator) -> Simulation:
        """Go on for some turns."""
        for turn in self.network.turns(rounds, rng=rng):
            self.step(turn)
        return self

    def step(self, turn: Turn) -> None:
        """One turn with the given choices."""
        senders, peers, delays = turn.senders, turn.peers, turn.delays
        free = self.network.clock == "free"
        if self.protocol == "published":
            arrays = (self.local, self.before, self.last, self.current)
            _published(free, senders, peers, delays, *arrays, *self.counters)
            self.turn += 1
            return
        for parcel in self.late.pop(self.turn, ()):
            _arrive(self.values, self.weights, *parcel)
        away = delays > 0 if free else np.ones(len(senders), bool)
        out, out_weights = np.zeros((away.sum(), self.values.shape[1]), np.int64), np.zeros(away.sum(), np.int64)
        _send(self.values, self.weights, senders, peers, away, out, out_weights)
        for due in np.unique(delays[away]):
            which = delays[away] == due
            parcel = (peers[away][which], out[which], out_weights[which])
            if due:
                self.late.setdefault(self.turn + int(due), []).append(parcel)
            else:
                _arrive(self.values, self.weights, *parcel)
        self.turn += 1

    def averages(self, nodes: Any = slice(None)) -> Floats:
        """What nodes take for the average update, a row for each."""
        if self.protocol == "published":
            return np.asarray(self.current[nodes])
        return np.asarray(self.values[nodes] / self.weights[nodes][:, None] * self.factors)

    def gaps(self, floor: float | Floats | None = None) -> Floats:
        """The largest error of each node, relative to the true average or, for values below `floor`, to that.

        Without a floor it is one row in the sum over all nodes.
        """
        least = 1.0 / self.network.nodes if floor is None else floor
        full = np.broadcast_to(np.asarray(least, np.float64), self.truth.shape)
        if self.protocol == "published":
            return np.asarray(_gaps(self.current, np.ones(len(self.current)), self.factors, self.truth, full))
        return np.asarray(_gaps(self.values, self.weights, self.factors, self.truth, full))

    def mass(self) -> tuple[Integers, int]:
        """All values and weight there are, at nodes and under way: never changes, to the last bit."""
        values, weight = self.values.sum(axis=0), int(self.weights.sum())
        for batches in self.late.values():
            for _, out, out_weights in batches:
                values, weight = values + out.sum(axis=0), weight + int(out_weights.sum())
        return values, weight

    @property
    def bytes_per_node(self) -> float:
        """Memory of the arrays, per node."""
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return sum(array.nbytes for array in arrays) / self.network.nodes
