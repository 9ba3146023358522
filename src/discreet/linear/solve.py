"""Solving: Newton's method down to a gradient whose norm is certified, rounding of floats included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discreet.errors import SolverError
from discreet.linear import precise
from discreet.linear.encode import Design
from discreet.linear.losses import Loss
from discreet.loops import one_thread

Floats = NDArray[np.float64]
MOST_STEPS = 200
ROOM = 16  # parts of the tolerance, of which the solver aims at one
_U = 2.0**-52


@dataclass(frozen=True, eq=False)
class Objective:
    """J(w) = Σ ℓ(y_i x_i·w) + (ridge/2)‖w‖² + tilt·w: not divided by the number of rows, which is private."""

    design: Design
    signs: Floats
    loss: Loss
    ridge: float
    tilt: Floats

    def start(self) -> Floats:
        """The origin."""
        return np.zeros(self.design.columns)

    def near(self, goal: float) -> Floats | None:
        """Nothing better than the start is known."""

    def at(self, weights: Floats) -> Floats:
        """The signed margins of all rows."""
        return self.design.margins(weights) * self.signs

    def value(self, weights: Floats, t: Floats) -> float:
        """J(w)."""
        whole = float(np.sum(self.loss.value(t))) + self.ridge / 2 * float(weights @ weights)
        return whole + float(self.tilt @ weights)

    def gradient(self, weights: Floats, t: Floats) -> Floats:
        """∇J(w)."""
        return self.design.gather(self.loss.slope(t) * self.signs) + self.ridge * weights + self.tilt

    def rounding(self, weights: Floats, t: Floats) -> float:
        """A bound on the norm of what rounding did to `gradient` at the margins t (docs/proofs/linear.md).

        Margins are sums of `slots` products with Σ|w_c x_c| ≤ ‖w‖; a slope follows its margin at the rate `bend`, or
        not at all, and is itself exact to a few units; sums over rows are compensated.
        """
        length = float(np.linalg.norm(weights))
        off = (self.design.slots + 4) * length + 4
        slopes = self.loss.bend * off * self.loss.bent(t, 2 * _U * off) + 16 * len(t)
        return 2 * _U * (slopes + 4 * (self.ridge * length + float(np.linalg.norm(self.tilt))))

    def certified(self, weights: Floats) -> float:
        """A bound on the norm of the exact gradient of J at these weights."""
        t = self.at(weights)
        norm = float(np.linalg.norm(self.gradient(weights, t)))
        return norm * (1 + len(weights) * _U) + self.rounding(weights, t)

    @property
    def stiffness(self) -> float:
        """The ridge."""
        return self.ridge

    def precise_gradient(self, weights: Any) -> tuple[Any, float]:
        """∇J in whole numbers: a slope is off by less than 2^16 units at the rate `bend`, and |x| ≤ 1."""
        sums = np.full(self.design.columns, 0, object)
        for rows in precise.blocks(len(self.design)):
            signs = self.signs[rows].astype(np.int64).astype(object)
            margins = precise.scores(self.design, weights, rows) * signs
            precise.gather(self.design, self.loss.precise_slope(margins) * signs, rows, sums)
        ridge = Fraction(self.ridge)
        pulled = weights * ridge.numerator // ridge.denominator
        slack = (1 + self.loss.bend) * len(self.design) * 2.0 ** (17 - precise.BITS) + 2.0 ** (8 - precise.BITS)
        return precise.in_unit(sums, self.design) + pulled + precise.wholes(self.tilt), slack * self.design.columns

    def newton_step(self, t: Floats, gradient: Floats) -> Floats:
        """−(∇²J)⁻¹∇J."""
        bends = self.loss.curvature(t)
        if self.design.dense:
            hessian = self.design.outer(bends) * self.design.unit**2
            hessian[np.diag_indices_from(hessian)] += self.ridge
            return np.asarray(-cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False))

        def product(way: Floats) -> Floats:
            return self.design.gather(bends * self.design.margins(way)) + self.ridge * way

        return conjugate_gradients(product, lambda rest: rest, gradient, 10 * len(gradient))


def conjugate_gradients(product: Any, solve: Any, gradient: Floats, most: int) -> Floats:
    """A direction near −H⁻¹·gradient by `most` products with H, given what solves with a matrix near H."""
    step, rest = np.zeros_like(gradient), -gradient
    near = solve(rest)
    way, size = near.copy(), float(rest @ near)
    goal = size * min(0.01, math.sqrt(float(gradient @ gradient))) ** 2
    for _ in range(most):
        if size <= goal:
            break
        bent = product(way)
        share = size / float(way @ bent)
        step += share * way
        rest -= share * bent
        near = solve(rest)
        size, before = float(rest @ near), size
        way = near + (size / before) * way
    return step


@dataclass(frozen=True, eq=False)
class Minimum:
    """Weights and a bound on the norm of the exact gradient there: the true minimum is within bound/ridge."""

    weights: Floats
    bound: float


def minimise(objective: precise.Convex, tolerance: float, *, spare: float = 0.0) -> Minimum:
    """Weights whose certified gradient is at most `tolerance − spare`; a refusal if they cannot be reached.

    `spare` is kept for what the caller knows to be off besides, such as the distance of the tilt from an exact draw.
    """
    with one_thread("blas"):
        begun = objective.near(tolerance / ROOM)
        if begun is not None:  # near enough as a rule: each further pass over many rows takes seconds
            bound = objective.certified(begun) + spare
            if bound <= tolerance:
                return Minimum(begun, bound)
        weights = descend(objective, tolerance, begun)
    return certify_minimum(objective, weights, tolerance, spare=spare)


def descend(objective: precise.Convex, tolerance: float, begun: Floats | None = None) -> Floats:
    """Newton's method with a line search, until the gradient is small or no step makes it smaller."""
    # Aim a little lower than needed: steps are quadratic at the end, and the certificate adds its own part.
    goal = tolerance / ROOM
    weights = objective.start() if begun is None else begun
    t = objective.at(weights)
    value, gradient = objective.value(weights, t), objective.gradient(weights, t)
    for _ in range(MOST_STEPS):
        norm = float(np.linalg.norm(gradient))
        if norm <= goal:
            break
        try:
            step = objective.newton_step(t, gradient)
        except LinAlgError:  # so little regularisation that rounding left the matrix without a root
            break
        moved = _search(objective, weights, value, gradient, step, norm)
        if moved is None:
            break
        weights, t, value, gradient = moved
    return weights


