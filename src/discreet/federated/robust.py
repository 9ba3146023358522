"""Aggregation that stands lying nodes: groups of nodes, and a trimmed mean or a median of the groups' rates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import class_totals, consistent, estimate
from discreet.bayes.likelihoods import Likelihood
from discreet.bayes.plan import COUNTS
from discreet.bayes.release import Release
from discreet.federated.stack import Floats, Stack


def liars(nodes: int, share: float) -> int:
    """How many lying nodes a share stands for; always fewer than half."""
    return min(math.ceil(share * nodes), (nodes - 1) // 2)


def groups(stack: Stack, method: str, share: float) -> list[NDArray[np.int64]]:
    """Nodes dealt into groups by their noised size, largest first, so that groups hold about as many rows.

    Whoever lies spoils one group each, wherever it is put: the median stands fewer than half the groups, and the
    trimmed mean cuts as many groups at either end as there may be liars.
    """
    nodes = len(next(iter(stack.values.values())))
    bad = liars(nodes, share)
    count = min(nodes, 2 * bad + 1 if method == "median-of-means" else 4 * bad + 1)
    order = np.argsort(-stack.counted[0].sum(axis=1), kind="stable")
    # Back and forth, as in a fair draft.
    rounds = [order[start : start + count][:: 1 if turn % 2 == 0 else -1]
              for turn, start in enumerate(range(0, nodes, count))]  # fmt: skip
    return [np.array([turn[g] for turn in rounds if g < len(turn)]) for g in range(count)]


def _middle(rates: Floats, method: str, bad: int) -> Floats:
    if method == "median-of-means":
        return np.asarray(np.median(rates, axis=0))
    ordered = np.sort(rates, axis=0)
    return np.asarray(ordered[bad : len(ordered) - bad].mean(axis=0))


def robust_estimate(stack: Stack, method: str, share: float, smoothing: float = 1.0) -> tuple[Floats, list[Likelihood]]:
    """Prior and likelihoods from the middle of the groups' rates, put back on the scale of counts.

    Rates are shares of a node's rows, so that a node cannot count for more by claiming more than its group.
    """
    dealt = groups(stack, method, share)
    if len(dealt) == 1:
        return estimate(stack.sum(), smoothing)
    bad = liars(sum(len(group) for group in dealt), share)
    parts = [stack.sum(group) for group in dealt]
    counted = [class_totals(part) for part in parts]
    totals = np.stack([np.maximum(total, 0.5) for total, _ in counted])  # group, class
    whole = len(parts) * float(np.median(totals.sum(axis=1)))
    shares = _middle(totals / totals.sum(axis=1, keepdims=True), method, bad)
    rows = whole * shares / shares.sum()
    values: dict[tuple[str, str], Floats] = {}
    noise: dict[tuple[str, str], float] = {}
    loss = math.pi / 2 if method == "median-of-means" else 1.0 / (1 - 2 * bad / len(parts))
    for item in stack.plan.items:
        raw = np.stack([np.asarray(part.values[item.key], dtype=np.float64) for part in parts])
        if item.kind in COUNTS:
            raw = np.stack([
                consistent(table, total, part.variance(item), spread)
                for table, part, (total, spread) in zip(raw, parts, counted, strict=True)
            ])  # fmt: skip
        rates = _middle(raw / totals[:, :, None], method, bad)
        if item.kind in COUNTS:
            rates = np.maximum(rates, 0.0) / np.maximum(rates.sum(axis=1, keepdims=True), 1e-9)
        values[item.key] = rates * rows[:, None]
        # A group's rates are as uncertain as its rows are few: the noise of a typical group, and what the middle loses.
        noise[item.key] = loss * len(parts) * float(np.median([np.mean(part.variance(item)) for part in parts]))
    return estimate(Release(stack.plan, values, noise=noise), smoothing)
