"""Rows per class, bought with a small share of the budget: what models size their bins and penalties by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError
from discreet.mechanisms.noise import Sampler, laplace_variance
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge, Sequential
from discreet.privacy.plan import Planned, Protected, moved_rows

Floats = NDArray[np.float64]
SHARE = Fraction(1, 25)  # of the budget: at 4 % the count errs by less than a hundredth wherever a model can be learnt
# The automatic choice counts with little of the budget first, and with SHARE where noise is not small beside the rows.
FIRST, MORE = Fraction(1, 100), SHARE
ROUGH = 0.05  # the deviation of a number of rows, as a part of it, above which it is bought again
APART = 300.0  # rows, from which on bins are as wide as classes of equal size would have them
WHAT = "the class counts that settings follow from"
COVERS = "the number of rows in each class and everything computed from it"


@dataclass(frozen=True)
class CountPlan(Protected):
    """The purchase of class counts alone; `further` is what counts may cost that are bought again, being rough."""

    charge: Charge | None
    further: Charge | None = field(default=None, kw_only=True)
    what: ClassVar[str] = "rows by class"

    @property
    def node(self) -> Sequential:
        """The ledger entry."""
        return Sequential(self.what, tuple(one for one in (self.charge, self.further) if one is not None))


@dataclass(frozen=True)
class ClassCounts:
    """Noisy rows per class and what they cost; `charge` is None if they are exact and nothing is private."""

    values: Floats
    variance: float
    charge: Charge | None
    certificate: Certificate | None = None
    further: Charge | None = None  # of a second release, whose values these are

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was paid, in order."""
        return tuple(one for one in (self.charge, self.further) if one is not None)

    @property
    def cost(self) -> Fraction:
        """What all of that comes to."""
        return sum((one.cost for one in self.charges), Fraction(0))

    @property
    def rough(self) -> bool:
        """Whether the noise of the number of rows is not small beside it."""
        return is_rough(self.rows, self.variance, len(self.values))

    @property
    def positive(self) -> Floats:
        """The counts as a prior may use them: never negative, and never surer than the noise lets them be."""
        return np.asarray(np.maximum(self.values, 0.0) + self.variance**0.5 + 1.0)

    @property
    def rows(self) -> float:
        """The number of rows; a very small one is not distinguished from 30."""
        return max(float(self.values.sum()), 30.0)

    @property
    def shares(self) -> Floats:
        """The share of each class, none of them zero."""
        return np.asarray(self.positive / self.positive.sum())

    def largest(self, doubt: float = 0.0) -> float:
        """The share of the largest class, so many deviations of its noise less, but no less than one of equal ones."""
        share, classes = float(self.shares.max()), len(self.values)
        deviation = math.sqrt(self.variance * (1 - 2 * share + classes * share**2)) / self.rows
        return max(1 / classes, share - doubt * deviation)

    @property
    def apart(self) -> float:
        """How many classes of equal size would have as many rows: two at least, of few rows all there are.

        It is e to the entropy of shares. A class of hardly any rows takes none from the others, so bins need not be
        wider for it.
        """
        classes, part = float(len(self.values)), self.values[self.values > 0]
        if self.rows < APART or not len(part):
            return classes
        part = part / part.sum()
        return max(min(2.0, classes), math.exp(-float((part * np.log(part)).sum())))

    def elsewhere(self) -> list[tuple[str, Certificate]]:
        """What a certificate of a model that follows from these counts, and did not buy them, says of them."""
        return [] if self.certificate is None else [(WHAT, self.certificate)]


def is_rough(rows: float, variance: float, classes: int, most: float | None = None) -> bool:
    """Whether the noise of a sum over classes is more than a small part of a number of rows."""
    return math.sqrt(classes * variance) > (ROUGH if most is None else most) * rows


def count_charge(epsilon: Fraction, adjacency: Adjacency = Adjacency.ADD_REMOVE, contributions: int = 1) -> Charge:
    """The cost of the class counts: one number per class moves by one for each row that comes or goes."""
    reach = moved_rows(adjacency, contributions)
    return Charge("discrete Laplace", "rows by class", "L1", str(reach), reach / epsilon, "epsilon", epsilon)


def noisy_counts(exact: NDArray[np.int64], charge: Charge | None, sampler: Sampler) -> ClassCounts:
    """Release the counts. The caller has entered the charge before reading any rows."""
    if charge is None:
        return ClassCounts(exact.astype(np.float64), 0.0, None)
    noisy = sampler.laplace(exact, charge.spread)
    return ClassCounts(noisy.astype(np.float64), laplace_variance(float(charge.spread)), charge)


def bought_counts(exact: NDArray[np.int64], plan: CountPlan, sampler: Sampler) -> ClassCounts:
    """Release the counts as a purchase of their own, with a certificate of what was spent of its plan.

    The caller has entered the whole charge. Whether rough counts are bought again follows from the first release.
    """
    counts = noisy_counts(exact, plan.charge, sampler)
    if plan.further is not None and counts.rough:
        # The first are left aside: the noise of counts that turned out rough is no longer centred.
        counts = replace(noisy_counts(exact, plan.further, sampler), charge=plan.charge, further=plan.further)
    spent = replace(plan, budget=Budget(counts.cost) if counts.charges else plan.budget)
    node = Sequential(plan.what, counts.charges)
    made = certify(
        spent, node=node, sampler=sampler.name, simulation=sampler.simulation, covers=COVERS, kind="these counts are",
        named=True,
    )  # fmt: skip
    return replace(counts, certificate=made)


def checked_counts(counts: ClassCounts | None, plan: Planned, *, simulation: bool = False) -> None:
    """Refuse counts that a caller has bought and a private fit of that plan must not follow from."""
    if counts is None:
        return
    if len(counts.values) != len(plan.schema.classes):
        raise BudgetError(
            f"there must be one count per class: {len(plan.schema.classes)} classes, not {len(counts.values)}"
        )
    if not plan.budget.private:
        return
    if counts.charge is None:
        raise BudgetError("the given class counts were not bought: a private fit cannot follow exact counts")
    made = counts.certificate
    if made is None or made.epsilon is None or Fraction(made.epsilon) != counts.cost:
        raise BudgetError(
            "the given class counts have no certificate of their cost, so nobody can tell whom they protect: leave "
            "counts out, and they are bought"
        )
    if made.simulation and not simulation:
        raise BudgetError("the given class counts are a simulation: a fit for release cannot follow from them")
    if (made.adjacency, made.contributions) != (plan.adjacency, plan.contributions):
        raise BudgetError(
            f"the given class counts were bought for {made.unit}, and this fit is for another unit: use the same "
            "adjacency and contributions for both"
        )
