"""Readings: what a schema says about texts of numbers, dates, skewed scales and patterns, one value at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

from discreet.values import POINT_ZERO, Lookup, Moment, Reading, read, spell, text

SCALES = ("log", "log1p", "sqrt")
UNITS = ("day", "week", "month", "quarter", "year")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
PARTS = {
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": MONTHS,
}
SCALE_HALF = 1 << 12  # steps of a transformed number on each side of its middle
RULES = "comma, thousands, below, above, unit=… and missing=…"
_BELOW = {"half": 0.5, "limit": 1.0, "zero": 0.0, "missing": math.nan}
_ABOVE = {"limit": 1.0, "missing": math.nan}
_LIMIT = re.compile(r"(<=|>=|=<|=>|[<>≤≥])\s*")
_GAPS = "  \u00a0\u2009\u202f'’"  # what stands between groups of three digits, whatever the decimal sign
_COMMA = re.compile(r"[+-]?(?:[0-9]+(?:,[0-9]*)?|,[0-9]+)")
_GROUPED = {
    sign: re.compile(rf"[+-]?[0-9]{{1,3}}(?:[{group}{_GAPS}][0-9]{{3}})+(?:[{sign}][0-9]*)?")
    for sign, group in ((".", ","), (",", "."))
}


@dataclass(frozen=True)
class Parse:
    """How the texts of a column write numbers; values that are numbers already are what they are.

    >>> Parse.of("comma; below").number("<5,0"), Parse.of("unit=kg|g*0.001").number("250 g")
    (2.5, 0.25)
    """

    comma: bool = False
    thousands: bool = False
    below: str | None = None
    above: str | None = None
    units: tuple[tuple[str, str], ...] = ()
    gone: tuple[str, ...] = ()

    @classmethod
    @lru_cache(1024)
    def of(cls, rules: str) -> Parse:
        """The rules that a text lists, set apart by semicolons."""
        found: dict[str, Any] = {}
        for part in filter(None, (one.strip() for one in rules.split(";"))):
            word, _, rest = (one.strip() for one in part.partition("="))
            key = {"unit": "units", "missing": "gone"}.get(word, word)
            if key in found:
                raise ValueError(f"the rule {word!r} is there twice")
            if word in {"comma", "thousands"} and not rest:
                found[key] = True
            elif word == "below" and (rest or "half") in _BELOW:
                found[key] = rest or "half"
            elif word == "above" and (rest or "limit") in _ABOVE:
                found[key] = rest or "limit"
            elif word == "unit" and rest:
                found[key] = tuple(_unit(one) for one in rest.split("|"))
            elif word == "missing" and rest:
                found[key] = tuple(sorted({one.strip().casefold() for one in rest.split("|")}))
            else:
                raise ValueError(
                    f"there is no rule {part!r} to parse numbers: the rules are {RULES}, set apart by semicolons"
                )
        if not found:
            raise ValueError(f"parse lists no rule: the rules are {RULES}, set apart by semicolons")
        return cls(**found)

    def __str__(self) -> str:
        words = [name for name in ("comma", "thousands") if getattr(self, name)]
        words += [f"{name}={getattr(self, name)}" for name in ("below", "above") if getattr(self, name) is not None]
        if self.units:
            words.append("unit=" + "|".join(unit + (f"*{times}" if times != "1" else "") for unit, times in self.units))
        return "; ".join([*words, *(["missing=" + "|".join(self.gone)] if self.gone else [])])

    @cached_property
    def _longest(self) -> list[tuple[str, str]]:
        """Units by the length of their names: 5 mm is no 5 m of metres."""
        return sorted(self.units, key=lambda one: -len(one[0]))

    def number(self, written: str) -> float:
        """The number that a text writes: NaN if it stands for a missing one, infinite if it is none."""
        body = written.strip()
        if body.casefold() in self.gone:
            return math.nan
        share = 1.0
        if (limit := _LIMIT.match(body)) is not None:
            way = self.below if limit[1] in {"<", "<=", "=<", "≤"} else self.above
            if way is None:
                return math.inf
            share, body = {**_BELOW, **_ABOVE}[way], body[limit.end() :]
        times = "1"
        for unit, factor in self._longest:
            if body.endswith(unit):
                times, body = factor, body[: -len(unit)].rstrip()
                break
            if body.startswith(unit):
                times, body = factor, body[len(unit) :].lstrip()
                break
        found = self._digits(body.replace("−", "-"))
        if math.isinf(found) or share == 1.0 == float(times):
            return found
        if times != "1" and not math.isnan(found):
            found = _double(Fraction(repr(found)) * Fraction(times))
        return found if math.isinf(found) else found * share

    def _digits(self, body: str) -> float:
        sign = "," if self.comma else "."
        if self.thousands and _GROUPED[sign].fullmatch(body):
            other = "." if self.comma else ","
            body = "".join(one for one in body if one not in _GAPS and one != other)
        if self.comma:
            if _COMMA.fullmatch(body):
                body = body.replace(",", ".")
            elif self.thousands and "." in body:  # 1.234 is a thousand here, so 12.5 must not be twelve and a half
                return math.inf
        try:
            return float(body)
        except ValueError:
            return math.inf


def _unit(written: str) -> tuple[str, str]:
    name, _, factor = (one.strip() for one in written.rpartition("*")) if "*" in written else (written.strip(), "", "1")
    try:
        fine = bool(name) and Fraction(factor) > 0 and math.isfinite(float(Fraction(factor)))
    except (ValueError, ZeroDivisionError, OverflowError):
        fine = False
    if not fine or any(one in name for one in "0123456789<>"):
        raise ValueError(f"{written!r} is no unit: write unit=kg, or unit=kg|g*0.001 for several")
    return name, factor


def _double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


# ---- dates


_DIRECTIVES = {"%d": r"(?P<d>\d{1,2})", "%m": r"(?P<m>\d{1,2})", "%Y": r"(?P<Y>\d{4})", "%y": r"(?P<y>\d{2})",
               "%H": r"\d{1,2}", "%M": r"\d{1,2}", "%S": r"\d{1,2}(?:\.\d+)?"}  # fmt: skip
_DAY = re.compile(r"(\d{4})-(\d{1,2})(?:-(\d{1,2}))?", re.ASCII)
_TIMED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d.*", re.ASCII)


@lru_cache(1024)
def date_format(format: str | None) -> re.Pattern[str] | None:
    """What texts of dates look like; None for those of ISO 8601."""
    if format is None:
        return None
    parts = re.split("(%.)", format)
    if any(part.startswith("%") and part not in _DIRECTIVES for part in parts):
        raise ValueError(f"format may use {', '.join(_DIRECTIVES)}, and {format!r} uses another one")
    if (
        len(set(parts) & {"%Y", "%y"}) != 1
        or any(parts.count(one) != 1 for one in ("%m",))
        or len(parts) != len([one for i, one in enumerate(parts) if not one.startswith("%") or one not in parts[:i]])
    ):
        raise ValueError(f"format must have a year (%Y or %y), a month (%m) and mostly a day (%d), unlike {format!r}")
    return re.compile("".join(_DIRECTIVES.get(part) or re.escape(part) for part in parts), re.ASCII)


def day_of(found: Reading, format: str | None = None) -> date | None:
    """The day that a value names, if it is a date or the text of one."""
    if isinstance(found, Moment):
        return _day(found[:10]) if re.match(r"\d{4}-\d\d-\d\d", found) else None
    if isinstance(found, float):  # 20240131 beside a missing value
        found = spell(found)
    if type(found) is not str:
        return None
    body, pattern = found.strip(), date_format(format)
    if pattern is None:
        if _TIMED.fullmatch(body):
            try:
                return day_of(read(datetime.fromisoformat(body)))
            except ValueError:
                return None
        return _day(body)
    match = pattern.fullmatch(body)
    if match is None:
        return None
    got = match.groupdict()
    year = int(got["Y"]) if got.get("Y") else int(got["y"]) + (1900 if int(got["y"]) >= 69 else 2000)
    return _made(year, int(got["m"]), int(got.get("d") or 1))


def _day(written: str) -> date | None:
    match = _DAY.fullmatch(written)
    return None if match is None else _made(int(match[1]), int(match[2]), int(match[3] or 1))


def _made(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def units_between(start: date, day: date, unit: str) -> int:
    """How many units after that of the start a day is."""
    if unit in {"day", "week"}:
        return (day.toordinal() - start.toordinal()) // (7 if unit == "week" else 1)
    months = 12 * (day.year - start.year) + day.month - start.month
    if unit == "quarter":
        return 4 * (day.year - start.year) + (day.month - 1) // 3 - (start.month - 1) // 3
    return months if unit == "month" else day.year - start.year


def unit_start(start: date, count: int, unit: str) -> date:
    """The first day of the unit so many after that of the start."""
    if unit in {"day", "week"}:
        return date.fromordinal(start.toordinal() + count * (7 if unit == "week" else 1))
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    first = 12 * start.year + (start.month - 1) // months * months + count * months
    return date(first // 12, first % 12 + 1, 1)


def write_day(day: date, format: str | None) -> str:
    """A day as its column writes it."""
    if format is None:
        return day.isoformat()
    values = {"%d": f"{day.day:02d}", "%m": f"{day.month:02d}", "%Y": f"{day.year:04d}", "%y": f"{day.year % 100:02d}"}
    return "".join(values.get(part, "00" if part.startswith("%") else part) for part in re.split("(%.)", format))


# ---- skewed scales, by thresholds that every machine computes alike


_FINE = Context(prec=50)
_FORWARD: dict[str, Callable[[Decimal], Decimal]] = {
    "log": lambda x: _FINE.ln(x),
    "log1p": lambda x: _FINE.ln(_FINE.add(x, Decimal(1))),
    "sqrt": lambda x: _FINE.sqrt(x),
}
_BACK: dict[str, Callable[[Decimal], Decimal]] = {
    "log": lambda x: _FINE.exp(x),
    "log1p": lambda x: _FINE.subtract(_FINE.exp(x), Decimal(1)),
    "sqrt": lambda x: _FINE.multiply(x, x),
}
_LEAST = {"log": 0.0, "log1p": -1.0, "sqrt": 0.0}


def scaled(value: float, scale: str) -> float:
    """A number on a skewed scale, to the nearest double."""
    return float(_FORWARD[scale](Decimal(repr(value))))


def unscaled(value: float, scale: str) -> float:
    """The number of which this is the place on a skewed scale."""
    try:
        return float(_BACK[scale](Decimal(repr(value))))
    except (InvalidOperation, OverflowError):
        return math.inf


@lru_cache(1024)
def thresholds(lower: float, upper: float, scale: str) -> tuple[float, ...]:
    """The numbers at which the second, third, … of 2·SCALE_HALF + 1 equally spaced points of a scale begin."""
    if lower < _LEAST[scale] or (lower == _LEAST[scale] and scale != "sqrt"):
        raise ValueError(
            f"lower must be {'at least' if scale == 'sqrt' else 'above'} {_LEAST[scale]:g} for transform = {scale!r}"
            + (": log1p takes zeros" if scale == "log" else "")
        )
    low, high = (_FORWARD[scale](Decimal(repr(bound))) for bound in (lower, upper))
    step = _FINE.divide(_FINE.subtract(high, low), Decimal(2 * SCALE_HALF))
    first = _FINE.add(low, _FINE.divide(step, Decimal(2)))
    found: list[float] = []
    if scale == "sqrt":
        for k in range(2 * SCALE_HALF):
            place = _FINE.fma(Decimal(k), step, first)
            found.append(float(_FINE.multiply(place, place)))
    else:
        place, ratio, less = _FINE.exp(first), _FINE.exp(step), Decimal(1 if scale == "log1p" else 0)
        for _ in range(2 * SCALE_HALF):
            found.append(float(_FINE.subtract(place, less)))
            place = _FINE.multiply(place, ratio)
    if not all(a < b for a, b in pairwise(found)):
        raise ValueError(f"the bounds are too close together for transform = {scale!r}")
    return tuple(found)


# ---- categories by pattern and by part of a date


class Patterns(Lookup):
    """Categories that are patterns: `*` is any text, `?` one letter, `[a-f]` one of some; the first that fits."""

    def __init__(self, categories: Sequence[Any], other: str | None = None) -> None:
        super().__init__(categories, other)
        self.integers, self.rules = None, [re.compile(glob(text(one))) for one in categories]

    def find(self, value: Any) -> int | None:
        """The code of the first pattern that a value fits; a pattern itself fits itself."""
        found = read(value)
        name = spell(found) if isinstance(found, float) else str(found) if isinstance(found, str) else None
        if name is None:
            return None
        if name in self.codes:
            return self.codes[name]
        if POINT_ZERO.fullmatch(name):
            name = "0" if name == "-0.0" else name[:-2]
        return next((code for code, rule in enumerate(self.rules) if rule.fullmatch(name)), None)


class DateParts(Lookup):
    """Days of the week or months, of dates or by their names."""

    def __init__(self, part: str, format: str | None, other: str | None = None) -> None:
        super().__init__(PARTS[part], other)
        self.part, self.format = part, format

    def find(self, value: Any) -> int | None:
        """The code of a date's part."""
        found = read(value)
        if type(found) is str and found in self.codes:
            return self.codes[found]
        day = day_of(found, self.format)
        return None if day is None else day.weekday() if self.part == "weekday" else day.month - 1


def glob(pattern: str) -> str:
    """A pattern of a file's kind as a regular expression."""
    out, spot = [], 0
    while spot < len(pattern):
        letter = pattern[spot]
        end = pattern.find("]", spot + 2) if letter == "[" else -1
        if letter == "[" and end > 0:
            inside = pattern[spot + 1 : end].replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
            out.append("[" + ("^" + inside[1:] if inside.startswith("!") else inside) + "]")
            spot = end + 1
            continue
        out.append({"*": "(?s:.)*", "?": "(?s:.)"}.get(letter, re.escape(letter)))
        spot += 1
    return "".join(out)
