"""Partitions: which node holds which row, for simulations; in life the rows are where they are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]
PARTITIONS = ("uniform", "uniform-1-10", "exponential", "log-uniform", "label-skew", "clustered")
DEPENDENT = {"log-uniform", "clustered"}  # where a row goes depends on how many or which other rows there are
CONCENTRATION = 0.5  # of the Dirichlet law of a label-skewed partition: most nodes lack some class


def node_sizes(rows: int, nodes: int, partition: str, *, rng: np.random.Generator) -> Floats:
    """Each node's expected share of the rows: even, U[1, 10], Exp(2), or log-uniform from 2 rows to a fifth of all."""
    if partition in {"uniform", "label-skew", "clustered"}:
        shares = np.ones(nodes)
    elif partition == "uniform-1-10":
        shares = rng.uniform(1, 10, nodes)
    elif partition == "exponential":
        shares = rng.exponential(1 / 2, nodes)  # a rate of 2; the scale drops out of shares
    elif partition == "log-uniform":
        shares = np.exp(rng.uniform(math.log(2), math.log(max(rows / 5, 2.0)), nodes))
    else:
        raise BudgetError(f"partition must be one of {', '.join(PARTITIONS)}, or an array of node numbers")
    return np.asarray(shares / shares.sum())


def assign(
    y: Indices, nodes: int, partition: str = "uniform", *, rng: np.random.Generator, cells: Indices | None = None
) -> Indices:
    """The node of every row, each drawn on its own.

    Who is where depends on nobody else's row, but for `DEPENDENT` ones, which are for study only: the shares of
    "log-uniform" follow from the number of rows, and the patterns of "clustered" from all rows together.
    Sizes follow `node_sizes`. "label-skew" draws each class's shares over the nodes from a Dirichlet law, and
    "clustered" does so for each pattern of `cells` (a column per feature, similar rows alike), so that rows that
    resemble each other meet at the same few nodes.
    """
    rows = len(y)
    shares = node_sizes(rows, nodes, partition, rng=rng)
    kinds = y
    if partition == "clustered":
        if cells is None:
            raise BudgetError("a clustered partition needs the cells of each row")
        kinds = clusters(cells, min(max(2 * nodes, 8), 64), rng=rng)
    if partition not in {"label-skew", "clustered"}:
        return _draw(shares, rows, rng)
    result = np.empty(rows, np.int64)
    for kind in np.unique(kinds):
        at = np.flatnonzero(kinds == kind)
        result[at] = _draw(rng.dirichlet(np.full(nodes, CONCENTRATION)), len(at), rng)
    return result


def _draw(shares: Floats, size: int, rng: np.random.Generator) -> Indices:
    edges = np.cumsum(shares)
    spots = np.searchsorted(edges, rng.random(size) * edges[-1], side="right")
    return np.asarray(np.minimum(spots, len(shares) - 1), dtype=np.int64)


def clusters(cells: Indices, count: int, *, rng: np.random.Generator, rounds: int = 4) -> Indices:
    """Rows grouped by how many cells they share with one of `count` typical rows (k-modes)."""
    centres = cells[rng.choice(len(cells), min(count, len(cells)), replace=False)]
    nearest = np.zeros(len(cells), np.int64)
    for turn in range(rounds):
        best = np.full(len(cells), -1)
        for i, centre in enumerate(centres):
            alike = (cells == centre).sum(axis=1)
            better = alike > best
            nearest[better], best[better] = i, alike[better]
        if turn + 1 < rounds:
            for i in range(len(centres)):
                own = cells[nearest == i]
                if len(own):
                    centres[i] = [np.bincount(column).argmax() for column in own.T]
    return nearest


def node_budgets(given: Any, nodes: int, epsilon: float, *, rng: np.random.Generator) -> list[float]:
    """ε of every node: `epsilon` for all, a list, or "log-uniform" from 0.01 to 10."""
    if given is None:
        return [epsilon] * nodes
    if isinstance(given, str):
        if given != "log-uniform":
            raise BudgetError("epsilons must be a list with one epsilon for each node, or 'log-uniform'")
        return [float(e) for e in np.exp(rng.uniform(math.log(0.01), math.log(10.0), nodes))]
    listed = [float(e) for e in given]
    if len(listed) != nodes:
        raise BudgetError(f"epsilons has {len(listed)} entries for {nodes} nodes")
    return listed
