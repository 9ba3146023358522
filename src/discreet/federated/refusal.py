"""Why an update is not taken in: reasons that a coordinator can count, each with a sentence for a person."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NoReturn

from discreet.errors import UpdateError


class Refusal(StrEnum):
    """The reasons for which an update, or the removal of one, is refused."""

    MALFORMED = "malformed"
    SCHEMA = "other-schema"
    SETTINGS = "other-settings"
    DUPLICATE_NODE = "duplicate-node"
    DUPLICATE_UPDATE = "duplicate-update"
    IMPLAUSIBLE = "implausible"
    UNKNOWN_NODE = "unknown-node"
    NOT_KEPT = "not-kept"


def refuse(reason: Refusal, sentence: str) -> NoReturn:
    """Raise with the reason and one sentence."""
    raise UpdateError(reason, sentence)


def demand(condition: Any, sentence: str) -> None:
    """Refuse as malformed unless the condition holds."""
    if not condition:
        refuse(Refusal.MALFORMED, sentence)
