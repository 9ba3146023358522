"""Which oracle has the lowest mean variance per report, on domains of the size that Naive Bayes asks about."""

from __future__ import annotations

from typing import Any

from benchmarks.common import line
from discreet.local.oracles import choose_oracle

DOMAINS, EPSILONS = (2, 4, 6, 10, 20, 50, 200, 1000), (0.1, 0.5, 1, 2, 4)


def run(**_: Any) -> list[dict[str, Any]]:
    """One line per domain and ε: the variance of the winner, and every other oracle's as a multiple of it."""
    lines = []
    for d in DOMAINS:
        for epsilon in EPSILONS:
            oracle, variances = choose_oracle(d, epsilon)
            least = variances[oracle.name]
            rest = ", ".join(f"{name} {value / least:.2f}" for name, value in variances.items() if name != oracle.name)
            lines.append(line(f"d = {d}, epsilon = {epsilon:g}: {oracle.name}; {rest}", least, "variance"))
    return lines
