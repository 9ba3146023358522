"""Plausibility: what the schema's bounds and the known noise allow an honest update to say (proof: docs/proofs)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.bayes.plan import COUNTS, Item, Plan
from discreet.nodes.members import reach
from discreet.nodes.refusals import Refusal, refuse
from discreet.nodes.update import Integers
from discreet.privacy.ledger import Charge

FALSE_REFUSALS = 1e-9  # the most probable share of honest updates that all checks together refuse
_STEPS = 1 - np.geomspace(1.0, 1e-7, 400)[1:]  # exponents to try, as shares of the largest that has a finite moment


def tail(terms: Iterable[tuple[Item, float, int]], rate: float) -> float:
    """t with P(Σ c·Z > t) ≤ rate, the sum running over `count` noises Z of each item with coefficient c (Chernoff).

    ln E exp(sZ) is exact for the discrete Laplace law and at most s²σ²/2 for the discrete Gaussian one.
    """
    laplace, gaussian = [], 0.0
    for item, count, factor in terms:
        if not isinstance(item.charge, Charge):
            continue
        spread = float(item.charge.spread) * (1 + 1e-12)
        if item.charge.measure == "epsilon":
            laplace.append((spread * factor, count, factor))
        else:
            gaussian += count * factor**2 * spread
    wanted = math.log(1 / rate)
    if not laplace:
        return math.sqrt(2 * gaussian * wanted)
    s = _STEPS / max(scale for scale, _, _ in laplace)
    moment = s**2 * gaussian / 2
    for scale, count, factor in laplace:
        q = factor / scale  # −ln of the ratio of the geometric law
        t = s * factor
        moment = moment + count * (2 * math.log(-math.expm1(-q)) - np.log(-np.expm1(t - q)) - np.log(-np.expm1(-t - q)))
    return float(np.min((wanted + moment) / s))


@dataclass(frozen=True)
class Limits:
    """How far noise may carry each quantity beyond what the bounds allow."""

    reference: Item
    below: dict[tuple[str, str], float]
    apart: dict[tuple[str, str], float]
    beyond: dict[tuple[str, str], float]
    declared: float


@lru_cache(1024)
def limits(plan: Plan, times: float = 1.0) -> Limits:
    """The limits of one plan; all checks together refuse an honest update with probability 1e-9 at most.

    An update of a stream is a sum of draws with weights of at most one whose squares add up to `times`: its logarithms
    of moments are at most `times` those of one draw (docs/proofs/running.md). Each integer of it is rounded, by up to a
    half.
    """
    counts = [item for item in plan.items if item.kind in COUNTS]
    moments = [item for item in plan.items if item.kind in {"sum", "square"}]
    reference = min(counts, key=lambda item: item.variance * item.cells)
    classes = len(plan.schema.classes)
    checks = classes * (sum(item.cells for item in counts) + 2 * len(counts) + 2 * len(moments)) + 2 * len(counts)
    rate = FALSE_REFUSALS / checks

    half = 0.5 if plan.stream is not None else 0.0

    def bound(*terms: tuple[Item, int, int]) -> float:
        rounded = half * sum(count * factor for _, count, factor in terms)
        return tail([(item, count * times, factor) for item, count, factor in terms], rate) + rounded

    def with_reference(item: Item, factor: int) -> float:
        return bound((item, item.cells, 1), (reference, reference.cells, factor))

    return Limits(
        reference,
        {item.key: bound((item, 1, 1)) for item in counts},
        {item.key: 0.0 if item is reference else with_reference(item, 1) for item in counts},
        {item.key: with_reference(item, reach(item)) for item in moments},
        2 * max(bound((item, item.cells * classes, 1)) for item in counts) + 1,
    )


def check(
    values: Mapping[tuple[str, str], Integers], rows: int | None, plan: Plan, most_rows: int | None, times: float = 1.0
) -> None:
    """Refuse integers that no rows within the bounds, with this noise, would have given."""
    allowed = limits(plan, times)
    totals = {item.key: values[item.key].sum(axis=1, dtype=np.float64) for item in plan.items if item.kind in COUNTS}
    reference = totals[allowed.reference.key]
    for item in plan.items:
        data, what = values[item.key].astype(np.float64), item.what
        if item.kind in COUNTS:
            if data.min() < -allowed.below[item.key]:
                refuse(Refusal.IMPLAUSIBLE, f"the {what} are further below zero than the noise explains")
            apart = np.abs(totals[item.key] - reference).max()
            if apart > allowed.apart[item.key]:
                refuse(Refusal.IMPLAUSIBLE, f"the {what} add up to another number of rows than the other tables")
            if rows is not None and abs(float(totals[item.key].sum()) - rows) > allowed.declared:
                refuse(Refusal.IMPLAUSIBLE, f"the {what} do not add up to the declared number of rows")
        elif (np.abs(data[:, 0]) - reach(item) * reference > allowed.beyond[item.key]).any():
            refuse(Refusal.IMPLAUSIBLE, f"the {what} is beyond what the bounds allow for that many rows")
    if most_rows is not None and float(reference.sum()) > most_rows + allowed.declared:
        refuse(Refusal.IMPLAUSIBLE, f"the update speaks of more than {most_rows} rows, the most a node may have")
