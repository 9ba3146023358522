"""Values: the one rule from a single value to its category, its number and the person it names.

A table's container may re-type a column without loss: whole numbers become floats beside a missing value, truth values
become 1 and 0, decimals get the scale of their neighbours. What a row counts as must not hang on that, so the rule
reads a value as missing, as a double or as a text, and goes on from there. docs/values.md states it for users.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Rational
from typing import Any, Final

_WHOLE = re.compile(r"\s*([+-]?)0*([0-9]+)(?:\.0*)?\s*")
_SPELT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-?inf")
POINT_ZERO = re.compile(r"-?(?:0|[1-9][0-9]*)\.0")
_MOMENT = re.compile(r"([+-]?\d+-\d\d-\d\d)(?:[T ](\d\d)(?::(\d\d))?(?::(\d\d))?(?:\.(\d+))?)?")
# Without an exponent: an identifier in hexadecimal digits such as 12e4567 is no number. And with digits that a double
# tells apart: card and registry numbers of 16 digits or more are people of their own, each by its text.
NUMBERED = r"[ \t\n\r\f\v]*[+-]?0*(?:[0-9]{1,15}(?:\.[0-9]{0,15}0*)?|\.[0-9]{1,15}0*)[ \t\n\r\f\v]*"
LONG = r"[ \t\n\r\f\v]*(?:\+|(-))?0*([0-9]{16,})(?:\.0*)?[ \t\n\r\f\v]*"
_NUMBERED = re.compile(NUMBERED)
_LONG = re.compile(LONG)
_NUMPY_INTEGER = re.compile("u?(int|longlong)")


@dataclass(frozen=True, slots=True)
class Nested:
    """A value that is no single value, known by the type of its column."""

    kind: str


_NESTED = (list, tuple, dict, set, frozenset, Nested)


class Other(str):
    """The text of a value that is neither a text nor a number."""

    __slots__ = ()


class Moment(Other):
    """A date or a time of a day as ISO text; a day's first instant without a time zone is the day."""

    __slots__ = ()

    def spellings(self) -> tuple[str, ...]:
        """How such a moment may be written, in the order in which declared categories are tried."""
        if " " not in self:
            return (self, f"{self} 00:00:00", f"{self}T00:00:00")
        named = (self, self.replace(" ", "T"))
        return (*named, named[0][:-6] + "Z", named[1][:-6] + "Z") if self.endswith("+00:00") else named


class _Unreadable:
    """A value that can be no category and no number: a list, a mapping, an object that cannot be written."""

    def __repr__(self) -> str:
        return "a value that cannot be read"


UNREADABLE: Final = _Unreadable()
Reading = float | str | _Unreadable | None


def read(value: Any) -> Reading:
    """What a value is to the rule: None if missing, a double, a text (`Other` if it was none), or unreadable.

    >>> read(True), read(1), read(Decimal("1.00")), read("1"), read(math.nan)
    (1.0, 1.0, 1.0, '1', None)
    """
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is float:
        return value + 0.0 if value == value else None
    if kind is int or kind is bool:
        return _integer(value)
    if value is None or isinstance(value, _Unreadable):
        return value
    try:
        return _read_other(value)
    except Exception:
        # Whatever an object does when it is looked at is this row's affair: it must not stop the table.
        return UNREADABLE


def _integer(value: int) -> float | str | _Unreadable:
    try:
        return float(value)
    except OverflowError:  # beyond all doubles; a text of its own, if it can be written at all
        try:
            return str(value)
        except ValueError:
            return UNREADABLE


