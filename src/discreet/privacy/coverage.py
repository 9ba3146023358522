"""Prediction sets: which scores to let in, so that noisy counts of rows held out prove the coverage."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from discreet.errors import BudgetError
from discreet.privacy.budget import number

Finite = Annotated[float, Field(allow_inf_nan=False)]
UP = 1 + 1e-9  # what floats may have lost of a margin


class SetCounts(BaseModel):
    """Noisy counts of held-out rows by the lead of their true class, where it was not the best one.

    Bin i holds leads above edge i − 1 and not above edge i; the last edge is 0. `rows` are all rows held out, with
    noise of their own. `spread` and `rows_spread` are the exact scales of the two noises, 0 for none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    edges: tuple[Finite, ...]
    counts: tuple[int, ...]
    rows: int
    spread: str
    rows_spread: str

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        rising = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        if not self.edges or len(self.edges) != len(self.counts) or not rising or self.edges[-1] != 0:
            raise ValueError("the edges of the prediction sets do not fit their counts")
        if min(Fraction(self.spread), Fraction(self.rows_spread)) < 0:
            raise ValueError("the noise of the prediction sets is out of range")
        return self

    def first_bin(self, coverage: Any) -> int:
        """The lowest bin that a class must reach to be in a set; 0 lets every class in.

        The true class of a new row is in its set with at least this chance, over the rows held out, the noise and the
        new row, if all of these rows are exchangeable (docs/proofs/prediction-sets.md).
        """
        missed = 1 - checked_coverage(coverage)
        whole = self.rows + 1
        least = float(missed) * whole - margin(float(Fraction(self.spread)))
        if least < 0 or whole < fewest(float(Fraction(self.rows_spread))):
            return 0
        below = 1
        for found, count in enumerate(self.counts):
            below += count
            if below > least:
                return found
        return len(self.counts)


def checked_coverage(given: Any) -> Fraction:
    """A coverage, or the error that says what it may be."""
    found = number(given, "coverage")
    if not Fraction(1, 2) <= found < 1:
        raise BudgetError("coverage is the chance that a set holds the true class: from 0.5 to below 1")
    return found


def margin(spread: float) -> float:
    """Rows by which the noise of the bin that ends the walk misleads it at most, in the mean: it has no memory."""
    return UP / (1 - math.exp(-1 / spread)) if spread else 0.0


def fewest(spread: float) -> int:
    """Noisy rows below which every class is let in: so few may be none at all."""
    if not spread:
        return 1
    q = math.exp(-1 / spread)
    found = math.ceil(UP / (1 - q))
    while q ** (found - 1) / (1 + q) * (found + q / (1 - q)) * UP > 1:
        found += 1
    return found
