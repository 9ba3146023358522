"""Algorithms 1 to 3 of lopuhaa2021 (Naive Bayes, support vector machine, decision tree), as published."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.schema import Numeric, Schema
from discreet_studies.methods import Method, Scores, Setting
from discreet_studies.published import Record

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
ALPHA = 1e-5  # the least that L⁺ answers
HUBER, RIDGE = 0.05, 10**-2.5
REASONS = {
    "naive bayes": "noise on means and deviations is divided by the exact number of rows of the class, p(c) by that of "
    "all rows, and a changed label moves two counts, which is charged as one",
    "svm": "rows of any norm are let in although the proof needs norm one, columns are scaled by the data's own range, "
    "and the proof is for an exact minimum",
    "tree": "numbers are cut at the data's own median, and a changed row leaves one node and enters another, which is "
    "charged as one",
}


@dataclass(frozen=True, eq=False)
class PublishedClassifier:
    """Scores of rows, with the record in a certificate's place."""

    record: Record
    scores: Scores


def _record(kind: str, setting: Setting) -> Record:
    return Record("lopuhaa2021", setting.epsilon, 0.0, REASONS[kind])


def _laplace(values: Floats, scale: float, rng: np.random.Generator) -> Floats:
    return values + (rng.laplace(0, scale, values.shape) if scale > 0 else 0.0)


def fit_naive_bayes(setting: Setting, X: Floats, y: Indices) -> PublishedClassifier:
    """Algorithm 1: ε' for each of the 1 + categorical + 2·numeric queries of a row."""
    schema, rng = setting.schema, np.random.default_rng(setting.seed)
    classes = len(schema.classes)
    queries = 1 + len(schema.categorical) + 2 * len(schema.numeric)
    scale = queries / setting.epsilon if math.isfinite(setting.epsilon) else 0.0
    exact = np.bincount(y, minlength=classes).astype(np.float64)
    counts = np.maximum(_laplace(exact, scale, rng), ALPHA)
    prior = np.log(counts / len(y))
    parts: list[Callable[[Floats], Floats]] = []
    for column, feature in enumerate(schema.features):
        if isinstance(feature, Numeric):
            parts.append(_curve(X[:, column], y, feature, exact, scale, column, rng))
        else:
            table = np.zeros((classes, feature.cells))
            np.add.at(table, (y, X[:, column].astype(np.int64)), 1)
            log_table = np.log(np.maximum(_laplace(table, scale, rng), ALPHA) / counts[:, None])
            parts.append(lambda rows, t=log_table, c=column: t.T[rows[:, c].astype(np.int64)])  # type: ignore[misc]

    def scores(rows: Floats) -> Floats:
        return np.asarray(sum((part(rows) for part in parts), np.tile(prior, (len(rows), 1))))

    return PublishedClassifier(_record("naive bayes", setting), scores)


def _curve(
    x: Floats, y: Indices, feature: Numeric, exact: Floats, scale: float, column: int, rng: np.random.Generator
) -> Callable[[Floats], Floats]:
    """A normal density per class; its minus sign, lost in the paper, is put back."""
    width, rows = feature.upper - feature.lower, np.maximum(exact, 1.0)
    mean = np.array([x[y == c].mean() if (y == c).any() else 0.0 for c in range(len(exact))])
    deviation = np.array([x[y == c].std() if (y == c).any() else 0.0 for c in range(len(exact))])
    draws = rng.laplace(0, 1, (2, len(exact))) if scale > 0 else np.zeros((2, len(exact)))
    mean = mean + draws[0] * scale * width / rows
    deviation = np.maximum(deviation + draws[1] * scale * width / np.sqrt(rows), ALPHA)
    return lambda rows: -0.5 * ((rows[:, [column]] - mean) / deviation) ** 2 - np.log(deviation)


