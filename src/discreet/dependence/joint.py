"""PrivateJointHistogram: one noisy table over all features, for few of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes import Plan, make_plan, release
from discreet.bayes.bins import is_free
from discreet.bayes.bundling import too_slow
from discreet.bayes.estimate import estimate
from discreet.bayes.items import Item, charged
from discreet.dependence.base import NetworkEstimator
from discreet.dependence.grid import fine_schema, grid, joint_cells
from discreet.dependence.joint_model import LARGEST, JointModel
from discreet.dependence.plan import NetworkPlan, checked_share, network_certificate, plan_network
from discreet.dependence.pyramid import Axis, class_shares
from discreet.errors import BudgetError
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.noise import Sampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.ledger import Charge
from discreet.privacy.plan import moved_rows
from discreet.schema import Numeric, Schema
from discreet.sources import BINS, Cells, HeldRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MARGINALS = "rows by class and each feature, for bins and Naive Bayes"
TABLE = Item("table", "joint cell of all features", 0, share=Fraction(1))
JOINT = TABLE.what
PRIOR_SHARE = Fraction(1, 5)
FEW = 100  # cells of all marginal tables: beyond, one K-norm draw is slow and hardly better than Laplace noise


@dataclass(frozen=True, eq=False)
class JointRelease:
    """What may be published: the noisy marginals' Naive Bayes, the grid that follows, and its noisy joint table."""

    schema: Schema
    prior: Floats
    marginals: list[Floats]
    counts: Integers
    variance: float
    charges: list[Any]


class PrivateJointHistogram(NetworkEstimator):
    """A classifier by one joint table of all features, for few numeric or small categorical features.

    Noisy tables of each feature fix the bins of numbers (by rows and by width) and give a Naive Bayes prior; the rest
    of the budget buys one table over all features, in which each row sits in one cell. Cells that noise drowns fall
    back to the blocks around them, and those to Naive Bayes.

    Parameters
    ----------
    {epsilon}
    schema : Schema or "infer"
        What is public about the data. Bins that it declares are kept; the default ones are chosen.
    {adjacency, contributions, random_state}
    prior_share : float, default 0.2
        The part of the budget for the tables of each feature; what is left buys the joint table.
    {unexpected, delta}
        All tables have Gaussian noise where that makes the joint table quieter, as it does for a δ that is large
        beside ε: one row moves one of its cells, on which Laplace noise is hard to beat.

    Attributes
    ----------
    model_ : JointModel
    {certificate_, classes_}
    """

    model_: JointModel
    _spends_delta = True

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, adjacency: str = "add-remove",
        contributions: int = 1, random_state: Any = None, prior_share: float = 0.2, unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _plan(self, schema: Schema, counts: ClassCounts | None = None) -> NetworkPlan:
        share = checked_share(self.prior_share, "prior_share")
        return plan_joint(schema, self._budget(), share, counts=counts, **self._people())

    def _model(self, held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler) -> JointModel:
        released = release_joint(held, plan, counts, sampler)
        certificate = network_certificate(plan, released.schema, released.charges, sampler, counts)
        expected = expected_counts(released)
        table = joint_table(released, expected)
        return JointModel(released.schema, released.prior, table, certificate, cell_weights(released, expected))


def plan_joint(schema: Schema, budget: Budget, prior_share: Fraction = PRIOR_SHARE, **settings: Any) -> NetworkPlan:
    """The plan of a joint histogram; refuses a schema whose fixed cells alone are too many.

    It keeps its δ where all tables get Gaussian noise: by what is public alone.
    """
    fixed = math.prod(feature.cells for feature in schema.features if not is_free(feature))
    free = sum(is_free(feature) for feature in schema.features)
    if fixed * 2**free * len(schema.classes) > LARGEST:
        raise BudgetError(
            f"one table over all features has more than {LARGEST} cells: declare fewer bins or use fewer features"
        )
    shares = {MARGINALS: prior_share, JOINT: 1 - prior_share}
    plan = plan_network(schema, budget, "a joint histogram", shares, delta=True, **settings)
    if plan.budget.delta and not (plan.epsilons and is_gaussian(joint_noise(plan))):
        return plan_network(schema, budget, "a joint histogram", shares, **settings)
    return plan


def joint_noise(plan: NetworkPlan) -> Item:
    """The joint table with its noise."""
    return quieter(plan.left, plan.share(JOINT), plan.adjacency, plan.contributions)


def quieter(budget: Budget, share: Fraction, adjacency: Adjacency, contributions: int) -> Item:
    """The joint table at its share of a budget: by Laplace noise, or Gaussian noise where a δ makes that quieter."""
    assert budget.epsilon is not None
    pure = charged(TABLE, budget.epsilon * share, "laplace", adjacency, contributions)
    if not budget.delta:
        return pure
    rho = zcdp_rho(budget.epsilon, budget.delta) * share
    gaussian = charged(TABLE, rho, "gaussian", adjacency, contributions)
    return gaussian if gaussian.variance < pure.variance else pure


def is_gaussian(item: Item) -> bool:
    """Whether a table is paid for in ρ."""
    return item.charge is not None and item.charge.measure == "rho"


