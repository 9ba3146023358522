"""Giaretta et al.'s local updates and noise cut-off, as published: noise scaled to the largest local value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Numeric, Schema
from discreet_studies.published import Record

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
REASON = (
    "the noise on sums is scaled to the largest value among a node's own rows, so that its size gives that value away "
    "and a class without rows gets none at all; and a replaced row changes two counts, which is charged as one"
)
SMALLEST = 1e-6  # takes the place of counts and variances that noise made negative


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Training rows as the paper uses them: raw numbers, codes of categories, and exact counts by class."""

    schema: Schema
    X: Floats
    y: Indices

    @property
    def queries(self) -> int:
        """How many queries share the budget: class counts, each categorical feature, two per number."""
        return 1 + len(self.schema.categorical) + 2 * len(self.schema.numeric)

    @cached_property
    def whole(self) -> dict[str, Floats]:
        """The exact n, m, S and Q of all rows together."""
        classes = len(self.schema.classes)
        result = {"n": np.bincount(self.y, minlength=classes).astype(np.float64)}
        for column, feature in enumerate(self.schema.features):
            values = self.X[:, column]
            if isinstance(feature, Numeric):
                for name, power in (("S", 1), ("Q", 2)):
                    total = np.bincount(self.y, weights=values**power, minlength=classes)
                    result[f"{name} {feature.name}"] = np.asarray(total, dtype=np.float64)
            else:
                cells = self.y * feature.cells + values.astype(np.int64)
                table = np.bincount(cells, minlength=classes * feature.cells).astype(np.float64)
                result[f"m {feature.name}"] = table.reshape(classes, -1)
        return result

    def record(self, epsilon: float) -> Record:
        """What stands in a certificate's place."""
        return Record("giaretta2022", epsilon, 0.0, REASON)


@dataclass(frozen=True)
class Updates:
    """The noisy statistics of all nodes (node, class, …), and the exact ones where they were asked for."""

    noisy: dict[str, Floats]
    exact: dict[str, Floats]

    def kept(self, nodes: NDArray[np.bool_] | slice = slice(None)) -> dict[str, Floats]:
        """The sum over some nodes: Algorithm 3."""
        return {name: values[nodes].sum(axis=0) for name, values in self.noisy.items()}

    def errors(self, *, empty: str = "one") -> Floats:
        """Each node's error by eq. 28, from the true statistics.

        The paper does not say what becomes of terms that divide by zero, of which nearly every node has some: here
        they are divided by one, or with empty="out" left out.
        """
        total = np.zeros(len(next(iter(self.noisy.values()))))
        for name, noisy in self.noisy.items():
            exact = self.exact[name]
            gap = np.abs(noisy - exact)
            size = np.where(exact == 0, 1.0, np.abs(exact))
            terms = np.where((exact == 0) & (empty == "out"), 0.0, gap / size)
            total += terms.reshape(len(total), -1).sum(axis=1)
        return total


def local_maxima(rows: LocalRows, column: int, where: Indices, nodes: int) -> Floats:
    """max |x| of a number at every node and class; 0 where there are no rows."""
    result = np.zeros((nodes, len(rows.schema.classes)))
    np.maximum.at(result, (where, rows.y), np.abs(rows.X[:, column]))
    return result


def local_updates(rows: LocalRows, where: Indices, epsilons: Floats, *, rng: np.random.Generator) -> Updates:
    """Algorithm 2 at every node: n, m, S and Q with Laplace noise; ε of each node is split evenly over the queries."""
    nodes, classes = len(epsilons), len(rows.schema.classes)
    spent = (epsilons / rows.queries)[:, None]
    spot = where * classes + rows.y
    exact: dict[str, Floats] = {}
    noisy: dict[str, Floats] = {}

    def release(name: str, values: Floats, scale: Floats) -> None:
        exact[name] = values
        noisy[name] = values + rng.laplace(0, 1, values.shape) * scale

    counts = np.bincount(spot, minlength=nodes * classes).reshape(nodes, classes).astype(np.float64)
    release("n", counts, 1 / spent)
    for column, feature in enumerate(rows.schema.features):
        values = rows.X[:, column]
        if isinstance(feature, Numeric):
            most = local_maxima(rows, column, where, nodes)
            for name, power in (("S", 1), ("Q", 2)):
                total = np.bincount(spot, weights=values**power, minlength=nodes * classes)
                shaped = np.asarray(total, np.float64).reshape(nodes, classes)
                release(f"{name} {feature.name}", shaped, most**power / spent)
        else:
            table = np.bincount(
                spot * feature.cells + values.astype(np.int64), minlength=nodes * classes * feature.cells
            )
            tables = table.reshape(nodes, classes, feature.cells).astype(np.float64)
            release(f"m {feature.name}", tables, 1 / spent[:, :, None])
    return Updates(noisy, exact)


def summed(
    rows: LocalRows, most: dict[str, Floats], nodes: int, epsilon: float, trials: int, *, rng: np.random.Generator
) -> dict[str, Floats]:
    """The sums of all nodes' updates at one ε, a trial in each row: `most` has every number's local maxima.

    The noise of equal scales is drawn as one: a difference of two gammas.
    """
    spent = epsilon / rows.queries
    result = {}
    for name, exact in rows.whole.items():
        if name[0] in "nm":
            shape = (trials, *exact.shape)
            noise = np.asarray(rng.standard_gamma(nodes, shape) - rng.standard_gamma(nodes, shape))
        else:
            scale = most[name[2:]] ** (1 if name[0] == "S" else 2)
            noise = (rng.laplace(0, 1, (trials, *scale.shape)) * scale).sum(axis=1)
        result[name] = exact + noise / spent
    return result
