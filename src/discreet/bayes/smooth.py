"""The staged release: counts first, then means and variances whose noise follows a smooth bound, class by class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.choice import as_moments, bought_spread, prefers_smooth
from discreet.bayes.estimate import class_totals, rows_present
from discreet.bayes.plan import SMOOTH, Item, Kind, Plan
from discreet.bayes.release import Release, release
from discreet.bayes.settings import Smooth
from discreet.errors import StatisticsError
from discreet.mechanisms.counted import PureLaplace
from discreet.mechanisms.heavy import LaplaceLogNormal, StudentT
from discreet.mechanisms.heavy_normal import ArsinhNormal, UniformLogNormal
from discreet.mechanisms.noise import Sampler, SimulationSampler
from discreet.mechanisms.smooth_plan import SmoothPlan, plan_smooth, release_smooth, simulate_smooth
from discreet.mechanisms.trimmed import TrimmedSample
from discreet.mechanisms.trimming import UNKNOWN_RATIO, Tuned, tune
from discreet.privacy.ledger import SmoothCharge
from discreet.statistics import Statistics

Floats = NDArray[np.float64]
FINE = 1 << 16  # released means are this fine or finer, as a share of the half range


def release_staged(statistics: Statistics, plan: Plan, sampler: Sampler) -> Release:
    """Noise the statistics by the plan, the counts first: trims, laws and β follow from the noisy counts."""
    counts = release(statistics, plan, sampler)
    smooth = plan.smooth
    if smooth is None:
        return counts
    totals, _ = class_totals(counts)
    by_class: list[list[SmoothCharge]] = [[] for _ in plan.schema.classes]
    values = dict(counts.values)
    ratios: dict[str, float] = {}
    plans: dict[tuple[str, str], tuple[SmoothPlan, ...]] = {}
    items: list[Item] = [item for item in plan.items if item.kind not in SMOOTH]
    for feature in plan.schema.numeric:
        rows, _ = rows_present(counts, feature, totals)
        pair = [item for item in plan.items if item.kind in SMOOTH and item.feature == feature.name]
        ratio = smooth.ratio(feature)
        coarse = next((item for item in plan.items if item.key == ("coarse", feature.name)), None)
        picture = None
        if coarse is not None:
            picture = bought_spread(counts.values[coarse.key], coarse.variance)
            ratio = picture.ratio
        chosen: dict[Kind, list[Tuned]] = {
            item.kind: [_tuned(item, smooth, size, ratio) for size in rows] for item in pair
        }
        if smooth.sensitivity == "auto" and not prefers_smooth(pair, chosen, rows, ratio, picture, plan):
            moments = tuple(as_moments(pair, plan))
            items += moments
            values |= release(statistics, replace(plan, items=moments), sampler).values
            continue
        items += pair
        if ratio is not None:
            ratios[feature.name] = ratio
        for item in pair:
            settled = tuple(_settled(item.kind, item.half, _step(item, smooth), one) for one in chosen[item.kind])
            plans[item.key] = settled
            values[item.key] = _drawn(statistics, item, settled, sampler, private=plan.budget.private)
            for charges, one in zip(by_class, settled, strict=True):
                if isinstance(item.charge, SmoothCharge):
                    charges.append(_entered(item.charge, one, smooth))
    final = replace(plan, items=tuple(items))
    entry = final.entry([tuple(charges) for charges in by_class])
    return Release(
        final,
        values,
        samplers=(sampler.name,),
        simulation=sampler.simulation,
        smooth=plans,
        ledger=entry,
        ratios=ratios,
    )


def _step(item: Item, smooth: Smooth) -> Fraction:
    """The ε of one add-remove step; any number will do where there is no privacy."""
    return Fraction(1) if item.charge is None else smooth.step(item.charge.cost)


def _tuned(item: Item, smooth: Smooth, rows: float, ratio: float | None) -> Tuned:
    """Law, trim and β for one class, from the released number of its rows and a declared or bought spread."""
    epsilon, share = _step(item, smooth), UNKNOWN_RATIO if ratio is None else ratio
    if smooth.estimator == "vaidya":
        return Tuned(PureLaplace(), 0, 0.0, 0.0, 0.0, max(round(rows), 1))
    if item.kind == "second":
        share = min(2 * share, 0.5)
    fixed = smooth.trim
    if isinstance(fixed, Fraction):
        fixed = math.floor(fixed * max(round(rows), 0))
    laws = smooth.laws(epsilon) if item.charge is not None else (StudentT(3),)
    return tune("variance" if item.kind == "variance" else "mean", laws, float(epsilon), rows, share, fixed)


@lru_cache(maxsize=1024)
def _settled(kind: Kind, half: int, epsilon: Fraction, tuned: Tuned) -> SmoothPlan:
    """What is public about the release for one class; classes and features that agree share it."""
    fine = max(1, -(-FINE // half))
    return plan_smooth(
        kind if kind in ("variance", "deviation") else "mean",
        law=tuned.law,
        epsilon=epsilon,
        trim=tuned.trim,
        half_range=half**2 // 2 if kind == "second" else half,
        beta=Fraction(tuned.beta),
        fineness=fine if kind in ("mean", "deviation") else fine**2,
        rows=tuned.rows,
    )


def _drawn(
    statistics: Statistics, item: Item, plans: Sequence[SmoothPlan], sampler: Sampler, *, private: bool
) -> NDArray[np.int64]:
    """The releases of one statistic: a row per class, one integer each."""
    result = []
    for histogram, plan in zip(statistics.lattice[item.feature], plans, strict=True):
        build = TrimmedSample.from_squares if item.kind == "second" else TrimmedSample.from_histogram
        sample = build(histogram, trim=plan.trim, half_range=item.half)
        if not private:
            exact = sample.variance() if plan.statistic == "variance" else sample.mean()
            result.append(round(exact * plan.fineness))
        elif isinstance(sampler, SimulationSampler):
            result.append(int(simulate_smooth(sample, plan, size=1, rng=sampler.rng)[0]))
        elif sampler.simulation:
            raise StatisticsError("this sampler cannot draw smooth bounds")
        else:
            result.append(release_smooth(sample, plan))
    return np.array(result, dtype=np.int64)[:, None]


def _entered(charge: SmoothCharge, plan: SmoothPlan, smooth: Smooth) -> SmoothCharge:
    """The charge as the ledger keeps it: β, s, the law, m and the cap, nothing that depends on the rows."""
    law = plan.law
    parameters = {"law": smooth.noise}
    if isinstance(law, StudentT):
        parameters = {"law": "student-t", "degrees of freedom": str(law.degrees)}
    elif isinstance(law, LaplaceLogNormal | UniformLogNormal | ArsinhNormal):
        parameters["sigma"] = str(law.sigma)
    parameters |= {
        "beta": str(plan.beta),
        "s": str(plan.divisor),
        "m": str(plan.trim),
        "cap": str(plan.half_range**2 if plan.statistic == "variance" else plan.half_range),
        "add-remove steps": str(smooth.steps),
        "epsilon per step": str(plan.epsilon),
    }
    if plan.rows:
        parameters["rows"] = str(plan.rows)
        return replace(charge, parameters=tuple(parameters.items()))
    return replace(charge, mechanism=f"smooth sensitivity, {parameters['law']}", parameters=tuple(parameters.items()))