def _double(value: Any) -> float | None:
    """A double without a minus sign on zero, None for NaN."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    return number + 0.0 if number == number else None


def _read_other(value: Any) -> Reading:
    if isinstance(value, Other):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return _double(float(value))
    name, home = type(value).__name__, type(value).__module__.split(".")[0]
    if name in {"NAType", "NaTType", "MaskedConstant"}:
        return None
    if isinstance(value, Decimal):
        return None if value.is_nan() else _double(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return Moment(value.isoformat())
    if isinstance(value, timedelta):
        return _span(value, getattr(value, "nanoseconds", 0))
    if home == "numpy":  # whose lengths of time pass for integers
        return _numpy(value, name)
    if isinstance(value, Rational):
        return _double(value)
    if isinstance(value, complex):
        return _double(value.real) if value.imag == 0 else UNREADABLE
    if isinstance(value, _NESTED):
        return UNREADABLE
    if home == "pyarrow":
        return read(value.as_py()) if hasattr(value, "as_py") else UNREADABLE
    if home == "pandas" and name == "Interval":
        ends = ("[" if value.closed in {"left", "both"} else "(", "]" if value.closed in {"right", "both"} else ")")
        return Other(f"{ends[0]}{_spelt(value.left)}, {_spelt(value.right)}{ends[1]}")
    return Other(str(value))


def _numpy(value: Any, name: str) -> Reading:
    """A NumPy scalar as the Python value it stands for; an array with axes is a list."""
    if getattr(value, "ndim", 1):
        return UNREADABLE
    if getattr(value, "mask", False):
        return None
    if name == "ndarray":
        value = value[()]
        name = type(value).__name__
    if name == "datetime64":
        written = str(value)
        return None if written == "NaT" else _written_moment(written, str(value.astype("datetime64[D]")))
    if name == "timedelta64":
        plain = value.item()
        if isinstance(plain, int):
            unit = str(value.dtype).partition("[")[2].rstrip("]")
            return _span(timedelta(microseconds=plain // 1000), plain % 1000) if unit == "ns" else Other(str(value))
        return None if plain is None else _span(plain, 0)
    if name.startswith("longdouble"):
        return _double(value)
    if name.startswith("clongdouble"):
        return _double(value.real) if value.imag == 0 else UNREADABLE
    plain = value.item()
    return UNREADABLE if type(plain) is type(value) else read(plain)


def _moment(value: datetime) -> Reading:
    nanoseconds = getattr(value, "nanosecond", 0)
    if value.utcoffset() is not None:
        value = value.astimezone(UTC)
    written = value.replace(tzinfo=None, fold=0).isoformat(" ")[:19]
    fraction = f"{value.microsecond:06d}{nanoseconds:03d}"
    return _moment_of(written[:10], written[11:], fraction, value.tzinfo is not None)


def _written_moment(written: str, day: str) -> Reading:
    found = _MOMENT.fullmatch(written)
    if found is None or found[2] is None:
        return Moment(day)
    return _moment_of(found[1], ":".join(part or "00" for part in found.group(2, 3, 4)), found[5] or "", False)


def _moment_of(day: str, time: str, fraction: str, aware: bool) -> Moment:
    fraction = fraction.rstrip("0")
    if fraction:  # as Python writes it: six digits, nine where six do not suffice
        fraction = "." + fraction.ljust(6 if len(fraction) <= 6 else 9, "0")
    if time == "00:00:00" and not fraction and not aware:
        return Moment(day)
    return Moment(f"{day} {time}{fraction}{'+00:00' if aware else ''}")


def moment(ticks: int, per_second: int, aware: bool) -> Moment:
    """The moment so many ticks after the beginning of 1970."""
    seconds, rest = divmod(ticks, per_second)
    try:
        written = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat(" ")
    except OverflowError:  # beyond the calendar: it is itself, whatever it is
        return Moment(f"{ticks}/{per_second} s after 1970")
    return _moment_of(written[:10], written[11:19], f"{rest * (10**9 // per_second):09d}", aware)


def _span(value: timedelta, nanoseconds: int) -> Other:
    plain = timedelta(value.days, value.seconds, value.microseconds)
    return Other(f"{plain} and {nanoseconds} ns" if nanoseconds else str(plain))


def _spelt(value: Any) -> str:
    found = read(value)
    return spell(found) if isinstance(found, float) else str(found)


def spell(number: float) -> str:
    """A double as the shortest text that people write: 1 and not 1.0."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)


