"""Solving: a slope and biases by Newton's method, down to a gradient whose norm is certified with its rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SolverError

Floats = NDArray[np.float64]
BLOCK = 1 << 16
MOST_STEPS = 200
_U = 2.0**-52


@dataclass(frozen=True, eq=False)
class Objective:
    """J(w) = Σ(ln Σ_c e^{z_c} − z_y) + Σ ridge/2·(w − centre)² + tilt·w with z_c = w₀·q_c + w_c, q_c from −1 to 0."""

    scores: Floats
    labels: NDArray[np.int64]
    ridges: Floats
    centre: Floats
    tilt: Floats

    def _parts(self, weights: Floats) -> Iterator[tuple[Floats, Floats, float]]:
        """Scores, residuals p − y and the summed loss of each block of rows."""
        for start in range(0, len(self.labels), BLOCK):
            scores, labels = self.scores[start : start + BLOCK], self.labels[start : start + BLOCK]
            z = weights[0] * scores + weights[1:]
            z -= z.max(axis=1, keepdims=True)
            chances = np.exp(z)
            whole = chances.sum(axis=1)
            own = np.arange(len(labels))
            loss = float(np.log(whole).sum() - z[own, labels].sum())
            chances /= whole[:, None]
            chances[own, labels] -= 1.0
            yield scores, chances, loss

    def _finish(self, weights: Floats, rows: Floats) -> Floats:
        return np.asarray(rows + self.ridges * (weights - self.centre) + self.tilt)

    def value(self, weights: Floats) -> float:
        """J(w)."""
        away = weights - self.centre
        rows = math.fsum(loss for _, _, loss in self._parts(weights))
        return rows + float(self.ridges @ away**2) / 2 + float(self.tilt @ weights)

    def slopes(self, weights: Floats) -> tuple[Floats, Floats]:
        """∇J(w) and the matrix of second derivatives."""
        size = len(weights)
        rows, bends = np.zeros(size), np.diag(self.ridges)
        for start, (scores, residuals, _) in zip(range(0, len(self.labels), BLOCK), self._parts(weights), strict=True):
            labels = self.labels[start : start + BLOCK]
            rows += np.array([(residuals * scores).sum(), *residuals.sum(axis=0)])
            chances = residuals
            chances[np.arange(len(labels)), labels] += 1.0
            means = (chances * scores).sum(axis=1)
            cross = (chances * (scores - means[:, None])).sum(axis=0)
            bends[0, 0] += (chances * (scores - means[:, None]) ** 2).sum()
            bends[0, 1:] += cross
            bends[1:, 0] += cross
            bends[1:, 1:] += np.diag(chances.sum(axis=0)) - chances.T @ chances
        return self._finish(weights, rows), bends

    def certified(self, weights: Floats) -> float:
        """A bound on the norm of the exact gradient of J: sums over rows are exact, the rest is bounded.

        docs/proofs/calibration.md derives the part of a row.
        """
        columns: list[float] = []
        parts = list(self._parts(weights))
        for c in range(len(weights)):
            lines = ((r * s).sum(axis=1) if c == 0 else r[:, c - 1] for s, r, _ in parts)
            columns.append(math.fsum(value for line in lines for value in line.tolist()))
        norm = float(np.linalg.norm(self._finish(weights, np.array(columns))))
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
        step = np.asarray(-np.linalg.solve(bends, gradient), np.float64)
        moved = _search(objective, weights, value, step, float(gradient @ step), norm)
        if moved is None:
            break
        weights, value = moved
    if not objective.certified(weights) + spare <= tolerance:
        raise SolverError(
            f"the calibration's gradient could not be certified to {tolerance:.3g}, so the proof of privacy does not "
            "cover it and nothing is released: there are too many rows for one calibration, or epsilon is too small"
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
