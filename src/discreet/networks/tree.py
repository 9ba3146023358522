"""The tree: pairs of features chosen one after another by private choices, none closing a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.mechanisms.choose import CHOICES, choose
from discreet.mechanisms.coins import Coins
from discreet.networks.pairs import Pair


def open_pairs(pairs: Sequence[Pair], taken: Sequence[Pair]) -> list[int]:
    """The places of the pairs that join two parts of the forest that `taken` makes."""
    part: dict[int, int] = {}

    def root(feature: int) -> int:
        while feature in part:
            feature = part[feature]
        return feature

    for a, b in taken:
        part[root(a)] = root(b)
    return [place for place, (a, b) in enumerate(pairs) if root(a) != root(b)]


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
    for _ in range(rounds):
        places = open_pairs(pairs, taken)
        if not places:
            break
        found = choose([scores[place] for place in places], rate, law=law, coins=coins)
        taken.append(pairs[places[found]])
    return taken


def neighbours(pairs: Sequence[Pair], features: int) -> Iterator[list[int]]:
    """For each feature, the places of the pairs that it is in."""
    for feature in range(features):
        yield [place for place, pair in enumerate(pairs) if feature in pair]
