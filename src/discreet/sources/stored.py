"""Stored values: a raw column of any make as typed numbers, or as its distinct values with an index for each row.

Types are used only where all values of the type go through the rule of `discreet.values` alike: an array of integers or
doubles is its own doubles, a decimal is the double nearest to its text. Everything else is looked at value by value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.values import Nested, is_number, moment, number, read

Array = NDArray[Any]
# An array of doubles takes values of these types one by one, to the nearest double and None as NaN: the rule.
NUMBERS = {int, float, bool, type(None), Decimal, np.bool_, np.float16, np.float32, np.float64} | {
    np.dtype(code).type for code in "bhilqBHILQ"
}
_KEPT = {str, int, float, bool, bytes}  # equal values of these types read alike, so each is read once
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(slots=True)
class Distinct:
    """Row i holds `names[indices[i]]`; an index one past the last name is a missing value."""

    indices: Array
    names: list[Any]


Stored = Array | Distinct


def is_arrow(raw: Any) -> bool:
    """Whether this is an Arrow array or chunked array."""
    return type(raw).__module__.startswith("pyarrow.")


def objects(values: Iterable[Any], size: int = -1) -> Array:
    """An array of Python objects, each as it is, even if it is a list."""
    return np.fromiter(values, dtype=object, count=size)


def stored(raw: Any) -> Stored:
    """A NumPy or Arrow array as typed numbers (NaN where missing) or as distinct values."""
    found = simple(raw)
    return distinct(found) if is_arrow(found) else found


def simple(raw: Any) -> Any:
    """The same, but text is left as an Arrow array."""
    if is_arrow(raw):
        return _arrow(raw)
    kind = raw.dtype.kind
    if kind in "biuf":
        return _usual(raw)
    if kind in "US":
        import pyarrow as pa

        try:
            return _arrow(pa.array(np.ascontiguousarray(raw)))
        except pa.ArrowException:  # text that is not Unicode
            return _values(raw.tolist())
    return _values(raw.tolist() if kind in "OT" else list(raw))


def _usual(raw: Array) -> Array:
    """Booleans as 0 and 1, numbers in the machine's own byte order and in a width that loops are compiled for."""
    if raw.dtype.kind == "b":
        return raw.view(np.uint8)
    if raw.dtype.kind == "f" and raw.dtype.itemsize not in (4, 8):
        return raw.astype(np.float64)
    return raw if raw.dtype.isnative else raw.astype(raw.dtype.newbyteorder("="))


def _values(values: list[Any]) -> Any:
    """Python values of any types: together where their types allow it, else one by one."""
    kinds = set(map(type, values))
    if kinds <= NUMBERS:
        try:
            return np.array(values, np.float64)
        except (ValueError, OverflowError, ArithmeticError):  # integers beyond all doubles, signalling NaN
            pass
    elif kinds <= {str, type(None)}:
        import pyarrow as pa

        try:
            return _arrow(pa.array(values, pa.string()))
        except (pa.ArrowException, UnicodeError):  # text that is not Unicode, or too much of it
            pass
    return _one_by_one(values)


def _one_by_one(values: list[Any]) -> Distinct:
    names: list[Any] = []
    known: dict[Any, int] = {}
    indices = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        kept = type(value) in _KEPT
        index = known.get(value) if kept else None
        if index is None:
            index = -1
            if read(value) is not None:
                index = len(names)
                names.append(value)
            if kept:
                known[value] = index
        indices[row] = index
    indices[indices < 0] = len(names)
    return Distinct(indices, names)


def of_arrow(raw: Any) -> NDArray[Any]:
    """An Arrow array of numbers as NumPy's, missing ones NaN; its own conversion would import pandas first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if raw.null_count and pa.types.is_floating(raw.type):
        raw = pc.fill_null(raw, math.nan)
    return np.from_dlpack(raw) if not raw.null_count else np.asarray(raw.to_numpy(zero_copy_only=False))


def _arrow(raw: Any) -> Any:
    import pyarrow as pa

    kinds, kind = pa.types, raw.type
    if isinstance(raw, pa.ChunkedArray) and not kinds.is_dictionary(kind):
        raw = _one_chunk(raw)
    if kinds.is_null(kind):
        return Distinct(np.zeros(len(raw), np.int64), [])
    if kinds.is_boolean(kind):
        raw = raw.cast(pa.uint8())
    if kinds.is_decimal(kind):
        return decimals(raw)
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        if raw.null_count:
            raw = raw.cast(pa.float64(), safe=False)
        return _usual(of_arrow(raw))
    if kinds.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return _arrow(pc.run_end_decode(raw))
    if kinds.is_nested(kind) and not kinds.is_union(kind):
        gone = of_arrow(raw.is_null().cast(pa.uint8()))
        return Distinct(gone.astype(np.int64), [Nested(str(kind))])
    if is_text(kind):
        return raw
    if not (kinds.is_primitive(kind) or kinds.is_dictionary(kind)):
        return _values(_listed(raw))
    try:
        return distinct(raw)
    except pa.ArrowException:
        return _values(_listed(raw))


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds text or bytes."""
    import pyarrow as pa

    kinds = pa.types
    texts = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    others = (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view, kinds.is_fixed_size_binary)
    return any(test(kind) for test in (*texts, *others))


def is_wide_text(raw: Any) -> bool:
    """Whether Arrow's functions on text take this array."""
    import pyarrow as pa

    return bool(pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type))


