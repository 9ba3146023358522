"""The tree: pairs of features chosen one after another by private choices, none closing a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from discreet.dependence.pairs import Pair
from discreet.mechanisms.choose import CHOICES, choose
from discreet.mechanisms.coins import Coins


class Forest:
    """The candidates that join two parts of the forest that the pairs taken so far make."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._ends = np.array(pairs, np.int64).reshape(-1, 2)
        self._part = np.arange(int(self._ends.max(initial=-1)) + 1)
        self.open: list[int] = list(range(len(pairs)))

    def take(self, pair: Pair) -> None:
        """Join two parts, and drop the candidates that would now close a cycle."""
        a, b = pair
        self._part[self._part == self._part[a]] = self._part[b]
        left = np.array(self.open, np.int64)
        ends = self._part[self._ends[left]]
        self.open = left[ends[:, 0] != ends[:, 1]].tolist()


def grow_tree(
    pairs: Sequence[Pair],
    scores: Sequence[int],
    rounds: int,
    rate: Fraction | None,
    *,
    law: str = CHOICES[0],
    coins: Coins,
) -> list[Pair]:
    """At most `rounds` pairs, the best first: every round is one private choice at `rate`."""
    taken: list[Pair] = []
    forest = Forest(pairs)
    while forest.open and len(taken) < rounds:
        found = choose([scores[place] for place in forest.open], rate, law=law, coins=coins)
        taken.append(pairs[forest.open[found]])
        forest.take(taken[-1])
    return taken


def is_forest(pairs: Sequence[Pair]) -> bool:
    """Whether no pair closes a cycle with those before it."""
    part: dict[int, int] = {}

    def root(feature: int) -> int:
        while feature in part:
            feature = part[feature]
        return feature

    for a, b in pairs:
        one, two = root(a), root(b)
        if one == two:
            return False
        part[one] = two
    return True


def neighbours(pairs: Sequence[Pair], features: int) -> Iterator[list[int]]:
    """For each feature, the places of the pairs that it is in."""
    for feature in range(features):
        yield [place for place, pair in enumerate(pairs) if feature in pair]
