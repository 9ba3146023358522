"""Rows per class, bought with a small share of the budget: what models size their bins and penalties by."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.sensitivity import table_sensitivity
from discreet.mechanisms.laws import laplace_variance
from discreet.mechanisms.noise import Sampler
from discreet.models import ReleasedModel
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate, record, with_pure
from discreet.privacy.ledger import Charge, Sequential

Floats = NDArray[np.float64]
SHARE = Fraction(1, 25)  # of the budget: at 4 % the count errs by less than a hundredth wherever a model can be learnt
ELSEWHERE = "the class counts that settings follow from were paid for elsewhere"
AnyModel = TypeVar("AnyModel", bound=ReleasedModel)


@dataclass(frozen=True)
class ClassCounts:
    """Noisy rows per class and what they cost; `charge` is None if they are exact and nothing is private."""

    values: Floats
    variance: float
    charge: Charge | None

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


def count_charge(epsilon: Fraction, adjacency: Adjacency = Adjacency.ADD_REMOVE, contributions: int = 1) -> Charge:
    """The cost of the class counts: one number per class moves by one for each row that comes or goes."""
    reach = table_sensitivity(adjacency, contributions).l1
    return Charge("discrete Laplace", "rows by class", "L1", str(reach), reach / epsilon, "epsilon", epsilon)


def noisy_counts(exact: NDArray[np.int64], charge: Charge | None, sampler: Sampler) -> ClassCounts:
    """Release the counts. The caller has entered the charge before reading any rows."""
    if charge is None:
        return ClassCounts(exact.astype(np.float64), 0.0, None)
    noisy = sampler.laplace(exact, charge.spread)
    return ClassCounts(noisy.astype(np.float64), laplace_variance(float(charge.spread)), charge)


def with_counts(model: AnyModel, counts: ClassCounts, epsilon: Any) -> AnyModel:
    """The model with a certificate of the whole: the counts its settings follow from, and what it spent itself.

    `epsilon` is the whole budget; the certificate refuses it if the two do not fit into it.
    """
    own = model.certificate
    if counts.charge is None or not own.private:
        return model
    whole = record(Sequential("class counts, then the model", (counts.charge,)))
    parts = (*whole.parts, own.ledger)  # type: ignore[union-attr]
    fields = own.model_dump(mode="json") | with_pure(own, counts.charge.cost, "class counts")
    fields |= {
        "epsilon": str(Budget(epsilon).epsilon),
        "assumptions": [stated for stated in own.assumptions if stated != ELSEWHERE],
        "ledger": whole.model_copy(update={"parts": parts}).model_dump(mode="json"),
    }
    return model.with_certificate(Certificate.model_validate(fields))
