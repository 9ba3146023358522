"""Certified enclosures: intervals that contain the true value, whatever the last bit of a float would say."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import Any

from discreet.loops import loading

# mpmath's interval numbers carry no types; they are opaque here and leave only as pairs of fractions.
Interval = Any

_LOCAL = threading.local()
_TINY = 8192
_TABLES = 64


def context(bits: int) -> Any:
    """Return this thread's interval arithmetic, set to `bits` of precision (a later call changes it)."""
    if not hasattr(_LOCAL, "context"):
        with loading():
            _LOCAL.context = import_module("mpmath.ctx_iv").MPIntervalContext()
    _LOCAL.context.prec = bits
    return _LOCAL.context


def table(ctx: Any, key: tuple[object, ...], build: Callable[[], list[tuple[Interval, Interval]]]) -> Any:
    """Keep a list of intervals for this thread, since intervals of two threads do not mix."""
    tables: dict[object, Any] = _LOCAL.__dict__.setdefault("tables", {})
    full_key = (*key, ctx.prec)
    if full_key not in tables:
        if len(tables) >= _TABLES:
            tables.clear()
        tables[full_key] = build()
    return tables[full_key]


def enclose(ctx: Any, value: Fraction | int) -> Interval:
    """Return an interval around an exact rational."""
    exact = Fraction(value)
    return ctx.mpf(exact.numerator) / ctx.mpf(exact.denominator)


def hull(ctx: Any, low: Fraction, high: Fraction) -> Interval:
    """Return the smallest representable interval that holds both rationals."""
    return ctx.mpf([enclose(ctx, low).a, enclose(ctx, high).b])


def ends(interval: Interval) -> tuple[Fraction, Fraction]:
    """Return rational end points of a finite interval, moved outward if too small to be worth writing out."""
    low, high = interval._mpi_
    return -_exact_above(_negated(low)), _exact_above(high)


def _negated(raw: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    sign, mantissa, exponent, size = raw
    return (1 - sign if mantissa else sign, mantissa, exponent, size)


def _exact_above(raw: tuple[int, int, int, int]) -> Fraction:
    sign, mantissa, exponent, size = (int(part) for part in raw)
    if mantissa and exponent + size < -_TINY:
        # exp(-2^80) is a fine interval but a fraction with 2^80 digits.
        return Fraction(0) if sign else Fraction(1, 1 << _TINY)
    exact = Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
    return -exact if sign else exact


def float_below(value: Fraction) -> Fraction:
    """Return the largest double that does not exceed a rational, exactly."""
    nearest = float(value)
    return Fraction(nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf))


def arctangent(ctx: Any, value: Interval) -> Interval:
    """Enclose arctan."""
    return ctx.atan2(value, ctx.mpf(1))


def normal_cdf(ctx: Any, value: Interval) -> Interval:
    """Enclose the standard normal distribution function, to absolute accuracy 2^-bits or so.

    For x > 0, Φ(x) = 1/2 + φ(x)·Σ x^(2k+1)/(2k+1)!!, all terms positive; once x² <= k the terms
    left over halve at every step, so they sum to less than the last one.
    """
    low, high = ends(value)
    if high <= 0 and low < 0:
        return 1 - normal_cdf(ctx, -value)
    if low < 0:
        below, above = normal_cdf(ctx, hull(ctx, -low, -low)), normal_cdf(ctx, hull(ctx, high, high))
        return ctx.mpf([(1 - below).a, above.b])
    square = value * value
    tail = ctx.exp(-square / 2) / 2
    if ends(tail)[1] < Fraction(1, 2 ** (ctx.prec + 1)):
        # Q(x) <= exp(-x²/2)/2, and the series would need about x² terms.
        return ctx.mpf([(1 - tail).a, 1])
    term = total = value
    index = 0
    enough = Fraction(1, 2**ctx.prec)
    while not (high * high <= index and ends(term)[1] < enough):
        index += 1
        term = term * square / (2 * index + 1)
        total += term
    total += ctx.mpf([0, 1]) * term
    return ctx.mpf(1) / 2 + 2 * tail * total / ctx.sqrt(2 * ctx.pi)
