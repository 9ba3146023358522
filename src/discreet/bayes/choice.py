"""The choice between plain sums and trimmed statistics, by errors predicted from public or released quantities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.items import Item, Kind, Plan, charged
from discreet.mechanisms.trimming import UNKNOWN_RATIO, Tuned

Floats = NDArray[np.float64]
FAR = 0.03  # a bell has no rows to speak of beyond four deviations; this share of them makes it something else


@dataclass(frozen=True)
class Picture:
    """What a noisy histogram says of a number in all classes; the spread is a share of the half range.

    `bell` is true only if the noise leaves little room for rows far from the middle, where trimming would lose them.
    """

    ratio: float
    bell: bool


def bought_spread(counts: NDArray[np.int64], variance: float) -> Picture:
    """The spread around the median, and whether the number is a bell for all that can be seen.

    `counts` are released, one row per class, and `variance` is that of the noise on each of them.
    """
    views = [view for row in counts.astype(np.float64) if (view := _view(row, variance)) is not None]
    if not views:  # noise hides everything
        return Picture(UNKNOWN_RATIO, False)
    weights = [weight for weight, _, _ in views]
    ratio = float(np.average([spread for _, spread, _ in views], weights=weights))
    return Picture(ratio, len(views) == len(counts) and all(bell for _, _, bell in views))


def _view(row: Floats, variance: float) -> tuple[float, float, bool] | None:
    """(rows, spread, bell) of one class at the finest resolution at which most of its rows stand out."""
    total = float(row.sum())
    width = 1
    while len(row) >= 8 * width:
        merged = row[: len(row) // width * width].reshape(-1, width).sum(axis=1)
        firm = np.where(merged > 5 * math.sqrt(width * variance), merged, 0.0)
        if firm.sum() > max(0.6 * total, 8 * math.sqrt(len(row) * variance)):
            return total, *_shape(row, firm, width, variance)
        width *= 2
    return None


def _shape(row: Floats, firm: Floats, width: int, variance: float) -> tuple[float, bool]:
    edges = np.linspace(-1, -1 + 2 * len(firm) * width / len(row), len(firm) + 1)
    below = np.concatenate([[0.0], np.cumsum(firm)])
    low, middle, high = np.interp(np.array([0.16, 0.5, 0.84]) * below[-1], below, edges)
    spread = max((high - low) / 2, 1 / len(row))
    # Rings of doubling width around the middle: a few per cent of the rows in any of them is not a bell's tail.
    distance = np.abs((np.arange(len(row)) + 0.5) / len(row) * 2 - 1 - middle)
    inner, bell = 4 * spread + 2 * width / len(row), True
    while inner < 2:
        ring = (distance > inner) & (distance <= 2 * inner)
        room = math.sqrt(variance * int(ring.sum()))
        bell = bell and float(row[ring].sum()) + room < FAR * float(row.sum())
        inner *= 2
    return spread, bell


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
    if picture is not None and not picture.bell:
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