def text(value: Any) -> str:
    """How a value is shown and a declared category is named: 1, 1.0 and "1" are one category, True is "true".

    >>> text(1.0), text("1"), text(True)
    ('1', '1', 'true')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in {"bool", "bool_"}:
        return "true" if value else "false"
    if isinstance(value, int) or (type(value).__module__ == "numpy" and _NUMPY_INTEGER.match(type(value).__name__)):
        with suppress(ValueError):  # too long to be written
            return str(int(value))
    found = read(value)
    if isinstance(found, float):
        return spell(found)
    if isinstance(found, str):
        return str(found)
    try:
        return str(value)
    except Exception:
        return repr(UNREADABLE)


def unicode(written: str) -> str:
    """A text with a question mark for each half of a letter, which nothing that is written can hold."""
    return written.encode("utf-8", "replace").decode()


def is_missing(value: Any) -> bool:
    """None, NaN of any kind, NaT, pandas' NA and NumPy's masked."""
    return read(value) is None


def number(value: Any) -> float:
    """The double of a value: NaN if it is missing, infinite if it is infinite or no number.

    >>> number("1e3"), number(True), number(None), number("one")
    (1000.0, 1.0, nan, inf)
    """
    found = read(value)
    if found is None:
        return math.nan
    if isinstance(found, float):
        return found
    if type(found) is str:
        try:
            return float(found)
        except ValueError:
            return math.inf
    return math.inf


def is_number(value: Any) -> bool:
    """Whether a value that is not missing is a number or the text of one, finite or not."""
    found = read(value)
    if type(found) is not str:
        return isinstance(found, float)
    try:
        float(found)
    except ValueError:
        return False
    return True


def person(value: Any) -> float | str | None:
    """The key of an id: all spellings of one number are one person. None if it is missing.

    >>> person("01"), person(True), person("p1")
    (1.0, 1.0, 'p1')
    """
    found = read(value)
    if isinstance(found, float) or found is None:
        return found
    if type(found) is str and _NUMBERED.fullmatch(found):
        return float(found) + 0.0
    if type(found) is str and (long := _LONG.fullmatch(found)):
        return (long[1] or "") + long[2]
    return str(found)


class Lookup:
    """Value → code for a declared list of categories; tolerant of types, never of values."""

    def __init__(self, categories: Sequence[Any], other: str | None = None) -> None:
        self.codes = {text(value): code for code, value in enumerate(categories)}
        self.unknown = len(categories) if other is not None else None
        self.numbers, self.wholes = _numbers(categories)
        if other is not None:
            self.codes[other] = len(categories)
        kinds = {type(value) for value in categories}
        self._integers, self._booleans = int in kinds, bool in kinds
        self.integers: tuple[int, ...] | None = None
        if self._integers and len(kinds) == 1:
            self.integers = tuple(int(value) for value in categories)

    def find(self, value: Any) -> int | None:
        """The code of a declared value, None for any other."""
        found = read(value)
        if isinstance(found, float):
            return self.numbers.get(found)
        if not isinstance(found, str):
            return None
        code = self.codes.get(found)
        if code is not None:
            return code
        if isinstance(found, Moment):
            return next((self.codes[name] for name in found.spellings() if name in self.codes), None)
        return self._find_text(found) if type(found) is str else None

    def _find_text(self, name: str) -> int | None:
        """The code of a text that is not declared as it stands."""
        if self._integers and (whole := _WHOLE.fullmatch(name)):
            code = self.wholes.get(float(whole[1] + whole[2]))
            if code is not None:
                return code
        if self._booleans:
            alias = {"1": "true", "0": "false", "1.0": "true", "0.0": "false"}
            code = self.codes.get(alias.get(name, name.lower()))
            if code is not None:
                return code
        if POINT_ZERO.fullmatch(name):  # what becomes of a whole number that is written out as a float
            return self.codes.get("0" if name == "-0.0" else name[:-2])
        return None

    def code(self, value: Any) -> int | None:
        """The code of a value, the `other` bucket included; None if it has no place."""
        found = self.find(value)
        return self.unknown if found is None else found


def _numbers(categories: Sequence[Any]) -> tuple[dict[float, int], dict[float, int]]:
    """The code of every double that a category stands for, and of those that are declared as whole numbers.

    Categories declared as numbers or truth values go before texts; among texts the plain spelling of a number goes
    first, then its spelling as a float, then any other, then the words for 1 and 0.
    """
    ranked: list[tuple[int, int, float]] = []
    wholes: dict[float, int] = {}
    for code, value in enumerate(categories):
        if not isinstance(value, str):
            double = read(value)
            if isinstance(double, float):
                ranked.append((0, code, double))
                if not isinstance(value, bool):
                    wholes[double] = code
        elif _SPELT.fullmatch(value):
            double = float(value) + 0.0
            rank = 1 if value == spell(double) else 2 if value == repr(double) else 3
            ranked.append((rank, code, double))
        elif value in {"true", "false", "True", "False"}:
            ranked.append((4 if value.islower() else 5, code, float(value.lower() == "true")))
    numbers: dict[float, int] = {}
    for _, code, double in sorted(ranked):
        numbers.setdefault(double, code)
    return numbers, wholes


def same_number(categories: Sequence[Any]) -> tuple[Any, Any] | None:
    """Two categories declared as numbers that no column can tell apart, if there are any."""
    seen: dict[Any, Any] = {}
    for value in categories:
        if not isinstance(value, str):
            double = read(value)
            if double in seen:
                return seen[double], value
            seen[double] = value
    return None