def table_epsilon(budget: Budget, share: Fraction, adjacency: Adjacency, contributions: int) -> float:
    """The ε for one row at which Laplace noise is as loud as that on the joint table: more where a δ makes it quieter.

    Cells are sized by it.
    """
    if budget.epsilon is None:
        return math.inf
    own = float(budget.epsilon) / moved_rows(adjacency, contributions)
    taken = quieter(budget, share, adjacency, contributions)
    if not is_gaussian(taken):
        return own
    return own * math.sqrt(quieter(budget.pure, share, adjacency, contributions).variance / taken.variance)


def cell_epsilon(plan: NetworkPlan) -> float:
    """The ε for one row that cells of the joint table are sized by."""
    if not plan.budget.delta or not plan.epsilons:
        return math.inf if plan.budget.epsilon is None else float(plan.budget.epsilon) / plan.moves
    return table_epsilon(plan.budget, plan.share(JOINT), plan.adjacency, plan.contributions)


@lru_cache(16)
def marginal_plan(schema: Schema, budget: Budget, adjacency: Adjacency, contributions: int) -> Plan:
    """The plan of the marginal tables, numbers in fine bins."""
    fine = fine_schema(schema)
    make = partial(make_plan, fine, budget, adjacency=adjacency, contributions=contributions)
    if budget.rho is not None:
        return make(mechanism="residual")
    if sum(feature.cells for feature in fine.features) <= FEW:
        plan = make(mechanism="knorm")
        if not too_slow(plan):
            return plan
    return make(mechanism="laplace")


def release_joint(held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler) -> JointRelease:
    """Noisy marginals, the grid they suggest, then the noisy joint table on it."""
    schema = plan.schema
    gaussian = bool(plan.epsilons and plan.budget.delta)
    budget = Budget(rho=plan.rhos[MARGINALS]) if gaussian else plan.part(MARGINALS)
    first = marginal_plan(schema, budget, plan.adjacency, plan.contributions)
    fine = first.schema
    marginals = release(held.under(fine).statistics(BINS), first, sampler)
    prior, likelihoods = estimate(marginals)
    bins = max(joint_cells(schema, counts.rows, cell_epsilon(plan)), 2)
    study = not plan.budget.private or sampler.simulation
    joint, tables = grid(schema, fine, bins, prior, likelihoods, study=study)
    exact = np.asarray(sum(joint_counts(one.codes(joint), one.labels, joint) for one in held.pieces()))
    if not plan.epsilons:
        return JointRelease(joint, prior, tables, exact, 0.0, [])
    item = joint_noise(plan)
    charge = item.charge
    assert isinstance(charge, Charge)
    noisy = (sampler.gaussian if gaussian else sampler.laplace)(exact, charge.spread)
    return JointRelease(joint, prior, tables, noisy, item.variance, [marginals.node, charge])


def joint_counts(codes: Cells, labels: Integers, schema: Schema) -> Integers:
    """Rows by class and joint cell; the last feature's cells run fastest."""
    spot = labels.copy()
    for feature, code in zip(schema.features, codes.T, strict=True):
        spot = spot * feature.cells + code
    classes, cells = len(schema.classes), math.prod(feature.cells for feature in schema.features)
    return np.bincount(spot, minlength=classes * cells).reshape(classes, cells).astype(np.int64)


def expected_counts(released: JointRelease) -> Floats:
    """Rows by class and joint cell if the features were independent in each class, as the marginal tables have them."""
    classes = len(released.prior)
    chances = np.exp(released.prior)[:, None]
    for table in released.marginals:
        chances = (chances[:, :, None] * table[:, None, :]).reshape(classes, -1)
    rows = max(float(released.counts.sum()), 30.0)
    return np.asarray(np.maximum(chances / chances.sum() * rows, 1e-12))


def cell_weights(released: JointRelease, expected: Floats) -> Floats:
    """Shares of joint cells: noisy counts drawn towards the expected, the more the less they differ beyond noise."""
    noisy, usual = released.counts.sum(axis=0).astype(np.float64), expected.sum(axis=0)
    noise = released.variance * len(released.prior)
    differs = max(float(np.square(noisy - usual).mean()) - noise, 0.0)
    kept = differs / (differs + noise) if noise else 1.0
    found = np.maximum(usual + kept * (noisy - usual), 0.0)
    found = found if found.sum() > 0 else np.maximum(usual, 0.0) + 1.0
    return np.asarray(np.round(found / found.sum(), 12) + 1e-15)  # shares: noise and tables may be of any size


def joint_table(released: JointRelease, expected: Floats) -> Floats:
    """log P(class | cell) for each class and joint cell."""
    classes = len(released.prior)
    axes = tuple(_axis(feature) for feature in released.schema.features)
    shape = (classes, *(feature.cells for feature in released.schema.features))
    counts = released.counts.reshape(shape).astype(np.float64)
    shares = class_shares(counts, released.variance, expected.reshape(shape), axes)
    return np.log(np.maximum(shares.reshape(classes, -1), 1e-9))


def _axis(feature: Any) -> Axis:
    gone = int(feature.missing_code is not None)
    return Axis(feature.cells - gone, gone) if isinstance(feature, Numeric) else Axis(0, feature.cells)
