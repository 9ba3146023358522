"""Solving: a slope and biases by Newton's method, down to a gradient whose norm is certified with its rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SolverError

Floats = NDArray[np.float64]
BLOCK = 1 << 16
MOST_STEPS = 200
_U = 2.0**-52


@dataclass(frozen=True, eq=False)
class Objective:
    """J(w) = Σ(ln Σ_c e^{z_c} − z_y) + Σ ridge/2·(w − centre)² + tilt·w with z_c = w₀·q_c + w_c, q_c from −1 to 0.

    `scores` holds a line of q for each class, which is quicker than a line for each row.
    """

    scores: Floats
    labels: NDArray[np.int64]
    ridges: Floats
    centre: Floats
    tilt: Floats

    def _parts(self, weights: Floats) -> Iterator[tuple[Floats, NDArray[np.int64], Floats, float]]:
        """Scores, labels, chances p and the summed loss of each block of rows."""
        for start in range(0, len(self.labels), BLOCK):
            scores, labels = self.scores[:, start : start + BLOCK], self.labels[start : start + BLOCK]
            z = weights[0] * scores + weights[1:, None]
            z -= z.max(axis=0)
            own = float(z[labels, np.arange(len(labels))].sum())
            chances = np.exp(z, out=z)
            whole = chances.sum(axis=0)
            chances /= whole
            yield scores, labels, chances, float(np.log(whole).sum()) - own

    def _finish(self, weights: Floats, rows: Floats) -> Floats:
        return np.asarray(rows + self.ridges * (weights - self.centre) + self.tilt)

    def value(self, weights: Floats) -> float:
        """J(w)."""
        away = weights - self.centre
        rows = math.fsum(loss for *_, loss in self._parts(weights))
        return rows + float(self.ridges @ away**2) / 2 + float(self.tilt @ weights)

    def slopes(self, weights: Floats) -> tuple[Floats, Floats]:
        """∇J(w) and the matrix of second derivatives."""
        rows, bends = np.zeros(len(weights)), np.diag(self.ridges)
        for scores, labels, chances, _ in self._parts(weights):
            means = (chances * scores).sum(axis=0)
            away = scores - means
            weighed = chances * away
            cross = weighed.sum(axis=1)
            bends[0, 0] += float((weighed * away).sum())
            bends[0, 1:] += cross
            bends[1:, 0] += cross
            bends[1:, 1:] += np.diag(chances.sum(axis=1)) - chances @ chances.T
            chances[labels, np.arange(len(labels))] -= 1.0
            rows += np.array([float((chances * scores).sum()), *chances.sum(axis=1)])
        return self._finish(weights, rows), bends

    def certified(self, weights: Floats) -> float:
        """A bound on the norm of the exact gradient of J: sums over rows are exact, the rest is bounded.

        docs/proofs/calibration.md derives the part of a row.
        """
        lines: list[list[Floats]] = [[] for _ in weights]
        for scores, labels, chances, _ in self._parts(weights):
            chances[labels, np.arange(len(labels))] -= 1.0
            lines[0].append((chances * scores).sum(axis=0))
            for line, residuals in zip(lines[1:], chances, strict=True):
                line.append(residuals)
        sums = np.array([math.fsum(chain.from_iterable(part.tolist() for part in line)) for line in lines])
        norm = float(np.linalg.norm(self._finish(weights, sums)))
        classes, size = len(weights) - 1, abs(float(weights[0])) + float(np.abs(weights[1:]).max())
        share = 16 * size + classes + 20  # of a chance, relative, in units of _U
        row = 2 * share + 8 * (classes + 1)
        rest = float(np.abs(self.ridges * (weights - self.centre)).sum() + np.abs(self.tilt).sum()) * 4
        return norm * (1 + len(weights) * _U) + 2 * _U * (len(self.labels) * row + rest)


def minimise(objective: Objective, tolerance: float, *, spare: float = 0.0) -> Floats:
    """Weights whose certified gradient is at most `tolerance − spare`; a refusal if they cannot be reached."""
    weights = objective.centre.copy()
    value = objective.value(weights)
    for _ in range(MOST_STEPS):
        gradient, bends = objective.slopes(weights)
        norm = float(np.linalg.norm(gradient))
        if norm <= tolerance / 16:
            break
        try:
            step = np.asarray(-np.linalg.solve(bends, gradient), np.float64)
        except np.linalg.LinAlgError:  # then the certificate below decides
            break
        moved = _search(objective, weights, value, step, float(gradient @ step), norm)
        if moved is None:
            break
        weights, value = moved
    if not objective.certified(weights) + spare <= tolerance:
        raise SolverError(
            f"the calibration's gradient could not be certified to {tolerance:.3g}, so the proof of privacy does not "
            "cover it and nothing is released: there are more rows than were planned for (rows=, a public or noisy "
            "number, plans for more), or epsilon is too small"
        )
    return weights


def _search(
    objective: Objective, weights: Floats, value: float, step: Floats, slope: float, norm: float
) -> tuple[Floats, float] | None:
    """A part of the step that lowers the objective, or the gradient once the objective's digits are used up."""
    share = 1.0
    for _ in range(60):
        there = weights + share * step
        found = objective.value(there)
        if found <= value + 1e-4 * share * slope:
            return there, found
        slack = 8 * _U * max(1.0, abs(value), abs(found)) * math.sqrt(len(objective.labels) + 1.0)
        if found <= value + slack and float(np.linalg.norm(objective.slopes(there)[0])) < norm:
            return there, found
        share /= 2
    return None
