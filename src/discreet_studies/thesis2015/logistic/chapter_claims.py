"""What chapter 4 of thesis2015 says beside its tables: the λ that is picked, noise, and Naive Bayes."""

from __future__ import annotations

import math
from typing import Any

from discreet_studies.claims import Claims, Finding, undecided, verdict_of, words
from discreet_studies.results import Estimate, Results
from discreet_studies.thesis2015.logistic.experiments import SETS

CLAIMS = Claims("thesis2015")
CURVATURE = 0.25


@CLAIMS.says(
    "Sections 4.3 and 4.4.4: cross-validation prefers large λ, so that both algorithms regularise significantly."
)
def large_lambdas(results: Results) -> Finding:
    """Table 4.2 prints the modes: 10^-3 to 10^5; the conclusion says that regularisation is significant."""
    found: dict[str, Estimate] = {}
    for data in SETS:
        for method in ("paper-objective", "paper-output"):
            rows = results.where(experiment="accuracy", data=data, method=method)
            found[f"{data}, {method}"] = Estimate.of(math.log10(row["regularisation"]) for row in rows)
    large = sum(one.mean - 2 * one.error > 0 for one in found.values())
    small = sum(one.mean + 2 * one.error < 0 for one in found.values())
    if large <= len(found) / 2 <= len(found) - small:
        raise undecided(f"large λ from small ones, {words(found)}", [(one, (0.0,)) for one in found.values()])
    return Finding(
        verdict_of(large > len(found) / 2),
        found,
        f"mean of log10 λ picked by five-fold cross-validation, above 0 by two errors in {large} of {len(found)} (more "
        f"than half count): {words(found)}",
    )


def objective_scale(epsilon: float, ridge: float) -> float:
    """The scale 2/ε' of the noise of Algorithm 7."""
    left = epsilon - 2 * math.log1p(CURVATURE / ridge)
    return 2 / left if left > 0 else 4 / epsilon


@CLAIMS.says("Section 4.4.4: at ε = 0.1 and λ > 1 the noise of output perturbation is the smaller one.")
def output_noise_is_smaller(results: Results) -> Finding:
    """Section 4.4.4: 2/(λε) beside 4λ/(2λε − 1) or 4/ε."""
    scales = {f"λ = {ridge:g}": (2 / (ridge * 0.1), objective_scale(0.1, ridge)) for ridge in (1.0, 2, 5, 10, 100, 1e5)}
    told = ", ".join(f"{name}: {one:.3g} and {other:.3g}" for name, (one, other) in scales.items())
    return Finding(
        verdict_of(all(one < other for one, other in scales.values())),
        {name: list(pair) for name, pair in scales.items()},
        f"scales of both, of Algorithm 6 and Algorithm 7: {told}; computed, not measured",
        "code:discreet_studies.published.thesis2015_logistic:objective",
    )


@CLAIMS.says("Section 4.6: without privacy logistic regression matches or outdoes Naive Bayes on all data sets.")
def regression_beats_bayes(results: Results) -> Finding:
    """Section 4.6: "for all datasets" it "matches or outdoes the performance of the Naive Bayes"; a point counts."""
    gaps: dict[str, Any] = {}
    for data in SETS:
        spot = {"experiment": "accuracy", "data": data}
        gaps[data] = results.paired({"method": "plain-tuned"}, {"method": "plain-bayes"}, **spot)
    worse = [data for data, one in gaps.items() if one.mean + 2 * one.error < -0.01]
    unclear = [(one, (-0.01,)) for one in gaps.values() if one.mean - 2 * one.error < -0.01]
    if unclear and not worse:
        raise undecided(f"a loss of a point from none, {words(gaps)}", unclear)
    told = ", ".join(worse) or "none"
    text = f"logistic regression with λ by cross-validation less Naive Bayes: {words(gaps)}; worse on: {told}"
    return Finding(verdict_of(not worse), gaps, text)
