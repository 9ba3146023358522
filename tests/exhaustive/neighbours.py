"""Every small data set, every neighbour of it, and the exact divergence of what is released from both."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np
from scipy.signal import fftconvolve

from discreet import Categorical, Numeric, Schema, collect
from discreet.bayes.plan import Item, Plan
from discreet.bayes.release import exact_bundles
from discreet.privacy.calibrate import float_up, sqrt_up
from tests.laws import gaussian_log_pmf, laplace_log_pmf

SCHEMAS = {
    "two tables": Schema(
        features=[Categorical("a", ["p", "q"]), Categorical("b", ["r", "s", "t"])], target="y", classes=[0, 1]
    ),
    "other and missing": Schema(
        features=[Categorical("a", ["p", "q"], other="rest", missing="category")], target="y", classes=[0, 1]
    ),
    "table and number": Schema(
        features=[Categorical("a", ["p", "q"]), Numeric("x", 0, 2, integer=True, bins=2)], target="y", classes=[0, 1]
    ),
    "number": Schema(features=[Numeric("x", -1, 2, integer=True)], target="y", classes=[0, 1]),
    "number with gaps": Schema(
        features=[Numeric("x", 0, 1, integer=True, missing="bin")], target="y", classes=["n", "y"]
    ),
    "three classes": Schema(features=[Numeric("x", 0, 1, step=0.5, bins=2)], target="y", classes=[0, 1, 2]),
}


def universe(schema: Schema) -> list[tuple]:
    """Every row that can occur: each category, an undeclared one, missing, and numbers in and out of bounds."""
    columns = []
    for feature in schema.features:
        if isinstance(feature, Numeric):
            step = 0.5 if feature.step else 1.0
            values = sorted({*np.arange(feature.lower, feature.upper + step / 2, step), feature.lattice.middle})
            if feature.integer and feature.missing_code is None:
                values.append(feature.upper + 7)  # clipped
            columns.append([*values, *([None] if feature.missing_code is not None else [])])
        else:
            extra = ["zzz"] if feature.other_code is not None else []
            columns.append([*feature.categories, *extra, *([None] if feature.missing_code is not None else [])])
    return list(itertools.product(*columns, schema.classes))


def data_sets(schema: Schema, most: int) -> list[tuple[int, ...]]:
    """All multisets of up to `most` rows, as sorted indices into the universe."""
    rows = range(len(universe(schema)))
    return [s for size in range(most + 1) for s in itertools.combinations_with_replacement(rows, size)]


def integers(schema: Schema, plan: Plan, rows: tuple[int, ...]) -> dict[tuple[str, str], np.ndarray]:
    """The exact integers of a data set, by the code that a release uses."""
    world = universe(schema)
    table = np.empty((len(rows), len(schema.features) + 1), dtype=object)
    for i, row in enumerate(rows):
        table[i] = world[row]
    if rows:
        statistics = collect(table[:, :-1], schema, table[:, -1], detail=plan.detail)
    else:
        from discreet import Statistics

        statistics = Statistics.empty(schema, plan.detail)
    bundles = exact_bundles(statistics, plan)
    return {item.key: np.concatenate([bundle[item.key] for bundle in bundles]) for item in plan.items}


def neighbours(schema: Schema, adjacency: str, most: int, rows_moved: int = 1) -> Iterator[tuple[tuple, tuple]]:
    """Every pair of neighbouring data sets with at most `most` rows on the smaller side, both directions implied."""
    world = range(len(universe(schema)))
    for small in data_sets(schema, most):
        for added in itertools.combinations_with_replacement(world, rows_moved):
            if adjacency == "add-remove":
                yield small, tuple(sorted((*small, *added)))
            else:
                for other in itertools.combinations_with_replacement(world, rows_moved):
                    if added < other:
                        yield tuple(sorted((*small, *added))), tuple(sorted((*small, *other)))


def differences(
    schema: Schema, plan: Plan, adjacency: str, most: int, rows_moved: int = 1
) -> list[dict[tuple[str, str], tuple[int, ...]]]:
    """The distinct ways in which neighbours' integers differ, statistic by statistic (non-zero entries)."""
    cache = functools.lru_cache(None)(lambda rows: integers(schema, plan, rows))
    found = {}
    for left, right in neighbours(schema, adjacency, most, rows_moved):
        a, b = cache(left), cache(right)
        gap = {key: tuple(int(d) for d in (a[key] - b[key]) if d) for key in a}
        found[tuple(sorted(gap.items()))] = gap
    return list(found.values())


@functools.lru_cache(None)
def laplace_loss(distance: int, scale: float) -> float:
    """max over outputs of log P(o | centre) − log P(o | centre + distance), from the exact law."""
    outputs = np.arange(-abs(distance) - 5, abs(distance) + 6)
    return float(np.max(laplace_log_pmf(outputs, scale) - laplace_log_pmf(outputs - distance, scale)))


def item_loss(item: Item, gap: tuple[int, ...]) -> float:
    """The worst log-ratio of one statistic with the noise that the sampler is really handed."""
    scale = float_up(item.charge.spread)
    return sum(laplace_loss(abs(d), scale) for d in gap)


@functools.lru_cache(None)
def renyi2(distance: int, sigma: float) -> float:
    """The Rényi divergence of order 2 between a discrete Gaussian and itself moved by `distance`."""
    reach = int(14 * sigma) + 3 * abs(distance) + 10
    outputs = np.arange(-reach, reach + 1)
    return float(
        np.log(np.exp(2 * gaussian_log_pmf(outputs, sigma**2) - gaussian_log_pmf(outputs - distance, sigma**2)).sum())
    )


def item_rho(item: Item, gap: tuple[int, ...]) -> float:
    """The ρ that one statistic really costs at order 2."""
    return sum(renyi2(abs(d), sqrt_up(item.charge.spread)) for d in gap) / 2


GRID = 1e-4  # rounded outward: a coarser one makes the checks stricter


@functools.lru_cache(None)
def _losses(distance: int, sigma: float, up: bool) -> tuple[int, np.ndarray]:
    """The law of one coordinate's privacy loss, rounded outward to the grid: (first index, probabilities)."""
    reach = int(9 * sigma) + 2
    noise = np.arange(-reach, reach + 1)
    mass = np.exp(gaussian_log_pmf(noise, sigma**2))
    loss = (2.0 * noise * distance + distance**2) / (2 * sigma**2) / GRID
    index = (np.ceil(loss) if up else np.floor(loss)).astype(int)
    return index.min(), np.bincount(index - index.min(), weights=mass)


def hockey_stick(moves: tuple[tuple[float, int], ...], epsilon: float, up: bool = True) -> float:
    """δ at ε for independent discrete Gaussians, each (σ, distance); an upper (or lower) bound within the grid."""
    start, law = 0, np.ones(1)
    for sigma, distance in moves:
        first, mass = _losses(distance, sigma, up)
        start, law = start + first, np.clip(fftconvolve(law, mass), 0, None)
    values = (start + np.arange(len(law))) * GRID
    over = values > epsilon
    return float((law[over] * -np.expm1(epsilon - values[over])).sum()) + (1e-12 if up else -1e-12)


def moves(plan: Plan, gap: dict[tuple[str, str], tuple[int, ...]]) -> tuple[tuple[float, int], ...]:
    """All coordinates that differ, with their noise, in a canonical order."""
    return tuple(sorted((sqrt_up(i.charge.spread), abs(d)) for i in plan.items for d in gap[i.key]))
