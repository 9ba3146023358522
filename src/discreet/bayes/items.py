"""Items: the statistics that a Naive Bayes model needs, and the plan that holds them with their noise and cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from discreet.bayes.likelihoods import likelihood_of
from discreet.bayes.settings import Smooth
from discreet.domain import text
from discreet.mechanisms.noise import gaussian_variance, laplace_variance
from discreet.mechanisms.running import Running, Tree
from discreet.privacy.budget import Adjacency
from discreet.privacy.ledger import Charge, Node, Parallel, Sequential, SmoothCharge
from discreet.privacy.plan import Protected, moved_rows
from discreet.statistics import Detail

# ---- how far one neighbour can move each statistic (proof: docs/proofs/additive-noise.md)


@dataclass(frozen=True)
class Sensitivity:
    """The L1 sensitivity and the square of the L2 sensitivity, both exact."""

    l1: Fraction
    l2_squared: Fraction


def table_sensitivity(adjacency: Adjacency, contributions: int = 1) -> Sensitivity:
    """A count table: a row sits in exactly one cell; a changed row leaves one and enters another."""
    moved = moved_rows(adjacency)
    return Sensitivity(Fraction(moved * contributions), Fraction(moved * contributions**2))


def sum_sensitivity(half: int, adjacency: Adjacency, contributions: int = 1) -> Sensitivity:
    """Sums of lattice points by class: a point is at most `half`; a changed row moves one sum by 2·half."""
    reach = Fraction(half * moved_rows(adjacency, contributions))
    return Sensitivity(reach, reach**2)


def square_sensitivity(half: int, adjacency: Adjacency, contributions: int = 1) -> Sensitivity:
    """Sums of squares re-centred by half²/2, so that each term lies within ± half²/2."""
    reach = Fraction(half**2, 2) * moved_rows(adjacency, contributions)
    return Sensitivity(reach, reach**2)


Kind = Literal["class", "table", "present", "coarse", "sum", "square", "mean", "variance", "second", "deviation"]
SMOOTH = {"mean", "variance", "second", "deviation"}
STEPS = (
    "every row is in one step of the stream only, and which step that is depends on that row alone, not on its "
    "position or on other rows"
)
CLASSES = {
    Adjacency.ADD_REMOVE: "a row belongs to one class, so a row more or less touches the releases of one class only",
    Adjacency.REPLACE: (
        "a changed row leaves one class and enters one: two add-remove steps, each within one class, "
        "and every cost below already pays for both"
    ),
}


@dataclass(frozen=True)
class Item:
    """One statistic: `cells` integers for every class.

    Tables with the same `bundle` share one draw and one charge; `noise` then holds the variances of one cell
    and of the sum over a class's cells.
    """

    kind: Kind
    feature: str
    cells: int
    half: int = 0
    share: Fraction = Fraction(0)
    charge: Charge | SmoothCharge | None = None
    bundle: int | None = None
    noise: tuple[float, float] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the statistic within the bundle."""
        return self.kind, self.feature

    @property
    def what(self) -> str:
        """The statistic in words."""
        return {
            "class": "rows by class",
            "table": f"rows by class and {self.feature}",
            "present": f"rows by class and whether {self.feature} is present",
            "sum": f"sum of {self.feature} by class",
            "square": f"sum of squares of {self.feature} by class",
            "coarse": f"rows by class and coarse cell of {self.feature}, for its spread",
            "mean": f"mean of {self.feature} by class",
            "variance": f"variance of {self.feature} by class",
            "deviation": f"standard deviation of {self.feature} by class",
            "second": f"mean square of {self.feature} by class",
        }[self.kind]

    def sensitivity(self, adjacency: Adjacency, contributions: int) -> Sensitivity:
        """How far a neighbour can move this statistic over all classes together."""
        if self.kind == "sum":
            return sum_sensitivity(self.half, adjacency, contributions)
        if self.kind == "square":
            return square_sensitivity(self.half, adjacency, contributions)
        return table_sensitivity(adjacency, contributions)

    @property
    def variance(self) -> float:
        """The variance of the noise on one integer; 0 without noise, NaN where it follows the data."""
        if self.charge is None:
            return 0.0
        if self.noise is not None:
            return self.noise[0]
        if isinstance(self.charge, SmoothCharge):
            return math.nan
        spread = float(self.charge.spread)
        return laplace_variance(spread) if self.charge.measure == "epsilon" else gaussian_variance(spread)

    @property
    def total_variance(self) -> float:
        """The variance of the noise on the sum over a class's cells."""
        return self.variance * self.cells if self.noise is None else self.noise[1]


