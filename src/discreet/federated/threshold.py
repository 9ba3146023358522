"""The threshold of secure aggregation: how many nodes it takes to open a sum, and how many may leave."""

from __future__ import annotations


def threshold_for(nodes: int, colluding: int) -> int:
    """The least number of shares such that two survivor sets can never both be unmasked.

    Each honest node answers for one set, a colluding one for both: both reach t only if 2t ≤ nodes + colluding.

    >>> threshold_for(20, 3)
    12
    """
    return (nodes + colluding) // 2 + 1


def most_dropouts(nodes: int, colluding: int) -> int:
    """How many nodes may drop out of a round that still opens its sum."""
    return max(0, nodes - threshold_for(nodes, max(colluding, 0)))
