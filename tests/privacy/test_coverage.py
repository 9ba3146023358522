"""Prediction sets: the coverage by enumeration, over every small table of rows held out and all of the noise."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BudgetError
from discreet.privacy import coverage as room
from discreet.privacy.coverage import SetCounts, fewest, margin
from tests.laws import laplace_log_pmf

REACH = 9  # noise beyond has a chance of 1e-6 at a scale of 0.6, and the rest is scaled up


def counted(*bins, rows, spread="0", rows_spread="0"):
    edges = tuple(float(i + 1 - len(bins)) for i in range(len(bins)))
    return SetCounts(edges=edges, counts=bins, rows=rows, spread=spread, rows_spread=rows_spread)


def law(spread):
    found = np.exp(laplace_log_pmf(np.arange(-REACH, REACH + 1), float(spread)))
    return found / found.sum()


def missed(most, coverage, spread, rows_spread):
    """The largest chance, over all tables of `most` exchangeable rows in three bins, that the last one is missed."""
    cells = np.arange(-REACH, most + REACH + 1)
    first = np.empty((len(cells), len(cells), 2 * REACH + 1), np.int64)
    made = counted(0, 0, rows=0, spread=str(spread), rows_spread=str(rows_spread))
    for (i, a), (j, b), r in itertools.product(
        enumerate(cells.tolist()), enumerate(cells.tolist()), range(2 * REACH + 1)
    ):
        held = made.model_copy(update={"counts": (a, b), "rows": most - 1 + r - REACH})
        first[i, j, r] = held.first_bin(coverage)
    noise, total = law(spread), law(rows_spread)
    worst = 0.0
    for a, b in itertools.product(range(most + 1), repeat=2):
        chance = 0.0
        for bin_, share in enumerate((a, b)):
            if a + b > most or not share:
                continue
            left = [a - (bin_ == 0), b - (bin_ == 1)]
            part = first[left[0] : left[0] + 2 * REACH + 1, left[1] : left[1] + 2 * REACH + 1]
            over = np.einsum("i,j,r,ijr->", noise, noise, total, (part > bin_).astype(float))
            chance += share / most * over
        worst = max(worst, chance)
    return worst


@pytest.mark.parametrize("most", [2, 7])
def test_no_table_misses_more_often_than_promised(most):
    spread, rows_spread = Fraction(3, 5), Fraction(3, 5)
    assert 0.01 < missed(most, 0.5, spread, rows_spread) <= 0.5 + 1e-6


def test_without_noise_it_is_split_conformal_prediction():
    """The largest k with C_k + 1 ≤ α(n + 1), as in any textbook."""
    for n, a, b in itertools.product([9, 19, 40], range(8), range(8)):
        level = Fraction(1, 10) * (n + 1)
        expected = 0 if a + 1 > level else 1 if a + b + 1 > level else 2
        assert counted(a, b, rows=n).first_bin(0.9) == expected


def test_the_walk_ends_a_margin_early_whatever_the_bins():
    """The margin is E[Z | Z > 0]: what the noise of the bin that ends the walk is beyond what it needed, at most."""
    z = np.arange(1, 400)
    for spread in (0.4, 3.0, 11.0):
        chances = np.exp(laplace_log_pmf(z, spread))
        beyond = float((chances * z).sum() / chances.sum())
        assert margin(spread) == pytest.approx(beyond, rel=1e-6) and margin(spread) >= beyond * (1 - 1e-12)
        level = 0.1 * 2001 - beyond  # rows that the bins below may have, the new one among them
        held = [counted(math.floor(level) - 1 + more, 0, 9, rows=2000, spread=str(Fraction(spread))) for more in (0, 1)]
        assert [one.first_bin(0.9) for one in held] == [2, 0]
    assert margin(0.0) == 0


@pytest.mark.parametrize("spread", [0.5, 4.0, 30.0])
def test_few_rows_let_every_class_in(spread):
    """E[N + Z; N + Z ≥ c] ≤ N for every number N of rows: what the proof asks of c."""
    least = fewest(spread)
    z = np.arange(-40 * int(spread + 1), 40 * int(spread + 1) + 1)
    chances = np.exp(laplace_log_pmf(z, spread))
    for rows in range(1, 3 * least):
        seen = rows + z
        assert (chances * seen)[seen >= least].sum() <= rows * (1 + 1e-9)
    assert counted(0, rows=least - 2, rows_spread=str(Fraction(spread))).first_bin(0.5) == 0
    assert counted(0, rows=least + 2, rows_spread=str(Fraction(spread))).first_bin(0.5) == 1


def test_coverages_that_make_no_sense_are_refused():
    for bad in (0.3, 1, 1.2, "x", None, math.nan):
        with pytest.raises(BudgetError):
            counted(1, rows=9).first_bin(bad)


def test_damaged_counts_are_refused():
    good = counted(1, 2, rows=9).model_dump()
    for change in (
        {"edges": (-1.0, 0.5)},
        {"counts": (1,)},
        {"spread": "-1"},
        {"spread": "much"},
        {"edges": (0.0, 0.0)},
    ):
        with pytest.raises(ValueError):
            SetCounts.model_validate({**good, **change})
    assert room.checked_coverage("0.9") == Fraction(9, 10)
