"""What goes wrong in secure aggregation: garbage, refusals, and rounds that must end."""

from discreet.errors import DiscreetError


class SecureError(DiscreetError, ValueError):
    """Base of every error of secure aggregation."""


class MessageError(SecureError):
    """Bytes that are no message of this protocol; they change nothing."""


class RefusedError(SecureError):
    """A message that may not be answered now; the round may go on."""


class AbortError(SecureError):
    """The round is over for whoever raises this: start another one with fresh keys and fresh noise."""


class TooFewNodesError(AbortError):
    """Fewer nodes are left than the protocol or the noise needs."""
