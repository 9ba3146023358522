"""Confidence bounds on probabilities and what they imply for epsilon; proved in docs/proofs/audit.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import AuditError


def clopper_pearson_lower(hits: int, trials: int, alpha: float) -> float:
    """Lower end of the exact one-sided interval: below the true probability except with chance alpha."""
    _check_counts(hits, trials, alpha)
    if hits == 0:
        return 0.0
    from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, alpha))


def clopper_pearson_upper(hits: int, trials: int, alpha: float) -> float:
    """Upper end of the exact one-sided interval: above the true probability except with chance alpha."""
    _check_counts(hits, trials, alpha)
    if hits == trials:
        return 1.0
    from scipy.special import betainccinv

    return float(betainccinv(hits + 1, trials - hits, alpha))


@dataclass(frozen=True)
class Hits:
    """How often an event occurred on the side where it should be likely and on the other one."""

    likely: int
    likely_trials: int
    unlikely: int
    unlikely_trials: int

    def epsilon_lower(self, alpha: float, delta: float = 0.0) -> float:
        """Largest epsilon refuted at level alpha: log((p_lo - delta) / q_hi), and 0 if nothing is refuted.

        >>> round(Hits(731, 1000, 269, 1000).epsilon_lower(0.05), 2)
        0.86
        """
        low = clopper_pearson_lower(self.likely, self.likely_trials, alpha / 2)
        high = clopper_pearson_upper(self.unlikely, self.unlikely_trials, alpha / 2)
        return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def look_share(look: int) -> float:
    """Share of alpha spent on the look-th reading of growing counts; the shares sum to one.

    >>> look_share(1), sum(look_share(k) for k in range(1, 1000)) < 1
    (0.5, True)
    """
    return 1.0 / (look * (look + 1))


def _check_counts(hits: int, trials: int, alpha: float) -> None:
    if not (0 <= hits <= trials and trials > 0 and 0 < alpha < 1):
        raise AuditError(f"Give 0 <= hits <= trials, trials > 0 and 0 < alpha < 1; got {hits}, {trials} and {alpha}.")
