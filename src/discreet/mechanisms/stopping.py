"""Random stopping: the best of a random number of runs of a private mechanism, for little more than one run costs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from discreet.errors import BudgetError
from discreet.mechanisms.coins import Coins

Output = TypeVar("Output")


def check_stopping(eta: Fraction, gamma: Fraction) -> None:
    """Refuse a law of the number of runs that cannot be drawn here."""
    if not -1 < eta <= 1:
        raise BudgetError(f"eta must lie above -1 and not above 1, not {float(eta):g}")
    if not 0 < gamma < 1:
        raise BudgetError(f"gamma must lie between 0 and 1, not {float(gamma):g}")


def repeated_cost(epsilon: Fraction, eta: Fraction) -> Fraction:
    """What the best of K runs costs if one run costs ε and K is truncated negative binomial: (2 + η)·ε."""
    return (2 + eta) * epsilon


def draw_runs(eta: Fraction, gamma: Fraction, *, coins: Coins) -> int:
    """A draw of K ≥ 1 with P(K = k) ∝ (1 − γ)^k · Π_{l=1}^{k−1} (l + η)/(l + 1), exactly, from rational coins.

    η = 1 is the geometric law, η = 0 the logarithmic one. A geometric proposal is accepted factor by factor, each as
    soon as the proposal grows, so that most of those that fail do so early.
    """
    check_stopping(eta, gamma)
    go_on = (1 - gamma).as_integer_ratio()
    while True:
        count, alive = 1, True
        while alive and coins.odds(*go_on):
            alive = coins.odds(*((count + eta) / (count + 1)).as_integer_ratio())
            count += 1
        if alive:
            return count


def runs_law(eta: float, gamma: float, most: int) -> list[float]:
    """P(K = 1), …, P(K = most), for tests and for plans; the rest of the mass lies beyond."""
    weights, factor = [], 1.0
    for count in range(1, most + 1):
        weights.append((1 - gamma) ** count * factor)
        factor *= (count + eta) / (count + 1)
    total, count = sum(weights), most
    while factor * (1 - gamma) ** (count + 1) > 1e-18 and count < 10**6:
        count += 1
        total += (1 - gamma) ** count * factor
        factor *= (count + eta) / (count + 1)
    return [weight / total for weight in weights]


def best_of_random_runs(
    run: Callable[[], tuple[Any, Output]], eta: Fraction, gamma: Fraction, *, coins: Coins
) -> tuple[Output, int]:
    """The output of the run with the largest score, and how many runs there were, which must not be told.

    Scores are part of what each run releases, ties included: a tie is broken by bits drawn with the run.
    """
    best: tuple[Any, int] | None = None
    kept: Output | None = None
    count = draw_runs(eta, gamma, coins=coins)
    for _ in range(count):
        score, output = run()
        key = (score, coins.bits(64))
        if best is None or key > best:
            best, kept = key, output
    assert kept is not None
    return kept, count
