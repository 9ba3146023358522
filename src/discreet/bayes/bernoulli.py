"""Count tables in other ways: each feature on its own part of the rows, and counts raised to the noise's size."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import class_totals, log_prior, log_table, project
from discreet.bayes.items import Plan, charged
from discreet.bayes.likelihoods import Likelihood, TableLikelihood, likelihood_for
from discreet.bayes.release import Release
from discreet.errors import BudgetError
from discreet.mechanisms.noise import Sampler, SimulationSampler
from discreet.mechanisms.odds import Odds
from discreet.privacy.ledger import Charge
from discreet.sources import Source, collect_parted

Floats = NDArray[np.float64]
STRATEGIES = ("together", "partition")
DRAWN = (
    "every row is counted for one feature only, drawn uniformly and independently of all data; where a person has "
    "several rows, the noise of every part already pays for all of them"
)


def parted(plan: Plan, strategy: Any, threshold: Any) -> Plan:
    """The plan with the whole budget for every table, if each is counted on a part of its own; checks both options."""
    if strategy not in STRATEGIES:
        raise BudgetError(f"strategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
    if threshold is not None:
        _check_threshold(threshold, plan)
        if strategy == "partition":
            raise BudgetError("threshold is for strategy='together'")
    if strategy == "together":
        return plan
    if plan.budget.kind not in {"pure", "none"}:
        raise BudgetError("strategy='partition' spends pure epsilon: leave delta at 0")
    if not _tables_only(plan):
        raise BudgetError("strategy='partition' is for tables: model numbers by numeric='histogram'")
    tables = [replace(item, share=Fraction(1)) for item in plan.items if item.kind == "table"]
    items = tuple(
        charged(item, plan.budget.epsilon, "laplace", plan.adjacency, plan.contributions) for item in tables
    )  # fmt: skip
    return replace(plan, items=items, parted=DRAWN)


def _tables_only(plan: Plan) -> bool:
    """Whether every feature is modelled by the cells that it is counted by."""
    return all(likelihood_for(feature, plan.numeric) is TableLikelihood for feature in plan.schema.features)


def _check_threshold(threshold: Any, plan: Plan) -> None:
    try:
        level = float(threshold)
    except (TypeError, ValueError):
        level = math.nan
    if isinstance(threshold, bool) or not 0.5 <= level < 1:
        raise BudgetError(f"threshold is a quantile of the noise from 0.5 to below 1, not {threshold!r}")
    if not _tables_only(plan) or plan.mechanism in {"gaussian", "residual"}:
        raise BudgetError("threshold is for tables with Laplace noise: leave delta at 0 and numeric at 'histogram'")


def collect_tables(source: Source, plan: Plan, sampler: Sampler) -> Release:
    """Count every feature on the rows drawn for it, and noise its table."""
    odds = Odds(sampler.rng.bytes) if isinstance(sampler, SimulationSampler) else Odds()
    size = len(plan.schema.features)
    found = collect_parted(source, lambda rows: odds.integers(size, rows))
    values = {}
    for item, statistics in zip(plan.items, found, strict=True):
        table = statistics.tables[item.feature]
        values[item.key] = sampler.laplace(table, item.charge.spread) if isinstance(item.charge, Charge) else table
    return Release(plan, values, samplers=(sampler.name,), simulation=sampler.simulation)


def parted_estimate(release: Release, smoothing: float) -> tuple[Floats, list[Likelihood]]:
    """Prior and likelihoods from tables of different rows: totals add up, and each table has its own."""
    whole = np.zeros(len(release.plan.schema.classes))
    likelihoods: list[Likelihood] = []
    for item in release.plan.items:
        table, spread = release.values[item.key].astype(np.float64), release.variance(item)
        totals = table.sum(axis=1)
        whole += totals
        fixed = project(table, np.maximum(table.sum(axis=1), 0.0)) if np.any(spread) else table
        likelihoods.append(TableLikelihood(item.feature, log_table(fixed, totals, spread, smoothing)))
    return log_prior(whole), likelihoods


def thresholded_estimate(release: Release, smoothing: float, level: float) -> tuple[Floats, list[Likelihood]]:
    """Counts raised to the given quantile of their noise: cells that are all noise then say the same of each class."""
    likelihoods: list[Likelihood] = []
    for item in release.plan.items:
        if item.kind != "table":
            continue
        table = release.values[item.key].astype(np.float64)
        if isinstance(item.charge, Charge):
            scale = float(item.charge.spread) * math.sqrt(release.batches)
            table = np.maximum(table, -scale * math.log(2 * (1 - level)))
        padded = table + smoothing
        likelihoods.append(
            TableLikelihood(item.feature, np.log(padded) - np.log(padded.sum(axis=1, keepdims=True)))
        )  # fmt: skip
    return log_prior(class_totals(release)[0]), likelihoods
