"""Claims: what a paper says, what was measured, and a verdict with its reason."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from discreet.files import write_text
from discreet_studies.results import Estimate, MissingResultsError, Results, UndecidedError

SANE = 0.01  # a point of accuracy
MANY = 1000.0  # times as many measurements are not reckoned out: the mean lies on the border
Found = dict[str, Estimate]


class Verdict(StrEnum):
    """What the measurements say about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNSOUND = "holds only for the unsound version"
    UNDECIDED = "undecided"
    UNTESTED = "cannot be tested here"


class Unclear(Enum):
    """An outcome between yes and no: measured, and with too few repeats to tell."""

    UNCLEAR = "unclear"

    def __bool__(self) -> bool:
        return False


UNCLEAR = Unclear.UNCLEAR
Outcome = bool | Unclear | None  # None: the measurements are missing


class Attempt(NamedTuple):
    """The outcome of a check, and what it lacks where it has none."""

    passed: Outcome
    gap: str = ""
    unclear: Mapping[str, Any] = {}  # the numbers that leave both answers open


@dataclass(frozen=True)
class Finding:
    """A verdict, the numbers it rests on, and why they lead to it.

    `proof` names what a verdict rests on beside or instead of measurements, as items do: audit:CASE, proof:FILE.
    """

    verdict: Verdict
    measured: Mapping[str, Any]
    reason: str
    proof: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the function that judges it from results."""

    paper: str
    text: str
    check: Callable[[Results], Finding]

    @property
    def name(self) -> str:
        """The name of its check, by which lists of items refer to it."""
        return str(getattr(self.check, "__name__", self.text))


Check = Callable[[Results], Finding]


class Claims(list[Claim]):
    """The claims of one paper, each written above the function that judges it."""

    def __init__(self, paper: str) -> None:
        super().__init__()
        self.paper = paper

    def says(self, text: str, paper: str = "") -> Callable[[Check], Check]:
        """A decorator: the paper says this, and the function below judges it."""

        def listed(check: Check) -> Check:
            self.append(Claim(paper or self.paper, text, check))
            return check

        return listed

    def ours(self, text: str) -> Callable[[Check], Check]:
        """The same of what the library claims beside the paper."""
        return self.says(text, "discreet")


def verdict_of(sound: Outcome, published: Outcome = False) -> Verdict:
    """The verdict from whether a claim holds for the sound and for the as-published version (False: there is none).

    Where the sound version does not show a claim, whether the published one would decides between two verdicts: as long
    as that is not known, neither is given.

    >>> verdict_of(False, True).value
    'holds only for the unsound version'
    >>> verdict_of(False, UNCLEAR).value
    'undecided'
    """
    for outcome, verdict in ((sound, Verdict.HOLDS), (published, Verdict.UNSOUND)):
        if outcome is UNCLEAR:
            return Verdict.UNDECIDED
        if outcome is None:
            return Verdict.UNTESTED
        if outcome:
            return verdict
    return Verdict.FAILS


def attempt(check: Callable[[], bool]) -> Attempt:
    """The outcome of a check, or what keeps it from having one."""
    try:
        return Attempt(check())
    except UndecidedError as error:
        return Attempt(UNCLEAR, str(error), error.measured)
    except MissingResultsError as error:
        return Attempt(None, str(error))


def reading(what: str, check: Callable[[], bool]) -> str:
    """What another reading of a sentence would come to, for the reason of a finding.

    >>> reading("the mean", lambda: True)
    'the mean: shown'
    """
    told: dict[Outcome, str] = {True: "shown", False: "not shown", UNCLEAR: "undecided", None: "not measured"}
    return f"{what}: {told[attempt(check).passed]}"


def best_of(attempts: Iterable[Attempt]) -> Attempt:
    """Whether one of several readings shows a claim; not known as long as one of them could."""
    tried = list(attempts)
    for outcome in (True, UNCLEAR, None):
        for one in tried:
            if one.passed is outcome:
                return one
    return Attempt(False)


def finding(sound: Attempt, published: Attempt, measured: Mapping[str, Any], reason: str) -> Finding:
    """The verdict with its reason; without a decision also what is missing, and in which version."""
    verdict = verdict_of(sound.passed, published.passed)
    if verdict is Verdict.UNTESTED:
        return Finding(verdict, measured, sound.gap or published.gap)
    if verdict is Verdict.UNDECIDED:
        gap = sound.gap or f"the sound version does not show it, and the published one has {published.gap}"
        return Finding(verdict, {**sound.unclear, **published.unclear, **measured}, f"{gap}; {reason}")
    return Finding(verdict, measured, reason)


def undecided(what: str, unclear: Iterable[tuple[Estimate, tuple[float, ...]]]) -> UndecidedError:
    """The error that says what cannot be told yet, and how many measurements would tell it.

    Each estimate comes with the borders of which one, at least, has to be left two standard errors behind.
    """
    listed = list(unclear)
    times, count = max((one.to_tell(*borders) / one.count, one.count) for one, borders in listed)
    enough = f"about {times * count:.0f}" if times < MANY else f"more than {MANY * count:.0f}"
    text = f"too few repeats to tell {what} ({enough} instead of {count} measurements would)"
    return UndecidedError(text, {"unclear": [one for one, _ in listed]})


def within(found: Iterable[Estimate], low: float, high: float, what: str) -> bool:
    """Whether every estimate is between two borders; undecided as long as an error reaches over one of them."""
    listed = list(found)
    if any(one.mean + 2 * one.error < low or one.mean - 2 * one.error > high for one in listed):
        return False
    open_ = [one for one in listed if one.mean - 2 * one.error < low or one.mean + 2 * one.error > high]
    if open_:
        raise undecided(what, [(one, (min((low, high), key=lambda border: abs(border - one.mean)),)) for one in open_])
    return True


def better(found: Found) -> bool:
    """Better by two standard errors in most comparisons, and worse by that much in none.

    Where too many differences are neither, although a point could still hide in their errors, nothing is known.
    """
    if any(one.below for one in found.values()):
        return False
    clear = sum(one.above for one in found.values())
    hidden = [one for one in found.values() if not one.above and one.mean + 2 * one.error > SANE]
    if 2 * clear > len(found):
        return True
    if 2 * (clear + len(hidden)) > len(found):
        raise undecided(f"a gain of {SANE} from none, {words(found)}", [(one, (0.0, SANE)) for one in hidden])
    return False


def words(found: Found) -> str:
    """Differences in accuracy, for a sentence."""
    return "; ".join(f"{name} {one}" for name, one in found.items())


def side_by_side(
    compare: Callable[..., Found],
    sound: tuple[Any, ...],
    published: tuple[Any, ...],
    what: str,
    passes: Callable[[Found], bool] = better,
) -> Finding:
    """The finding of what two versions measure, each a label and whatever else `compare` takes."""
    measured: dict[str, Any] = {}

    def check(label: str, *given: Any) -> bool:
        measured[label] = compare(*given)
        return passes(measured[label])

    outcomes = [attempt(lambda one=one: check(*one)) for one in (sound, published)]  # type: ignore[misc]
    told = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(outcomes[0], outcomes[1], measured, f"{what}: {told}")


def judge(claims: Iterable[Claim], results: Results) -> list[dict[str, Any]]:
    """Every claim with its numbers and verdict, be it that the measurements are missing or too few."""
    judged = []
    for claim in claims:
        try:
            found = claim.check(results)
        except UndecidedError as error:
            found = Finding(Verdict.UNDECIDED, error.measured, str(error))
        except MissingResultsError as error:
            found = Finding(Verdict.UNTESTED, {}, str(error))
        judged.append(
            {
                "paper": claim.paper,
                "claim": claim.text,
                "measured": _plain(dict(found.measured)),
                "verdict": found.verdict.value,
                "reason": found.reason,
                **_precision(found),
            }
        )
    return judged


def _precision(found: Finding) -> dict[str, Any]:
    """The largest standard error that a verdict rests on, the fewest measurements behind one, and the proof if any."""
    listed = list(_estimates(found.measured))
    return {
        "standard_error": max((one.error for one in listed if math.isfinite(one.error)), default=None),
        "measurements": min((one.count for one in listed), default=0),
        "proof": found.proof,
    }


def _estimates(value: Any) -> Iterable[Estimate]:
    if isinstance(value, Estimate):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _estimates(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _estimates(item)


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
