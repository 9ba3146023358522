"""Estimation: noisy leaf counts become log-probabilities; post-processing only, so it costs no privacy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.noise import laplace_variance
from discreet.trees.grow import GrownTrees
from discreet.trees.table import Nodes

Floats = NDArray[np.float64]
NOISE_WEIGHT = 1.0  # measured on the reference data: between ½ and 2 it hardly matters
EXPERTS = 5  # trees of a forest ask for the same few features: a hundred of them know about as much as five


def levels_of(nodes: Nodes) -> list[NDArray[np.int64]]:
    """The nodes by their distance from a root."""
    levels = [nodes.roots]
    while True:
        inner = levels[-1][nodes.feature[levels[-1]] >= 0]
        if not len(inner):
            return levels
        levels.append(np.concatenate([nodes.no[inner], nodes.yes[inner]]))


def leaf_values(grown: GrownTrees, smoothing: float) -> tuple[Floats, Floats]:
    """log P(class), and for every node what it adds to the score of each class."""
    nodes, classes = grown.nodes, grown.counts.shape[1]
    if grown.plan.leaves == "labels":  # votes are no counts: they say nothing about how frequent classes are
        prior = np.full(classes, 1 / classes)
        chance = (grown.counts + prior) / 2
    else:
        prior, chance = _chances(grown, smoothing)
    values = np.where(nodes.leaf[:, None], np.log(chance) - np.log(prior), 0.0)
    trees = len(nodes.roots)
    if trees > 1:
        values[nodes.leaf] -= _middle(grown, values)[nodes.leaf]
        values *= min(1.0, EXPERTS / trees)
    return np.asarray(np.log(prior)), values


def leaf_errors(grown: GrownTrees, smoothing: float) -> Floats | None:
    """The standard error, by the noise of its own counts, of what each leaf adds to the score of each class.

    A leaf's chances are (rows + weight·above)/(their sum), and classes are compared, so that sums do not matter.
    """
    if grown.plan.leaves == "labels" or grown.plan.scale is None:
        return None
    nodes, trees = grown.nodes, len(grown.nodes.roots)
    noise = math.sqrt(laplace_variance(float(grown.plan.scale)))
    known = _weighed(grown, smoothing)[2]
    found = np.where(nodes.leaf[:, None], np.log1p(noise / known), 0.0) * (min(1.0, EXPERTS / trees))
    return np.asarray([[float(f"{one:.4g}") for one in line] for line in found])


def _chances(grown: GrownTrees, smoothing: float) -> tuple[Floats, Floats]:
    """P(class), and P(class) at every node."""
    return _weighed(grown, smoothing)[:2]


def _weighed(grown: GrownTrees, smoothing: float) -> tuple[Floats, Floats, Floats]:
    """P(class), and at every node P(class) and the rows that it rests on.

    Those are its own noisy counts, and its parent's chances as so many more rows as it is noisy.
    """
    nodes, plan = grown.nodes, grown.plan
    noise = 0.0 if plan.scale is None else laplace_variance(float(plan.scale))
    counts, variance = grown.counts.astype(np.float64), np.where(nodes.leaf, noise, 0.0)
    levels = levels_of(nodes)
    for level in reversed(levels):
        inner = level[nodes.feature[level] >= 0]
        counts[inner] = counts[nodes.no[inner]] + counts[nodes.yes[inner]]
        variance[inner] = variance[nodes.no[inner]] + variance[nodes.yes[inner]]
    totals = np.maximum(counts[nodes.roots].sum(axis=0), 0.5)
    prior = totals / totals.sum()
    above = np.tile(prior, (len(nodes), 1))
    chance, known = np.empty_like(counts), np.empty_like(counts)
    for level in levels:
        rows = np.maximum(counts[level], 0.0)
        weight = (smoothing + NOISE_WEIGHT * np.sqrt(variance[level]))[:, None]
        known[level] = rows + weight * above[level]
        chance[level] = known[level] / (rows.sum(axis=1, keepdims=True) + weight)
        inner = level[nodes.feature[level] >= 0]
        above[nodes.no[inner]] = above[nodes.yes[inner]] = chance[inner]
    return prior, chance, known


def _middle(grown: GrownTrees, values: Floats) -> Floats:
    """What the tree of each node adds on average, all classes counting the same.

    Without it the scores of many trees drift to the side of whichever class is rarer, and the threshold with them.
    """
    nodes = grown.nodes
    tree = np.zeros(len(nodes), np.int64)
    for level in levels_of(nodes):
        if level is nodes.roots:
            tree[level] = np.arange(len(level))
        inner = level[nodes.feature[level] >= 0]
        tree[nodes.no[inner]] = tree[nodes.yes[inner]] = tree[inner]
    classes, trees = values.shape[1], len(nodes.roots)
    middle = np.zeros((trees, classes))
    for group in range(classes):
        rows = np.where(nodes.leaf, np.maximum(grown.counts[:, group], 0), 0).astype(np.float64)
        share = rows / np.maximum(np.bincount(tree, weights=rows, minlength=trees), math.ulp(1.0))[tree]
        for k in range(classes):
            middle[:, k] += np.bincount(tree, weights=share * values[:, k], minlength=trees) / classes
    return np.asarray(middle[tree])
