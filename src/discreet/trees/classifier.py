"""PrivateTreeClassifier and PrivateForestClassifier: trees with differential privacy, as scikit-learn classifiers."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from discreet import sources
from discreet.bayes.base import ScoreEstimator, check_smoothing
from discreet.bayes.certificates import MODEL
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate, certify, covering, standing
from discreet.privacy.payer import Payer, paying
from discreet.schema import Schema
from discreet.sources import HeldRows, Progress
from discreet.trees.estimate import leaf_values
from discreet.trees.grow import GrownTrees, grow_forest, grow_tree
from discreet.trees.model import TreeModel
from discreet.trees.plan import DEALT, NODES, RANDOM, TreePlan, plan_forest, plan_tree


class _TreeEstimator(ScoreEstimator):
    """Plan, charge, read, grow, estimate: the road that both classifiers walk."""

    model_: TreeModel
    adjacency: Any
    contributions: Any
    smoothing: Any
    unexpected: Any

    def _plan(self, schema: Schema) -> TreePlan:
        raise NotImplementedError

    def _grow(self, rows: HeldRows, plan: TreePlan, sampler: Sampler) -> GrownTrees:
        raise NotImplementedError

    def plan(self) -> TreePlan:
        """How the budget would be spent, from public knowledge alone."""
        return self._plan(self._public_schema())

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ledger: Payer | None = None,
        account: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        """
        payer = paying(ledger, account, X, self)
        if isinstance(self.schema, str):
            payer.allow_inference(Budget(self.epsilon))
        schema = self._schema_for(X, y)
        check_smoothing(self.smoothing)
        plan = self._plan(schema)
        payer.charge(plan.node, plan.budget, plan.unit, self, schema=schema)
        sampler = sampler_for(self.random_state)
        rows = sources.open(
            X, schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),
            progress=progress,
        ).held()  # fmt: skip
        grown = self._grow(rows, plan, sampler)
        self.certificate_ = _certificate(grown)
        prior, values = leaf_values(grown, float(self.smoothing))
        self.model_ = TreeModel(schema, prior, grown.nodes, values, self.certificate_)
        self._describe(X, schema)
        return self

    def _budget(self) -> Budget:
        return Budget(self.epsilon)

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
    epsilon : float, default 1.0
        The privacy budget of each fit; `math.inf` gives the greedy tree without noise.
    schema : Schema or "infer"
        What is public about the data: its categories and bin edges are the questions that a node may ask.
    adjacency : {"add-remove", "replace"}
        Neighbours differ by one row more or less, or by one changed row, which costs twice.
    depth : int or None
        Questions from the root to a leaf; None is the square root of the number of features, rounded up.
    split : {"permute-and-flip", "exponential", "noisy-counts"}
        How a node finds its question: by a private choice over Gini scores, or, as the literature has it, from noisy
        counts of every question, each at ε/(questions·(depth + 1)).
    leaf_share : float, default 0.4
        The part of the budget that the leaves' class counts get; with noisy counts it is 1/(depth + 1).
    smoothing : float, default 1.0
        Rows with the chances of its parent that every node gets, beside those that outweigh the noise.
    contributions : int, default 1
        The most rows one person may have in the data. If the schema names an id column, this is enforced.
    random_state : int, Generator or None
        A seed makes the fit a reproducible simulation, which is not for release; the certificate says so.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_ : TreeModel
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | str | None = None,
        adjacency: str = "add-remove",
        depth: int | None = None,
        split: str = "permute-and-flip",
        leaf_share: float = 0.4,
        smoothing: float = 1.0,
        contributions: int = 1,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.adjacency = adjacency
        self.depth = depth
        self.split = split
        self.leaf_share = leaf_share
        self.smoothing = smoothing
        self.contributions = contributions
        self.random_state = random_state
        self.unexpected = unexpected

    def _plan(self, schema: Schema) -> TreePlan:
        return plan_tree(
            schema,
            self._budget(),
            adjacency=Adjacency.of(self.adjacency),
            contributions=self.contributions,
            unexpected=self.unexpected,
            depth=self.depth,
            split=self.split,
            leaf_share=self.leaf_share,
        )

    def _grow(self, rows: HeldRows, plan: TreePlan, sampler: Sampler) -> GrownTrees:
        return grow_tree(rows, plan, sampler)


class PrivateForestClassifier(_TreeEstimator):
    """A forest of trees whose questions are drawn from the public schema, with private leaves.

    Questions cost nothing, and every row is dealt to one tree by a draw of its own, so each leaf has the whole budget.

    Parameters
    ----------
    epsilon, schema, adjacency, smoothing, contributions, random_state
        As for PrivateTreeClassifier.
    n_estimators : int or "auto"
        The number of trees; each sees its share of the rows. "auto" is a tree for about every twenty rows, 5 to 100 of
        them, by a noisy count of the rows that takes a twentieth of the budget (none under "replace").
    depth : int or None
        Questions from the root to a leaf; None is the square root of the number of features, rounded up.
    leaves : {"counts", "labels"}
        What a leaf releases: noisy counts of its classes, or one class by permute-and-flip.
    unexpected : {"refuse", "absorb"}
        What happens to values without a place in the schema and to people with too many rows: an error, which is
        outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.

    Attributes
    ----------
    model_ : TreeModel
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | str | None = None,
        adjacency: str = "add-remove",
        n_estimators: int | str = "auto",
        depth: int | None = None,
        leaves: str = "counts",
        smoothing: float = 1.0,
        contributions: int = 1,
        random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:
        self.epsilon = epsilon
        self.schema = schema
        self.adjacency = adjacency
        self.n_estimators = n_estimators
        self.depth = depth
        self.leaves = leaves
        self.smoothing = smoothing
        self.contributions = contributions
        self.random_state = random_state
        self.unexpected = unexpected

    def _plan(self, schema: Schema) -> TreePlan:
        return plan_forest(
            schema,
            self._budget(),
            adjacency=Adjacency.of(self.adjacency),
            contributions=self.contributions,
            unexpected=self.unexpected,
            depth=self.depth,
            trees=self.n_estimators,
            leaves=self.leaves,
        )

    def _grow(self, rows: HeldRows, plan: TreePlan, sampler: Sampler) -> GrownTrees:
        return grow_forest(rows, plan, sampler)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None  # questions are drawn even where no noise is
        return tags


def _certificate(grown: GrownTrees) -> Certificate:
    """What the release guarantees, to whom, and under which assumptions."""
    plan = grown.plan
    private = plan.budget.private
    simulation = private and grown.simulation
    why = DEALT if plan.split == RANDOM else NODES
    return certify(
        plan.node,
        plan.budget,
        adjacency=plan.adjacency,
        contributions=plan.contributions,
        identified=plan.schema.id is not None,
        unexpected=plan.unexpected,
        simulation=simulation,
        sampler=f"{grown.sampler}; choices by exact coins" if private else "none",
        schema_hash=plan.schema.hash,
        rho=None,
        accounting=f"pure epsilon: levels add up, and within one {why}" if private else "none",
        covers=covering(MODEL, plan.schema, usable=private and not simulation),
        assumptions=standing(plan.schema, plan.contributions),
    )
