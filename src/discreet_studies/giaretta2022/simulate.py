"""Simulation of whole federations: the noise of all nodes drawn at once, trial after trial, for studies only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.plan import Item, Plan
from discreet.bayes.release import Release, exact_bundles, recentred
from discreet.errors import BudgetError
from discreet.federated.stack import Stack
from discreet.mechanisms.noise import SimulationSampler, discrete_gaussian, discrete_laplace
from discreet.nodes.members import summed_noise
from discreet.nodes.update import Key
from discreet.privacy.ledger import Charge
from discreet.sources import Parts
from discreet.statistics import Statistics
from discreet_studies.giaretta2022.sums import discrete_gaussian_sum, discrete_laplace_sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Secure:
    """Secure aggregation: of `nodes` that add a noise share, shares are sized for `honest` survivors."""

    nodes: int
    honest: int

    def __post_init__(self) -> None:
        if not 1 <= self.honest <= self.nodes:
            raise BudgetError("the honest survivors are at least 1 and at most all nodes")

    @property
    def noises(self) -> float:
        """How many nodes' noise the sum carries: one if nobody colludes or drops out, more by what was feared."""
        return self.nodes / self.honest


def item_noise(
    item: Item, counts: Sequence[tuple[Item, float]], shape: tuple[int, ...], rng: np.random.Generator
) -> Integers:
    """The noise of a sum on one statistic: for each plan's item, that of `count` nodes."""
    size, total = math.prod(shape), np.zeros(math.prod(shape), np.int64)
    for other, count in counts:
        charge = other.charge
        if not isinstance(charge, Charge):
            continue
        if charge.measure == "epsilon":
            total += discrete_laplace_sum(size, float(charge.spread), count, rng=rng)
        elif count == int(count):
            total += discrete_gaussian_sum(size, float(charge.spread), int(count), rng=rng)
        else:
            raise BudgetError("shares of secure aggregation are simulated for Laplace noise: leave delta at 0")
    return total.reshape(shape)


def summed_releases(
    statistics: Statistics,
    plans: Sequence[Plan],
    trials: int,
    *,
    rng: np.random.Generator,
    secure: Secure | None = None,
    block: int = 50,
) -> Iterator[Release]:
    """The sum of all nodes' updates, once per trial: `plans` has one plan for every node.

    A sum does not depend on which node holds which row, so that the exact part is the same in every trial and the
    noise of equal plans is drawn as one. Under secure aggregation all nodes have the same plan.
    """
    alike = all(plan is plans[0] for plan in plans)  # to hash a plan a thousand times takes longer than a trial
    counted: list[tuple[Plan, float]] = [(plans[0], len(plans))] if alike else list(Counter(plans).items())
    if secure is not None:
        if len(counted) > 1:
            raise BudgetError("under secure aggregation all nodes spend the same budget")
        counted = [(counted[0][0], secure.noises)]
    first = counted[0][0]
    bundles = exact_bundles(statistics, first)
    exact = {item.key: np.stack([bundle[item.key] for bundle in bundles]) for item in first.items}
    noise = summed_noise(counted)
    for start in range(0, trials, block):
        here = min(block, trials - start)
        drawn = {
            item.key: item_noise(
                item, [(plan.items[i], count) for plan, count in counted], (here, *exact[item.key].shape), rng
            )
            for i, item in enumerate(first.items)
        }
        for trial in range(here):
            values = {key: exact[key] + drawn[key][trial] for key in exact}
            yield Release(first, values, samplers=(SimulationSampler.name,), simulation=True, noise=noise)


def exact_parts(parts: Parts, plan: Plan) -> dict[Key, Integers]:
    """What each node would send without noise, node by class by cell."""

    def integers(item: Item) -> Integers:
        name = item.feature
        if item.kind == "class":
            return parts.counts[:, :, None]
        if item.kind == "table":
            return parts.tables[name]
        there = parts.present[name]
        if item.kind == "present":
            return np.stack([there, parts.counts - there], axis=2)
        if item.kind == "sum":
            return parts.sums[name][:, :, None]
        return np.asarray(parts.squares[name] - there * (item.half * item.half // 2))[:, :, None]

    return {item.key: integers(item) for item in plan.items}


def noised_stack(parts: Parts, plans: Sequence[Plan], *, rng: np.random.Generator) -> Stack:
    """All nodes' updates in one stack, each with the noise of its own plan."""
    exact = exact_parts(parts, plans[0])
    groups: dict[Plan, list[int]] = {}
    for node, plan in enumerate(plans):
        groups.setdefault(plan, []).append(node)
    values = {key: table.astype(np.float64) for key, table in exact.items()}
    variances = {key: np.zeros(len(plans)) for key in exact}
    for plan, nodes in groups.items():
        for item in plan.items:
            variances[item.key][nodes] = item.variance
            if isinstance(item.charge, Charge):
                draw = discrete_laplace if item.charge.measure == "epsilon" else discrete_gaussian
                table = values[item.key]
                noise = draw(len(nodes) * table[0].size, float(item.charge.spread), rng=rng)
                table[nodes] += noise.reshape(len(nodes), *table.shape[1:])
    return Stack(plans[0], values, variances)


__all__ = ["Secure", "exact_parts", "item_noise", "noised_stack", "recentred", "summed_releases"]
