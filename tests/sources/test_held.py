"""Held rows: the sums of dealt rows are exact, and one that leaves 64 bits is refused or stays at their end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from discreet import Numeric, Schema, StatisticsError, collect, sources
from discreet.sources.held import summed

SCHEMA = Schema([Numeric("x", 0, 10)], "y", ["no", "yes"])
LOW, HIGH = -(2**63), 2**63 - 1


@example([(0, HIGH), (0, HIGH), (1, LOW), (1, LOW)])  # else whether a sum leaves 64 bits is up to luck
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(LOW, HIGH)), max_size=6))
def test_sums_are_exact_or_at_the_end_of_64_bits(rows: list[tuple[int, int]]) -> None:
    spot, values = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    exact = [sum(value for place, value in rows if place == one) for one in range(3)]
    assert summed(spot, values, 3, total=True).tolist() == [min(max(one, LOW), HIGH) for one in exact]
    if exact == [min(max(one, LOW), HIGH) for one in exact]:
        assert summed(spot, values, 3).tolist() == exact
    else:
        with pytest.raises(StatisticsError, match="64-bit"):
            summed(spot, values, 3)


@pytest.mark.parametrize("policy", ["refuse", "absorb"])
def test_squares_of_parts_do_not_wrap_round(policy: str) -> None:
    """Points as far out as these stand for rows as many as nobody counts in a test."""
    held = sources.open(np.array([[1.0], [2.0], [3.0]]), SCHEMA, ["no", "no", "yes"], unexpected=policy).held()
    held = replace(held, columns=[np.array([3 * 10**9, 3 * 10**9, 5])])
    where = np.zeros(3, np.int64)
    if policy == "refuse":
        with pytest.raises(StatisticsError, match="64-bit"):
            held.parts(where, 1, ("moments",))
    else:
        assert held.parts(where, 1, ("moments",)).squares["x"].tolist() == [[HIGH, 25]]


def test_parts_are_what_counting_each_gives() -> None:
    rng = np.random.default_rng(0)
    X, y, where = rng.uniform(0, 10, (50, 1)), np.array(["no", "yes"])[rng.integers(0, 2, 50)], rng.integers(0, 3, 50)
    parts = sources.open(X, SCHEMA, y).held().parts(where, 3, ("bins", "moments"))
    for one in range(3):
        assert parts.statistics(one) == collect(X[where == one], SCHEMA, y[where == one])