def fit_svm(setting: Setting, X: Floats, y: Indices) -> PublishedClassifier:
    """Algorithm 2, one class against the rest with the budget shared: coded columns scaled by their own range."""
    from scipy.optimize import minimize

    rng, (n, width) = np.random.default_rng(setting.seed), X.shape
    low, high = X.min(axis=0), X.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    rows = (X - low) / span
    classes = len(setting.schema.classes)
    targets = [1] if classes == 2 else list(range(classes))
    epsilon, ridge, amount = setting.epsilon / len(targets), RIDGE, math.inf
    if math.isfinite(epsilon):
        step = 1 / (n * HUBER * RIDGE)
        amount = epsilon - math.log(1 + step + step * step / 4)
        if amount <= 0:
            amount, ridge = epsilon / 2, 1 / (2 * n * HUBER * math.expm1(epsilon / 4))
    weights = np.zeros((len(targets), width))
    for spot, target in enumerate(targets):
        signs = np.where(y == target, 1.0, -1.0)
        noise = np.zeros(width)
        if math.isfinite(amount):
            direction = rng.standard_normal(width)
            noise = np.asarray(direction / np.linalg.norm(direction) * rng.gamma(width, 2 / amount))

        def objective(w: Floats, signs: Floats = signs, noise: Floats = noise) -> tuple[float, Floats]:
            margin = signs * (rows @ w)
            gap = 1 + HUBER - margin
            loss = np.where(margin > 1 + HUBER, 0.0, np.where(margin < 1 - HUBER, 1 - margin, gap**2 / (4 * HUBER)))
            slope = np.where(margin > 1 + HUBER, 0.0, np.where(margin < 1 - HUBER, -1.0, -gap / (2 * HUBER)))
            value = loss.mean() + ridge / 2 * w @ w + noise @ w / n
            return float(value), rows.T @ (slope * signs) / n + ridge * w + noise / n

        weights[spot] = minimize(objective, np.zeros(width), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x

    def scores(new: Floats) -> Floats:
        margins = ((new - low) / span) @ weights.T
        return np.column_stack([-margins, margins]) if classes == 2 else margins

    return PublishedClassifier(_record("svm", setting), scores)


def binary_questions(schema: Schema, X: Floats) -> tuple[NDArray[np.bool_], Callable[[Floats], NDArray[np.bool_]]]:
    """The paper's binary attributes: every category of its own, numbers above the median of the data."""
    asked: list[tuple[int, float, bool]] = []
    for column, feature in enumerate(schema.features):
        if isinstance(feature, Numeric):
            asked.append((column, float(np.median(X[:, column])), True))
        elif feature.cells == 2:
            asked.append((column, 1.0, False))
        else:
            asked += [(column, float(v), False) for v in range(feature.cells)]

    def answer(rows: Floats) -> NDArray[np.bool_]:
        return np.column_stack([rows[:, c] > v if above else rows[:, c] == v for c, v, above in asked])

    return answer(X), answer


def depth_of(schema: Schema) -> int:
    """⌈√m⌉ of the number of attributes."""
    return math.isqrt(len(schema.features) - 1) + 1


def fit_tree(setting: Setting, X: Floats, y: Indices) -> PublishedClassifier:
    """Algorithm 3: the Gini index of every attribute from counts with noise of scale |A|(d + 1)/ε."""
    rng, classes = np.random.default_rng(setting.seed), len(setting.schema.classes)
    bits, answer = binary_questions(setting.schema, X)
    deep = depth_of(setting.schema)
    scale = bits.shape[1] * (deep + 1) / setting.epsilon if math.isfinite(setting.epsilon) else 0.0
    # Nodes in the order of a heap: the children of i are 2i + 1 (no) and 2i + 2 (yes).
    asked = np.full(2**deep - 1, -1)
    label = np.zeros(2 ** (deep + 1) - 1, np.int64)
    at, onehot = np.zeros(len(y), np.int64), np.eye(classes)[y]
    for node in range(2 ** (deep + 1) - 1):
        inside = at == node
        mine = onehot[inside]
        if node >= len(asked):
            label[node] = int(_laplace(mine.sum(axis=0), scale, rng).argmax())
            continue
        yes = bits[inside].T.astype(np.float64) @ mine
        both = np.maximum(_laplace(np.stack([mine.sum(axis=0) - yes, yes]), scale, rng), ALPHA)
        size = both.sum(axis=2)
        gini = ((size**2 - (both**2).sum(axis=2)) / size).sum(axis=0) / size.sum(axis=0)
        above = node
        while above:
            above = (above - 1) // 2
            gini[asked[above]] = math.inf
        asked[node] = int(gini.argmin())
        at[inside] = 2 * node + 1 + bits[inside, asked[node]]

    def scores(rows: Floats) -> Floats:
        new, spot = answer(rows), np.zeros(len(rows), np.int64)
        for _ in range(deep):
            spot = 2 * spot + 1 + new[np.arange(len(rows)), asked[spot]]
        return np.eye(classes)[label[spot]]

    return PublishedClassifier(_record("tree", setting), scores)


Fit = Callable[[Setting, Floats, Indices], PublishedClassifier]


def _method(name: str, title: str, kind: str, fit: Fit) -> Method:
    return Method(name, title, lambda s, X, y: fit(s, X, y).scores, private=False, reason=REASONS[kind])


METHODS = (
    _method("paper-nb", "Naive Bayes, as published", "naive bayes", fit_naive_bayes),
    _method("paper-svm", "SVM, as published", "svm", fit_svm),
    _method("paper-tree", "decision tree, as published", "tree", fit_tree),
)
