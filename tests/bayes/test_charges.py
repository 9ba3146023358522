"""Charges are told apart by what they pay for: the ledger records all that the sampler draws, whatever names say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet import Budget, Categorical, Ledger, Numeric, PrivateNB, Schema, Statistics, collect
from discreet.bayes.items import Plan
from discreet.bayes.plan import make_plan
from discreet.bayes.release import release
from discreet.bayes.smooth import release_staged
from discreet.federated.shares import SharePlan, share_plan
from discreet.privacy.ledger import cost

Integers = NDArray[np.int64]
# "x" may be missing, and the words for its own statistics are names of others; a comma joins the names of a bundle.
NAMES = ["whether x is present", "coarse cell of x, for its spread", "squares of x", "a", "b", "a, b", "b, c", "c"]
SPLITS = ["equal", "weighted"]
WHETHER = Schema(
    [Numeric("x", 0, 1, missing="bin"), Categorical("whether x is present", ["no", "yes"])], target="t", classes=[0, 1]
)


class Watch:
    """A sampler that adds nothing and remembers the integers of every draw and its noise."""

    name, simulation = "watch", False

    def __init__(self) -> None:
        self.draws: list[tuple[str, list[Integers], Fraction]] = []

    def laplace(self, values: Integers, scale: Fraction, part: Fraction = Fraction(1)) -> Integers:
        self.draws.append(("laplace", [values], scale))
        return values

    def gaussian(self, values: Integers, variance: Fraction) -> Integers:
        self.draws.append(("gaussian", [values], variance))
        return values

    skellam = laplace

    def tables(self, values: list[Integers], rate: Fraction) -> list[Integers]:
        self.draws.append(("tables", list(values), 1 / rate))
        return values


def drawn_cost(before: Watch, after: Watch) -> Fraction:
    """What the draws of two neighbours tell apart in all: ε, or ρ if they are Gaussian."""
    total = Fraction(0)
    for (law, here, spread), (_, there, same) in zip(before.draws, after.draws, strict=True):
        assert spread == same
        moved = [(b - a).astype(object) for a, b in zip(here, there, strict=True)]
        if law == "gaussian":
            total += Fraction(sum((block**2).sum() for block in moved)) / (2 * spread)
        else:  # a K-norm draw tells apart by the block that moves farthest
            total += max(Fraction(abs(block).sum()) for block in moved) / spread
    return total


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Few names, sizes and steps, so that statistics which read alike often cost alike."""
    named = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    features: list[Any] = [Numeric("x", 0, 4, step=1, bins=2, missing=draw(st.sampled_from(["bin", "error"])))]
    for name in named:
        if draw(st.booleans()):
            features.append(Categorical(name, ["p", "q", "r"][: draw(st.integers(2, 3))]))
        else:
            features.append(Numeric(name, 0, 4, step=1, bins=2))
    return Schema(draw(st.permutations(features)), target="t", classes=["u", "v"])


def neighbours(schema: Schema, plan: Plan) -> tuple[Statistics, Statistics]:
    """Two rows, and one more at the upper bounds: no row moves any statistic farther."""
    edge = [one.upper if isinstance(one, Numeric) else one.categories[-1] for one in schema.features]
    low = [one.lower if isinstance(one, Numeric) else one.categories[0] for one in schema.features]
    rows, labels = np.array([low, edge, edge], object), np.array(["u", "v", "u"], object)
    few = collect(rows[:2], schema, labels[:2], detail=plan.detail)
    return few, collect(rows, schema, labels, detail=plan.detail)


