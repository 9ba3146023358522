"""What an audit needs of additive models: their released weights on the neighbours that move them farthest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.additive.blocks import place_knots
from discreet.additive.fit import start_at
from discreet.additive.newton import fit_newton, plan_newton
from discreet.additive.plan import Bundle, FitPlan, plan_fit, plan_normal
from discreet.additive.release import released_weights
from discreet.additive.solve import Objective
from discreet.audit import AuditCase, case_at_one, contradicted
from discreet.domain import exact
from discreet.estimators.counts import ClassCounts
from discreet.linear.encode import Design
from discreet.linear.release import finish
from discreet.linear.solve import minimise
from discreet.mechanisms.noise import SimulationSampler
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Categorical, Numeric, Schema

SHAPED = Schema([Categorical("a", [0, 1]), Categorical("x", [0, 1])], "y", [0, 1])
FEATURES = [Categorical("a", [0, 1]), Numeric("x", -1, 1, step=0.5, bins=2)]
Row = tuple[int, float, int]
# Rows that agree leave the curvature low, so that one row that disagrees pulls as hard as it can.
AGREED: tuple[Row, ...] = ((1, 1.0, 1),) * 20
PULLED: Row = (1, 1.0, 0)
REACH = 20.0
DELTA = 1e-5


@dataclass(frozen=True)
class ReleasedWeights:
    """The weights that a fit publishes once the class counts are known, by the simulation twin of the noise."""

    epsilon: float
    classes: int
    moved: int

    @cached_property
    def schema(self) -> Schema:
        """Two small blocks."""
        return Schema(FEATURES, "y", list(range(self.classes)))

    @cached_property
    def counts(self) -> ClassCounts:
        """Counts that are given: their own noise is audited with the other tables."""
        return ClassCounts(np.full(self.classes, 10.0), 2.0, None)

    @cached_property
    def plan(self) -> FitPlan:
        """The plan of a fit."""
        return plan_fit(place_knots(self.schema, 2), exact(self.epsilon), self.counts, moved=self.moved)

    def design(self, data: Sequence[Row]) -> Design:
        """Rows as the estimator encodes them."""
        X = np.array([[a, x] for a, x, _ in data], dtype=np.float64)
        return self.plan.blocks.design(sources.open(X, self.schema, np.array([y for *_, y in data])).held())

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """One release per row: the weights, and the scores that they give to the row in question."""
        design, sampler = self.design(data), SimulationSampler(rng)
        asked = self.design([PULLED])
        centre = start_at(self.plan.blocks, self.counts)
        results = []
        for _ in range(size):
            weights = self.once(design, centre, sampler).reshape(centre.shape)
            results.append(np.concatenate([[asked.margins(row)[0] for row in weights], weights.ravel()]))
        return np.stack(results)

    def once(self, design: Design, centre: NDArray[np.float64], sampler: SimulationSampler) -> NDArray[Any]:
        """One release."""
        return released_weights(design, self.plan, centre, sampler)


@dataclass(frozen=True)
class NormalWeights(ReleasedWeights):
    """The same with normal noise in the objective; a control takes less of it."""

    less: float = 1.0

    @cached_property
    def plan(self) -> FitPlan:
        """The plan of a fit with normal noise, whatever other noise would promise."""
        found = plan_normal(
            place_knots(self.schema, 2), exact(self.epsilon), exact(DELTA), self.counts, self.moved, 1, np.ones(2)
        )
        assert found is not None
        return replace(found[1], deviations=tuple(self.less * one for one in found[1].deviations))


@dataclass(frozen=True)
class ShapeWeights:
    """Weights of released shapes by noisy steps, tables first; a control has less noise on the steps' sums."""

    epsilon: float
    near: str
    less: Fraction = Fraction(1)

    def sample(self, data: Sequence[Row], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """One release per row: the scores of all rows there can be."""
        plan = plan_newton(
            SHAPED, Budget(self.epsilon, DELTA), adjacency=Adjacency.of(self.near), contributions=1,
            unexpected="refuse",
        )  # fmt: skip
        X, y = np.array([[a, int(x > 0)] for a, x, _ in data]), np.array([y for *_, y in data])
        rows, sampler = sources.open(X, SHAPED, y).held(), SimulationSampler(rng)
        quiet = replace(plan, rho=plan.rho / self.less)
        drawn = (fit_newton(rows, quiet, self.counts, sampler).weights.ravel() for _ in range(size))
        return np.stack(list(drawn))

    @property
    def counts(self) -> ClassCounts:
        """Rows by class that are public here."""
        return ClassCounts(np.full(2, 10.0), 2.0, None)


@dataclass(frozen=True)
class Heavy(ReleasedWeights):
    """A control: the weights of a row's block add up to more than one."""

    def design(self, data: Sequence[Row]) -> Design:
        honest = super().design(data)
        return replace(honest, scale=honest.scale * REACH)


@dataclass(frozen=True)
class TooQuiet(ReleasedWeights):
    """A control: every bundle has the rate of the whole budget, many times over."""

    @cached_property
    def plan(self) -> FitPlan:
        honest = super().plan
        bundles = tuple(Bundle(bundle.places, 12 * honest.rate) for bundle in honest.bundles)
        return replace(honest, bundles=bundles)


@dataclass(frozen=True)
class Untilted(ReleasedWeights):
    """A control: the minimum without any noise vector, rounded and noised as if it had been certified with one."""

    def once(self, design: Design, centre: NDArray[np.float64], sampler: SimulationSampler) -> NDArray[Any]:
        plain = Objective(design, len(self.plan.blocks.sizes) + 1, self.plan.chain, centre, np.zeros_like(centre))
        return finish(minimise(plain, self.plan.tolerance).weights, self.plan, sampler)


def audit_cases() -> list[AuditCase]:
    """Two and three classes under both adjacencies, and what goes wrong with heavy rows, low noise or none."""
    honest = [
        case_at_one(
            f"additive-{classes}-classes-{near}", partial(ReleasedWeights, classes=classes, moved=moved),
            [contradicted(AGREED, PULLED, near)], "released weights, by the simulation twin",
            adjacency=near, samples=3_000,
        )
        for classes in (2, 3)
        for near, moved in (("add-remove", 1), ("replace", 2))
    ]  # fmt: skip
    honest += [
        case_at_one(
            f"additive-normal-{classes}-classes-{near}", partial(NormalWeights, classes=classes, moved=moved),
            [contradicted(AGREED, PULLED, near)], "released weights with normal noise, by the simulation twin",
            adjacency=near, samples=3_000, delta=DELTA,
        )
        for classes, near, moved in ((2, "add-remove", 1), (3, "add-remove", 1), (2, "replace", 2))
    ]  # fmt: skip
    honest += [
        case_at_one(
            f"additive-shapes-{near}", partial(ShapeWeights, near=near), [contradicted(AGREED, PULLED, near)],
            "weights of released shapes, by the simulation twin", adjacency=near, samples=2_000, delta=DELTA,
        )
        for near in ("add-remove", "replace")
    ]  # fmt: skip
    broken: list[tuple[str, type[ReleasedWeights], str]] = [
        ("heavy", Heavy, "rows heavier than the noise is for"),
        ("quiet", TooQuiet, "noise vectors at several times their rate"),
        ("untilted", Untilted, "only the final rounding is noised"),
    ]
    pairs = [contradicted(AGREED, PULLED, "add-remove")]  # a control is so far off that few runs show it
    quiet = case_at_one(
        "control-additive-normal-quiet", partial(NormalWeights, classes=2, moved=1, less=0.02), pairs,
        "normal noise of a fiftieth of its deviation", samples=600, delta=DELTA,
    )  # fmt: skip
    loud = case_at_one(
        "control-additive-shapes-quiet", partial(ShapeWeights, near="add-remove", less=Fraction(1, 10**4)), pairs,
        "noise of a hundredth of its deviation on the derivatives", samples=600, delta=DELTA,
    )  # fmt: skip
    return [*honest, quiet, loud] + [
        case_at_one(f"control-additive-{name}", partial(kind, classes=2, moved=1), pairs, note, samples=600)
        for name, kind, note in broken
    ]
