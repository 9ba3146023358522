"""PrivateTreeClassifier and PrivateForestClassifier: trees with differential privacy, as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.estimators.base import ScoreEstimator
from discreet.mechanisms.noise import Sampler
from discreet.privacy.certifier import certify
from discreet.privacy.plan import check_smoothing
from discreet.privacy.ranged import ranged_accounting
from discreet.schema import Schema
from discreet.sources import Source
from discreet.trees.estimate import leaf_errors, leaf_values
from discreet.trees.grow import grow_forest, grow_tree
from discreet.trees.model import TreeModel
from discreet.trees.plan import DEALT, NODES, RANDOM, TreePlan, plan_forest, plan_tree


def _accounting(plan: TreePlan) -> str:
    if plan.rho is None:
        return f"pure epsilon: levels add up, and within one {DEALT if plan.split == RANDOM else NODES}"
    return (
        f"{ranged_accounting('levels', plan.depth)}, within one of which {NODES}; pure epsilon of the leaves added to "
        "epsilon, its square over two to rho"
    )


class _TreeEstimator(ScoreEstimator):
    """What both classifiers share: rows become grown trees, and their leaves chances."""

    model_: TreeModel
    _texts = """
    schema : Schema or "infer"
        What is public about the data: its categories and bin edges are the questions that a node may ask.
    adjacency : {"add-remove", "replace"}
        Neighbours differ by one row more or less, or by one changed row, which costs twice.
    depth : int or None
        Questions from the root to a leaf; None is the square root of the number of features, rounded up.
    smoothing : float, default 1.0
        Rows with the chances of its parent that every node gets, beside those that outweigh the noise.
    """
    _grow: Any  # trees of coded rows by a plan, paid for

    def _release(self, source: Source, plan: TreePlan, sampler: Sampler, *_: Any) -> TreeModel:
        grown = self._grow(source.held(), plan, sampler)
        certificate = certify(
            plan,
            sampler=f"{grown.sampler}; choices by exact coins",
            simulation=grown.simulation,
            accounting=_accounting(plan),
            rho=plan.rho,
        )
        smoothing = check_smoothing(self.smoothing)
        prior, values = leaf_values(grown, smoothing)
        return TreeModel(plan.schema, prior, grown.nodes, values, certificate, leaf_errors(grown, smoothing))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf that each row ends in; one column per tree of a forest."""
        check_is_fitted(self)
        self._check_width(X)
        return self.model_.apply(X)

    def get_depth(self) -> int:
        """Questions from a root to its farthest leaf."""
        check_is_fitted(self)
        return self.model_.depth

    def get_n_leaves(self) -> int:
        """The leaves of all trees."""
        check_is_fitted(self)
        return int(self.model_.nodes.leaf.sum())

    def to_text(self, tree: int = 0) -> str:
        """A released tree as indented text."""
        check_is_fitted(self)
        return self.model_.to_text(tree)

    def to_graphviz(self, tree: int = 0) -> str:
        """A released tree in Graphviz' language."""
        check_is_fitted(self)
        return self.model_.to_graphviz(tree)


class PrivateTreeClassifier(_TreeEstimator):
    """A decision tree over the schema's yes-or-no questions, with differential privacy.

    Parameters
    ----------
    {epsilon, schema, adjacency, depth}
    split : {"permute-and-flip", "exponential", "noisy-counts"}
        How a node finds its question: by a private choice over Gini scores, or, as the literature has it, from noisy
        counts of every question, each at ε/(questions·(depth + 1)). With a `delta`, deep trees choose by "exponential"
        where levels that add up as concentrated privacy leave more to each.
    leaf_share : float, default 0.4
        The part of the budget that the leaves' class counts get; with noisy counts it is 1/(depth + 1).
    {smoothing, contributions, random_state, unexpected, delta}

    Attributes
    ----------
    model_ : TreeModel
    {certificate_, classes_}
    """

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, adjacency: str = "add-remove",
        depth: int | None = None, split: str = "permute-and-flip", leaf_share: float = 0.4, smoothing: float = 1.0,
        contributions: int = 1, random_state: Any = None, unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    _grow = staticmethod(grow_tree)
    _spends_delta = True

    def _plan(self, schema: Schema, *_: Any) -> TreePlan:
        check_smoothing(self.smoothing)
        return plan_tree(
            schema, self._budget(), **self._people(), depth=self.depth, split=self.split, leaf_share=self.leaf_share
        )


class PrivateForestClassifier(_TreeEstimator):
    """A forest of trees whose questions are drawn from the public schema, with private leaves.

    Questions cost nothing, and every row is dealt to one tree by a draw of its own, so each leaf has the whole budget.

    Parameters
    ----------
    {epsilon, schema, adjacency}
    n_estimators : int or "auto"
        The number of trees; each sees its share of the rows. "auto" is a tree for about every twenty rows, 5 to 100 of
        them, by a noisy count of the rows that takes a twentieth of the budget (none under "replace").
    {depth}
    leaves : {"counts", "labels"}
        What a leaf releases: noisy counts of its classes, or one class by permute-and-flip.
    {smoothing, contributions, random_state, unexpected, delta}

    Attributes
    ----------
    model_ : TreeModel
    {certificate_, classes_}
    """

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, adjacency: str = "add-remove",
        n_estimators: int | str = "auto", depth: int | None = None, leaves: str = "counts", smoothing: float = 1.0,
        contributions: int = 1, random_state: Any = None, unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    _grow = staticmethod(grow_forest)

    @property
    def estimators_(self) -> list[TreeModel]:
        """The released trees, each as a model of its own."""
        check_is_fitted(self)
        return self.model_.trees()

    def _plan(self, schema: Schema, *_: Any) -> TreePlan:
        check_smoothing(self.smoothing)
        return plan_forest(
            schema, self._budget(), **self._people(), depth=self.depth, trees=self.n_estimators, leaves=self.leaves
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None  # questions are drawn even where no noise is
        return tags
