"""The choice between plain sums and trimmed statistics, by errors predicted from public or released quantities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.plan import Item, Kind, Plan, charged
from discreet.bayes.tuning import UNKNOWN_RATIO, Tuned

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Picture:
    """What a noisy coarse histogram says of a number, pooled over classes; shares of the half range."""

    ratio: float
    spiky: bool


def bought_spread(counts: NDArray[np.int64], variance: float) -> Picture | None:
    """The spread of a bell around the median, and whether tails or spikes make the number no bell at all.

    `counts` are released, one row per class, and `variance` is that of the noise on each; None if noise hides all.
    """
    spreads, spiky, weights = [], False, []
    for row in counts.astype(np.float64):
        cells = len(row)
        # Cells that noise alone could explain are left out; what is left keeps its total.
        doubt = 2.5 * math.sqrt(variance)
        firm = np.where(row > doubt, row, 0.0)
        total = float(firm.sum())
        if total <= 4 * doubt:
            continue
        centres = (np.arange(cells) + 0.5) / cells * 2 - 1
        ranks = np.cumsum(firm) - firm / 2
        low, high = np.interp([0.16 * total, 0.84 * total], ranks, centres)
        robust = max((high - low) / 2, 1 / cells)
        middle = float((firm * centres).sum() / total)
        plain = float((firm * (centres - middle) ** 2).sum() / total)
        spiky = spiky or (plain > 2.5 * robust**2 and plain > 4 / cells**2)
        spreads.append(robust)
        weights.append(total)
    if not spreads:
        return None
    return Picture(float(np.average(spreads, weights=weights)), spiky)


def as_moments(pair: Sequence[Item], plan: Plan) -> list[Item]:
    """The same budget spent on plain sums with noise of a fixed size."""
    result = []
    kinds: tuple[Kind, Kind] = ("sum", "square")
    for item, kind in zip(pair, kinds, strict=True):
        unit = None if item.charge is None else item.charge.cost / item.share
        moment = replace(item, kind=kind, charge=None)
        result.append(charged(moment, unit, plan.mechanism, plan.adjacency, plan.contributions))
    return result


def prefers_smooth(
    pair: Sequence[Item],
    chosen: Mapping[Kind, Sequence[Tuned]],
    rows: Floats,
    ratio: float | None,
    picture: Picture | None,
    plan: Plan,
) -> bool:
    """Whether trimmed statistics promise the smaller excess log-loss, ½(Δμ/σ)² + ¼(Δσ²/σ²)² per row."""
    if picture is not None and picture.spiky:
        return False
    share = UNKNOWN_RATIO if ratio is None else ratio
    moments = as_moments(pair, plan)
    if any(item.charge is None for item in moments):
        return False
    plain = [math.sqrt(item.variance) / item.half**power for item, power in zip(moments, (1, 2), strict=True)]
    first, second = pair
    losses = {"plain": 0.0, "smooth": 0.0}
    for group, count in enumerate(np.maximum(rows, 1.0)):
        widen = 0.5 if second.kind == "second" else 1.0
        losses["plain"] += count * _loss(plain[0] / count, plain[1] / count, share)
        losses["smooth"] += count * _loss(
            chosen[first.kind][group].error, chosen[second.kind][group].error * widen, share
        )
    return losses["smooth"] < losses["plain"]


def _loss(mean_error: float, variance_error: float, ratio: float) -> float:
    """Excess log-loss per row, levelling off where everything is noise."""
    raw = 0.5 * (mean_error / ratio) ** 2 + 0.25 * (variance_error / ratio**2) ** 2
    return raw / (1 + raw)
