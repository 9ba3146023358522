"""What becomes of a report: its fates, and how many reports met each."""

from __future__ import annotations

from dataclasses import asdict, dataclass

UNEXPECTED, REPLAYED = 3, 4
FATES = ("accepted", "malformed", "foreign", "unexpected", "replayed")  # 0, 1 and 2 are what parsing tells


@dataclass(frozen=True)
class Outcome:
    """How many reports met which fate.

    - accepted: counted, once;
    - malformed: damaged, or not what its mechanism could have said;
    - foreign: about another schema;
    - unexpected: an ε or mechanism that this collector does not want, or one design too many;
    - replayed: a report that has been counted before.
    """

    accepted: int = 0
    malformed: int = 0
    foreign: int = 0
    unexpected: int = 0
    replayed: int = 0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(*(getattr(self, fate) + getattr(other, fate) for fate in FATES))

    @property
    def rejected(self) -> int:
        """All that were not accepted."""
        return self.malformed + self.foreign + self.unexpected + self.replayed

    def to_dict(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)
