"""The release: the one step in which exact statistics become noisy tables that may be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.bundling import residual_of
from discreet.bayes.plan import SMOOTH, Item, Plan
from discreet.errors import StatisticsError
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.smooth_plan import SmoothPlan
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import MODEL, certify
from discreet.privacy.ledger import Charge, Node, Parallel, Sequential
from discreet.privacy.unexpected import ABSORB
from discreet.statistics import Statistics

Integers = NDArray[np.int64]
Bundle = dict[tuple[str, str], Integers]
TOGETHER = "K-norm draws of this library: exact, seeded by the operating system"


@dataclass(frozen=True)
class Release:
    """Noisy integers: `values[kind, feature]` has a row per class. Nothing in here is exact or private.

    Tables that were released in a residual basis are put together again, and no longer of integers.

    `smooth` says for each class how a number with noise under a smooth bound was released, `ledger` at which cost;
    `ratios` holds declared or bought spreads of those numbers, as shares of the half range. `noise` is the variance
    of the noise on one integer where it is not the plan's: in a sum of releases under several plans. A weighted
    sum is no longer of integers either; `times` is the sum of the squares of its weights, if all draws have one law.
    """

    plan: Plan
    values: Mapping[tuple[str, str], NDArray[Any]]
    batches: int = 1
    samplers: tuple[str, ...] = ()
    simulation: bool = False
    smooth: Mapping[tuple[str, str], tuple[SmoothPlan, ...]] = field(default_factory=dict)
    ledger: Sequential | None = None
    ratios: Mapping[str, float] = field(default_factory=dict)
    noise: Mapping[tuple[str, str], float | NDArray[np.float64]] | None = None
    times: float = 1.0

    @property
    def node(self) -> Sequential:
        """The ledger entry of this release."""
        return self.plan.node if self.ledger is None else self.ledger

    def variance(self, item: Item) -> float | NDArray[np.float64]:
        """The variance of the noise on one integer of an item: one number, or one for each class."""
        return item.variance * self.batches * self.times if self.noise is None else self.noise[item.key]

    def total_variance(self, item: Item) -> float | NDArray[np.float64]:
        """The variance of the noise on the sum over a class's cells."""
        if self.noise is None:
            return item.total_variance * self.batches * self.times
        return self.noise[item.key] * item.cells

    def __add__(self, other: Release) -> Release:
        """The releases of two disjoint batches as one."""
        if self.plan.items != other.plan.items or self.plan.schema != other.plan.schema:
            raise StatisticsError("only batches released under the same plan can be added")
        values = {key: value + other.values[key] for key, value in self.values.items()}
        noise = None
        if self.noise is not None or other.noise is not None:
            noise = {item.key: self.variance(item) + other.variance(item) for item in self.plan.items}
        trusts = tuple(dict.fromkeys((*self.plan.trusts, *other.plan.trusts)))
        return replace(
            self,
            plan=replace(self.plan, trusts=trusts),
            values=values,
            noise=noise,
            batches=self.batches + other.batches,
            samplers=tuple(dict.fromkeys((*self.samplers, *other.samplers))),
            simulation=self.simulation or other.simulation,
        )


def exact_bundles(statistics: Statistics, plan: Plan) -> list[Bundle]:
    """For each class, all its integers, statistic by statistic: the bundle that a mechanism noises as one."""

    def integers(item: Item, group: int) -> Any:
        name = item.feature
        if item.kind == "class":
            return [statistics.counts[group]]
        if item.kind == "table":
            return statistics.tables[name][group]
        if item.kind == "coarse":
            return coarse_counts(statistics.lattice[name][group], item.cells)
        there = statistics.present[name][group] if statistics.present else statistics.lattice[name][group].sum()
        if item.kind == "present":
            return [there, statistics.counts[group] - there]
        if name in statistics.sums:
            total, squares = statistics.sums[name][group], statistics.squares[name][group]
        else:
            total, squares = lattice_moments(
                statistics.lattice[name][group], item.half, saturate=plan.unexpected == ABSORB
            )
        return [total] if item.kind == "sum" else [held(recentred(int(squares), int(there), item.half))]

    return [
        {item.key: np.asarray(integers(item, group), dtype=np.int64) for item in plan.items if item.kind not in SMOOTH}
        for group in range(len(plan.schema.classes))
    ]


