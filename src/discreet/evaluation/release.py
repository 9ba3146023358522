"""The release of a private evaluation: rows are counted into public cells, and exact noise is added to the counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.evaluation.edges import gaps
from discreet.evaluation.exact import Scoring
from discreet.evaluation.plan import EvaluationPlan
from discreet.mechanisms.noise import Sampler, laplace_variance
from discreet.models import set_bins
from discreet.privacy.coverage import SetCounts
from discreet.privacy.ledger import Charge
from discreet.sources import Draw, Progress, Rows

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Counts with noise, and the variance of that noise."""

    counts: Floats
    variance: float


def cells_of(model: Scoring, plan: EvaluationPlan, rows: Rows) -> list[Integers]:
    """The cell of every row in every table, by what that row says and the released model."""
    assert rows.label is not None
    truth = rows.label.encode()
    if (truth == plan.classes).any():
        rows.label.complain()
    scores = np.asarray(model.score_rows(rows), dtype=np.float64)
    lead = gaps(scores, model.probabilistic)
    bins = [scale.place(lead[:, k]) for k, scale in enumerate(plan.scales)]
    best = scores.argmax(axis=1)
    sets = []
    if plan.edges is not None:
        reached = set_bins(scores, plan.edges, model.probabilistic)[np.arange(len(truth)), truth]
        sets = [np.zeros(len(truth), np.int64), reached[reached < len(plan.edges)]]
    if plan.classes == 2:
        return [truth * plan.scales[0].bins + bins[0], *sets]
    curves = ((truth == k) * scale.bins + bins[k] for k, scale in enumerate(plan.scales))
    return [truth * plan.classes + best, *curves, *sets]


def shapes(plan: EvaluationPlan) -> list[tuple[int, int]]:
    """Rows and columns of every table."""
    curves = [(2, scale.bins) for scale in plan.scales]
    sets = [] if plan.edges is None else [(1, 1), (1, len(plan.edges))]
    return [*([] if plan.classes == 2 else [(plan.classes, plan.classes)]), *curves, *sets]


def count_rows(
    model: Scoring,
    plan: EvaluationPlan,
    data: Any,
    y: Any = None,
    *,
    draw: Draw | None = None,
    progress: Progress | None = None,
) -> list[Integers]:
    """The exact tables of labelled rows of any source, which may have no row at all. As private as the rows."""
    tables = [np.zeros(a * b, np.int64) for a, b in shapes(plan)]
    rows = sources.open(
        data, model.schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=draw,
        progress=progress,
    )  # fmt: skip
    for found in rows.tables(partial(_counted, model, plan), empty=True, coded=model.by_codes):
        tables = [table + more for table, more in zip(tables, found.values(), strict=True)]
    return [table.reshape(size) for table, size in zip(tables, shapes(plan), strict=True)]


def _counted(model: Scoring, plan: EvaluationPlan, rows: Rows) -> dict[str, Integers]:
    cells = cells_of(model, plan, rows) if rows.size else [np.zeros(0, np.int64)] * len(shapes(plan))
    pairs = zip(cells, shapes(plan), strict=True)
    return {str(j): np.bincount(one, minlength=a * b) for j, (one, (a, b)) in enumerate(pairs)}


def add_noise(tables: list[Integers], plan: EvaluationPlan, sampler: Sampler) -> list[NoisyTable]:
    """Release the tables. The caller has entered the charges before reading any row."""
    if not plan.charges:
        return [NoisyTable(table.astype(np.float64), 0.0) for table in tables]
    return [_noisy(table, charge, sampler) for table, charge in zip(tables, plan.charges, strict=True)]


def set_counts(noisy: list[NoisyTable], plan: EvaluationPlan) -> SetCounts | None:
    """What prediction sets rest on, out of the last two tables."""
    if plan.edges is None:
        return None
    (rows,), counts = noisy[-2].counts[0].astype(int).tolist(), noisy[-1].counts[0].astype(int).tolist()
    first, second = (str(one.spread) for one in plan.charges[-2:]) if plan.charges else ("0", "0")
    return SetCounts(
        edges=tuple(plan.edges.tolist()), counts=tuple(counts), rows=rows, spread=second, rows_spread=first
    )


def _noisy(table: Integers, charge: Charge, sampler: Sampler) -> NoisyTable:
    noisy = sampler.laplace(table, charge.spread)
    return NoisyTable(noisy.astype(np.float64), laplace_variance(float(charge.spread)))
