"""Plans: how a tree or forest spends its budget, decided from public knowledge alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import BudgetError
from discreet.mechanisms.choose import CHOICES, choice_rate, concentrated_cost, exponential_errs_less
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.ledger import Charge, Node, Parallel, Sequential
from discreet.privacy.plan import Protected, checked_contributions, checked_count, moved_rows
from discreet.privacy.ranged import ranged_epsilon
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Schema
from discreet.trees.questions import Questions

STEPS = 1024  # a Gini score is a whole number of these parts of a row
DEEPEST = 20
LARGEST = 1 << 27  # cells of the histograms of one level
ROOMY = 1 << 24  # and where a depth that nobody asked for ends
FOREST_LARGEST, FOREST_ROOMY = 1 << 36, 1 << 27  # cells that nodes of the lowest levels of all trees keep in mind
MOST_TREES = 10_000
COUNT_SHARE = Fraction(1, 20)  # of a forest's budget, for the number of rows
ROWS_PER_TREE, LEAST_AUTO, MOST_AUTO = 20, 5, 100
NOISY = "noisy-counts"
SPLITS = (*CHOICES, NOISY)
RANDOM = "random"
LEAVES = ("counts", "labels")
NODES = "nodes of one level hold different rows, because every row answers the released questions above in one way"
DEALT = "every row is dealt to one tree by a random draw of its own, whatever the row says and whatever others are"


@dataclass(frozen=True)
class TreePlan(Protected):
    """What is asked of the data and what it costs.

    `row` amounts are for one row more or less; the ledger's costs are for the neighbours that the guarantee names:
    `steps` such rows (two for a replaced row, times the rows of one person).
    """

    depth: int
    split: str
    trees: int | None
    leaves: str
    questions: int
    row_split: Fraction | None
    row_leaf: Fraction | None
    node: Node
    row_count: Fraction | None = None
    rho: Fraction | None = None  # of all levels and leaves, where questions are paid for with a δ

    @property
    def choice(self) -> Fraction | None:
        """The rate of the private choice at each node, None without privacy."""
        return None if self.row_split is None else choice_rate(self.row_split, STEPS)

    @property
    def scale(self) -> Fraction | None:
        """The scale of the noise on leaf counts, None without privacy."""
        return None if self.row_leaf is None else 1 / self.row_leaf


def checked_depth(depth: Any, schema: Schema, *, roomy: int, most: int, each: int = 1) -> int:
    """The depth as asked, or ⌈√features⌉ and no more than leaves the lowest level within `roomy` cells.

    A level has a cell for each node, each cell of the schema and each of `each` classes or trees. One of more than
    `most` would not fit in memory, which is refused here: before anything is charged.
    """
    cells = max(sum(feature.cells for feature in schema.features), 1) * each
    if depth is None:
        wanted = math.isqrt(len(schema.features) - 1) + 1
        return min(wanted, max((roomy // cells).bit_length(), 1))
    found = checked_count(depth, "depth", DEEPEST, least=0)
    ends = math.prod(min(feature.cells, 1 << DEEPEST) for feature in schema.features[:DEEPEST])  # a node's at least
    nodes = 1 << max(found - 1, 0)
    if (nodes if len(schema.features) > DEEPEST else min(nodes, ends)) * cells > most:
        raise BudgetError("a tree of this depth over this schema does not fit in memory: lower depth")
    return found


def checked_trees(trees: Any) -> int | None:
    """The number of trees; None for "auto"."""
    if isinstance(trees, str) and trees == "auto":
        return None
    return checked_count(trees, "n_estimators", MOST_TREES)


def plan_tree(
    schema: Schema, budget: Budget, *, adjacency: Adjacency, contributions: Any = 1, depth: Any = None,
    split: str = SPLITS[0], leaf_share: Any = Fraction(1, 2), unexpected: str = REFUSE,
) -> TreePlan:  # fmt: skip
    """The plan of one greedy tree: a private choice per node of every level, then noisy leaf counts.

    With a δ, levels draw from the exponential mechanism, whose losses add up to less, where that errs less.
    """
    if split not in SPLITS:
        raise BudgetError(f"split must be one of {', '.join(SPLITS)}, not {split!r}")
    share = number(leaf_share, "leaf_share")
    if not 0 < share < 1:
        raise BudgetError("leaf_share must lie between 0 and 1")
    contributions = checked_contributions(contributions)
    asked = len(Questions.of(schema))
    limits = {"roomy": ROOMY, "most": LARGEST, "each": len(schema.classes)}
    deep = checked_depth(depth, schema, **limits) if asked else 0
    steps = moved_rows(adjacency, contributions)
    epsilon = budget.epsilon
    row_split = row_leaf = rho = None
    parts: list[Node] = []
    if epsilon is not None:
        if not deep:
            share = Fraction(1)
        elif split == NOISY:  # the published split: d + 1 levels of |A| queries each
            share = Fraction(1, deep + 1)
        row_leaf = epsilon * share / steps
        if deep:
            row_split = epsilon * (1 - share) / deep / steps
            joint = _together(epsilon * (1 - share), budget.delta, deep) / steps if split != NOISY else Fraction(0)
            if joint > row_split and (split == CHOICES[1] or exponential_errs_less(joint / row_split)):
                row_split, split = joint, CHOICES[1]
                rho = deep * concentrated_cost(row_split * steps, split) + (row_leaf * steps) ** 2 / 2
            charge = _split_charge(split, row_split, steps, asked, concentrated=rho is not None)
            parts += [Parallel(f"questions of level {level + 1}", NODES, (charge,)) for level in range(deep)]
        parts.append(Parallel("leaves", NODES, (_leaf_charge(LEAVES[0], row_leaf, steps),)))
    node = Sequential("a tree: the question of every node, then the classes of its leaves", tuple(parts))
    return TreePlan(
        schema, budget.pure if rho is None else budget, adjacency, contributions, deep, split, 1, LEAVES[0], asked,
        row_split, row_leaf, node, rho=rho, unexpected=check_unexpected(unexpected),
    )  # fmt: skip


def _together(epsilon: Fraction, delta: Fraction, levels: int) -> Fraction:
    """What each level may spend if all of them, choices of bounded range, are (ε, δ); nothing without a δ."""
    return ranged_epsilon(epsilon, delta, levels) if delta else Fraction(0)


def _split_charge(split: str, row: Fraction, steps: int, asked: int, *, concentrated: bool = False) -> Charge:
    moved = "1 row" if steps == 1 else f"{steps} rows"
    if split == NOISY:
        what = f"counts by class of the rows that answer yes and no, {asked} questions"
        return Charge("discrete laplace", what, "L1", f"{moved} in each question", asked / row, "epsilon", row * steps)
    what = f"the question of a node by Gini score, in 1/{STEPS} of a row"
    reach, spread = f"{STEPS} each way for {moved}", 1 / choice_rate(row, STEPS)
    if concentrated:
        return Charge(split, what, "score", reach, spread, "rho", concentrated_cost(row * steps, split))
    return Charge(split, what, "score", reach, spread, "epsilon", row * steps)


def _leaf_charge(leaves: str, row: Fraction, steps: int) -> Charge:
    if leaves == "labels":
        what = "the most frequent class of each leaf"
        return Charge(CHOICES[0], what, "score", "1, monotone", 1 / row, "epsilon", row * steps)
    return Charge(
        "discrete laplace", "rows of each class in each leaf", "L1", str(steps), 1 / row, "epsilon", row * steps
    )


def plan_forest(
    schema: Schema, budget: Budget, *, adjacency: Adjacency, contributions: Any = 1, depth: Any = None,
    trees: Any = "auto", leaves: str = LEAVES[0], unexpected: str = REFUSE,
) -> TreePlan:  # fmt: skip
    """The plan of a forest of random trees: questions cost nothing, each row is counted in one leaf of one tree."""
    if leaves not in LEAVES:
        raise BudgetError(f"leaves must be one of {', '.join(LEAVES)}, not {leaves!r}")
    contributions, count = checked_contributions(contributions), checked_trees(trees)
    asked = len(Questions.of(schema))
    limits = {"roomy": FOREST_ROOMY, "most": FOREST_LARGEST, "each": MOST_AUTO if count is None else count}
    deep = checked_depth(depth, schema, **limits) if asked else 0
    budget, steps = budget.pure, moved_rows(adjacency, contributions)
    epsilon = budget.epsilon
    row_leaf: Fraction | None = None
    row_count: Fraction | None = None
    parts: tuple[Node, ...] = ()
    before: tuple[Node, ...] = ()
    if epsilon is not None:
        row_leaf = epsilon / steps
        # Where rows are replaced their number is public, but not how many of them are left out.
        if count is None and (adjacency is Adjacency.ADD_REMOVE or check_unexpected(unexpected) != REFUSE):
            row_count = row_leaf * COUNT_SHARE
            row_leaf -= row_count
            what = "rows in all, to fix the number of trees"
            before = (Charge("discrete laplace", what, "L1", str(steps), 1 / row_count, "epsilon", row_count * steps),)
        charge = _leaf_charge(leaves, row_leaf, steps)
        parts = (Parallel("leaves", "every row comes to one leaf of its tree", (charge,)),)
    node: Node = Parallel("trees of random questions", DEALT, parts)
    if before:
        node = Sequential("a forest: how many trees, then their leaves", (*before, node))
    return TreePlan(
        schema, budget, adjacency, contributions, deep, RANDOM, count, leaves, asked, None, row_leaf, node, row_count,
        unexpected=check_unexpected(unexpected),
    )  # fmt: skip


def trees_for(rows: int, row_epsilon: Fraction | None) -> int:
    """How many trees a number of rows can feed: about twenty rows each at ε = 1, more where noise is larger."""
    strength = 1.0 if row_epsilon is None else min(1.0, float(row_epsilon))
    return min(MOST_AUTO, max(LEAST_AUTO, round(rows * strength / ROWS_PER_TREE)))
