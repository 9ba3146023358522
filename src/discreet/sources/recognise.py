"""Recognise: what the texts of a column look like, and the declaration that would read them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from discreet.readings import Parse, day_of

ENOUGH = 0.95  # of the rows must be read by a rule that is suggested
GONE = frozenset({
    "n/a", "na", "n.a.", "nan", "null", "none", "nil", "-", "--", "---", "?", "??", ".", "#n/a", "missing", "unknown",
    "not available", "not done", "not measured", "k.a.", "keine angabe", "unbekannt", "nd", "tbd", "*",
})  # fmt: skip
FORMATS = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y%m%d", "%d.%m.%y", "%d/%m/%y")
FLAGS = ({"yes", "no"}, {"true", "false"}, {"y", "n"}, {"t", "f"}, {"ja", "nein"}, {"oui", "non"}, {"0", "1"})
_NUMBER = r"[+-−]?(?:[0-9][0-9.,  '’\u00a0\u202f]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?"
_DIRTY = re.compile(rf"\s*(<=|>=|=<|=>|[<>≤≥])?\s*([$€£¥₹%#]\s*)?({_NUMBER})\s*([^\d\s<>≤≥.,][^\d<>≤≥]{{0,9}})?\s*")
_COMMA = re.compile(r"[+-]?[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})|[+-]?0,[0-9]+|[+-]?[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
_THOUSANDS = {
    True: re.compile(r"[+-]?[0-9]{1,3}(?:[.  '’\u00a0\u202f][0-9]{3})+(?:,[0-9]*)?"),
    False: re.compile(r"[+-]?[0-9]{1,3}(?:[,  '’\u00a0\u202f][0-9]{3})+(?:\.[0-9]*)?"),
}


@dataclass(frozen=True)
class Dirty:
    """Numbers in texts: the rule that reads them, what it leaves over, and where they lie."""

    rule: str
    left: dict[str, int]
    low: float
    high: float
    middle: float
    missing: bool


@dataclass(frozen=True)
class Dated:
    """Dates in texts: their format, what it leaves over, and where they lie."""

    format: str | None
    left: dict[str, int]
    low: date
    high: date
    missing: bool
    either: bool = False  # whether day and month might be the other way round


def numbers(values: Mapping[str, int]) -> Dirty | None:
    """The rule by which nearly all of some texts (with their numbers of rows) are numbers; None if there is none."""
    gone = sorted({one.strip().casefold() for one in values if one.strip().casefold() in GONE})
    real = {one: rows for one, rows in values.items() if one.strip().casefold() not in GONE}
    found = [(match, one) for one in real if (match := _DIRTY.fullmatch(one)) is not None]
    whole = sum(real.values())
    if not found or sum(real[one] for _, one in found) < ENOUGH * whole:
        return None
    bodies = [match[3].strip() for match, _ in found]
    comma = any(_COMMA.fullmatch(body) for body in bodies) and not any(
        re.fullmatch(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+", body) for body in bodies
    )
    parts = ["comma"] if comma else []
    if any(_THOUSANDS[comma].fullmatch(body) for body in bodies):
        parts.append("thousands")
    limits = {match[1] for match, _ in found if match[1]}
    parts += ["below=half"] if limits & {"<", "<=", "=<", "≤"} else []
    parts += ["above=limit"] if limits & {">", ">=", "=>", "≥"} else []
    units = sorted({(match[4] or match[2]).strip() for match, _ in found if match[4] or match[2]})
    if len(units) > 3 or (len(units) > 1 and all(len(one) == 1 for one in units)):  # these are codes
        return None
    parts += ["unit=" + "|".join(units)] if units else []
    # Words without digits that are few stand for values that are not there.
    words = sorted(one for one in real if not any(letter.isdigit() for letter in one))
    gone += [one.strip().casefold() for one in words if one.strip()] if len(words) <= 5 else []
    gone = [one for one in dict.fromkeys(gone) if not set(one) & set("|;")]
    parts += ["missing=" + "|".join(sorted(gone))] if gone else []
    try:
        rule = Parse.of("; ".join(parts)) if parts else None
    except ValueError:
        return None
    read = {one: rule.number(one) if rule is not None else _float(one) for one in values}
    good = [value for value in read.values() if math.isfinite(value)]
    left = {one: values[one] for one, value in read.items() if math.isinf(value)}
    if not good or sum(left.values()) > (1 - ENOUGH) * whole:
        return None
    missing = any(math.isnan(value) for value in read.values())
    return Dirty(str(rule) if rule is not None else "", left, min(good), max(good), _median(read, values), missing)


def _median(read: Mapping[str, float], rows: Mapping[str, int]) -> float:
    """The number in the middle of the rows."""
    found = sorted((value, rows[one]) for one, value in read.items() if math.isfinite(value))
    half, seen = sum(count for _, count in found) / 2, 0
    for value, count in found:
        seen += count
        if seen >= half:
            return value
    return 0.0


def dates(values: Mapping[str, int]) -> Dated | None:
    """The format in which nearly all of some texts are dates; None if there is none."""
    real = {one: rows for one, rows in values.items() if one.strip().casefold() not in GONE}
    whole, fitting = sum(real.values()), []
    for format in FORMATS:
        read = {one: day_of(one, format) for one in real}
        left = {one: real[one] for one, day in read.items() if day is None}
        days = [day for day in read.values() if day is not None]
        if days and sum(left.values()) <= (1 - ENOUGH) * whole and all(1850 <= day.year <= 2150 for day in days):
            fitting.append(Dated(format, left, min(days), max(days), len(real) < len(values)))
    if not fitting:
        return None
    best = min(fitting, key=lambda one: sum(one.left.values()))
    other = {"%d/%m/%Y": "%m/%d/%Y", "%m/%d/%Y": "%d/%m/%Y"}.get(best.format or "")
    either = other is not None and any(
        one.format == other and sum(one.left.values()) == sum(best.left.values()) for one in fitting
    )
    return Dated(best.format, best.left, best.low, best.high, best.missing, either)


def is_flag(values: Mapping[str, int]) -> bool:
    """Whether texts are a yes and a no."""
    return {one.strip().casefold() for one in values} in FLAGS


def alike(values: Mapping[str, int]) -> list[list[str]]:
    """Texts that differ in case or spaces alone, together."""
    groups: dict[str, list[str]] = {}
    for one in sorted(values):
        groups.setdefault(" ".join(one.casefold().split()), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _float(written: str) -> float:
    try:
        return float(written)
    except ValueError:
        return math.inf


def date_unit(low: date, high: date) -> str:
    """The unit in which a span of dates makes a handy number."""
    days = (high - low).days
    return "day" if days <= 60 else "week" if days <= 730 else "month" if days <= 366 * 20 else "year"