def _one_chunk(raw: Any) -> Any:
    import pyarrow as pa

    raw = raw.chunk(0) if raw.num_chunks == 1 else raw.combine_chunks()
    if isinstance(raw, pa.ChunkedArray):  # no chunks at all, or more text than one array can hold
        return raw.chunk(0) if raw.num_chunks == 1 else pa.array([], raw.type) if not raw.num_chunks else _wide(raw)
    return raw


def _wide(raw: Any) -> Any:
    import pyarrow as pa

    wider = pa.large_string() if pa.types.is_string(raw.type) else pa.large_binary()
    return raw.cast(wider).combine_chunks()


def distinct(raw: Any) -> Distinct:
    """Index the distinct values of an Arrow array."""
    import pyarrow as pa

    kinds = pa.types
    if kinds.is_string_view(raw.type):
        raw = raw.cast(pa.large_string())
    elif kinds.is_binary_view(raw.type):
        raw = raw.cast(pa.large_binary())
    if not kinds.is_dictionary(raw.type):
        raw = raw.dictionary_encode()
    if isinstance(raw, pa.ChunkedArray):
        raw = raw.unify_dictionaries().combine_chunks()
        if isinstance(raw, pa.ChunkedArray):
            raw = raw.chunk(0) if raw.num_chunks else pa.array([], raw.type)
    names = _listed(raw.dictionary)
    indices = raw.indices
    if indices.null_count:
        wide = pa.int64() if len(names) >= 2**31 - 1 else pa.int32()
        indices = indices.cast(wide).fill_null(len(names))
    return Distinct(of_arrow(indices), names)


def distinct_numbers(values: Array) -> Distinct:
    """The same for typed numbers, as the doubles they are."""
    import pyarrow as pa

    return distinct(pa.array(np.ascontiguousarray(values, np.float64), from_pandas=True))


def _listed(raw: Any) -> list[Any]:
    """The Python values of an Arrow array; a moment that Python's calendar lacks is known by its ticks."""
    import pyarrow as pa

    kind = raw.type
    if pa.types.is_timestamp(kind):
        ticks, aware = _TICKS[kind.unit], kind.tz is not None
        return [None if n is None else moment(n, ticks, aware) for n in raw.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(kind):
        days = raw.cast(pa.int32()).cast(pa.int64()) if pa.types.is_date32(kind) else raw.cast(pa.int64())
        scale = 86_400 if pa.types.is_date32(kind) else 1
        per_second = 1 if pa.types.is_date32(kind) else 1000
        return [None if n is None else moment(n * scale, per_second, False) for n in days.to_pylist()]
    try:
        return list(raw.to_pylist())
    except (ValueError, OverflowError, ArithmeticError):
        return [_single(one) for one in raw]


def _single(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, ArithmeticError):
        return Nested(str(scalar.type))


def decimals(raw: Any) -> NDArray[np.float64]:
    """The doubles nearest to Arrow decimals. Arrow's own cast is an ulp off for some, which ones hangs on the scale."""
    import pyarrow as pa

    doubles = raw.cast(pa.string()).cast(pa.float64())
    return np.asarray(of_arrow(doubles))


def doubles(raw: Any) -> tuple[Array, Any]:
    """The number of each row's value as `values.number` gives it, and the first value that is no number, if any."""
    found = simple(raw)
    if isinstance(found, np.ndarray):
        return found, None
    if is_arrow(found):
        return text_doubles(found)
    table = np.array([*(number(name) for name in found.names), math.nan], np.float64)
    values = table[found.indices]
    return values, first_odd(raw, found, values)


def first_odd(raw: Any, found: Distinct, values: Array, dated: bool = False) -> Any:
    """The first value that is no number (or no date), None if there is none."""
    for spot in np.flatnonzero(np.isinf(values)).tolist():
        name = found.names[int(found.indices[spot])]
        if dated:
            return name
        if not is_number(name):
            return Nested(str(raw.type)) if _is_temporal(raw) else name
    return None


def _is_temporal(raw: Any) -> bool:
    """Whether the type of an Arrow column says already that none of its values is a number."""
    import pyarrow as pa

    return is_arrow(raw) and bool(pa.types.is_temporal(raw.type))


def text_doubles(raw: Any) -> tuple[Array, Any]:
    """The same for an Arrow array of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not is_wide_text(raw):
        texts = [None if one is None else read(one) for one in raw.to_pylist()]
        raw = pa.array(texts, pa.large_string())
    try:
        parsed = raw.cast(pa.float64())
    except pa.ArrowInvalid:
        plain = pc.match_substring_regex(raw, r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z")
        parsed = pc.if_else(plain, raw, None).cast(pa.float64())
    found = np.asarray(of_arrow(parsed), np.float64)
    if np.isfinite(found).all():
        return found, None
    # Arrow reads decimal digits as Python does and to the nearest double; the rest goes by Python's rule.
    odd = np.flatnonzero(~np.isfinite(found) & of_arrow(raw.is_valid().cast(pa.uint8())).astype(bool))
    found, first = found.copy(), None
    known: dict[str, float] = {}
    for row, value in zip(odd.tolist(), raw.take(pa.array(odd)).to_pylist(), strict=True):
        if value not in known:
            known[value] = number(value)
            if first is None and math.isinf(known[value]) and not is_number(value):
                first = value
        found[row] = known[value]
    return found, first
