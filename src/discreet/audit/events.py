"""Sets of outputs: a union of cells on a one-dimensional view, countable, storable and sayable in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.outputs import Rows
from discreet.audit.projections import Values, View, cell_index, view_from_dict

_SPOKEN_RUNS = 4


@dataclass(frozen=True)
class Event:
    """The outputs whose view falls in one of the chosen cells; cells are numbered by `cell_index`."""

    view: View
    edges: tuple[float, ...]
    chosen: tuple[int, ...]

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Say for every output row whether the event occurred."""
        mask = np.zeros(2 * len(self.edges) + 2, dtype=bool)
        mask[list(self.chosen)] = True
        return np.asarray(mask[cell_index(self.view.apply(rows), np.asarray(self.edges))])

    def runs(self) -> list[tuple[float, float, bool, bool]]:
        """Return the event as intervals (low, high, low included, high included), NaN left out."""
        last = 2 * len(self.edges)
        cells = sorted(c for c in self.chosen if c <= last)
        found: list[tuple[float, float, bool, bool]] = []
        start = 0
        for stop in range(1, len(cells) + 1):
            if stop == len(cells) or cells[stop] != cells[stop - 1] + 1:
                found.append(self._interval(cells[start], cells[stop - 1]))
                start = stop
        return found

    def _interval(self, first: int, final: int) -> tuple[float, float, bool, bool]:
        # Cell 2j is the gap below edge j, cell 2j + 1 is edge j itself.
        low = -np.inf if first == 0 else self.edges[(first - 1) // 2]
        high = np.inf if final == 2 * len(self.edges) else self.edges[final // 2]
        return float(low), float(high), first % 2 == 1, final % 2 == 1

    def words(self, names: Sequence[str]) -> str:
        """Describe the event in one line."""
        subject = self.view.words(names)
        runs = self.runs()
        said = [_say(*run) for run in runs[:_SPOKEN_RUNS]]
        if len(runs) > _SPOKEN_RUNS:
            said.append(f"in {len(runs) - _SPOKEN_RUNS} more intervals")
        if 2 * len(self.edges) + 1 in self.chosen:
            said.append("is missing")
        return f"{subject} {' or '.join(said) if said else 'never'}"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready fields; Python's JSON keeps every bit of a double."""
        return {"view": self.view.to_dict(), "edges": list(self.edges), "chosen": list(self.chosen)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Event:
        """Undo `to_dict`."""
        return cls(view_from_dict(fields["view"]), tuple(fields["edges"]), tuple(fields["chosen"]))


def _say(low: float, high: float, low_in: bool, high_in: bool) -> str:
    if low == high:
        return f"= {low:.17g}"
    if low == -np.inf and high == np.inf:
        return "is present"
    if low == -np.inf:
        return f"{'<=' if high_in else '<'} {high:.6g}"
    if high == np.inf:
        return f"{'>=' if low_in else '>'} {low:.6g}"
    return f"in {'[' if low_in else '('}{low:.6g}, {high:.6g}{']' if high_in else ')'}"


def cut(values: Values, *, cells: int = 128) -> Values:
    """Choose edges for pooled values: every value if few, else frequent values, quantiles and both tails."""
    present = values[~np.isnan(values)]
    if present.size == 0:
        return np.zeros(0)
    distinct, counts = np.unique(present, return_counts=True)
    if distinct.size <= 2 * cells:
        return distinct
    common = np.argsort(-counts, kind="stable")[:cells]
    atoms = distinct[common[counts[common] >= 4]]
    ordered = np.repeat(distinct, counts)
    places = np.linspace(0, ordered.size - 1, cells).astype(int)
    # Large epsilons show in the tails only, so those are cut finer than the quantiles do.
    tails = np.array([t for t in (3, 6, 12, 25, 50, 100, 200, 400) if t < ordered.size // 2])
    return np.unique(np.concatenate([atoms, ordered[places], ordered[tails], ordered[-1 - tails]]))