def minimise_precisely(objective: Any, tolerance: float, *, spare: float = 0.0) -> Minimum | None:
    """The same with whole numbers of 200 binary digits, for what doubles cannot certify; None if that fails too."""
    with one_thread("blas"):
        begun = descend(objective, tolerance, objective.near(tolerance / ROOM))
        found = precise.refine(objective, begun, tolerance - spare)
    return None if found is None else Minimum(found[0], found[1] + spare)


def certify_minimum(objective: precise.Convex, weights: Floats, tolerance: float, *, spare: float = 0.0) -> Minimum:
    """The same weights with their certificate, or a refusal: weights without one must never be released."""
    bound = objective.certified(weights) + spare
    if not bound <= tolerance:
        raise SolverError(
            f"the solver's gradient could not be certified to {tolerance:.3g}, so the proof of privacy does not cover "
            "its weights and nothing is released: raise the tolerance or the regularisation"
        )
    return Minimum(weights, bound)


def _search(
    objective: precise.Convex, weights: Floats, value: float, gradient: Floats, step: Floats, norm: float
) -> tuple[Floats, Floats, float, Floats] | None:
    """A part of the step that lowers the objective, or the gradient once the objective's digits are used up."""
    slope = float(gradient @ step)
    share = 1.0
    for _ in range(60):
        there = weights + share * step
        t = objective.at(there)
        found: Any = objective.value(there, t)
        slack = 8 * _U * max(1.0, abs(value), abs(found)) * math.sqrt(len(objective.design) + 1.0)
        if found <= value + 1e-4 * share * slope:
            return there, t, found, objective.gradient(there, t)
        if found <= value + slack:
            fresh = objective.gradient(there, t)
            if float(np.linalg.norm(fresh)) < norm:
                return there, t, found, fresh
        share /= 2
    return None
