"""Methods as their papers print them, which do not keep the privacy they claim: for studies only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Record:
    """What stands in a certificate's place: the claim, that it is not kept, and why."""

    paper: str
    claimed_epsilon: float
    claimed_delta: float
    reason: str
    private: bool = False
    simulation: bool = True
    covers: str = "nothing: this model is for study, not for release"

    def __post_init__(self) -> None:
        if self.private or not self.reason:
            raise ValueError("an as-published method is not private, and its record says why")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
