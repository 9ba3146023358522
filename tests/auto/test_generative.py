"""The automatic choice among kinds that rows can be drawn from."""

import math

import numpy as np
import pytest

from discreet import BudgetError, Categorical, Numeric, PrivateClassifier, Schema
from discreet.auto.rule import choose, draws
from discreet.estimators.counts import ClassCounts
from discreet.kinds import find, kinds

SCHEMA = Schema(
    [Categorical(name, range(8)) for name in "abcdef"] + [Numeric("x", 0, 1), Numeric("z", 0, 1)], "y", [0, 1]
)


@pytest.mark.parametrize("rows", [100, 10_000, 1_000_000])
def test_only_kinds_that_draw_are_chosen(rows):
    counts = ClassCounts(np.full(2, rows / 2), 0.0, None)
    free, bound = (choose(SCHEMA, counts, 1, generative=generative) for generative in (False, True))
    assert draws(find(bound.model)) and (free.model == bound.model or not draws(find(free.model)))
    assert {kind.name for kind in kinds() if kind.promise is not None and not draws(kind)} >= {"additive"}


def test_rows_are_drawn_from_what_is_fitted():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 20_000)
    X = np.column_stack([(rng.integers(0, 7, (20_000, 6)) + y[:, None]) % 8, rng.random((20_000, 2))])
    usual = PrivateClassifier(1.0, schema=SCHEMA, random_state=0).fit(X, y)
    assert usual.choice_.model == "additive" and not usual.model_.generative
    made = PrivateClassifier(1.0, schema=SCHEMA, random_state=0, generative=True).fit(X, y)
    assert len(made.model_.sample(50, 0)["y"]) == 50 and made.certificate_.epsilon_value == 1
    assert [one.model for _, one in made.plan().choices((100_000,))] == [made.choice_.model]
    with pytest.raises(BudgetError, match=r"no rows can be drawn from a.*: leave the kind of model out"):
        PrivateClassifier(1.0, schema=SCHEMA, model="additive", generative=True).plan()
    exact = PrivateClassifier(math.inf, schema=SCHEMA, generative=True).fit(X, y)
    assert exact.model_.generative
