"""Fitting: class counts, knots, one fit or two with a choice of pairs between them, and what it all cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.blocks import Blocks, Level, place_knots
from discreet.additive.budget import CHOICE, FIRST, USUAL_PAIRS, AdditivePlan
from discreet.additive.kernels import compiled
from discreet.additive.pairs import WHOLE, candidates, choose_pairs, masses, residuals
from discreet.additive.plan import FitPlan, plan_fit
from discreet.additive.release import released_weights
from discreet.estimators.counts import ClassCounts
from discreet.linear.encode import Design
from discreet.mechanisms.choose import choice_rate
from discreet.mechanisms.noise import Sampler
from discreet.privacy.ledger import Charge, SmoothCharge
from discreet.sources import HeldRows

Floats = NDArray[np.float64]
AGAIN, TOGETHER = 0.5, 0.7  # prior deviations in the second fit: of what the first one found, and of pairs
MOST_GAPS = 32
ENOUGH, EACH = 400, 100  # rows·ε per weight: of the first fit before pairs are looked for, and of the second


@dataclass(frozen=True, eq=False)
class Fitted:
    """Released weights of blocks, what they cost, and the noise of each fit on the way."""

    blocks: Blocks
    weights: Floats
    charges: tuple[Charge | SmoothCharge, ...]
    noise: tuple[dict[str, Any], ...] = ()


def fit_additive(
    rows: HeldRows, plan: AdditivePlan, counts: ClassCounts, sampler: Sampler, levels: tuple[Level, ...] = ()
) -> Fitted:
    """Release a model. The caller has charged the plan before reading any rows."""
    blocks = choose_knots(plan, counts, levels)
    pairs = candidates(blocks) if plan.pairs != 0 else []
    count = min(pair_count(plan, blocks, counts), len(pairs))
    start = start_at(blocks, counts)
    if not count:
        only = _planned(plan, blocks, plan.rest, counts, plan.budget.delta)
        weights = released_weights(blocks.design(rows), only, start, sampler)
        return Fitted(blocks, weights, tuple(only.charges(plan.contributions, "weights")), noise_of(only))
    rest = plan.rest
    first = _planned(plan, blocks, None if rest is None else rest * FIRST, counts, plan.budget.delta / 2)
    design = blocks.design(rows)
    weights = released_weights(design, first, start, sampler)
    share = None if rest is None else rest * CHOICE
    chosen = choose_pairs(_masses(rows, design, weights, blocks, pairs), pairs, count, share, plan.moved, sampler)
    both = replace(blocks, pairs=chosen)
    scales = [AGAIN] * len(blocks.sizes) + [TOGETHER] * len(chosen)
    left = None if rest is None else rest * (1 - FIRST - CHOICE)
    second = _planned(plan, both, left, counts, plan.budget.delta / 2, scales=scales)
    final = released_weights(both.design(rows), second, _centre(weights, blocks, both), sampler)
    charges = first.charges(plan.contributions, "weights of features")
    if share is not None:
        charges.append(_choice_charge(share, count, plan))
    charges += second.charges(plan.contributions, "weights of features and pairs")
    return Fitted(both, final, tuple(charges), noise_of(first, second))


def noise_of(*fits: FitPlan) -> tuple[dict[str, Any], ...]:
    """What model files say of the noise of fits."""
    return tuple(fit.noise() for fit in fits if fit.private)


def _planned(
    plan: AdditivePlan, blocks: Blocks, epsilon: Fraction | None, counts: ClassCounts, delta: Fraction, **more: Any
) -> FitPlan:
    """One fit of a plan at that part of its budget."""
    made = plan_fit(blocks, epsilon, counts, delta=delta, moved=plan.moved, contributions=plan.contributions, **more)
    return replace(made, unexpected=plan.unexpected)


def choose_knots(plan: AdditivePlan, counts: ClassCounts, levels: tuple[Level, ...] = ()) -> Blocks:
    """Knots as many as the noise lets be told apart: the cube root of rows·ε per feature."""
    per_feature = counts.rows * _size(plan.rest) / len(plan.schema.features)
    finer = per_feature > 1000
    return place_knots(plan.schema, gaps_for(per_feature), finer=finer, numeric=plan.numeric, levels=levels)


def gaps_for(per_feature: float) -> int:
    """How many gaps between knots that many rows·ε per feature can tell apart."""
    return int(np.clip(round(min(per_feature, 1e6) ** (1 / 3)), 2, MOST_GAPS))


def _size(epsilon: Fraction | None) -> float:
    return float("inf") if epsilon is None else float(epsilon)


def pair_count(plan: AdditivePlan, blocks: Blocks, counts: ClassCounts) -> int:
    """How many pairs to look for: those asked for, or as many as there is budget for.

    A second fit pays where the first has rows·ε to spare (400 per free weight), there are several classes, and its own
    weights, those of pairs included, still get 100 each. For two classes the budget is better left in one fit.
    """
    if not isinstance(plan.pairs, str):
        return plan.pairs
    classes, amount = len(plan.schema.classes), counts.rows * _size(plan.rest)
    free, some = sum(size - 1 for size in blocks.sizes), candidates(blocks)
    if classes == 2 or not some or amount < ENOUGH * free * classes:
        return 0
    mean = np.mean([blocks.pair_cells(a) * blocks.pair_cells(b) - 1 for a, b in some])
    room = (amount / (EACH * classes) - free) / float(mean)
    return int(min(USUAL_PAIRS, len(blocks.singles), room))


def start_at(blocks: Blocks, counts: ClassCounts) -> Floats:
    """Weights that say nothing but the noisy class shares."""
    logs = np.log(counts.shares)
    constants = logs[1:] - logs[:1] if len(logs) == 2 else logs - logs.mean()
    result = np.zeros((len(constants), blocks.columns))
    result[:, -1] = constants
    return result


def _centre(weights: Floats, blocks: Blocks, both: Blocks) -> Floats:
    """The first fit's weights in the columns of the second."""
    result = np.zeros((len(weights), both.columns))
    result[:, : blocks.columns - 1] = weights[:, :-1]
    result[:, -1] = weights[:, -1]
    return result


def _masses(rows: HeldRows, design: Design, weights: Floats, blocks: Blocks, pairs: list[tuple[int, int]]) -> list[int]:
    """What released weights leave unexplained by each pair of features."""
    scaled = np.ascontiguousarray(weights.T * design.unit)

    def left(part: slice, codes: Any, values: Any) -> Any:
        scores = np.empty((len(codes), len(weights)))
        compiled().scores(codes, values, scaled, scores)
        wide = np.concatenate([np.zeros_like(scores), scores], axis=1) if len(weights) == 1 else scores
        return [column[part] for column in rows.columns], residuals(wide, rows.labels[part])

    return masses(blocks, design.each(left), pairs)


def _choice_charge(share: Fraction, count: int, plan: AdditivePlan) -> Charge:
    reach = 2 * WHOLE * plan.moved
    spread = 1 / choice_rate(share / count, reach)
    what = f"{count} pairs of features by the residuals that the first weights leave"
    return Charge("permute-and-flip", what, "each score", str(reach), spread, "epsilon", share * plan.contributions)


__all__ = ["FitPlan", "Fitted", "fit_additive"]