@dataclass(frozen=True)
class Plan(Protected):
    """What will be released, with which noise, at which cost."""

    mechanism: str
    numeric: str
    accounting: str
    rho: Fraction | None
    items: tuple[Item, ...] = field(repr=False)
    smooth: Smooth | None = None
    parted: str | None = None
    stream: Running | None = None

    @cached_property
    def tables(self) -> dict[str, Item]:
        """The count table of each feature that has one."""
        return {item.feature: item for item in self.items if item.kind == "table"}

    @property
    def node(self) -> Sequential:
        """The ledger entry of one fit, as far as it is known before the fit."""
        charges = tuple(item.charge for item in self.items if isinstance(item.charge, SmoothCharge))
        return self.entry([charges] * len(self.schema.classes))

    def entry(self, by_class: list[tuple[SmoothCharge, ...]]) -> Sequential:
        """The ledger entry with these smooth releases of each class, which compose in parallel."""
        parts: list[Node] = [*self._charges()]
        if any(by_class):
            groups = tuple(
                Sequential(f"class {text(label)}", charges)
                for label, charges in zip(self.schema.classes, by_class, strict=True)
            )
            parts.append(Parallel("means and variances of each class", CLASSES[self.adjacency], groups))
        if self.parted is not None:
            parts = [Parallel("one feature from each part of the rows", self.parted, tuple(parts))]
        whole = Sequential("Naive Bayes statistics", tuple(parts))
        if self.stream is None or not self.budget.private:
            return whole
        # A tree's levels are releases of the same rows, its blocks of one level are not; a root is one release.
        levels = self.stream.levels if isinstance(self.stream, Tree) else 1
        level = Parallel("steps, or blocks of steps, of one level", STEPS, (whole,))
        return Sequential(f"running sums of up to {self.stream.steps} steps: {self.stream.name}", (level,) * levels)

    def _charges(self) -> Iterator[Charge]:
        """One charge for each draw: a bundle's tables share one, and every other statistic has its own.

        Charges are told apart by what they are for, not by how they read: names may make two draws read alike.
        """
        bundles: set[int] = set()
        for item in self.items:
            if not isinstance(item.charge, Charge) or item.bundle in bundles:
                continue
            if item.bundle is not None:
                bundles.add(item.bundle)
            yield item.charge

    @property
    def detail(self) -> tuple[Detail, ...]:
        """The statistics of numbers that have to be counted."""
        if self.smooth is not None:
            return ("lattice",)
        return ("bins",) if likelihood_of(self.numeric).statistic == "table" else ("moments",)

    @property
    def counts_alone(self) -> tuple[Detail, ...] | None:
        """The statistics of numbers that stand in for rows; None if rows are needed."""
        return None if self.parted is not None else self.detail

    def rows(self) -> list[dict[str, Any]]:
        """The plan as a list of plain records, for people and machines."""
        return [
            {
                "statistic": item.what,
                "cells": item.cells * len(self.schema.classes),
                "share": float(item.share),
                "cost": self._cost(item),
                "mechanism": item.charge.mechanism if item.charge else "none",
                "noise": (item.variance * (1.0 if self.stream is None else self.stream.mean_square)) ** 0.5,
            }
            for item in self.items
        ]

    def _cost(self, item: Item) -> float | None:
        """What an item costs; of the charge for a bundle each table has its share."""
        if item.charge is None:
            return None
        unit = self.budget.epsilon if self.rho is None else self.rho
        return float(item.charge.cost) if item.bundle is None or unit is None else float(item.share * unit)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        extra: dict[str, Any] = {}
        if self.smooth is not None:
            smooth = self.smooth
            extra = {"sensitivity": smooth.sensitivity, "estimator": smooth.estimator, "noise": smooth.noise}
        if self.stream is not None:
            extra["stream"] = {"steps": self.stream.steps, "sums": self.stream.name}
        return {
            "schema_hash": self.schema.hash,
            "adjacency": str(self.adjacency),
            "contributions": self.contributions,
            "mechanism": self.mechanism,
            "numeric": self.numeric,
            **extra,
            "epsilon": None if self.budget.epsilon is None else float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "rho": None if self.rho is None else float(self.rho),
            "accounting": self.accounting,
            "statistics": self.rows(),
        }

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(row["statistic"]) for row in rows)
        head = f"{'statistic':<{width}}  {'cells':>6}  {'share':>6}  noise (standard deviation)"
        noise = ["follows the data" if math.isnan(row["noise"]) else f"{row['noise']:.4g}" for row in rows]
        lines = [
            f"{row['statistic']:<{width}}  {row['cells']:>6}  {row['share']:>6.1%}  {size}"
            for row, size in zip(rows, noise, strict=True)
        ]
        title = f"{self.budget}, {self.adjacency} neighbours, {self.mechanism} noise"
        if self.stream is not None:
            title += (
                f", one charge for up to {self.stream.steps} steps ({self.stream.name}; noise in the mean of steps)"
            )
        return "\n".join([title, head, *lines])


def charged(item: Item, unit: Fraction | None, mechanism: str, adjacency: Adjacency, contributions: int) -> Item:
    """The item with its noise: scale Δ₁/ε, or σ² = Δ₂²/(2ρ)."""
    if unit is None:
        return item
    sensitivity, spent = item.sensitivity(adjacency, contributions), unit * item.share
    if mechanism in {"laplace", "knorm"}:
        charge = Charge(
            "discrete Laplace", item.what, "L1", str(sensitivity.l1), sensitivity.l1 / spent, "epsilon", spent
        )
    else:
        charge = Charge(
            "discrete Gaussian", item.what, "L2 squared", str(sensitivity.l2_squared),
            sensitivity.l2_squared / (2 * spent), "rho", spent,
        )  # fmt: skip
    return replace(item, charge=charge)
