"""What tests of oracles share: a goodness-of-fit test whose false-alarm rate is a theorem, and small oracles."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.local.oracles import ORACLES, Oracle

KINDS = tuple(ORACLES.values())
FALSE_ALARM = 1e-8  # of one comparison; there are fewer than 100 in the suite


def small(kind: type[Oracle]) -> Oracle:
    """An instance whose law can be listed: of those that the oracle offers, the widest about ε = 1."""
    return min(kind.listed(), key=lambda one: (abs(one.epsilon - 1), -one.d))


def listed(oracle: Oracle, law: dict[tuple[int, ...], Fraction]) -> np.ndarray:
    """All reports of a law, as `perturb` returns them."""
    return np.array(list(law), oracle.dtype).reshape(len(law), *oracle.shape)


def divergence(seen: Counter[Any], law: dict[Any, Fraction]) -> tuple[float, int]:
    """n·KL(observed ‖ law) and the number of cells; rare outcomes share one cell."""
    size = sum(seen.values())
    assert set(seen) <= set(law), "a report that the law calls impossible"
    cells = [(seen[one], float(share)) for one, share in law.items() if size * share >= 5]
    rest = (size - sum(n for n, _ in cells), 1 - sum(share for _, share in cells))
    if rest[1] > 1e-12:
        cells.append(rest)
    return sum(n * math.log(n / (size * share)) for n, share in cells if n), len(cells)


def follows(seen: Counter[Any], law: dict[Any, Fraction], false_alarm: float = FALSE_ALARM) -> bool:
    """Whether draws follow a law, by P(n·KL ≥ t) ≤ e^{−t}·(e·t/(k−1))^{k−1} for k cells, t > k − 1 (Agrawal 2020)."""
    found, cells = divergence(seen, law)
    free = cells - 1
    if found <= free:
        return True
    return -found + free * (1 + math.log(found / free)) > math.log(false_alarm)


def tally(reports: Any) -> Counter[tuple[int, ...]]:
    """How often each report was drawn."""
    table = np.asarray(reports)
    rows, counts = np.unique(table.reshape(len(table), -1), axis=0, return_counts=True)
    return Counter({tuple(row): int(n) for row, n in zip(rows.tolist(), counts, strict=True)})
