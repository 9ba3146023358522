"""Score bins from public knowledge alone: the released model, its schema and constants; never an evaluated row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods.histogram import decode
from discreet.evaluation.exact import Scoring
from discreet.models import leads
from discreet.schema import Schema
from discreet.sources import Rows, make_column

Floats = NDArray[np.float64]
REFERENCE = 4096  # made-up rows that the model is asked about
SEED = 20_260  # any constant: the same model always has the same edges
PARTS = 12  # of the made-up scores' sizes, on each side of the threshold
BEYOND = (1.4, 2.0)  # real rows may score higher than made-up ones
ATOMS = 40  # a model with no more scores than this gets a bin for each


@dataclass(frozen=True, eq=False)
class Scale:
    """Where the bins of one score end, and made-up scores that show how it runs within a bin.

    Bin i holds scores above edge i − 1 and not above edge i, so the edge at 0 parts the two answers of two classes.
    """

    edges: Floats
    reference: Floats

    @cached_property
    def _distinct(self) -> tuple[Floats, NDArray[np.int64]]:
        values, counts = np.unique(self.reference, return_counts=True)
        return values, counts

    @property
    def bins(self) -> int:
        """How many there are."""
        return len(self.edges) + 1

    def place(self, scores: Any) -> NDArray[np.int64]:
        """The bin of each score: of that score alone."""
        return np.asarray(np.searchsorted(self.edges, scores, side="left"), np.int64)

    def centres(self) -> Floats:
        """A typical score of each bin."""
        if not len(self.edges):
            return np.zeros(1)
        reach = np.diff(self.edges) if len(self.edges) > 1 else np.ones(1)
        ends = np.concatenate([[self.edges[0] - reach[0]], self.edges, [self.edges[-1] + reach[-1]]])
        return np.asarray((ends[1:] + ends[:-1]) / 2)

    def mixed(self) -> NDArray[np.bool_]:
        """Which bins may hold rows of several scores, so that some order among them is hidden."""
        every, _ = self._distinct
        ends = np.searchsorted(every, self.edges, side="right")
        held = np.diff([0, *ends.tolist(), len(every)])
        return np.asarray((held != 1) & (len(every) > ATOMS))

    def within(self, slope: float) -> Floats:
        """The chance that of two rows in one bin the one of the class scores higher, a tie counted as one half.

        The odds of the class are taken to rise by `slope` per unit of the score, and the made-up scores to lie in the
        bin as real ones do. Scores that are equal stay ties.
        """
        chances = np.full(self.bins, 0.5)
        every, often = self._distinct
        ends = np.searchsorted(every, self.edges, side="right")
        for i, (first, last) in enumerate(pairwise([0, *ends.tolist(), len(every)])):
            values, counts = every[first:last], often[first:last]
            if len(values) < 2:
                continue
            tilt = np.clip(slope * (values - counts @ values / counts.sum()) / 2, -30.0, 30.0)
            own, other = counts * np.exp(tilt), counts * np.exp(-tilt)
            own, other = own / own.sum(), other / other.sum()
            chances[i] = float(own @ (np.cumsum(other) - other / 2))
        return chances


def made_up_rows(model: Scoring) -> Rows:
    """Rows that nobody has: drawn from the model where it can draw, else evenly from the cells of its schema."""
    rng, schema = np.random.default_rng(SEED), model.schema
    if getattr(model, "generative", False):
        drawn = model.sample(REFERENCE, rng=rng)  # type: ignore[attr-defined]
    else:
        drawn = {f.name: decode(f, rng.integers(0, f.cells, REFERENCE), rng) for f in schema.features}
    return _rows(schema, drawn)


def _rows(schema: Schema, drawn: dict[str, list[Any]]) -> Rows:
    columns = []
    for feature in schema.features:
        values = np.empty(REFERENCE, dtype=object)
        values[:] = drawn[feature.name]
        columns.append(make_column(feature, values))
    return Rows(columns, REFERENCE)


def gaps(scores: Floats, probabilistic: bool) -> Floats:
    """What is binned: the second class's lead if there are two classes, else each class's log-odds or margin."""
    if scores.shape[1] > 2 and not probabilistic:
        return np.nan_to_num(scores, nan=0.0, posinf=1e300, neginf=-1e300)
    return leads(scores, probabilistic)[:, 1:] if scores.shape[1] == 2 else leads(scores, probabilistic)


def made_up_scores(model: Scoring) -> Floats:
    """What the model says of made-up rows."""
    return np.asarray(model.score_rows(made_up_rows(model)), dtype=np.float64)


def scales(scores: Floats, probabilistic: bool) -> list[Scale]:
    """The bins of each score of a model, by those of made-up rows: one for two classes, one per class for more."""
    found = gaps(scores, probabilistic)
    return [_scale(column) for column in found.T]


def _scale(scores: Floats) -> Scale:
    scores = np.clip(scores, -1e12, 1e12)
    distinct = np.unique(scores)
    if len(distinct) <= ATOMS:
        return Scale(np.unique([*((distinct[1:] + distinct[:-1]) / 2), 0.0]), scores)
    sizes = _quantiles(np.abs(scores), _balance(scores), PARTS)
    sizes = sizes[sizes > 0]
    if len(sizes):
        sizes = np.concatenate([sizes, sizes[-1] * np.array(BEYOND)])
    return Scale(np.concatenate([-sizes[::-1], [0.0], sizes]), scores)


def _balance(scores: Floats) -> Floats:
    """Weights by which the model holds either answer for equally frequent: bins are needed where the two meet."""
    own = 1 / (1 + np.exp(-np.clip(scores, -30.0, 30.0)))
    return np.asarray(own / own.sum() + (1 - own) / (1 - own).sum())


def _quantiles(values: Floats, weights: Floats, parts: int) -> Floats:
    """Where the weight of the values is cut into equal parts."""
    order = np.argsort(values, kind="stable")
    levels = np.cumsum(weights[order]) / weights.sum()
    spots = np.searchsorted(levels, np.arange(1, parts) / parts)
    return np.unique(values[order][np.minimum(spots, len(values) - 1)])
