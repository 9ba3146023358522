"""Gossip that stands lying nodes: each node pulls a few peers' estimates and takes a middle of them, not a sum.

Push-sum believes every message: a node that keeps sending what it never had moves everybody, as far as it likes. The
rules here are for networks where that is feared. They conserve no mass and so pay with accuracy; a liar can move its
neighbours by no more than a public bound (clipped) or an order statistic (trimmed, median).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
RULES = ("push-sum", "mean", "clipped", "trimmed", "median")
SHRINK = 0.7  # of the clip, from turn to turn: honest estimates draw together faster than that


def step(own: Floats, pulled: Floats, rule: str, clip: Floats) -> Floats:
    """One turn of all nodes: `own` has a row for each, `pulled` an axis of peers between."""
    if rule == "clipped":
        return np.asarray(own + np.clip(pulled - own[:, None], -clip, clip).sum(axis=1) / (pulled.shape[1] + 1))
    every = np.concatenate([own[:, None], pulled], axis=1)
    if rule == "mean":
        return np.asarray(every.mean(axis=1))
    if rule == "median":
        return np.asarray(np.median(every, axis=1))
    every.sort(axis=1)
    cut = max(1, every.shape[1] // 4)
    return np.asarray(every[:, cut:-cut].mean(axis=1))


def lying_gossip(
    rows: Floats,
    liars: Mask,
    lie: Floats,
    rule: str,
    rounds: int,
    *,
    scale: Floats,
    peers: int = 6,
    rng: np.random.Generator,
) -> Floats:
    """What nodes take for the average after some turns, where every liar sends `lie` whenever it is asked.

    `scale` is the public spread of one honest node's update, column by column: clips start at three times that.
    """
    if rule not in RULES:
        raise BudgetError(f"rule must be one of {', '.join(RULES)}, not {rule!r}")
    nodes = len(rows)
    values = rows.astype(np.float64)
    values[liars] = lie
    if rule == "push-sum":
        return _push_sum(values, liars, lie, rounds, rng)
    clip = 3 * scale
    for _ in range(rounds):
        asked = rng.integers(0, nodes - 1, (nodes, peers))
        asked += asked >= np.arange(nodes)[:, None]
        values = step(values, values[asked], rule, clip)
        values[liars] = lie
        clip = clip * SHRINK
    return values


def _push_sum(values: Floats, liars: Mask, lie: Floats, rounds: int, rng: np.random.Generator) -> Floats:
    """Push-sum in floats, because what liars make up knows no bound."""
    nodes, weights = len(values), np.ones(len(values))
    everyone = np.arange(nodes)
    for _ in range(rounds):
        asked = rng.integers(0, nodes - 1, nodes)
        asked += asked >= everyone
        values, weights = values / 2, weights / 2
        sent, sent_weights = values.copy(), weights.copy()
        np.add.at(values, asked, sent)
        np.add.at(weights, asked, sent_weights)
        values[liars], weights[liars] = lie, 1.0
    return np.asarray(values / weights[:, None])
