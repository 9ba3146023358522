"""Algorithms 1 to 3 of lopuhaa2021 (Naive Bayes, support vector machine, decision tree), as published."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.linear import few
from discreet.loops import kernel
from discreet.schema import Numeric, Schema
from discreet_studies.methods import Method, Scores, Setting
from discreet_studies.published import Record

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
ALPHA = 1e-5  # the least that L⁺ answers
HUBER, RIDGE = 0.05, 10**-2.5
REASONS = {
    "naive bayes": "the noise of means and deviations shrinks with the exact number of rows of the class, so that its "
    "size gives that number away",
    "svm": "rows of any norm are let in although the proof needs norm one: codes of categories are whole numbers, and "
    "where columns are scaled by the data's own range one row moves all the others",
    "tree": "numbers are cut at the data's own median, which one row can move past all the others; with cuts of the "
    "schema the same budget is sound (the library's tree from noisy counts)",
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
            draws = rng.laplace(0, 1, (2, classes)) if scale > 0 else np.zeros((2, classes))
            mean, deviation = noisy_moments(X[:, column], y, feature, exact, scale * draws)
            parts.append(_curve(column, mean, deviation))
        else:
            cells = y * feature.cells + X[:, column].astype(np.int64)
            table = np.bincount(cells, minlength=classes * feature.cells).astype(np.float64).reshape(classes, -1)
            log_table = np.log(np.maximum(_laplace(table, scale, rng), ALPHA) / counts[:, None])
            parts.append(lambda rows, t=log_table, c=column: t.T[rows[:, c].astype(np.int64)])  # type: ignore[misc]

    def scores(rows: Floats) -> Floats:
        return np.asarray(sum((part(rows) for part in parts), np.tile(prior, (len(rows), 1))))

    return PublishedClassifier(_record("naive bayes", setting), scores)


def noisy_moments(x: Floats, y: Indices, feature: Numeric, exact: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Mean and deviation of every class by equation 14: noise times the range over n or over its root."""
    width, rows = feature.upper - feature.lower, np.maximum(exact, 1.0)
    mean = np.bincount(y, weights=x, minlength=len(exact)) / rows
    spread = np.sqrt(np.maximum(np.bincount(y, weights=(x - mean[y]) ** 2, minlength=len(exact)) / rows, 0.0))
    return mean + noise[0] * width / rows, np.maximum(spread + noise[1] * width / np.sqrt(rows), ALPHA)


def _curve(column: int, mean: Floats, deviation: Floats) -> Callable[[Floats], Floats]:
    """A normal density per class; its minus sign, lost in the paper, is put back."""
    return lambda rows: -0.5 * ((rows[:, [column]] - mean) / deviation) ** 2 - np.log(deviation)


def random_codes(schema: Schema, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """The paper's coding for the SVM: whole numbers dealt at random to the values of every categorical attribute."""
    order = {
        column: rng.permutation(feature.cells).astype(np.float64)
        for column, feature in enumerate(schema.features)
        if not isinstance(feature, Numeric)
    }

    def code(rows: Floats) -> Floats:
        return np.column_stack(
            [order[c][rows[:, c].astype(np.int64)] if c in order else rows[:, c] for c in range(rows.shape[1])]
        )

    return code


def svm_budget(epsilon: float, n: int) -> tuple[float, float]:
    """Equations 17 to 19: ε'' of the noise, and the regularisation."""
    if not math.isfinite(epsilon):
        return math.inf, RIDGE
    step = 1 / (n * HUBER * RIDGE)
    left = epsilon - math.log(1 + step + step * step / 4)
    return (left, RIDGE) if left > 0 else (epsilon / 2, 1 / (2 * n * HUBER * math.expm1(epsilon / 4)))


def huber(margin: Floats) -> tuple[Floats, Floats]:
    """Equation 6 and its slope."""
    if not few.is_few(margin.size, 1):  # the same to the last bit, and ten times sooner
        loss, slope = np.empty_like(margin), np.empty_like(margin)
        kernel(_huber)(margin.reshape(-1), HUBER, loss.reshape(-1), slope.reshape(-1))
        return loss, slope
    gap = 1 + HUBER - margin
    loss = np.where(margin > 1 + HUBER, 0.0, np.where(margin < 1 - HUBER, 1 - margin, gap**2 / (4 * HUBER)))
    return loss, np.where(margin > 1 + HUBER, 0.0, np.where(margin < 1 - HUBER, -1.0, -gap / (2 * HUBER)))


def _huber(margin: Any, h: float, loss: Any, slope: Any) -> None:
    for i in range(len(margin)):
        gap = 1 + h - margin[i]
        loss[i], slope[i] = gap * gap / (4 * h), -gap / (2 * h)
        if margin[i] > 1 + h:
            loss[i], slope[i] = 0.0, 0.0
        elif margin[i] < 1 - h:
            loss[i], slope[i] = 1 - margin[i], -1.0


def own_range(X: Floats) -> tuple[Floats, Floats]:
    """The smallest value of every column and its span, of the data themselves."""
    low, high = X.min(axis=0), X.max(axis=0)
    return low, np.where(high > low, high - low, 1.0)


def fit_svm(setting: Setting, X: Floats, y: Indices) -> PublishedClassifier:
    """Algorithm 2, one class against the rest with the budget shared: random codes, scaled by their own range."""
    from scipy.optimize import minimize

    rng, (n, width) = np.random.default_rng(setting.seed), X.shape
    code = random_codes(setting.schema, rng)
    coded = code(X)
    low, span = own_range(coded)
    rows = (coded - low) / span
    classes = len(setting.schema.classes)
    targets = [1] if classes == 2 else list(range(classes))
    amount, ridge = svm_budget(setting.epsilon / len(targets), n)
    weights = np.zeros((len(targets), width))
    for spot, target in enumerate(targets):
        signs = np.where(y == target, 1.0, -1.0)
        noise = np.zeros(width)
        if math.isfinite(amount):
            direction = rng.standard_normal(width)
            noise = np.asarray(direction / np.linalg.norm(direction) * rng.gamma(width, 2 / amount))

        def objective(w: Floats, signs: Floats = signs, noise: Floats = noise) -> tuple[float, Floats]:
            loss, slope = huber(signs * (rows @ w))
            value = loss.mean() + ridge / 2 * w @ w + noise @ w / n
            return float(value), rows.T @ (slope * signs) / n + ridge * w + noise / n

        weights[spot] = minimize(objective, np.zeros(width), jac=True, method="L-BFGS-B", options={"maxiter": 100}).x

    def scores(new: Floats) -> Floats:
        margins = ((code(new) - low) / span) @ weights.T
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


def tree_scale(epsilon: float, attributes: int, deep: int) -> float:
    """The scale of the noise on every count, |A|(d + 1)/ε."""
    return attributes * (deep + 1) / epsilon if math.isfinite(epsilon) else 0.0


def fit_tree(setting: Setting, X: Floats, y: Indices) -> PublishedClassifier:
    """Algorithm 3: the Gini index of every attribute from counts with noise of scale |A|(d + 1)/ε."""
    rng, classes = np.random.default_rng(setting.seed), len(setting.schema.classes)
    bits, answer = binary_questions(setting.schema, X)
    deep = depth_of(setting.schema)
    scale = tree_scale(setting.epsilon, bits.shape[1], deep)
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
