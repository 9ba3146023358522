"""Budgets are exact, and nonsense is refused in words."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Adjacency, Budget, BudgetError


def test_numbers_are_what_a_person_means():
    assert Budget(0.1).epsilon == Fraction(1, 10)
    assert Budget("1/3").epsilon == Fraction(1, 3)
    assert Budget(np.float64(0.3), delta=1e-6) == Budget(0.3, "0.000001")
    assert Budget(rho=0.5).rho == Fraction(1, 2)
    assert 10 * Budget(0.1).epsilon == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0}, "above zero"),
        ({"epsilon": -1.0}, "above zero"),
        ({"epsilon": math.nan}, "must be a number"),
        ({"epsilon": "much"}, "must be a number"),
        ({"epsilon": True}, "must be a number"),
        ({"epsilon": None}, "either as epsilon"),
        ({"epsilon": 1, "rho": 1}, "either as epsilon"),
        ({"epsilon": 1, "delta": 1}, "between 0 and 1"),
        ({"epsilon": 1, "delta": -1e-9}, "between 0 and 1"),
        ({"rho": 1, "delta": 0.1}, "no delta"),
    ],
)
def test_nonsense_is_refused(arguments, words):
    with pytest.raises(BudgetError, match=words):
        Budget(**arguments)


def test_kinds():
    kinds = [b.kind for b in (Budget(1), Budget(1, 1e-6), Budget(rho=1), Budget(math.inf))]
    assert kinds == ["pure", "approximate", "zcdp", "none"]
    assert not Budget(math.inf).private


def test_adjacency_by_name():
    assert Adjacency.of("replace") is Adjacency.REPLACE
    with pytest.raises(BudgetError, match="add-remove"):
        Adjacency.of("swap")
