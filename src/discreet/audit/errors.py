"""The error of the audit room, so that a front end can tell a bad request from a failed audit."""

from discreet.errors import DiscreetError


class AuditError(DiscreetError, ValueError):
    """An audit was asked for that cannot be run, or whose samples cannot be trusted."""
