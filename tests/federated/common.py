"""Rows and updates that the tests of the federation share."""

import numpy as np

from discreet import Budget, Categorical, Numeric, Schema
from discreet.federated import node_update

SCHEMA = Schema(
    features=[
        Categorical("c", ["p", "q", "r"], missing="category"),
        Numeric("x", 0, 10, bins=4, missing="bin"),
        Numeric("z", -1, 1, step=0.125, bins=2),
    ],
    target="y",
    classes=["no", "yes"],
)
SETTINGS = ({}, {"numeric": "gaussian"}, {"split": {"c": 0.5, "x": 0.2, "z": 0.2, "y": 0.1}, "numeric": "gaussian"})


def rows(size, seed):
    """Some rows and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size)
    X = np.empty((size, 3), object)
    X[:, 0] = np.array(["p", "q", "r", None], object)[rng.integers(0, 4, size)]
    X[:, 1] = np.where(rng.random(size) < 0.1, np.nan, np.clip(rng.normal(3 + 3 * y, 2), 0, 10))
    X[:, 2] = rng.uniform(-1, 1, size)
    return X, np.array(["no", "yes"], object)[y]


def update(node="a", epsilon=1.0, size=200, seed=0, noise=None, **settings):
    """A node's update with simulated noise, or exact noise if `noise` is None."""
    X, y = rows(size, seed)
    budget = settings.pop("budget", None) or Budget(epsilon, settings.pop("delta", 0))
    return node_update(X, SCHEMA, budget, node=node, y=y, random_state=noise, round_id="r1", **settings)