@given(
    schema=schemas(),
    mechanism=st.sampled_from(["laplace", "gaussian", "knorm"]),
    numeric=st.sampled_from(["histogram", "gaussian"]),
    split=st.sampled_from(SPLITS),
)
@settings(max_examples=150, deadline=None)
def test_the_ledger_records_what_the_sampler_draws(schema: Schema, mechanism: str, numeric: str, split: str) -> None:
    tables = numeric == "histogram" or any(isinstance(one, Categorical) for one in schema.features)
    if mechanism == "knorm" and not tables and schema.features[0].missing == "error":
        mechanism = "laplace"
    budget = Budget(rho=1) if mechanism == "gaussian" else Budget(1)
    measure = "rho" if mechanism == "gaussian" else "epsilon"
    plan = make_plan(schema, budget, mechanism=mechanism, numeric=numeric, split=split)
    before, after = Watch(), Watch()
    for statistics, watch in zip(neighbours(schema, plan), (before, after), strict=True):
        released = release(statistics, plan, watch)
        assert released.node == plan.node
    assert drawn_cost(before, after) == cost(plan.node, measure) == 1


@given(schema=schemas(), numeric=st.sampled_from(["histogram", "gaussian"]), split=st.sampled_from(SPLITS))
@settings(max_examples=50, deadline=None)
def test_shares_of_noise_are_recorded_one_by_one(schema: Schema, numeric: str, split: str) -> None:
    plan = make_plan(schema, Budget(1), mechanism="laplace", numeric=numeric, split=split)
    shared: SharePlan = share_plan(plan, 3, most_rows=1000)
    watches = Watch(), Watch()
    for statistics, watch in zip(neighbours(schema, plan), watches, strict=True):
        shared.vector(statistics, watch)  # type: ignore[arg-type]
    assert drawn_cost(*watches) == cost(shared.node, "epsilon") == 1


def test_skellam_shares_state_every_variance() -> None:
    plan = make_plan(WHETHER, Budget(1, 1e-6), mechanism="gaussian", numeric="gaussian", split="equal")
    shared = share_plan(plan, 3)
    (charge,) = shared.certificate().charges()
    assert len(charge.parameters) == len(plan.items) == 5  # type: ignore[union-attr]
    alike = "rows by class and whether x is present"
    assert sum(name.startswith(alike) for name in charge.parameters) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("sensitivity", ["smooth", "auto"])
def test_counts_before_smooth_releases_are_charged_one_by_one(sensitivity: str) -> None:
    names = ["whether x is present", "coarse cell of x, for its spread"]
    features = [Numeric("x", 0, 1, missing="bin"), Categorical(names[0], [0, 1]), Categorical(names[1], range(256))]
    schema = Schema(features, target="t", classes=[0, 1])
    plan = make_plan(schema, Budget(1), numeric="gaussian", split="equal", sensitivity=sensitivity, spread="buy")
    assert cost(plan.node, "epsilon") == sum(item.charge.cost for item in plan.items if item.charge) == 1
    rows = np.array([[0.5, 0, 3], [0.25, 1, 4]], object)
    watch = Watch()
    released = release_staged(collect(rows, schema, [0, 1], detail=plan.detail), plan, watch)
    assert cost(released.node, "epsilon") == 1
    counted = [charge for charge in released.node.parts if getattr(charge, "mechanism", "") == "discrete Laplace"]
    assert len(watch.draws) == len(schema.classes) * len(counted)


def test_a_fit_is_charged_and_certified_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    watches: list[Watch] = []

    def watched(*_: Any) -> Watch:
        watches.append(Watch())
        return watches[-1]

    monkeypatch.setattr("discreet.estimators.base.sampler_for", watched)
    ledger = Ledger(Budget(5))
    for rows in (2, 3):
        X = np.array([[0.5, "no"], [1.0, "yes"], [1.0, "yes"]], object)[:rows]
        private = PrivateNB(1, schema=WHETHER, mechanism="laplace", numeric="gaussian")
        private.fit(X, np.array([0, 1, 1])[:rows], ledger=ledger)
        charges = private.certificate_.charges()
        assert sum(Fraction(charge.cost) for charge in charges) == 1
        assert [charge.what for charge in charges].count("rows by class and whether x is present") == 2
    assert drawn_cost(*watches) == 1
    assert [cost(node, "epsilon") for node in ledger.nodes] == [1, 1]
