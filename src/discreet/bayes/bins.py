"""Bins for numbers, as many as a number of rows and an ε can feed: a public rule, so what it gives is public too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from discreet.errors import BudgetError
from discreet.features import DEFAULT_BINS
from discreet.privacy.budget import Budget
from discreet.schema import Feature, Numeric, Schema

LEAST, FEW, MOST = 2, 16, 32
LOW, SEVERAL = 2.0, 4  # of so many bins or more the edges stand at (i/G)^LOW of a range that begins at zero or above
FED, RISE = 1.0, 0.7  # bins that one row·ε per feature and class can feed, and how their number grows with more
PLENTY = 30.0  # rows·ε per feature and class, from which on that few bins are too coarse
FINE = 500.0  # rows·ε per feature and class, from which on the first bin is halved again and again
HALVINGS = 6


def is_free(feature: Feature) -> TypeGuard[Numeric]:
    """Whether a feature's bins may be chosen: a number whose bins nobody declared."""
    return isinstance(feature, Numeric) and feature.bins == DEFAULT_BINS


def free_numbers(schema: Schema) -> tuple[Numeric, ...]:
    """The numbers whose bins nobody declared."""
    return tuple(filter(is_free, schema.features))


def recut(schema: Schema, cut: Callable[[Numeric], Numeric]) -> Schema:
    """The schema with other bins of the numbers whose bins nobody declared."""
    return schema.having([cut(one) if is_free(one) else one for one in schema.features])


def bin_count(rows: float, epsilon: float, features: int, classes: float) -> int:
    """How many bins a number should have.

    What counts is nε/(dK), the rows times ε for each feature and class; unequal classes are as many as so many equal
    ones (`ClassCounts.apart`). Noise on a cell of n/(KG) rows speaks for few bins, G; loose public bounds, which leave
    the rows a part of the bins only, speak for many, and a reading pools those that say the same. FED, LEAST and LOW
    lost least on held-back rows of some 80 tables (docs/automatic.md). Past a dozen bins the bias inside a bin falls
    faster than more rows need.

    >>> bin_count(600, 0.1, 8, 2), bin_count(600, 1, 8, 2), bin_count(30_000, 1, 14, 2)
    (3, 13, 32)
    """
    each = min(rows * epsilon / (features * classes), 1e9) if math.isfinite(epsilon) else 1e9
    noise = FED * math.pow(each, RISE)
    enough = FEW * max(1.0, math.cbrt(each / PLENTY))
    sampled = 4 * math.cbrt(rows / classes)  # without noise, too, few rows tell few bins apart
    return max(LEAST, min(MOST, round(min(noise, enough, sampled))))


def binned(
    schema: Schema, rows: float, epsilon: Any, features: int | None = None, classes: float | None = None
) -> Schema:  # fmt: skip
    """The schema with bins by `bin_count` for numbers whose bins were not declared (that have the default number).

    `rows` must be public or bought, and `epsilon` is what the tables will cost. Bins are narrower where most values of
    most numbers lie (`cut_low`); with plenty of rows they are even, and the first is halved six times. No integer gets
    more bins than values. `features` is how many share the budget, and `classes` how many share the rows, if not all
    of them.
    """
    if isinstance(rows, bool) or not isinstance(rows, int | float) or not math.isfinite(rows):
        raise BudgetError(f"the number of rows must be a number, not {rows!r}")
    budget = Budget(epsilon).epsilon
    rate = math.inf if budget is None else float(budget)
    rows, sharing, several = max(float(rows), 1.0), features or len(schema.features), classes or len(schema.classes)
    count = bin_count(rows, rate, sharing, several)
    fine = rows * min(rate, 1e6) / (sharing * several) >= FINE
    found = recut(schema, lambda one: rebinned(one, count, HALVINGS) if fine else cut_low(one, count))
    return schema if found.features == schema.features else found


def cut_low(feature: Numeric, count: int) -> Numeric:
    """The number with about `count` bins, narrower ones at the lower end of a range that begins at zero or above.

    Most amounts, counts and times lie low in the ranges that people declare. Ranges that reach below zero, and numbers
    whose transformation the schema declares, are cut evenly.
    """
    span = feature.upper - feature.lower
    each = feature.integer and span < count  # every value has a bin of its own
    if count < SEVERAL or each or feature.lower < 0 or feature.transform is not None:
        return rebinned(feature, count)
    kept = edges_apart(feature, (feature.lower + span * (i / count) ** LOW for i in range(1, count)), feature.upper)
    return feature.having((*kept, feature.upper))


def rebinned(feature: Numeric, count: int, halvings: int = 0) -> Numeric:
    """The number with `count` bins of equal width, the first of them halved `halvings` times."""
    plain = feature.having(count)
    if not halvings or (feature.integer and feature.upper - feature.lower < count):
        return plain
    first = plain.edges[1] - feature.lower
    kept = edges_apart(feature, (feature.lower + first / 2**k for k in range(1, halvings + 1)), plain.edges[1])
    rest = [edge for edge in plain.edges[1:-1] if edge < feature.upper]  # the last integer may have had its own bin
    return feature.having((*kept, *rest, feature.upper))


def edges_apart(feature: Numeric, inner: Iterable[float], end: float) -> list[float]:
    """The lower bound and, of these edges, those that its lattice tells apart from one another and from the end."""
    step = float(feature.lattice.step)
    apart = 1.0 if feature.integer and step <= 1 else 2.5 * step  # of two edges at least, lest they round to one
    kept = [feature.lower]
    for spot in sorted(inner):
        edge = float(math.ceil(spot)) if feature.integer else float(spot)
        if edge - kept[-1] >= apart and end - edge >= apart:
            kept.append(edge)
    return kept
