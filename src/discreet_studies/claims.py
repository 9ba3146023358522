"""Claims: what a paper says, what was measured, and a verdict with its reason."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from discreet.files import write_text
from discreet_studies.results import Estimate, MissingResultsError, Results

SANE = 0.01  # a point of accuracy
Found = dict[str, Estimate]


class Verdict(StrEnum):
    """What the measurements say about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNSOUND = "holds only for the unsound version"
    UNTESTED = "cannot be tested here"


@dataclass(frozen=True)
class Finding:
    """A verdict, the numbers it rests on, and why they lead to it."""

    verdict: Verdict
    measured: Mapping[str, Any]
    reason: str


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the function that judges it from results."""

    paper: str
    text: str
    check: Callable[[Results], Finding]


def verdict_of(sound: bool | None, published: bool | None = None) -> Verdict:
    """The verdict from whether a claim holds for the sound and for the as-published version (None: not known).

    >>> verdict_of(False, True).value
    'holds only for the unsound version'
    """
    if sound:
        return Verdict.HOLDS
    if sound is None:
        return Verdict.UNTESTED
    return Verdict.UNSOUND if published else Verdict.FAILS


def attempt(check: Callable[[], bool]) -> tuple[bool | None, str]:
    """The outcome of a check, or None with the reason if its measurements are missing."""
    try:
        return check(), ""
    except MissingResultsError as error:
        return None, str(error)


def better(found: Found) -> bool:
    """Better by two standard errors in most comparisons, and worse by that much in none.

    Where too many differences are neither, although a point could still hide in their errors, nothing is known.
    """
    if any(one.below for one in found.values()):
        return False
    clear = sum(one.above for one in found.values())
    hidden = sum(not one.above and one.mean + 2 * one.error > SANE for one in found.values())
    if 2 * clear > len(found):
        return True
    if 2 * (clear + hidden) > len(found):
        raise MissingResultsError(f"too few repeats to tell a gain of {SANE} from none: {words(found)}")
    return False


def words(found: Found) -> str:
    """Differences in accuracy, for a sentence."""
    return "; ".join(f"{name} {one}" for name, one in found.items())


def judge(claims: Iterable[Claim], results: Results) -> list[dict[str, Any]]:
    """Every claim with its numbers and verdict; one whose measurements are missing cannot be tested here."""
    judged = []
    for claim in claims:
        try:
            finding = claim.check(results)
        except MissingResultsError as error:
            finding = Finding(Verdict.UNTESTED, {}, str(error))
        judged.append(
            {
                "paper": claim.paper,
                "claim": claim.text,
                "measured": _plain(dict(finding.measured)),
                "verdict": finding.verdict.value,
                "reason": finding.reason,
            }
        )
    return judged


def _plain(value: Any) -> Any:
    """Values that strict JSON can hold."""
    if hasattr(value, "plain"):
        return value.plain()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_claims(path: Path, judged: list[dict[str, Any]]) -> None:
    """Write the list of judged claims as JSON, whole or not at all."""
    write_text(path, json.dumps(judged, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
