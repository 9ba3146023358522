"""The choice of an oracle: which one estimates a domain's counts with the lowest variance at a given ε."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from discreet.errors import SchemaError
from discreet.local.oracles.base import ORACLES, Oracle

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


def make_oracle(name: str, d: int, epsilon: Any, theta: Any = None) -> Oracle:
    """An oracle by its name, or the best one for "auto"; only some take a theta.

    >>> make_oracle("auto", 3, 1)
    GRR(d=3, epsilon=1)
    """
    if name != "auto" and name not in ORACLES:
        raise SchemaError(f"no oracle is called {name!r}; there are {', '.join(ORACLES)} and auto")
    if theta is not None:
        check_theta(name)
        return ORACLES[name](d, epsilon, theta)  # type: ignore[call-arg]
    return choose_oracle(d, epsilon).oracle if name == "auto" else ORACLES[name](d, epsilon)


def check_theta(name: str) -> None:
    """Refuse a theta for an oracle that has none."""
    having = [repr(kind.name) for kind in ORACLES.values() if kind.takes_theta]
    if repr(name) not in having:
        raise SchemaError(f"theta belongs to the oracle {' or '.join(having)}, not to {name!r}")


def choose_oracle(d: int, epsilon: Any) -> Choice:
    """The oracle with the lowest mean squared error over the values of the domain, of all that are registered.

    The variance of a count is m·(a + b·f) with f the value's share of the people. Shares add up to 1, so its mean over
    the d values is m·(a + b/d) whatever the shares are: nothing has to be known about the people. (Hadamard response
    with several blocks is judged as if people were spread evenly.) Ties go to the shorter report.
    """
    return _choose(d, epsilon, tuple(ORACLES.values()))


@lru_cache(1024)
def _choose(d: int, epsilon: Any, kinds: tuple[type[Oracle], ...]) -> Choice:
    oracles = [kind(d, epsilon) for kind in kinds]
    variances = {one.name: one.variance(1, 1 / one.d) for one in oracles}
    least = min(variances.values())
    best = min((one for one in oracles if variances[one.name] <= least * (1 + _SAME)), key=lambda one: one.width)
    return Choice(best, dict(sorted(variances.items(), key=lambda item: item[1])))
