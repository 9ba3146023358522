"""What an audit answers: the claim, the proven lower bound, and the pair and event that show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from discreet.audit.events import Event
from discreet.audit.outputs import Rows
from discreet.errors import AuditError


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets, and what makes them neighbours."""

    left: Any
    right: Any
    note: str = ""


@dataclass(frozen=True)
class Law:
    """Histograms of both output laws along the view on which the event was found."""

    label: str
    edges: tuple[float, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]
    event: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class AuditResult:
    """A lower bound on epsilon that holds with the stated confidence, and the verdict on the claim."""

    name: str
    epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    pair: str
    event: str
    samples: int
    seconds: float
    method: str = "event"
    seed: int | None = None
    hits: tuple[int, int, int, int] | None = None
    law: Law | None = field(default=None, repr=False)

    @property
    def verdict(self) -> str:
        """Return "violated" if the bound exceeds the claim, else "consistent"."""
        return "violated" if self.lower_bound > self.epsilon else "consistent"

    @property
    def violated(self) -> bool:
        """Say whether the claim is refuted."""
        return self.verdict == "violated"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready fields, the verdict included."""
        return {**asdict(self), "verdict": self.verdict}

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"{self.name or 'mechanism'}: claimed epsilon {self.epsilon:g}, at least {self.lower_bound:.3f} "
            f"with confidence {self.confidence:g}: {self.verdict} ({self.event}; {self.pair})"
        )


def law_of(event: Event, left: Rows, right: Rows, names: tuple[str, ...]) -> Law:
    """Bin both sides of the search samples along the event's view, for the figure."""
    values = [event.view.apply(side) for side in (left, right)]
    values = [v[np.isfinite(v)] for v in values]
    pooled = np.concatenate(values)
    if pooled.size == 0:
        pooled = np.zeros(1)
    low, high = np.quantile(pooled, [0.002, 0.998])
    whole = bool((pooled == np.round(pooled)).all()) and high - low <= 80
    edges = np.arange(low - 0.5, high + 1) if whole else np.linspace(low, high if high > low else low + 1, 61)
    counts = [np.histogram(v, edges)[0] for v in values]
    return Law(
        event.view.words(names),
        tuple(edges.tolist()),
        tuple(counts[0].tolist()),
        tuple(counts[1].tolist()),
        tuple((low, high) for low, high, _, _ in event.runs()),
    )


def figure(result: AuditResult, path: str) -> None:
    """Draw both output laws and shade the event; needs matplotlib."""
    if result.law is None:
        raise AuditError("This result carries no output laws to draw; audit with neighbouring pairs.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise AuditError("Install matplotlib to draw an audit: pip install matplotlib") from error
    law = result.law
    edges = np.asarray(law.edges)
    chart = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = chart.subplots()
    for counts, label, colour in ((law.left, "left data set", "C0"), (law.right, "right data set", "C1")):
        density = np.asarray(counts) / max(1, sum(counts))
        axes.stairs(density, edges, label=label, color=colour, linewidth=1.5)
    for low, high in law.event:
        # Half a bin on each side keeps an event that is a single value visible.
        margin = (edges[1] - edges[0]) / 2 if low == high else 0.0
        axes.axvspan(max(low - margin, edges[0]), min(high + margin, edges[-1]), color="0.85", zorder=0)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_xlabel(law.label)
    axes.set_ylabel("share of runs")
    axes.set_title(
        f"{result.name or 'mechanism'}: claimed {result.epsilon:g}, at least {result.lower_bound:.2f} "
        f"({result.verdict})",
        fontsize=10,
    )
    axes.legend(title=f"shaded: the event\n{result.pair}"[:80], fontsize=8, title_fontsize=8)
    chart.savefig(path, dpi=120)
