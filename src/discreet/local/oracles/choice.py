"""The choice of an oracle: which one estimates a domain's counts with the lowest variance at a given ε."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from discreet.errors import SchemaError
from discreet.local.oracles.base import Oracle
from discreet.local.oracles.grr import GRR
from discreet.local.oracles.hadamard import HadamardResponse
from discreet.local.oracles.hashing import OLH
from discreet.local.oracles.histogram import SHE, THE
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import OUE, SUE

ORACLES: dict[str, type[Oracle]] = {
    kind.name: kind for kind in (GRR, SUE, OUE, SHE, THE, OLH, SubsetSelection, HadamardResponse)
}
_SAME = 1e-9  # relative: variances this close are a tie, and the shorter report wins


class Choice(NamedTuple):
    """The oracle chosen, and what each one's variance per report would be, from the lowest to the highest."""

    oracle: Oracle
    variances: dict[str, float]

    @property
    def sentence(self) -> str:
        """What was chosen and why, for people."""
        ranks = ", ".join(f"{name} {value:.4g}" for name, value in self.variances.items())
        return f"{self.oracle!r} has the lowest mean variance per report: {ranks}"


def by_code(code: int) -> type[Oracle]:
    """The oracle with that code on the wire."""
    for kind in ORACLES.values():
        if kind.code == code:
            return kind
    raise SchemaError(f"no oracle has the code {code}")


def make_oracle(name: str, d: int, epsilon: Any, theta: Any = None) -> Oracle:
    """An oracle by its name, or the best one for "auto"; only "the" takes a theta.

    >>> make_oracle("auto", 3, 1)
    GRR(d=3, epsilon=1)
    """
    if theta is not None and name != THE.name:
        raise SchemaError(f"only the oracle 'the' has a theta, not {name!r}")
    if name == "auto":
        return choose_oracle(d, epsilon).oracle
    if name == THE.name:
        return THE(d, epsilon, theta)
    if name not in ORACLES:
        raise SchemaError(f"no oracle is called {name!r}; there are {', '.join(ORACLES)} and auto")
    return ORACLES[name](d, epsilon)


@lru_cache(1024)
def choose_oracle(d: int, epsilon: Any) -> Choice:
    """The oracle with the lowest mean squared error over the values of the domain.

    The variance of a count is m·(a + b·f) with f the value's share of the people. Shares add up to 1, so its mean over
    the d values is m·(a + b/d) whatever the shares are: nothing has to be known about the people. (Hadamard response
    with several blocks is judged as if people were spread evenly.) Ties go to the shorter report.
    """
    oracles = [kind(d, epsilon) for kind in ORACLES.values()]
    variances = {one.name: one.variance(1, 1 / one.d) for one in oracles}
    least = min(variances.values())
    best = min((one for one in oracles if variances[one.name] <= least * (1 + _SAME)), key=lambda one: one.width)
    return Choice(best, dict(sorted(variances.items(), key=lambda item: item[1])))
