"""Gossip at scale: seconds per turn, bytes per node, and the largest network that fits into this machine's memory."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.common import line
from discreet.gossip.simulate import Simulation
from discreet.gossip.topology import Network

COLUMNS = 396  # the integers of one update of Adult
MILLION = 1_000_000


def timed(nodes: int, columns: int, turns: int, protocol: str, clock: str) -> tuple[float, Simulation]:
    """Seconds for one turn, and the network afterwards."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-100, 200, (nodes, columns))
    simulation = Simulation(rows, Network(nodes, clock=clock), protocol)
    del rows
    simulation.run(1, rng=rng)
    start = time.perf_counter()
    simulation.run(turns, rng=rng)
    return (time.perf_counter() - start) / turns, simulation


def free_memory() -> int:
    """Bytes that are free for use."""
    with open("/proc/meminfo") as file:
        fields = dict(one.split(":", 1) for one in file)
    return int(fields["MemAvailable"].split()[0]) * 1024


def _room(simulation: Simulation) -> float:
    """Rows and state side by side, as at the start of a run."""
    return (free_memory() + simulation.bytes_per_node * simulation.network.nodes) / (2 * simulation.bytes_per_node)


def run(**_: Any) -> list[dict[str, Any]]:
    """A thousand nodes against the bar, the ratio to the published rule, and a million nodes."""
    push, simulation = timed(1000, COLUMNS, 100, "push-sum", "rounds")
    gap = float(simulation.gaps().max())
    published, _ = timed(1000, COLUMNS, 100, "published", "rounds")
    results = [
        line(f"1000 nodes x {COLUMNS} integers, 100 turns", push * 100, "s", "<= 10", push * 100 <= 10),
        line("largest relative gap after those turns", gap, "", "<= 1e-6", gap <= 1e-6),
        line("the same beside the published rule", push / published, "of its time"),
    ]
    for columns in (8, COLUMNS):
        need = 2.2 * 8 * columns * MILLION
        if free_memory() < need:
            results.append(line(f"a million nodes x {columns} integers", None, "s per turn: too little memory"))
            continue
        seconds, simulation = timed(MILLION, columns, 3, "push-sum", "free")
        results += [
            line(f"a million nodes x {columns} integers, free clocks", seconds, "s per turn"),
            line(f"memory of that, per node with {columns} integers", simulation.bytes_per_node, "bytes"),
            line("nodes that free memory holds beside the rows they start from", _room(simulation), "nodes"),
        ]
        del simulation
    return results
