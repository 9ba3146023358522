"""Kernels: loops over rows for several classes at once; a row's columns are read once for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.additive import few
from discreet.linear.few import is_few
from discreet.loops import machine_code


def scores(codes: Any, values: Any, weights: Any, out: Any) -> None:
    """out[i, k] = Σ weights[column, k]·value over the entries of row i, the constant's (the last) included."""
    last, width = len(weights) - 1, codes.shape[1]
    for i in range(len(codes)):
        for k in range(weights.shape[1]):
            out[i, k] = weights[last, k] * values[i, width]
        for j in range(width):
            column, value = codes[i, j], values[i, j]
            for k in range(weights.shape[1]):
                out[i, k] += weights[column, k] * value


def exact_scores(codes: Any, values: Any, weights: Any, out: Any) -> None:
    """The same with the error of every sum carried along: the result is off by little more than its last rounding.

    A weight is split into halves of 26 bits, whose products with whole numbers of 13 bits are exact.
    """
    last, width = len(weights) - 1, codes.shape[1]
    for i in range(len(codes)):
        for k in range(weights.shape[1]):
            total, rest = 0.0, 0.0
            for j in range(width + 1):
                weight = weights[last if j == width else codes[i, j], k]
                wide = 134217729.0 * weight
                high = wide - (wide - weight)
                term = high * values[i, j]
                new = total + term
                other = new - total
                rest += ((total - (new - other)) + (term - other)) + (weight - high) * values[i, j]
                total = new
            out[i, k] = total + rest


def gather(codes: Any, values: Any, rates: Any, out: Any, rest: Any) -> None:
    """out + rest = Σ_i row i · rates[i], by compensated sums: the error does not grow with the number of rows."""
    last, width = len(out) - 1, codes.shape[1]
    for i in range(len(codes)):
        for j in range(width + 1):
            column, value = (last if j == width else codes[i, j]), values[i, j]
            for k in range(out.shape[1]):
                old, term = out[column, k], rates[i, k] * value
                new = old + term
                if abs(old) >= abs(term):
                    rest[column, k] += (old - new) + term
                else:
                    rest[column, k] += (term - new) + old
                out[column, k] = new


def collect(codes: Any, values: Any, rates: Any, out: Any) -> None:
    """The same by plain sums, for steps that need not be exact."""
    last, width = len(out) - 1, codes.shape[1]
    for i in range(len(codes)):
        for j in range(width + 1):
            column, value = (last if j == width else codes[i, j]), values[i, j]
            for k in range(out.shape[1]):
                out[column, k] += rates[i, k] * value


def slope(codes: Any, values: Any, labels: Any, weights: Any, out: Any) -> float:
    """The same for the residuals of rows of two classes at these weights, whose scores are not kept.

    What comes back is the sum of the curvatures of the loss.
    """
    last, width, bent = len(weights) - 1, codes.shape[1], 0.0
    for i in range(len(codes)):
        score = weights[last] * values[i, width]
        for j in range(width):
            score += weights[codes[i, j]] * values[i, j]
        chance = 1.0 / (1.0 + np.exp(-score))
        bent += chance * (1.0 - chance)
        rate = chance - (labels[i] == 1)
        out[last] += rate * values[i, width]
        for j in range(width):
            out[codes[i, j]] += rate * values[i, j]
    return bent


def bend(codes: Any, values: Any, weights: Any, least: float, first: int, out: Any) -> None:
    """Second derivatives of rows of two classes, on and above the diagonal of `out`.

    Of rows that bend less than `least` some stand for all, in proportion to what they bend, by coins that follow from
    their places (the first row's is `first`). The constant's column is the last.
    """
    last, width = len(weights) - 1, codes.shape[1]
    for i in range(len(codes)):
        score = weights[last] * values[i, width]
        for j in range(width):
            score += weights[codes[i, j]] * values[i, j]
        chance = 1.0 / (1.0 + np.exp(-score))
        rate = chance * (1.0 - chance)
        if rate < least:
            coin = (first + i) * 0.6180339887498949
            if (coin - np.floor(coin)) * least >= rate:
                continue
            rate = least
        for j in range(width):
            column, share = codes[i, j], rate * values[i, j]
            for k in range(j, width):
                out[column, codes[i, k]] += share * values[i, k]
            out[column, last] += share * values[i, width]
        out[last, last] += rate * values[i, width] * values[i, width]


def slopes(codes: Any, values: Any, labels: Any, weights: Any, out: Any) -> float:
    """`slope` for several classes; curvatures are those of each class by itself."""
    last, width, vectors, bent = len(weights) - 1, codes.shape[1], weights.shape[1], 0.0
    rates = np.empty(vectors)
    for i in range(len(codes)):
        for k in range(vectors):
            rates[k] = weights[last, k] * values[i, width]
        for j in range(width):
            column, value = codes[i, j], values[i, j]
            for k in range(vectors):
                rates[k] += weights[column, k] * value
        top, total = rates[0], 0.0
        for k in range(1, vectors):
            top = max(top, rates[k])
        for k in range(vectors):
            rates[k] = np.exp(rates[k] - top)
            total += rates[k]
        for k in range(vectors):
            chance = rates[k] / total
            bent += chance * (1.0 - chance)
            rates[k] = chance - (labels[i] == k)
        for k in range(vectors):
            out[last, k] += rates[k] * values[i, width]
        for j in range(width):
            column, value = codes[i, j], values[i, j]
            for k in range(vectors):
                out[column, k] += rates[k] * value
    return bent


def unpack(spots: Any, shares: Any, starts: Any, lines: Any, unit: int, codes: Any, values: Any) -> None:
    """Rows as `Blocks.encode` has them, from the place of each in its blocks and the weight of the right knots.

    `lines` has the number of knots of each block that is a line, where missing numbers stand behind them, or zero.
    """
    for i in range(len(spots)):
        at, number = 0, 0
        for j in range(len(starts)):
            column = starts[j] + spots[i, j]
            codes[i, at] = column
            if lines[j] == 0:
                values[i, at] = unit
            else:
                share = shares[i, number]
                values[i, at] = unit - share
                at, number = at + 1, number + 1
                codes[i, at] = column if spots[i, j] == lines[j] else column + 1
                values[i, at] = share
            at += 1
        values[i, at] = unit


def look_up(points: Any, low: int, gone: int, table: Any, out: Any) -> None:
    """The entry of each point, of a table of all points from `low` on; the last is that of a missing number."""
    for i in range(len(points)):
        out[i] = table[len(table) - 1 if points[i] == gone else points[i] - low]


def compiled() -> Any:
    """The same loops as machine code."""
    return machine_code(scores, exact_scores, gather, collect, slope, slopes, bend, unpack, look_up)


def loops(codes: Any) -> Any:
    """What runs over these rows: machine code, or NumPy if they are few."""
    return few.LOOPS if is_few(*codes.shape) else compiled()
