"""What a release is charged as: noise and its cost, and how several of them compose."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BudgetError


@dataclass(frozen=True)
class Charge:
    """One noisy release: what it is of, how far a neighbour can move it, the noise, and the cost.

    `measure` says what `cost` counts: pure `epsilon`, or `rho` of zero-concentrated privacy. `spread` is the noise's
    exact parameter: the scale of a Laplace law, the variance parameter σ² of a Gaussian one.
    """

    mechanism: str
    what: str
    norm: str
    sensitivity: str
    spread: Fraction
    measure: str
    cost: Fraction


@dataclass(frozen=True)
class SmoothCharge:
    """One release whose noise follows a smooth bound: the bound and the scale are private and not written here.

    It also stands for releases together that are paid for before an earlier one decides their noise.

    `cost` (and `delta`, if any) is for the neighbours of the whole ledger. `parameters` are public: the law, β, s,
    the rows trimmed at each end, the cap, and how many add-remove steps the cost pays for.
    """

    mechanism: str
    what: str
    measure: str
    cost: Fraction
    delta: Fraction = Fraction(0)
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Response:
    """Randomised reports about one input: each person's own device pays `cost` for the one report it sends.

    `parameters` are public: the size of the domain, the chances p and q that a report supports the true and any one
    other value, or what else fixes the law of a report.
    """

    mechanism: str
    what: str
    cost: Fraction
    parameters: tuple[tuple[str, str], ...] = ()
    measure: str = "epsilon"


@dataclass(frozen=True)
class Sequential:
    """Releases from the same rows: costs add up."""

    what: str
    parts: tuple[Charge | SmoothCharge | Response | Sequential | Parallel, ...]


@dataclass(frozen=True)
class Parallel:
    """Releases from disjoint rows: the dearest part is the cost, under the stated assumption."""

    what: str
    assumption: str
    parts: tuple[Charge | SmoothCharge | Response | Sequential | Parallel, ...]


Node = Charge | SmoothCharge | Response | Sequential | Parallel


def cost(node: Node, measure: str) -> Fraction:
    """The exact cost of a node in one measure: `epsilon`, `rho` or `delta`."""
    if isinstance(node, SmoothCharge) and measure == "delta":
        return node.delta
    if isinstance(node, Charge | SmoothCharge | Response):
        return node.cost if node.measure == measure else Fraction(0)
    costs = [cost(part, measure) for part in node.parts]
    if isinstance(node, Parallel):
        return max(costs, default=Fraction(0))
    return sum(costs, Fraction(0))


def concentrated(node: Node) -> Fraction:
    """The ρ of a node when its pure parts are read as zCDP: ε-DP implies ε²/2-zCDP. A part with a δ has none."""
    if isinstance(node, SmoothCharge) and node.delta:
        raise BudgetError("a release with a delta of its own has no rho: charge it to a budget of epsilon and delta")
    if isinstance(node, Charge | SmoothCharge | Response):
        return node.cost if node.measure == "rho" else node.cost**2 / 2
    costs = [concentrated(part) for part in node.parts]
    if isinstance(node, Parallel):
        return max(costs, default=Fraction(0))
    return sum(costs, Fraction(0))
