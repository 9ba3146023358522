"""The errors a user meets: one sentence each, saying what to do next."""

from __future__ import annotations


class DiscreetError(Exception):
    """Base of every error this package raises on purpose."""


class SchemaError(DiscreetError, ValueError):
    """The schema is missing, malformed or contradicts itself."""


class DataError(DiscreetError, ValueError):
    """The rows do not fit the schema, or cannot be read."""


class ConnectionLostError(DataError):
    """A database went away before its rows were read; nothing was made of those that had come.

    `charge` is the receipt of what an account was charged for the fit that this ended, if it may be given up.
    """

    charge: tuple[str, int] | None = None


class StatisticsError(DiscreetError, ValueError):
    """Statistics that cannot be combined, stored or loaded."""


class BudgetError(DiscreetError, ValueError):
    """More privacy was asked for than is left, or a budget makes no sense."""


class SettingError(DiscreetError, TypeError):
    """A setting that an estimator does not have, or has elsewhere."""


class AccountError(BudgetError):
    """An account on disk that is missing, damaged, of another kind or out of reach; it was left as it is."""


class RepeatedFitWarning(UserWarning):
    """The same data were fitted again and nobody keeps count of what the fits cost together."""


class QueryError(BudgetError):
    """More answers were asked for than are left; none was given."""


class ModelError(DiscreetError, ValueError):
    """A model file is corrupt, foreign or of another version."""


class SolverError(DiscreetError, ValueError):
    """A solver did not come close enough to its optimum, so that the proof of privacy would not cover its answer."""


class UpdateError(DiscreetError, ValueError):
    """A node's update that cannot be read or taken in; `reason` is a short word that can be counted."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason

    def __reduce__(self) -> tuple[type[UpdateError], tuple[str, str]]:
        return type(self), (self.reason, str(self))


class AuditError(DiscreetError, ValueError):
    """An audit was asked for that cannot be run, or whose samples cannot be trusted."""
