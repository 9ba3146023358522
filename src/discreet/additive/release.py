"""The release: a noise vector for every bundle and class, the certified minimum, and the final rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.additive.plan import FitPlan
from discreet.additive.solve import Objective
from discreet.linear.encode import Design
from discreet.linear.release import finish, settled
from discreet.mechanisms.kvectors import KVector
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.vectors import Bits, Drawn, bits_of, laplace_vector, normal_vector
from discreet.privacy.calibrate import float_up

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tilt:
    """Noise for all columns, one row per vector of weights, and a bound on its distance from an exact draw."""

    vectors: Floats
    error: float


def draw_tilt(plan: FitPlan, bits: Bits) -> Tilt:
    """One draw for every bundle and row of weights; the constant's noise is the common sum of one bundle."""
    if plan.deviations:
        return _draw_normal(plan, bits)
    starts, sizes = plan.blocks.starts, plan.blocks.sizes
    result, errors = np.zeros((plan.vectors, plan.blocks.columns)), [0.0]
    for row in result:
        for number, bundle in enumerate(plan.bundles):
            own = [sizes[j] for j in bundle.places]
            drawn, total = _draw(own, bundle.rate, bits)
            at = 0
            for j, size in zip(bundle.places, own, strict=True):
                row[starts[j] : starts[j] + size] = drawn.vector[at : at + size]
                at += size
            errors.append(drawn.error)
            if number == plan.anchor:
                row[-1] = total
    return Tilt(result, math.hypot(*errors))


def _draw_normal(plan: FitPlan, bits: Bits) -> Tilt:
    """Normal noise with the same sum in all blocks, which is the constant's: where rows are, too."""
    starts, sizes = plan.blocks.starts, plan.blocks.sizes
    *own, common = plan.deviations
    result, errors = np.zeros((plan.vectors, plan.blocks.columns)), [0.0]
    for row in result:
        total = normal_vector(1, common, bits)
        row[-1] = total.vector[0]
        errors.append(total.error)
        for start, size, deviation in zip(starts, sizes, own, strict=False):
            drawn = normal_vector(size, deviation, bits)
            row[start : start + size] = drawn.vector - math.fsum(drawn.vector) / size + row[-1] / size
            # Taking the mean away shortens errors; what is computed is rounded four times.
            rounded = math.sqrt(size) * 2.0**-50 * float(np.abs(drawn.vector).max() + abs(row[-1]))
            errors.append(drawn.error + total.error / math.sqrt(size) + rounded)
    return Tilt(result, math.fsum(errors))


def _draw(sizes: list[int], rate: Fraction, bits: Bits) -> tuple[Drawn, float]:
    """Noise of a bundle and its common sum; of one block alone the K-norm is the L1 norm."""
    if len(sizes) > 1:
        shared = KVector(sizes).draw(rate, bits)
        return Drawn(shared.vector, shared.error), shared.total
    drawn = laplace_vector(sizes[0], float_up(1 / rate), bits)
    # The sum is off by the errors of its parts, and rounded once.
    total = math.fsum(drawn.vector)
    return Drawn(drawn.vector, drawn.error * (1 + math.sqrt(sizes[0])) + 2.0**-52 * abs(total)), total


def released_weights(design: Design, plan: FitPlan, centre: Floats, sampler: Sampler) -> Floats:
    """The weights of one fit, which may be published. The caller has charged it before reading any rows."""
    if not plan.private:
        exact = Objective(design, len(plan.blocks.sizes) + 1, plan.chain, centre, np.zeros_like(centre))
        return settled(exact, plan.tolerance, 0.0, plan.unexpected).reshape(centre.shape)
    tilt = draw_tilt(plan, bits_of(sampler))
    answer = approximate(design, plan, centre, tilt)
    return finish(answer, plan, sampler)


def approximate(design: Design, plan: FitPlan, centre: Floats, tilt: Tilt) -> Floats:
    """The solver's answer with its certificate; where rows are absorbed, zeros in place of one without."""
    tilted = Objective(design, len(plan.blocks.sizes) + 1, plan.chain, centre, tilt.vectors)
    return settled(tilted, plan.tolerance, tilt.error, plan.unexpected).reshape(centre.shape)
