"""Variances side by side: which number mechanism is best for how many classes and which ε."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.common import line
from discreet.local.numbers import NUMBERS

HALF = 1 << 16
AT_ONCE = 8
CLASSES, EPSILONS = (1, 2, 3, 10), ("0.1", "1", "4", "8")


def run(**_: Any) -> list[dict[str, Any]]:
    """One line per number of classes and ε: the variance of the winner, and every other mechanism's in multiples."""
    lines = []
    for classes in CLASSES:
        for epsilon in EPSILONS:
            row = variances(classes, epsilon)
            best = min(row, key=row.__getitem__)
            rest = ", ".join(f"{name} {value / row[best]:.2f}" for name, value in row.items() if name != best)
            lines.append(line(f"{classes} classes, epsilon = {epsilon}: {best}; {rest}", row[best], "variance"))
    return lines


def variances(classes: int, epsilon: str) -> dict[str, float]:
    """Per report, in units of the bound squared: classes equally frequent, members' mean square a quarter.

    For all numbers at once there are eight of them, and the variance is multiplied by 1/8: each person says
    something about every number, where else each number is reported by an eighth of the people.
    """
    square, found = HALF**2 / 4, {}
    for name, kind in NUMBERS.items():
        count = AT_ONCE if kind.at_once else 1
        made = kind.of(classes, (HALF,) * count, epsilon)
        found[name] = float(np.atleast_1d(made.variance(1, 1 / classes, square))[0]) / count / HALF**2
    return found


def variance_table(classes: Iterable[int] = CLASSES, epsilons: Iterable[str] = EPSILONS) -> str:
    """The table in Markdown, the best of each row in bold."""
    lines = [f"| classes | ε | {' | '.join(NUMBERS)} |", "|" + "---|" * (len(NUMBERS) + 2)]
    for count in classes:
        for epsilon in epsilons:
            row = variances(count, epsilon)
            best = min(row.values())
            cells = [f"**{v:.3g}**" if v <= best * (1 + 1e-9) else f"{v:.3g}" for v in row.values()]
            lines.append(f"| {count} | {epsilon} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(variance_table())
