"""Estimators that size their models by noisy class counts, which a caller may have bought already."""

from __future__ import annotations

from typing import Any, Self

from discreet.estimators.base import ScoreEstimator
from discreet.estimators.counts import ClassCounts, checked_counts
from discreet.privacy.payer import Payer, attempt, paying
from discreet.sources import Progress


class CountedEstimator(ScoreEstimator):
    """An estimator whose `_plan` and `_release` take class counts that were bought, or None to buy them."""

    def fit(
        self, X: Any, y: Any = None, *, ledger: Payer | None = None, account: Any = None,
        progress: Progress | None = None, counts: ClassCounts | None = None,
    ) -> Self:  # fmt: skip
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        `counts` are noisy rows by class that the caller has bought; the certificate says that they were paid for
        elsewhere. Without them a small part of the budget buys what is needed of them.
        """
        with attempt():
            return self._fit(X, y, paying(ledger, account, X, self), progress, counts)

    def _check_bought(self, plan: Any, counts: ClassCounts | None = None) -> None:
        checked_counts(counts, plan, simulation=self.random_state is not None)
