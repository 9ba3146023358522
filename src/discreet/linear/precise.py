"""Precise solving: where doubles cannot certify a minimum, whole numbers of 200 binary digits behind the point can.

Weights and slopes are Python integers in units of 2^−200, so that rounding leaves room for more rows than memory holds
(docs/proofs/linear.md). It is slow and seldom needed: some 10⁷ rows, or weights far out.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from discreet.linear.encode import Design

Floats = NDArray[np.float64]
Wholes = NDArray[Any]  # of Python integers
BITS = 200
ONE = 1 << BITS
BLOCK = 1 << 14
STEPS, HALVINGS, TERMS, HALVES = 60, 40, 24, 8


class Convex(Protocol):
    """What the solver needs of a strongly convex objective over flat weights; `t` are the margins at the weights."""

    @property
    def design(self) -> Design:
        """The rows it sums over."""

    def start(self) -> Floats:
        """Where to begin."""

    def near(self, goal: float) -> Floats | None:
        """Of rows so many that each pass counts, about where the gradient's norm is at most `goal`; None of fewer."""

    def at(self, weights: Floats) -> Floats:
        """The margins of all rows."""

    def value(self, weights: Floats, t: Floats) -> float:
        """J(w)."""

    def gradient(self, weights: Floats, t: Floats) -> Floats:
        """∇J(w)."""

    def newton_step(self, t: Floats, gradient: Floats) -> Floats:
        """A direction near −(∇²J)⁻¹∇J."""

    def certified(self, weights: Floats) -> float:
        """A bound on the norm of the exact gradient."""


class Precise(Convex, Protocol):
    """An objective whose gradient can be had in whole numbers."""

    def precise_gradient(self, weights: Wholes) -> tuple[Wholes, float]:
        """∇J in units of 2^−200 and a bound on the norm of its error."""

    @property
    def stiffness(self) -> float:
        """A bound on the largest eigenvalue of the penalty."""


def refine(objective: Precise, weights: Floats, tolerance: float) -> tuple[Floats, float] | None:
    """Weights and a bound on the norm of the gradient there that is at most `tolerance`; None if there are none.

    Newton's steps in doubles, judged by gradients in whole numbers: each step must make the gradient smaller. The last
    rounding, to doubles, moves the weights by d, for which `stiffness`·d is added to the bound.
    """
    if not np.isfinite(weights).all():
        weights = objective.start()
    place = wholes(weights)
    gradient, error = objective.precise_gradient(place)
    size = _norm(gradient)
    for _ in range(STEPS):
        found = rounded(place)
        last = objective.stiffness * _norm(place - wholes(found))
        bound = (size + error + last) * (1 + 2.0**-40)
        if bound <= tolerance:
            return found, bound
        if last > tolerance and size < last / 1024:  # no step makes the last rounding smaller
            return None
        try:
            step = objective.newton_step(objective.at(found), rounded(gradient))
        except LinAlgError:
            return None
        moved = _shorter(objective, place, step, size) if np.isfinite(step).all() else None
        if moved is None:
            return None
        place, gradient, error, size = moved
    return None


def _shorter(objective: Precise, place: Wholes, step: Floats, size: float) -> Any:
    """A part of the step after which the gradient is smaller: Newton's direction always has one."""
    whole = wholes(step)
    for halving in range(HALVINGS):
        there = place + (whole >> halving)
        gradient, error = objective.precise_gradient(there)
        norm = _norm(gradient)
        if norm < size:
            return there, gradient, error, norm
    return None


def wholes(values: Floats) -> Wholes:
    """Doubles in units of 2^−200, rounded down; those above 2^−147 in size are exact."""
    flat = [math.floor(Fraction(value) * ONE) for value in np.ravel(values).tolist()]
    return np.array([*flat, None], object)[:-1].reshape(np.shape(values))


def rounded(values: Wholes) -> Floats:
    """The nearest doubles."""
    return np.array([value / ONE for value in values.ravel().tolist()]).reshape(values.shape)


def _norm(values: Wholes) -> float:
    """The Euclidean norm, from above."""
    return (math.isqrt(sum(value * value for value in values.ravel().tolist())) + 1) / ONE * (1 + 2.0**-50)


def _log_two() -> int:
    return sum((ONE << 60) // (k << k) for k in range(1, BITS + 80)) >> 60


LOG_TWO = _log_two()


def decay(x: Wholes) -> Wholes:
    """e^−x for x ≥ 0, off by less than 2^14 units.

    x = k·ln 2 + r; e^(−r/256) by 24 terms of its series, each off by a unit, and eight squarings that double the error.
    """
    times = x // LOG_TWO
    small = (x - times * LOG_TWO) >> HALVES
    term = total = np.full(x.shape, ONE, object)
    for n in range(1, TERMS):
        term = -(term * small >> BITS) // n
        total = total + term
    for _ in range(HALVES):
        total = total * total >> BITS
    # Beyond 2^−400 nothing is left anyway, and the shift stays small.
    return np.asarray(total >> np.minimum(times, 2 * BITS))


def scores(design: Design, weights: Wholes, rows: slice) -> Wholes:
    """x·w of some rows, off by one unit."""
    codes, given = design.some(rows)
    whole = weights[codes.astype(np.int64)]
    if given is None:
        total = whole.sum(axis=1) + weights[-1]
    else:
        values = given.astype(object)
        total = (whole * values[:, : codes.shape[1]]).sum(axis=1) + weights[-1] * values[:, codes.shape[1]]
    unit = Fraction(design.unit)
    return np.asarray(total * unit.numerator // unit.denominator)


def gather(design: Design, rates: Wholes, rows: slice, out: Wholes) -> None:
    """out += Σ rates[i]·x_i in the design's unit, exactly."""
    found, given = design.some(rows)
    codes, width = found.astype(np.int64), found.shape[1]
    values = None if given is None else given.astype(object)
    for j in range(width):
        np.add.at(out, codes[:, j], rates if values is None else rates * values[:, j])
    out[-1] += sum((rates if values is None else rates * values[:, width]).tolist())


def blocks(size: int) -> list[slice]:
    """Rows a few at a time: whole numbers are large."""
    return [slice(low, min(low + BLOCK, size)) for low in range(0, size, BLOCK)]


def in_unit(sums: Wholes, design: Design) -> Wholes:
    """Sums of whole entries as sums of rows."""
    unit = Fraction(design.unit)
    return np.asarray(sums * unit.numerator // unit.denominator)
