"""The one-run audit: many canaries in a single training, guessed back; proved in docs/proofs/audit.md."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.audit.result import AuditResult
from discreet.errors import AuditError

_EPSILON_CAP = 64.0


def guess_tail(correct: int, guesses: int, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """Bound the chance of `correct` or more right guesses out of `guesses` under (epsilon, delta)-DP.

    With f the upper tail and b the mass of a Binomial(guesses, e^eps / (1 + e^eps)) at v = correct, the
    bound is f + canaries * delta * f * (1 - f) / (v * b): theorem 3 of docs/proofs/audit.md.

    >>> round(guess_tail(75, 100, 100, math.log(3)), 3)
    0.553
    """
    _check_guesses(correct, guesses, canaries, delta)
    if correct == 0:
        return 1.0
    from scipy.special import betainc

    right = 1.0 / (1.0 + math.exp(-epsilon))
    tail = float(betainc(correct, guesses - correct + 1, right))
    if delta == 0 or tail >= 1:
        return tail
    gain = canaries * delta * _tail_over_mass(correct, guesses, epsilon) / correct
    return min(1.0, tail + (1 - tail) * gain)


def _tail_over_mass(correct: int, guesses: int, epsilon: float) -> float:
    """Return f / b from the ratios of neighbouring masses: both may be too small for a double."""
    step = np.arange(1, guesses - correct + 1)
    logs = np.cumsum(epsilon + np.log((guesses - correct - step + 1) / (correct + step)))
    top = max(0.0, float(logs.max(initial=0.0)))
    return math.exp(min(700.0, top + math.log(math.exp(-top) + float(np.exp(logs - top).sum()))))


def canary_lower_bound(
    correct: int, guesses: int, canaries: int, *, delta: float = 0.0, confidence: float = 0.95
) -> float:
    """Return the epsilon below which so many right guesses have a chance of at most 1 - confidence.

    For delta > 0 the number of guesses must have been fixed before the run, or be an upper limit that was.
    """
    _check_guesses(correct, guesses, canaries, delta)
    alpha = 1 - confidence
    if not 0 < alpha < 1:
        raise AuditError("Give a confidence strictly between 0 and 1.")
    low, high = 0.0, _EPSILON_CAP
    if guess_tail(correct, guesses, canaries, 0.0, delta) > alpha:
        return 0.0
    # Where the tail is at most alpha < 1 it increases with epsilon, so bisection finds the one crossing.
    while high - low > 1e-9:
        middle = (low + high) / 2
        if guess_tail(correct, guesses, canaries, middle, delta) <= alpha:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Guesses:
    """Guesses of who was in: +1 for in, -1 for out, 0 for no guess."""

    values: NDArray[np.int8]

    @property
    def count(self) -> int:
        """Return how many guesses were made."""
        return int(np.count_nonzero(self.values))

    def correct(self, included: NDArray[np.bool_]) -> int:
        """Count the guesses that were right."""
        return int(np.count_nonzero(self.values == np.where(included, 1, -1)))


def guess(scores: ArrayLike, count: int, *, rng: np.random.Generator) -> Guesses:
    """Guess "in" for the highest and "out" for the lowest scores, `count` in all, ties broken at random."""
    values = np.asarray(scores, dtype=np.float64)
    order = np.lexsort((rng.random(len(values)), np.nan_to_num(values)))
    result = np.zeros(len(values), dtype=np.int8)
    result[order[: count // 2]] = -1
    result[order[len(values) - (count - count // 2) :]] = 1
    return Guesses(result)


def audit_one_run(
    train: Callable[..., ArrayLike],
    canaries: int,
    epsilon: float,
    delta: float = 0.0,
    guesses: int | Sequence[int] | None = None,
    confidence: float = 0.95,
    seed: int | None = None,
    *,
    name: str = "",
) -> AuditResult:
    """Audit a whole training run: `train(included, rng=...)` returns one score per canary, high for "in".

    `included` is a fair coin per canary; `train` fits once on the fixed rows and the included canaries and
    scores every canary from what it releases, never from `included`. The claim is about add-remove
    neighbours. Each entry of `guesses` is a number of guesses to try, the level being shared among them;
    left out, all canaries, a quarter and a sixteenth of them are tried.
    """
    began = time.perf_counter()
    widths = _widths(guesses, canaries)
    rng = np.random.default_rng(seed)
    included = rng.random(canaries) < 0.5
    scores = np.asarray(train(included.copy(), rng=rng), dtype=np.float64)
    if scores.shape != (canaries,):
        raise AuditError(f"The training function must return {canaries} scores; got shape {scores.shape}.")
    share = 1 - (1 - confidence) / len(widths)
    found: list[tuple[float, int, int]] = []
    for width in widths:
        made = guess(scores, width, rng=rng)
        right = made.correct(included)
        bound = canary_lower_bound(right, width, canaries, delta=delta, confidence=share)
        found.append((bound, right, width))
    bound, right, width = max(found)
    return AuditResult(
        name=name or str(getattr(train, "__name__", type(train).__name__)),
        epsilon=float(epsilon),
        delta=float(delta),
        lower_bound=bound,
        confidence=confidence,
        pair=f"{canaries} canaries, each in or out by a fair coin",
        event=f"{right} of {width} guesses right",
        samples=canaries,
        seconds=time.perf_counter() - began,
        method="one run",
        seed=seed,
    )


def _widths(guesses: int | Sequence[int] | None, canaries: int) -> list[int]:
    if canaries < 1:
        raise AuditError("Give at least one canary.")
    wanted: Any = (canaries, canaries // 4, canaries // 16) if guesses is None else guesses
    widths = sorted({int(g) for g in ([wanted] if isinstance(wanted, int) else wanted)})
    if guesses is None:
        widths = [w for w in widths if w > 0]
    if not widths or widths[0] < 1 or widths[-1] > canaries:
        raise AuditError(f"Make between 1 and {canaries} guesses, one per canary at most.")
    return widths


def _check_guesses(correct: int, guesses: int, canaries: int, delta: float) -> None:
    if not (0 <= correct <= guesses <= canaries and guesses > 0 and 0 <= delta < 1):
        raise AuditError(
            "Give 0 <= correct <= guesses <= canaries, at least one guess, and 0 <= delta < 1; "
            f"got {correct}, {guesses}, {canaries} and {delta}."
        )
