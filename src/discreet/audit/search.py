"""Finds, on samples that are used for nothing else, the event that tells two neighbours apart best."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.audit.events import Event, cut
from discreet.audit.outputs import Rows
from discreet.audit.projections import Projection, Score, Values, View, cell_index, propose
from discreet.loops import one_thread

Counts = NDArray[np.int64]

_CLASSIFIER_ROWS = 20_000
_CLASSIFIER_PARTS = 24
_CLASSIFIER_CELLS = 24
_STRICTER = 10
_PENALTY = {"coordinate": 0.0, "whole output": 0.02, "score": 0.02}


@dataclass(frozen=True)
class _Table:
    """Cell counts of one view: built on the first half of the search samples, scored on the second."""

    view: View
    edges: Values
    build: tuple[Counts, Counts]
    score: tuple[Counts, Counts]


def find_events(left: Rows, right: Rows, *, delta: float, alpha: float) -> tuple[Event, Event]:
    """Return the event that is more likely on the left, and the one that is more likely on the right."""
    half = len(left) // 2, len(right) // 2
    build, score = (left[: half[0]], right[: half[1]]), (left[half[0] :], right[half[1] :])
    pooled = np.concatenate(build)
    tables = [_table(view, build, score) for view in propose(pooled, _gaps(*build))]
    classifier = _train(build, tables)
    if classifier is not None:
        tables.append(_table(classifier, build, score))
    # Many candidates compete: scoring each at a stricter level keeps merely lucky ones from winning.
    strict = alpha / _STRICTER
    best = [_best(table, side, delta=delta, alpha=strict) for side in (0, 1) for table in tables]
    count = len(tables)
    if count == 0:
        nothing = Event(Projection("coordinate", (0,)), (), (0,))
        return nothing, nothing
    return _plainest(best[:count]), _plainest(best[count:])


def _plainest(best: list[tuple[float, Event]]) -> Event:
    """Return the most promising event, but let a view that reads easily win when it is nearly as good."""

    def worth(found: tuple[float, Event]) -> float:
        return found[0] - _PENALTY.get(getattr(found[1].view, "kind", "score"), 0.01)

    return max(best, key=worth)[1]


def _gaps(left: Rows, right: Rows) -> Values:
    """Rank columns by a Kolmogorov-Smirnov distance, where NaN is a value of its own."""
    gaps = np.zeros(left.shape[1])
    for column in range(left.shape[1]):
        one, two = left[:4000, column], right[:4000, column]
        edges = cut(np.concatenate([one, two]), cells=32)
        a, b = _count(one, edges) / len(one), _count(two, edges) / len(two)
        gaps[column] = max(np.abs(np.cumsum(a - b)).max(), abs(a[-1] - b[-1]))
    return gaps


def _count(values: Values, edges: Values) -> Counts:
    return np.bincount(cell_index(values, edges), minlength=2 * len(edges) + 2)


def _table(view: View, build: tuple[Rows, Rows], score: tuple[Rows, Rows]) -> _Table:
    one, two = (view.apply(rows) for rows in build)
    edges = cut(np.concatenate([one, two]))
    three, four = (view.apply(rows) for rows in score)
    return _Table(
        view,
        edges,
        (_count(one, edges), _count(two, edges)),
        (_count(three, edges), _count(four, edges)),
    )


def _best(table: _Table, side: int, *, delta: float, alpha: float) -> tuple[float, Event]:
    """Try both tails and the cells of highest likelihood ratio; return the best promise and its event."""
    ratio = np.log(table.build[side] + 0.5) - np.log(table.build[1 - side] + 0.5)
    natural = np.arange(len(ratio) - 1)
    orders = [natural, natural[::-1], np.argsort(-ratio, kind="stable")]
    likely, unlikely = table.score[side], table.score[1 - side]
    winner, taken = -math.inf, np.zeros(0, dtype=np.int64)
    for order in orders:
        promise = _promise(
            np.cumsum(likely[order]), int(likely.sum()), np.cumsum(unlikely[order]), int(unlikely.sum()),
            delta=delta, alpha=alpha,
        )  # fmt: skip
        top = int(np.argmax(promise))
        if promise[top] > winner:
            winner, taken = float(promise[top]), order[: top + 1]
    seen = table.build[0] + table.build[1] + table.score[0] + table.score[1]
    chosen = _fill(set(taken.tolist()), seen)
    return winner, Event(table.view, tuple(table.edges.tolist()), tuple(chosen))


def _promise(hits: Counts, trials: int, others: Counts, other_trials: int, *, delta: float, alpha: float) -> Values:
    """Approximate the final bound: cheap, and only the choice depends on it."""
    z = NormalDist().inv_cdf(1 - alpha)
    low, high = _limit(hits, trials, -z), _limit(others, other_trials, z)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(low - delta, 0.0)) - np.log(high))


def _limit(hits: Counts, trials: int, z: float) -> Values:
    """Approximate Clopper-Pearson: Wilson's score, and Wilson and Hilferty's cube where hits are rare."""
    p = hits / trials
    spread = np.sqrt(p * (1 - p) / trials + (z / (2 * trials)) ** 2)
    wilson = (p + z * z / (2 * trials) + z * spread) / (1 + z * z / trials)
    count = np.maximum(hits + (z > 0), 1)
    rare = count / trials * np.maximum(1 - 1 / (9 * count) + z / (3 * np.sqrt(count)), 0.0) ** 3
    if z < 0:
        rare = np.where(hits == 0, 0.0, rare)
    return np.asarray(np.minimum(np.where(p < 0.1, rare, wilson), 1.0))


def _fill(chosen: set[int], seen: Counts) -> list[int]:
    """Add cells that no sample ever hit next to a chosen one, so that whole numbers read as ranges."""
    last = len(seen) - 2
    for cell in range(last + 1):
        if seen[cell] == 0 and cell not in chosen:
            below = cell == 0 or cell - 1 in chosen
            above = cell == last or cell + 1 in chosen
            if below and above:
                chosen.add(cell)
    return sorted(chosen)


def _train(build: tuple[Rows, Rows], tables: list[_Table]) -> Score | None:
    """Fit a logistic regression on binned views: each gives its log ratio and its clipped position."""
    simple = [t for t in tables if len(t.edges) > 1]
    simple.sort(key=lambda t: -_information(*t.build))
    simple = simple[:_CLASSIFIER_PARTS]
    if len(simple) < 2:
        return None
    from sklearn.linear_model import LogisticRegression

    rows = [side[:_CLASSIFIER_ROWS] for side in build]
    target = np.repeat([1, 0], [len(side) for side in rows])
    pooled = np.concatenate(rows)
    parts: list[Projection] = []
    edges_of, features_of, columns = [], [], []
    for table in simple:
        assert isinstance(table.view, Projection)
        values = table.view.apply(pooled)
        edges = cut(values, cells=_CLASSIFIER_CELLS)
        cells = cell_index(values, edges)
        size = 2 * len(edges) + 2
        up, down = (np.bincount(cells[target == t], minlength=size) for t in (1, 0))
        # Five pseudo-counts shrink the log ratio of cells that hold a handful of samples.
        ratio = np.log((up + 5.0) / (down + 5.0))
        place = np.append(np.linspace(-1.0, 1.0, size - 1), 0.0)
        parts.append(table.view)
        edges_of.append(tuple(edges.tolist()))
        features_of.append((ratio, place))
        columns += [ratio[cells], place[cells]]
    model = LogisticRegression(C=1.0, max_iter=200)
    with warnings.catch_warnings(), one_thread():
        # A fit that stops early is a weaker guess at the event, never a wrong bound.
        warnings.simplefilter("ignore")
        model.fit(np.column_stack(columns), target)
    slopes = model.coef_[0].reshape(-1, 2)
    weights = [
        tuple((a * ratio + b * place).tolist()) for (a, b), (ratio, place) in zip(slopes, features_of, strict=True)
    ]
    return Score(tuple(parts), tuple(edges_of), tuple(weights))


def _information(left: Counts, right: Counts) -> float:
    """Return the smoothed Jeffreys divergence between two rows of counts."""
    p, q = (left + 0.5) / (left + 0.5).sum(), (right + 0.5) / (right + 0.5).sum()
    return float(((p - q) * np.log(p / q)).sum())