def coarse_counts(histogram: Integers, cells: int) -> Integers:
    """Rows by coarse cell: each point of the lattice belongs to one of `cells` stretches of it."""
    starts = np.arange(cells) * len(histogram) // cells
    return np.asarray(np.add.reduceat(histogram, starts))


def lattice_moments(histogram: Integers, half: int, *, saturate: bool = False) -> tuple[int, int]:
    """The sum of all lattice points and of their squares, exactly, or held within 64 bits."""
    rows = int(histogram.sum())
    points = np.arange(-half, half + 1)
    if rows * half * half < 2**62:
        weighted = histogram * points
        return int(weighted.sum()), int(np.dot(weighted, points))
    used = np.flatnonzero(histogram)
    pairs = list(zip(histogram[used].tolist(), points[used].tolist(), strict=True))
    total, squares = sum(n * k for n, k in pairs), sum(n * k * k for n, k in pairs)
    if saturate:
        return held(total), held(squares)
    if max(abs(total), squares) >= 2**63:
        raise StatisticsError("a sum left the range of 64-bit integers: split the data into parts")
    return total, squares


def held(value: int) -> int:
    """A sum held within 64 bits: a row moves it by no more than it moves the sum itself."""
    return min(max(value, -(2**63)), 2**63 - 1)


def recentred(squares: int, rows: int, half: int) -> int:
    """Σ (k² − half²/2): the square sum whose terms are centred, which halves its sensitivity."""
    return squares - rows * (half * half // 2)


def noised(bundle: Bundle, plan: Plan, sampler: Sampler) -> Bundle:
    """One class's bundle with fresh noise on every integer."""
    result: Bundle = {}
    drawn = (
        {number for number in (item.bundle for item in plan.items) if number is not None} if plan.budget.private else ()
    )
    for number in drawn:
        together = [item for item in plan.items if item.bundle == number]
        charge = together[0].charge
        assert isinstance(charge, Charge)
        exact = [bundle[item.key] for item in together]
        if charge.measure == "rho":
            noisy: list[Any] = residual_of(together).released(exact, charge.spread, sampler)
        else:
            noisy = list(sampler.tables(exact, 1 / charge.spread))
        result.update((item.key, values) for item, values in zip(together, noisy, strict=True))
    for item in plan.items:
        if item.kind in SMOOTH or item.key in result:
            continue
        values, charge = bundle[item.key], item.charge
        if not isinstance(charge, Charge):
            result[item.key] = values
        elif charge.measure == "epsilon":
            result[item.key] = sampler.laplace(values, charge.spread)
        else:
            result[item.key] = sampler.gaussian(values, charge.spread)
    return result


def release(statistics: Statistics, plan: Plan, sampler: Sampler) -> Release:
    """Noise the statistics by the plan. The caller has charged the plan to its ledger before reading any rows."""
    if statistics.schema != plan.schema:
        raise StatisticsError("the statistics are of another schema than the plan")
    bundles = [noised(bundle, plan, sampler) for bundle in exact_bundles(statistics, plan)]
    values = {key: np.stack([bundle[key] for bundle in bundles]) for key in bundles[0]}
    return Release(plan, values, samplers=samplers_of(plan, sampler), simulation=sampler.simulation)


def samplers_of(plan: Plan, sampler: Sampler) -> tuple[str, ...]:
    """What a certificate names as the source of the noise: a bundle of the K-norm mechanism has draws of its own."""
    drawn = plan.mechanism == "knorm" and plan.budget.private and not sampler.simulation
    return (sampler.name, TOGETHER) if drawn else (sampler.name,)


# ---- the certificate: what the ledger cost, under which assumptions, and what it covers

BATCHES = (
    "the batches are disjoint, every person is in one batch only, and which batch a row is in depends on that row "
    "alone, not on its position or on other rows"
)


def release_certificate(
    released: Release, node: Node, *, covers: str = MODEL, kind: str = "this model is", named: bool = False
) -> Certificate:
    """What the release guarantees; batches of it cannot be checked for people who are in several."""
    plan = released.plan
    if plan.stream is not None and covers == MODEL:
        covers = f"the models after each of up to {plan.stream.steps} steps together, and everything computed from them"
    return certify(
        plan,
        node=node,
        sampler=released.samplers,
        simulation=released.simulation,
        accounting=plan.accounting,
        rho=plan.rho,
        covers=covers,
        kind=kind,
        where=f"in the data, all {'batches' if plan.stream is None else 'steps'} together",
        checked=not isinstance(node, Parallel) and plan.stream is None,
        named=named,
    )
