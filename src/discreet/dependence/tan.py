"""PrivateTAN: Naive Bayes augmented by a private tree of pairs of features."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from operator import methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes import make_plan
from discreet.bayes.bins import recut
from discreet.bayes.bundling import RESIDUAL, bundle_cost, bundle_tables, is_slow
from discreet.dependence.base import NetworkEstimator
from discreet.dependence.loudness import Gaussian, Pure, Sizes, table_noise
from discreet.dependence.pairs import REACH, STEPS, Pair, candidates, dependence, pair_tables
from discreet.dependence.plan import NetworkPlan, checked_share, network_certificate, plan_network
from discreet.dependence.tan_estimate import NoisyTables, log_ratio, marginals, naive
from discreet.dependence.tan_model import TANModel
from discreet.dependence.tree import grow_tree
from discreet.errors import BudgetError
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.choose import CHOICES, choice_rate, coins_of, concentrated_cost
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.noise import Sampler, laplace_variance
from discreet.mechanisms.residual import Residual
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Charge, Node
from discreet.schema import Schema
from discreet.sources import HeldRows, cells_at

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_FEATURES = 500  # pairs of which are counted in seconds
PAIRS = "which pairs of features depend on each other within classes"
TABLES = "rows by class and chosen pairs of features"
LEAST_BINS, MOST_BINS, FEWEST_ROWS = 4, 8, 20.0
LARGE = 32  # cells of a table that is drawn alone
LOUDEST = 0.4  # error of a row's score in all, in nats: beyond, more pairs cost more than they tell
NOISE_WEIGHT = 0.5  # of the noise that a pair's table brings is set against the dependence that it can show


@dataclass(frozen=True, eq=False)
class TanRelease:
    """What may be published: the cells, the pairs and their noisy tables."""

    schema: Schema
    tables: NoisyTables
    charges: list[Node]


class PrivateTAN(NetworkEstimator):
    """Naive Bayes in which pairs of features, privately chosen, are counted together: a forest within each class.

    Parameters
    ----------
    {epsilon}
    schema : Schema or "infer"
        What is public about the data. Bins that it declares are kept; the default ones are chosen coarsely.
    {adjacency, contributions, random_state}
    choice_share : float, default 0.3
        The part of the budget for choosing pairs; the rest buys their tables.
    choice : {"permute-and-flip", "exponential"}
        The law of each private choice.
    {unexpected, delta}
        Where it pays, which the class counts decide: Gaussian noise on all tables, and choices that cost ε²/8.

    Attributes
    ----------
    model_ : TANModel
    {certificate_, classes_}
    """

    model_: TANModel
    _spends_delta = True

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, adjacency: str = "add-remove",
        contributions: int = 1, random_state: Any = None, choice_share: float = 0.3, choice: str = CHOICES[0],
        unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _plan(self, schema: Schema, counts: ClassCounts | None = None) -> NetworkPlan:
        if self.choice not in CHOICES:
            raise BudgetError(f"choice must be one of {', '.join(CHOICES)}, not {self.choice!r}")
        share = checked_share(self.choice_share, "choice_share")
        return plan_tan(schema, self._budget(), share, counts=counts, **self._people())

    def _model(self, held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler) -> TANModel:
        released = release_tan(held, plan, counts, sampler, law=self.choice)
        certificate = network_certificate(plan, released.schema, released.charges, sampler, counts)
        prior, singles, ratios = tan_tables(released, plan)
        return TANModel(released.schema, prior, singles, released.tables.pairs, ratios, certificate)


def plan_tan(schema: Schema, budget: Budget, choice_share: Fraction = Fraction(3, 10), **settings: Any) -> NetworkPlan:
    """The plan of a tree-augmented model; a single feature has no pairs to choose."""
    if len(schema.features) > MOST_FEATURES:
        raise BudgetError(
            f"a tree of pairs looks at every pair of features, and {len(schema.features)} of them have too many: "
            f"declare at most {MOST_FEATURES}, or choose some first ('discreet select')"
        )
    share = choice_share if len(schema.features) > 1 else Fraction(0)
    shares = {PAIRS: share, TABLES: 1 - share}
    plan = plan_network(schema, budget, "a tree-augmented model", shares, delta=True, **settings)
    if not budget.delta or (plan.epsilons and _may_be_gaussian(plan)):
        return plan
    return plan_network(schema, budget, "a tree-augmented model", shares, **settings)


def _may_be_gaussian(plan: NetworkPlan) -> bool:
    """Whether Gaussian noise promises less for some number of pairs, in coarse bins or fine ones."""
    for bins in (LEAST_BINS, MOST_BINS):
        cells = recut(plan.schema, methodcaller("having", bins))
        pairs = candidates(cells)
        pure, gaussian = _loudness(plan, Sizes.of(cells, pairs))
        if any(gaussian.better(pure, k) for k in range(min(len(cells.features), len(pairs) + 1))):
            return True
    return False


def _loudness(plan: NetworkPlan, sizes: Sizes) -> tuple[Pure, Gaussian]:
    """Both ways to pay for choices and tables."""
    choice, tables = plan.epsilons.get(PAIRS, Fraction(0)), plan.epsilons[TABLES]
    pure = Pure(sizes, float(plan.moves / tables), float(plan.moves / (choice + tables)), choice)
    rhos = plan.rhos
    return pure, Gaussian(sizes, rhos[TABLES], rhos.get(PAIRS, Fraction(0)), plan.adjacency, plan.contributions)


def tan_schema(schema: Schema, rows: float, epsilon: float) -> Schema:
    """The schema with free numbers in eight bins, or in four where a feature has less than 20/ε rows to itself."""
    bins = MOST_BINS if rows * epsilon > FEWEST_ROWS * len(schema.features) else LEAST_BINS
    return recut(schema, lambda one: one.having(bins))


def tan_noise(schema: Schema, rows: float, epsilon: float) -> float:
    """The noise on a cell of a pair beside the rows in it, both on average: below about 0.08 pairs can be told.

    Infinite where no pair is small enough to be counted.
    """
    cells = tan_schema(schema, rows, epsilon)
    sizes = [cells.features[a].cells * cells.features[b].cells for a, b in candidates(cells)]
    if not sizes:
        return math.inf
    size = float(np.mean(sizes))
    noise = table_noise(size, size * (len(schema.features) - 1), 1 / (0.7 * min(epsilon, 1e6)))
    return noise * len(schema.classes) * size / rows


def tree_rounds(schema: Schema, pairs: list[Pair], rows: float, noise: Pure | Gaussian) -> int:
    """How many pairs to choose: the most whose noise, added up over pairs, stays within LOUDEST of the signal.

    A pair's log-ratio errs by about noise/rows of a cell, and k of them by √k times that. `k` pairs leave at least
    max(0, features − 2k) features alone, whose own tables are small.
    """
    if not pairs:
        return 0
    area = noise.sizes.area
    cell = rows / (len(schema.classes) * area)
    for k in range(min(noise.sizes.features - 1, len(pairs)), 0, -1):
        if math.sqrt(k) * noise.cell(area, k) <= LOUDEST * cell:
            return k
    return 0


def penalties(schema: Schema, pairs: list[Pair], counts: ClassCounts, noise: Pure | Gaussian) -> list[float]:
    """What a pair's dependence must exceed to be worth its table: chance within each class, and noise.

    Under independence a table of n rows shows √(2/π·n·(s_a − 1)(s_b − 1)) by chance, if its margins are even.
    """
    sizes = [feature.cells for feature in schema.features]
    chance = float(np.sqrt(2 / math.pi * counts.positive).sum())
    most = len(sizes) - 1
    return [
        chance * math.sqrt((sizes[a] - 1) * (sizes[b] - 1))
        + NOISE_WEIGHT * len(schema.classes) * area * noise.cell(area, most) * math.sqrt(2 / math.pi)
        for a, b in pairs
        for area in (sizes[a] * sizes[b],)
    ]


def release_tan(
    held: HeldRows, plan: NetworkPlan, counts: ClassCounts, sampler: Sampler, *, law: str = CHOICES[0]
) -> TanRelease:
    """Choose pairs, then noise their tables, and those of features in no pair, in K-norm bundles."""
    private = bool(plan.epsilons)
    epsilon = float(plan.budget.epsilon or 0) / plan.moves if private else math.inf
    schema = tan_schema(plan.schema, counts.rows, epsilon)
    pairs = candidates(schema)
    exact = _summed(pair_tables(one.codes(schema), one.labels, schema, pairs) for one in held.pieces())
    sizes = Sizes.of(schema, pairs)
    noise: Pure | Gaussian = Pure(sizes, 0.0, 0.0, Fraction(0))
    if private:
        noise, gaussian = _loudness(plan, sizes)
        if plan.budget.delta and gaussian.better(noise, tree_rounds(schema, pairs, counts.rows, noise)):
            noise, law = gaussian, CHOICES[1]
    rounds = tree_rounds(schema, pairs, counts.rows, noise)
    charges: list[Node] = []
    taken: list[Pair] = []
    if rounds:
        rate = None
        if private:
            each = noise.each(rounds)
            rate = choice_rate(each / plan.moves, REACH * STEPS)
            moved = f"{REACH * STEPS} for each of {plan.moves} row(s), {rounds} choices"
            by_rho = isinstance(noise, Gaussian)
            spent = concentrated_cost(each, law) * rounds if by_rho else plan.epsilons[PAIRS]
            charges.append(Charge(law, PAIRS, "score", moved, 1 / rate, "rho" if by_rho else "epsilon", spent))
        scores = [
            dependence(table) - round(STEPS * penalty)
            for table, penalty in zip(exact, penalties(schema, pairs, counts, noise), strict=True)
        ]
        taken = grow_tree(pairs, scores, rounds, rate, law=law, coins=coins_of(sampler))
    place = {pair: spot for spot, pair in enumerate(pairs)}
    alone = [j for j in range(len(schema.features)) if all(j not in pair for pair in taken)]
    tables = [exact[place[pair]] for pair in taken] + _summed(
        [_single(one, schema, j) for j in alone] for one in held.pieces()
    )
    if isinstance(noise, Gaussian):
        rho = noise.tables if rounds else noise.tables + noise.choice
        noisy, variances, paid = gaussian_tables(tables, rho, plan, sampler)
    else:  # if there was nothing to choose, the tables have it all
        left = None if not private else plan.epsilons[TABLES] if rounds else sum(plan.epsilons.values(), Fraction(0))
        noisy, variances, paid = noised_tables(tables, left, plan, sampler)
    released = NoisyTables(
        taken,
        noisy[: len(taken)],
        variances[: len(taken)],
        {j: (noisy[len(taken) + k], variances[len(taken) + k]) for k, j in enumerate(alone)},
    )
    return TanRelease(schema, released, charges + paid)


def _summed(parts: Iterable[list[Integers]]) -> list[Integers]:
    """Tables of some rows at a time, added up."""
    return [np.asarray(sum(tables)) for tables in zip(*parts, strict=True)]


def _single(held: HeldRows, schema: Schema, feature: int) -> Integers:
    one, classes = schema.features[feature], len(schema.classes)
    flat = np.bincount(held.labels * one.cells + cells_at(one, held.columns[feature]), minlength=classes * one.cells)
    return flat.reshape(classes, one.cells).astype(np.int64)


def narrow_bundles(sizes: list[int]) -> list[list[int]]:
    """Tables (by place) in bundles of similar size, no wider than one draw may be; LARGE tables alone.

    A table of more than LARGE cells has less than a tenth more noise on its own.
    """
    bundles = []
    for whole in bundle_tables(sizes):
        small = [place for place in whole if sizes[place] <= LARGE]
        bundles += [small] if small else []
        bundles += [[place] for place in whole if sizes[place] > LARGE]
    return bundles


def bought_bundles(sizes: list[int], epsilon: Fraction, steps: int) -> list[tuple[list[int], Fraction]]:
    """The bundles and what each may spend; every table alone where exact draws would take long."""
    found = _shared_out(narrow_bundles(sizes), sizes, epsilon)
    for bundle, spent in found:
        if len(bundle) > 1 and is_slow(KNorm([sizes[k] for k in bundle]).moments(spent / steps)[1]):
            return _shared_out([[k] for k in range(len(sizes))], sizes, epsilon)
    return found


def _shared_out(bundles: list[list[int]], sizes: list[int], epsilon: Fraction) -> list[tuple[list[int], Fraction]]:
    weights = [round(2**20 * max(bundle_cost([sizes[k] for k in bundle]), 1e-3) ** (1 / 3)) for bundle in bundles]
    return [(bundle, epsilon * weight / sum(weights)) for bundle, weight in zip(bundles, weights, strict=True)]


def noised_tables(
    tables: list[Integers], epsilon: Fraction | None, plan: NetworkPlan, sampler: Sampler
) -> tuple[list[Floats], list[float], list[Node]]:
    """All tables with noise, bundle by bundle; the variance of a cell of each; charges.

    A bundle is one K-norm draw for each class; that of a single table is discrete Laplace noise.
    """
    noisy = [table.astype(np.float64) for table in tables]
    variances, charges = [0.0] * len(tables), []
    if epsilon is None:
        return noisy, variances, []
    sizes = [table[0].size for table in tables]
    for bundle, spent in bought_bundles(sizes, epsilon, plan.moves):
        spread, alone = plan.moves / spent, len(bundle) == 1
        what = f"{TABLES}, {len(bundle)} table(s) of up to {max(sizes[k] for k in bundle)} cells"
        law, norm = ("discrete Laplace", "L1") if alone else ("K-norm", "K")
        charges.append(Charge(law, what, norm, str(plan.moves), spread, "epsilon", spent))
        if alone:
            noisy[bundle[0]] = sampler.laplace(tables[bundle[0]], spread).astype(np.float64)
            variances[bundle[0]] = laplace_variance(float(spread))
            continue
        for group in range(len(plan.schema.classes)):
            drawn = sampler.tables([tables[k][group].ravel() for k in bundle], 1 / spread)
            for k, values in zip(bundle, drawn, strict=True):
                noisy[k][group] = values.reshape(tables[k].shape[1:])
        dim = 1 + sum(sizes[k] - 1 for k in bundle)
        for k in bundle:
            variances[k] = max(table_noise(sizes[k], dim, float(spread)) ** 2, 0.25)
    return noisy, variances, list(charges)


def gaussian_tables(
    tables: list[Integers], rho: Fraction, plan: NetworkPlan, sampler: Sampler
) -> tuple[list[Floats], list[float], list[Node]]:
    """All tables by Gaussian noise in a residual basis; the variance of a cell, the common sum left aside; charges."""
    flat = [table.reshape(len(table), -1) for table in tables]
    basis = Residual(tuple(table.shape[1] for table in flat))
    reach = basis.reach(plan.adjacency, plan.contributions)
    what, norm = f"{TABLES}, {len(tables)} table(s)", "L2 squared, in units of the noise at a spread of one"
    charge = Charge(RESIDUAL, what, norm, str(reach), reach / (2 * rho), "rho", rho)
    noisy = basis.released(flat, charge.spread, sampler)
    cells, total = basis.variances(charge.spread)
    own = [variance - total / size**2 for variance, size in zip(cells, basis.sizes, strict=True)]
    shaped = [values.reshape(table.shape) for values, table in zip(noisy, tables, strict=True)]
    return shaped, [max(variance, 1e-12) for variance in own], [charge]


def tan_tables(released: TanRelease, plan: NetworkPlan) -> tuple[Floats, list[Floats], list[Floats]]:
    """log P(class), log P(cell | class) of each feature, and the log-ratio of each pair."""
    noisy = released.tables
    singles = marginals(noisy, len(released.schema.features))
    layout = make_plan(released.schema, plan.part(TABLES), mechanism="laplace")
    prior, tables = naive(singles, layout)
    totals = np.maximum(np.mean([table.sum(axis=1) for table, _ in singles], axis=0), 0.5)
    ratios = [
        log_ratio(table, variance, totals, np.exp(tables[a]), np.exp(tables[b]))
        for (a, b), table, variance in zip(noisy.pairs, noisy.tables, noisy.variances, strict=True)
    ]
    return prior, tables, ratios
