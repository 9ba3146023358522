"""Growing: coded rows become a table of public questions and noisy leaf counts; the only step here that sees rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.choose import CHOICES, choose, coins_of
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.deal import deal
from discreet.mechanisms.noise import Integers, Sampler
from discreet.sources import HeldRows
from discreet.trees.kernels import leaf_counts, loops
from discreet.trees.plan import NOISY, STEPS, TreePlan, trees_for
from discreet.trees.questions import Questions
from discreet.trees.table import Growing, Nodes

POSITIVE = 1e-5  # what a noisy count below it counts as, where a Gini index needs it positive


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """What may be published: the questions, and for every leaf noisy counts (or one vote for a class)."""

    plan: TreePlan
    nodes: Nodes
    counts: Integers
    sampler: str
    simulation: bool


def gini_scores(yes: Integers, no: Integers) -> NDArray[Any]:
    """Σ over both answers of ⌊STEPS·Σ_c n_c²/n⌋, one score per question: high where the answers are pure.

    One row more moves a score by at most STEPS either way (proof: docs/proofs/trees.md).
    """
    rows = int(yes.sum(axis=-1).max(initial=0) + no.sum(axis=-1).max(initial=0))
    wide = rows * rows * STEPS >= 2**62
    total: Any = 0
    for side in (yes, no):
        counts = side.astype(object) if wide else side
        size = counts.sum(axis=-1)
        squares = (counts * counts).sum(axis=-1)
        total = total + STEPS * squares // np.maximum(size, 1)
    return np.asarray(total)


def noisy_gini(yes: Integers, no: Integers) -> NDArray[np.float64]:
    """Minus the average Gini index of both answers, from noisy counts held above zero."""
    sides = [np.maximum(side.astype(np.float64), POSITIVE) for side in (yes, no)]
    sizes = [side.sum(axis=-1) for side in sides]
    impure = [(size**2 - (side**2).sum(axis=-1)) / size for side, size in zip(sides, sizes, strict=True)]
    return np.asarray(-(impure[0] + impure[1]) / (sizes[0] + sizes[1]))


def grow_tree(rows: HeldRows, plan: TreePlan, sampler: Sampler) -> GrownTrees:
    """A greedy tree, level by level: one pass over the rows for each."""
    questions, coins = Questions.of(plan.schema), coins_of(sampler)
    classes, cells = len(plan.schema.classes), int(questions.starts[-1])
    table = Growing()
    root = table.add()
    table.roots.append(root)
    level = [(root, np.ones(cells, bool))]
    at = np.zeros(len(rows), np.int64)
    for _ in range(plan.depth):
        spot = np.full(len(table.rows), -1, np.int64)
        spot[[node for node, _ in level]] = np.arange(len(level))
        counts = np.zeros((len(level), cells, classes), np.int64)
        loops(rows.cells).histogram(rows.cells, rows.labels, spot[at], questions.starts, counts)
        below = []
        for (node, allowed), tables in zip(level, counts, strict=True):
            found = _ask(questions, questions.open(allowed), tables, plan, sampler, coins)
            if found is None:
                continue
            no, yes = table.split(node, *questions.interval(found))
            below += [(no, questions.after(allowed, found, False)), (yes, questions.after(allowed, found, True))]
        loops(rows.cells).descend(rows.cells, at, *table.done().columns)
        level = below
    nodes = table.done()
    tally = np.bincount(at * classes + rows.labels, minlength=len(nodes) * classes).reshape(-1, classes)
    return _release(nodes, tally.astype(np.int64), plan, sampler, coins)


def _ask(
    questions: Questions, candidates: Integers, tables: Integers, plan: TreePlan, sampler: Sampler, coins: Coins
) -> int | None:
    """The question of one node; None if the path has answered all of them."""
    if not len(candidates):
        return None
    sums = np.concatenate([np.zeros((1, tables.shape[1]), np.int64), np.cumsum(tables, axis=0)])
    yes = sums[questions.last[candidates]] - sums[questions.first[candidates]]
    own = questions.feature[candidates]
    no = sums[questions.starts[own + 1]] - sums[questions.starts[own]] - yes
    if plan.split == NOISY and plan.row_split is not None:
        noisy = sampler.laplace(np.stack([yes, no]), plan.questions / plan.row_split)
        return int(candidates[int(np.argmax(noisy_gini(noisy[0], noisy[1])))])
    law = CHOICES[0] if plan.split == NOISY else plan.split
    return int(candidates[choose(gini_scores(yes, no), plan.choice, law=law, coins=coins)])


def _release(nodes: Nodes, tally: Integers, plan: TreePlan, sampler: Sampler, coins: Coins) -> GrownTrees:
    """Noise on the leaves' counts, or a private choice of each leaf's class; questions have no counts at all."""
    leaf = nodes.leaf
    counts = np.zeros_like(tally)
    if plan.leaves == "labels":
        for spot in np.flatnonzero(leaf):
            counts[spot, choose(tally[spot], plan.row_leaf, coins=coins)] = 1
    else:
        counts[leaf] = tally[leaf] if plan.scale is None else sampler.laplace(tally[leaf], plan.scale)
    return GrownTrees(plan, nodes, counts, sampler.name, sampler.simulation)


# ---- forests


def random_trees(questions: Questions, trees: int, depth: int, coins: Coins) -> Nodes:
    """Trees whose questions are drawn without the data: a feature evenly, then one of its open questions evenly.

    A path keeps in mind the cells of features that it has asked about, and which of those have no question left.
    """
    table = Growing()
    whole = [np.ones(size, bool) for size in np.diff(questions.starts)]
    asked = [j for j, allowed in enumerate(whole) if len(questions.open_of(j, allowed))]
    for _ in range(trees):
        root = table.add()
        table.roots.append(root)
        level: list[tuple[int, dict[int, NDArray[np.bool_]], tuple[int, ...]]] = [(root, {}, ())]
        for _ in range(depth):
            below = []
            for node, left, closed in level:
                if len(closed) == len(asked):
                    continue
                spot = coins.below(len(asked) - len(closed))
                for one in closed:  # in order: the spot is counted among those that are not closed
                    spot += one <= spot
                feature = asked[spot]
                allowed = left.get(feature, whole[feature])
                own = questions.open_of(feature, allowed)
                found = int(own[coins.below(len(own))])
                for child, answer in zip(table.split(node, *questions.interval(found)), (False, True), strict=True):
                    kept = questions.after_of(allowed, found, answer)
                    shut = closed if len(questions.open_of(feature, kept)) else tuple(sorted((*closed, spot)))
                    below.append((child, {**left, feature: kept}, shut))
            level = below
    return table.done()


def grow_forest(rows: HeldRows, plan: TreePlan, sampler: Sampler) -> GrownTrees:
    """Random trees, and the rows dealt to them counted in their leaves: one pass."""
    coins, trees = coins_of(sampler), plan.trees
    if trees is None:
        size = np.array([len(rows)], np.int64)
        if plan.row_count is not None:
            size = sampler.laplace(size, 1 / plan.row_count)
        trees = trees_for(int(size[0]), plan.row_leaf)
    nodes = random_trees(Questions.of(plan.schema), trees, plan.depth, coins)
    root = nodes.roots[deal(len(rows), trees, sampler)]
    tally = leaf_counts(rows.cells, rows.labels, root, nodes.columns, len(plan.schema.classes))
    return _release(nodes, tally, plan, sampler, coins)
