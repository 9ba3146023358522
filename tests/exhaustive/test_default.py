"""The default release: no small neighbours are told apart better than ε; and where it falls back to plain noise."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import Adjacency, Budget, Categorical, Numeric, PrivateNB, Schema
from discreet.bayes.bundling import error_of
from discreet.bayes.plan import make_plan
from discreet.privacy.ledger import cost
from tests.exhaustive.neighbours import SCHEMAS, integers, item_loss, neighbours

EPSILON = 1.3
EXTRA = {
    "three tables": Schema(
        [Categorical("a", ["p", "q"]), Categorical("b", ["r", "s"]), Categorical("c", ["t", "u"])],
        target="y", classes=[0, 1],
    ),
    "tables and number": Schema(
        [Categorical("a", ["p", "q"]), Categorical("b", ["r", "s"]), Numeric("x", 0, 1, integer=True)],
        target="y", classes=[0, 1],
    ),
}  # fmt: skip
ALL = SCHEMAS | EXTRA


def losses(plan: Any, gap: dict[Any, Any]) -> float:
    """The largest log-ratio of the two laws of all that is released, from the difference of the exact integers."""
    classes = len(plan.schema.classes)
    alone = [item for item in plan.items if item.bundle is None]
    total = sum(item_loss(item, tuple(int(v) for v in gap[item.key] if v)) for item in alone)
    for which in {item.bundle for item in plan.items} - {None}:
        inside = [item for item in plan.items if item.bundle == which]
        assert len({item.charge for item in inside}) == 1
        for c in range(classes):
            blocks = [np.asarray(gap[item.key]).reshape(classes, -1)[c] for item in inside]
            assert len({int(block.sum()) for block in blocks}) == 1  # no output is possible for one side only
            total += max(int(np.abs(block).sum()) for block in blocks) / float(inside[0].charge.spread)
    return float(total)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
@pytest.mark.parametrize("name", list(ALL))
def test_the_default_never_exceeds_epsilon_and_wastes_nothing(name: str, numeric: str, adjacency: Adjacency) -> None:
    schema = ALL[name]
    if numeric == "gaussian" and not schema.numeric:
        pytest.skip("no numbers")
    plan = PrivateNB(EPSILON, schema=schema, adjacency=str(adjacency), numeric=numeric).plan()
    exact = functools.cache(lambda rows: integers(schema, plan, rows))
    worst = max(
        losses(plan, {key: value - exact(other)[key] for key, value in exact(one).items()})
        for one, other in neighbours(schema, str(adjacency), 1)
    )
    assert EPSILON * (1 - 1e-6) <= worst <= EPSILON + 1e-9
    assert cost(plan.node, "epsilon") <= Budget(EPSILON).epsilon


def test_tables_are_noised_together_by_default_where_that_errs_less() -> None:
    plan = PrivateNB(EPSILON, schema=EXTRA["three tables"]).plan()
    assert plan.mechanism == "knorm"
    assert error_of(plan) < error_of(PrivateNB(EPSILON, schema=EXTRA["three tables"], mechanism="laplace").plan())
    alone = PrivateNB(EPSILON, schema=SCHEMAS["number"]).plan()
    assert alone.mechanism == "laplace"  # one table: K-norm noise is Laplace noise


WIDE = Schema([Categorical("a", list(range(3000))), Categorical("b", [0, 1])], target="y", classes=[0, 1])
MANY = Schema([Categorical(f"f{i}", [0, 1]) for i in range(600)], target="y", classes=[0, 1])


@pytest.mark.parametrize(
    "settings",
    [
        {"delta": 1e-6, "mechanism": "gaussian"},
        {"split": "equal"},
        {"split": {"a": 0.3, "b": 0.3, "c": 0.4}},
        {"strategy": "partition"},
        {"threshold": 0.65},
        {"numeric_weight": 3},
        {"epsilon": math.inf},
        {"epsilon": 1e-5},
        {"mechanism": "laplace"},
    ],
)
def test_what_asks_for_independent_noise_gets_it(settings: dict[str, Any]) -> None:
    plan = PrivateNB(**{"epsilon": 1.0, "schema": EXTRA["three tables"], **settings}).plan()
    assert all(item.bundle is None for item in plan.items)


def test_others_that_make_plans_get_independent_noise() -> None:
    assert make_plan(EXTRA["three tables"], Budget(1)).mechanism == "laplace"
    assert make_plan(EXTRA["three tables"], Budget(1), together=True).mechanism == "knorm"


def test_no_draw_has_more_dimensions_than_are_quick() -> None:
    plan = PrivateNB(1.0, schema=MANY).plan()
    sizes = [sum(1 for item in plan.items if item.bundle == which) for which in {item.bundle for item in plan.items}]
    assert len(sizes) == 4
    assert max(sizes) < 160
    assert cost(plan.node, "epsilon") == 1
    whole = (601 + 1) * (601 + 2) / 12  # what a cell would err by in one draw of all tables, beside the common sum
    item = plan.items[0]
    assert item.variance - item.total_variance / 4 < 1.1 * whole
    wide = PrivateNB(1.0, schema=WIDE).plan()
    assert all(item.bundle is None for item in wide.items)


@pytest.mark.parametrize("contributions", [1, 3])
def test_rates_are_divided_by_contributions_and_halved_for_replaced_rows(contributions: int) -> None:
    for adjacency, moved in (("add-remove", 1), ("replace", 2)):
        made = PrivateNB(1.0, schema=EXTRA["three tables"], adjacency=adjacency, contributions=contributions)
        assert {item.charge.spread for item in made.plan().items} == {Fraction(moved * contributions)}
