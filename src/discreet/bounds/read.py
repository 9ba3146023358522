"""Reading noisy histograms: bounds and bin edges as post-processing of what was released, blind to the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.bounds.grid import PARTS, Integers, Octaves
from discreet.domain import Lattice
from discreet.features import Numeric

Floats = NDArray[np.float64]
FEWEST, MOST = 8, 128  # cells of the second histogram
PER_CELL = 4.0  # rows of a second cell beside the scale of its noise, on average


def found_cells(noisy: Integers, over: NDArray[np.bool_]) -> tuple[int, int]:
    """The outermost octaves with more rows than noise alone would show; the fullest one if there are none."""
    found = np.flatnonzero(over)
    if not len(found):
        fullest = int(np.argmax(noisy))
        return fullest, fullest
    return int(found[0]), int(found[-1])


def found_bounds(feature: Numeric, grid: Octaves, first: int, last: int) -> tuple[float, float]:
    """The bounds that these octaves span, inside the declared limits."""
    lower, upper = grid.span(first)[0], grid.span(last)[1]
    if lower == upper:  # nothing but the middle: the nearest octave makes it an interval
        upper += 2.0**grid.low if grid.above else 0.0
        lower -= 0.0 if grid.above else 2.0**grid.low
    lower, upper = max(lower, feature.lower), min(upper, feature.upper)
    if lower < upper and _holds(lower, upper, feature.integer):
        return lower, upper
    return feature.lower, feature.upper  # too narrow for a lattice


def _holds(lower: float, upper: float, integer: bool) -> bool:
    try:
        Lattice.of(lower, upper, integer)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Cells:
    """The cells of the second histogram: the octave of each, where it starts among the finest cells, where it begins
    and ends as a value, and whether it must stay in one piece.
    """

    octaves: list[int]
    starts: list[int]
    spans: list[tuple[float, float]]
    whole: list[bool]

    def counts(self, finest: Integers) -> Integers:
        """Rows by cell; rows beyond the outermost octaves count in the outermost cells."""
        end = (self.octaves[-1] + 1) * PARTS
        counts = np.add.reduceat(finest[:end], self.starts)
        counts[0] += finest[: self.starts[0]].sum()
        counts[-1] += finest[end:].sum()
        return np.asarray(counts)


def allot(noisy: Integers, grid: Octaves, first: int, last: int, scale: float) -> Cells:
    """The octaves from `first` to `last`, each in equal parts, for the second histogram.

    Parts go by the root of an octave's rows, after Dalenius and Hodges; there are fewer of them where the noise, of
    this `scale`, would drown them. An outermost octave that also holds what lies beyond it stays in one piece.
    """
    rows = np.maximum(noisy[first : last + 1].astype(np.float64), 0.0)
    wanted = MOST if scale == 0 else min(MOST, max(FEWEST, int(rows.sum() / (PER_CELL * scale))))
    weights = np.sqrt(rows)
    weights = weights / weights.sum() if weights.sum() else np.full(len(rows), 1 / len(rows))
    octaves, starts, spans, whole = [], [], [], []
    for cell, share in enumerate(weights.tolist(), start=first):
        outer = (cell == first and first > 0) or (cell == last and last < grid.size - 1)
        count = 1 if outer else min(grid.most_parts(cell), _power_of_two(wanted * share))
        low, high = grid.span(cell)
        width = (high - low) / count
        octaves += [cell] * count
        starts += [cell * PARTS + i * (PARTS // count) for i in range(count)]
        spans += [(low + width * i, low + width * (i + 1)) for i in range(count)]
        whole += [outer or width <= (1 if grid.integer else 0)] * count
    return Cells(octaves, starts, spans, whole)


def confirmed(
    cells: Cells, noisy: Integers, over: NDArray[np.bool_], threshold: int, anchor: int
) -> tuple[Cells, Integers]:
    """The cells without outer octaves that two looks do not confirm; their rows go to one cell beside what is left.

    What is left may begin at the cell of the grid's `anchor`. The anchor is then the lower bound, and rows below count
    as it: a number that is never negative begins at 0, not at the octave under it. Not so at the upper end, where the
    octave beyond leaves a bin to the anchor: bins hold where they begin, not where they end.
    """
    octaves = np.array(cells.octaves)
    present, place, parts = np.unique(octaves, return_inverse=True, return_counts=True)
    totals = np.bincount(place, weights=noisy)
    sure = np.flatnonzero(over[present] & (totals > threshold * np.sqrt(parts)))
    middle = (int(sure[0]), int(sure[-1])) if len(sure) else (int(np.argmax(totals)),) * 2
    low, high = max(middle[0] - 1, 0), min(middle[1] + 1, len(present) - 1)
    if middle[0] < middle[1] and present[middle[0]] == anchor:
        low = middle[0]
    keep: list[int] = []
    counts: list[float] = []
    for which in range(low, high + 1):
        mine = np.flatnonzero(place == which)
        if which < middle[0] or which > middle[1]:  # an outer octave, with all that lies beyond it
            beyond = totals[: low + 1] if which < middle[0] else totals[high:]
            keep.append(int(mine[0]))
            counts.append(float(beyond.sum()))
        else:
            keep += mine.tolist()
            counts += noisy[mine].tolist()
    if low == middle[0]:
        counts[0] += float(totals[:low].sum())
    whole = [cells.whole[i] or not middle[0] <= place[i] <= middle[1] for i in keep]
    spans = []
    for i in keep:  # an outer octave in one piece spans all of its parts
        same = [cells.spans[j] for j in np.flatnonzero(place == place[i])]
        outer = not middle[0] <= place[i] <= middle[1]
        spans.append((same[0][0], same[-1][1]) if outer else cells.spans[i])
    kept = Cells([cells.octaves[i] for i in keep], [cells.starts[i] for i in keep], spans, whole)
    return kept, np.rint(counts).astype(np.int64)


def _power_of_two(amount: float) -> int:
    """The largest power of two that is not above an amount, from 1 to PARTS."""
    return 1 << min(max(int(amount), 1).bit_length() - 1, PARTS.bit_length() - 1)


def edges_of(feature: Numeric, lower: float, upper: float, cells: Cells, noisy: Integers, scale: float) -> list[float]:
    """At most `feature.bins` bins from `lower` to `upper`, each with about the same sum of roots of cells' rows."""
    bins, spans, whole = feature.bins, cells.spans, cells.whole
    assert isinstance(bins, int)
    weights = np.sqrt(np.maximum(noisy - scale, 0.0))
    if not weights.any():
        weights = np.ones(len(spans))
    for _ in range(bins):  # a cell that cannot be cut needs no more than one bin
        weights = np.where(whole, np.minimum(weights, weights.sum() / bins), weights)
    running = np.concatenate([[0.0], np.cumsum(weights)])
    targets = running[-1] * np.arange(1, bins) / bins
    spot = np.clip(np.searchsorted(running, targets, side="right") - 1, 0, len(spans) - 1)
    inner: list[float] = []
    for target, i in zip(targets.tolist(), spot.tolist(), strict=True):
        low, high = spans[i]
        share = (target - running[i]) / weights[i] if weights[i] else 0.0
        if whole[i]:  # an edge before or behind a cell that cannot be cut, whichever is nearer
            inner.append(low if share < 0.5 else spans[min(i + 1, len(spans) - 1)][0])
        else:
            inner.append(low + (high - low) * share)
    return _rising(feature, lower, upper, inner)


def _rising(feature: Numeric, lower: float, upper: float, inner: list[float]) -> list[float]:
    """The edges that the lattice between the bounds can tell apart."""
    lattice = Lattice.of(lower, upper, feature.integer)
    edges, last = [lower], -lattice.half
    for edge in sorted(float(round(edge)) if feature.integer else edge for edge in inner):
        point = lattice.point(edge)
        if last < point and lower < edge < upper:
            edges.append(edge)
            last = point
    edges.append(upper)
    assert all(a < b for a, b in pairwise(edges))
    return edges
