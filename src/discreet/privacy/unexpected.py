"""What happens to rows that do not fit the schema: the two policies, and what each lets a certificate say."""

from __future__ import annotations

from typing import Any

from discreet.errors import BudgetError

REFUSE, ABSORB = "refuse", "absorb"
POLICIES = (REFUSE, ABSORB)
REFUSED = (
    "tables that were not refused: a row that does not fit the schema, or a person with too many rows, is an error, "
    "and that there was none is outside the guarantee"
)
TOTAL = (
    "every table: no content of a row can make the fit fail, because what has no place in the schema goes to a "
    "declared cell or is left out, row by row and person by person"
)
FIXED = (
    "should the solver not certify its answer to within the noise that covers it, a fixed public answer is released in "
    "its place, and that this does not happen is outside the guarantee"
)


def check_unexpected(given: Any) -> str:
    """The policy of that name."""
    if not isinstance(given, str) or given not in POLICIES:
        raise BudgetError(f"unexpected must be 'refuse' or 'absorb', not {given!r}")
    return str(given)


def tables_clause(unexpected: str) -> str:
    """Which tables a guarantee is about."""
    return TOTAL if check_unexpected(unexpected) == ABSORB else REFUSED
