"""Public grids: very fine cells of a number, even ones with a first one that is halved again and again."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.bayes.bins import edges_apart
from discreet.schema import Numeric

EVEN, HALVINGS, TINY = 512, 10, 20  # even cells; halvings of the first one; and a last cell of span·2^-TINY
PARTS = tuple(
    sorted({2.0**-15, *(2.0**-k for k in range(7, 15)), *(i / 64 for i in range(1, 64))})
)  # of a range, at which the cells of the pooled table begin
COARSE = (2.0**-15, *(2.0**-k for k in range(9, 0, -1)))  # and of one for little budget: noise of few cells is less


def fine_cells(feature: Numeric) -> Numeric:
    """The number in some 500 cells: each whole number by itself if there are no more of them, else even cells."""
    span = feature.upper - feature.lower
    if feature.integer and span < EVEN and feature.lattice.step <= 1:
        return feature.having(int(span) + 1)
    first = span / EVEN
    even = [feature.lower + first * i for i in range(1, EVEN)]
    halved = [feature.lower + first / 2**k for k in range(1, HALVINGS + 1)]
    return with_edges(feature, [feature.lower + span / 2**TINY, *halved, *even])


def relative_cells(feature: Numeric, parts: tuple[float, ...] = PARTS) -> tuple[Numeric, tuple[int, ...]]:
    """The number in the cells of the pooled table that its lattice tells apart, and which of them these are."""
    span = feature.upper - feature.lower
    found = with_edges(feature, (feature.lower + span * part for part in parts))
    starts = [0.0, *((edge - feature.lower) / span for edge in found.edges[1:-1])]
    places = tuple(sum(part <= start + 1e-12 for part in parts) for start in starts)
    return found, places


def with_edges(feature: Numeric, inner: Iterable[float]) -> Numeric:
    """The number with these inner edges, as far as its lattice tells them apart; two bins at least."""
    kept = edges_apart(feature, inner, feature.upper)
    return feature.having((*kept, feature.upper) if len(kept) > 1 else 2)
