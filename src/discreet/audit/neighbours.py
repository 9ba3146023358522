"""Enumerates small neighbouring data sets and picks those that tell most, where no worst case is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from discreet.audit.bounds import Hits
from discreet.audit.result import Pair
from discreet.audit.sampling import SEARCH, TEST, Task, make_source
from discreet.audit.search import find_events
from discreet.errors import AuditError

Build = Callable[[list[Any]], Any]
ADD_REMOVE, REPLACE = "add-remove", "replace"


def neighbour_pairs(rows: Sequence[Any], most: int, adjacency: str = ADD_REMOVE, build: Build = list) -> Iterator[Pair]:
    """List every unordered pair of neighbouring data sets of at most `most` rows drawn from `rows`.

    A row is whatever the caller says, its label included, so a label change is one of the replacements.
    `build` turns a list of rows into the data set that the mechanism expects.

    >>> [(p.left, p.right) for p in neighbour_pairs("ab", 1)]
    [([], ['a']), ([], ['b'])]
    """
    if adjacency not in (ADD_REMOVE, REPLACE):
        raise AuditError(f"Adjacency is {ADD_REMOVE!r} or {REPLACE!r}, not {adjacency!r}.")
    for size in range(most):
        for base in combinations_with_replacement(rows, size):
            if adjacency == ADD_REMOVE:
                for row in rows:
                    note = f"{row!r} added to {list(base)!r}"
                    yield Pair(build([*base]), build([*base, row]), note)
            else:
                for index, row in enumerate(rows):
                    for other in rows[index + 1 :]:
                        note = f"{row!r} replaced by {other!r} beside {list(base)!r}"
                        yield Pair(build([*base, row]), build([*base, other]), note)


def most_telling(
    mechanism: Any,
    pairs: Sequence[Pair],
    *,
    keep: int = 3,
    delta: float = 0.0,
    samples: int = 4000,
    seed: int | None = None,
) -> list[Pair]:
    """Keep the pairs on which a short audit finds most; run the real audit on them with another seed.

    The runs made here are thrown away, so choosing does not weaken the confidence of what follows.
    """
    pairs = list(pairs)
    if not pairs:
        raise AuditError("Give at least one pair of neighbouring data sets.")
    entropy = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    source = make_source(mechanism, pairs, entropy)
    quarter = max(samples // 4, 50)
    ranked: list[tuple[float, int]] = []
    for index in range(len(pairs)):
        found = [source.draw(Task(SEARCH, index, side, 0, quarter)).rows for side in (0, 1)]
        assert found[0] is not None and found[1] is not None
        events = find_events(found[0], found[1], delta=delta, alpha=0.05)
        left, right = (source.draw(Task(TEST, index, side, 0, quarter, events)).hits for side in (0, 1))
        bounds = (
            Hits(left[0], quarter, right[0], quarter).epsilon_lower(0.05, delta),
            Hits(right[1], quarter, left[1], quarter).epsilon_lower(0.05, delta),
        )
        ranked.append((-max(bounds), index))
    return [pairs[index] for _, index in sorted(ranked)[:keep]]


def contradicted(agreed: Sequence[Any], other: Any, adjacency: str) -> Pair:
    """Rows that agree, and one that contradicts them all: it comes, or takes the place of one of them."""
    if adjacency == "add-remove":
        return Pair(agreed, (*agreed, other), "one more row, which contradicts all others")
    return Pair((*agreed, agreed[0]), (*agreed, other), "a row changes its label")
