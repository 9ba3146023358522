"""Naive Bayes of many trials or nodes at once: models as coefficients, scored by one matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.schema import Numeric, Schema
from discreet_studies.published.giaretta2022 import SMALLEST

Floats = NDArray[np.float64]


class Linear:
    """Naive Bayes on fixed test rows as one matrix product: all nodes' models are scored together."""

    def __init__(self, schema: Schema, X: Floats, y: NDArray[Any], most: int) -> None:
        self.schema, self.truth = schema, y[:most]
        coded = sources.open(X[:most], schema, y[:most]).held()
        self.cells, columns = list(coded.cells.T.astype(np.int64)), [np.ones((len(self.truth), 1))]
        self.numbers: dict[str, Floats] = {}
        for index, feature in enumerate(schema.features):
            hot = np.zeros((len(self.truth), feature.cells))
            hot[np.arange(len(self.truth)), self.cells[index]] = 1.0
            if isinstance(feature, Numeric):
                values = np.clip(X[:most, index], feature.lower, feature.upper)
                unit = ((values - feature.lattice.middle) / half_range(feature))[:, None]
                self.numbers[feature.name] = np.concatenate([unit, unit * unit], axis=1)
            columns.append(hot)
        self.hot = columns

    def design(self, gaussian: bool) -> Floats:
        """The columns that coefficients of one kind of model meet."""
        parts = [self.hot[0]]
        for index, feature in enumerate(self.schema.features):
            numeric = gaussian and isinstance(feature, Numeric)
            parts.append(self.numbers[feature.name] if numeric else self.hot[index + 1])
        return np.concatenate(parts, axis=1)

    def accuracies(self, coefficients: Floats, design: Floats) -> Floats:
        """The accuracy of each node: coefficients have a node, a class and a column axis."""
        nodes, classes, width = coefficients.shape
        if classes == 2:  # the sign of the difference is all that is asked for
            second = design @ (coefficients[:, 1] - coefficients[:, 0]).T > 0
            return np.asarray((second == (self.truth == 1)[:, None]).mean(axis=0))
        scores = design @ coefficients.reshape(nodes * classes, width).T
        found = scores.reshape(len(design), nodes, classes).argmax(axis=2)
        return np.asarray((found == self.truth[:, None]).mean(axis=0))


def half_range(feature: Numeric) -> float:
    """Half the range of a number's public bounds."""
    return (feature.upper - feature.lower) / 2


def bell(feature: Numeric, mean: Floats, variance: Floats) -> tuple[Floats, Floats]:
    """Log-density as constant and coefficients of x and x² in units of half the range."""
    half = half_range(feature)
    centre, weight = (mean - feature.lattice.middle) / half, half * half / (2 * variance)
    constant = -0.5 * np.log(variance) - weight * centre**2
    return constant, np.stack([2 * weight * centre, -weight], axis=-1)


def as_published(schema: Schema, summary: dict[str, Floats]) -> tuple[Floats, dict[str, list[Floats]]]:
    """Equations 9 to 11 from summed statistics, whatever axes come before that of the classes; parameters by kind."""
    n = np.maximum(summary["n"], SMALLEST)
    constant, parts = np.log(n), []
    parameters: dict[str, list[Floats]] = {"prior": [n / n.sum(axis=-1, keepdims=True)]}
    for feature in schema.features:
        if isinstance(feature, Numeric):
            mean = summary[f"S {feature.name}"] / n
            variance = summary[f"Q {feature.name}"] / n - mean**2
            variance = np.where(variance > 0, variance, SMALLEST)
            shift, part = bell(feature, mean, variance)
            constant = constant + shift
            parameters.setdefault("mean", []).append((mean - feature.lower) / (2 * half_range(feature)))
            parameters.setdefault("deviation", []).append(np.sqrt(variance) / (2 * half_range(feature)))
        else:
            table = np.maximum(summary[f"m {feature.name}"], SMALLEST) / n[..., None]
            part = np.log(table)
            parameters.setdefault("conditional", []).append(table)
        parts.append(part)
    return np.concatenate([constant[..., None], *parts], axis=-1), parameters
