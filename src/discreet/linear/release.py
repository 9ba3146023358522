"""The release: the one step in which a private objective or its minimum becomes weights that may be published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SolverError
from discreet.linear.encode import Design, symmetric
from discreet.linear.plan import Covering, LinearPlan
from discreet.linear.solve import Objective, minimise, minimise_precisely
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.vectors import Drawn, bits_of, noise_vector
from discreet.privacy.calibrate import float_up
from discreet.privacy.unexpected import ABSORB

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearRelease:
    """Weights, one row per binary problem; nothing in here is exact."""

    plan: LinearPlan
    weights: Floats
    samplers: tuple[str, ...]
    simulation: bool


def release(design: Design, plan: LinearPlan, sampler: Sampler) -> LinearRelease:
    """Release all problems of a plan. The caller has charged the plan before reading any rows."""
    weights = [problem_weights(design, design.labels == k, plan, sampler) for k in plan.problems]
    names: tuple[str, ...] = (sampler.name,)
    if plan.budget.private and plan.method != "functional":
        names = (f"noise vector from {bits_of(sampler).name}, within the solver's tolerance of an exact draw", *names)
    return LinearRelease(plan, np.stack(weights), names, sampler.simulation)


def problem_weights(design: Design, positive: NDArray[np.bool_], plan: LinearPlan, sampler: Sampler) -> Floats:
    """The released weights of one binary problem."""
    signs = np.where(positive, 1.0, -1.0)
    if plan.method == "functional":
        return functional(design, signs.astype(np.int64), plan, sampler)
    if not plan.budget.private:
        exact = Objective(design, signs, plan.loss, float(plan.ridge), np.zeros(design.columns))
        return settled(exact, float(plan.tolerance), 0.0, plan.unexpected)
    assert plan.rate is not None
    drawn = noise_vector(plan.law, design.columns, float_up(1 / plan.rate), bits_of(sampler))
    answer = approximate(design, signs, plan, drawn)
    return finish(answer, plan, sampler)


def approximate(design: Design, signs: Floats, plan: LinearPlan, drawn: Drawn) -> Floats:
    """The solver's answer with its certificate: within tolerance/ridge of what the theorem is about.

    Where rows are absorbed, an answer that cannot be certified gives way to zero, which is public.
    """
    ridge, tolerance = float(plan.ridge), float(plan.tolerance)
    if plan.method == "objective":
        tilted = Objective(design, signs, plan.loss, ridge, drawn.vector)
        return settled(tilted, tolerance, drawn.error, plan.unexpected)
    exact = Objective(design, signs, plan.loss, ridge, np.zeros(design.columns))
    # The sum below is rounded once more.
    spare = ridge * (2 * drawn.error + 2.0**-50 * float(np.linalg.norm(drawn.vector)))
    return np.asarray(settled(exact, tolerance, spare, plan.unexpected) + drawn.vector)


def settled(objective: Any, tolerance: float, spare: float, unexpected: str) -> Floats:
    """Certified weights; without a certificate a refusal, or zeros if nothing is to be refused.

    Before zeros stand in, the minimum is looked for in whole numbers, where rounding is no obstacle.
    """
    try:
        weights: Floats = minimise(objective, tolerance, spare=spare).weights
    except SolverError:
        if unexpected != ABSORB:
            raise
        found = minimise_precisely(objective, tolerance, spare=spare)
        return np.zeros_like(objective.start()) if found is None else found.weights
    return weights


def finish(answer: Floats, plan: Covering, sampler: Sampler) -> Floats:
    """Round to the public lattice and add exact discrete noise that covers the distance from the exact answer."""
    points = np.rint(np.clip(np.ldexp(answer, plan.lattice), -(2.0**61), 2.0**61)).astype(np.int64)
    noisy = sampler.laplace(points, Fraction(plan.steps) / plan.epsilons[1])
    return np.ldexp(noisy.astype(np.float64), -plan.lattice)


# ---- the functional mechanism


def possible_pairs(plan: LinearPlan) -> NDArray[np.bool_]:
    """Which columns, on and above the diagonal, can both be filled: two of one feature never are."""
    slot = np.repeat(np.arange(plan.encoding.slots), [*plan.encoding.widths, 1])
    pairs = slot[:, None] < slot[None, :]
    pairs[np.diag_indices_from(pairs)] = True
    return np.asarray(pairs)


def coefficients(design: Design, signs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole numbers: Σ(1 − 2y)x by column, and Σxxᵀ."""
    ones = np.ones(len(design), np.int64)
    square = design.outer(ones)

    def add(rows: slice, codes: NDArray[Any], values: NDArray[Any] | None) -> NDArray[np.int64]:
        linear = np.zeros(design.columns, np.int64)
        weights = -signs[rows][:, None] * (np.ones((1, 1), np.int64) if values is None else values)
        for j in range(codes.shape[1]):
            np.add.at(linear, codes[:, j], weights[:, min(j, weights.shape[1] - 1)])
        linear[-1] += int(weights[:, -1].sum())
        return linear

    return sum(design.each(add), np.zeros(design.columns, np.int64)), square


def functional(design: Design, signs: NDArray[np.int64], plan: LinearPlan, sampler: Sampler) -> Floats:
    """Minimise the noisy second-order polynomial of the logistic loss: ½Σ(1 − 2y)x·w + ⅛Σ(x·w)²."""
    linear, square = coefficients(design, signs)
    pairs, noise = possible_pairs(plan), 0.0
    if plan.budget.private:
        linear = sampler.laplace(linear, Fraction(plan.linear_reach) / plan.epsilons[0])
        square[pairs] = sampler.laplace(square[pairs], Fraction(plan.square_reach) / plan.epsilons[1])
        noise = math.sqrt(2.0) * float(plan.square_reach / plan.epsilons[1])
    return minimum_of_polynomial(linear, np.where(pairs, square, 0), noise, design.unit, float(plan.ridge))


def minimum_of_polynomial(
    linear: NDArray[np.int64], upper: NDArray[np.int64], noise: float, unit: float, ridge: float
) -> Floats:
    """The minimum of a noisy quadratic form after its eigenvalues are lifted above what noise alone would show.

    A symmetric matrix of noise with that deviation has eigenvalues up to about 2·noise·√columns.
    """
    matrix = symmetric(upper.astype(np.float64))
    values, vectors = np.linalg.eigh(matrix * (unit**2 / 4))
    floor = noise * math.sqrt(len(matrix)) * unit**2 / 4
    lifted = np.maximum(values, floor) + ridge
    return np.asarray(-vectors @ ((vectors.T @ (linear * (unit / 2))) / lifted))
