"""What yilmaz2020 says about numbers and projections, and how measurements decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet_studies.claims import Finding, Found, Verdict, attempt, better, finding, words
from discreet_studies.published.yilmaz2020 import RAW
from discreet_studies.results import Results
from discreet_studies.yilmaz2020.comparisons import gain, mean
from discreet_studies.yilmaz2020.experiments import CONTINUOUS_DATA, FEATURES
from discreet_studies.yilmaz2020.methods import (
    OURS_BUCKETS,
    OURS_GAUSSIAN,
    PAPER_BUCKETS,
    PAPER_GAUSSIAN,
)


def _best(results: Results, methods: Sequence[str], **spot: Any) -> str:
    return max(methods, key=lambda m: mean(results, method=m, **spot))


def buckets_beat_curves(results: Results) -> Finding:
    """Section IV-B: discretisation is more accurate than Gaussian Naive Bayes."""
    measured: dict[str, Any] = {}

    def check(label: str, binned: Sequence[str], curved: Sequence[str]) -> bool:
        found: Found = {}
        for data in CONTINUOUS_DATA:
            for projection in ("none", "dca"):  # the two with the same dimensions in both experiments
                spot: dict[str, Any] = {"data": data, "projection": projection}
                first = {"experiment": "buckets", "method": _best(results, binned, experiment="buckets", **spot)}
                second = {"experiment": "gaussian", "method": _best(results, curved, experiment="gaussian", **spot)}
                found[f"{data}, {projection}"] = gain(results, first, second, **spot)
        measured[label] = found
        return better(found)

    sound = attempt(lambda: check("library", OURS_BUCKETS, OURS_GAUSSIAN))
    published = attempt(lambda: check("as published", PAPER_BUCKETS, PAPER_GAUSSIAN))
    reason = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(sound, published, measured, f"best buckets less best curves over all ε: {reason}")


def one_discriminant_dimension(results: Results) -> Finding:
    """Section IV-B: DCA to one dimension is the best of all projections."""
    measured: dict[str, Any] = {}

    def check(label: str, method: str) -> bool:
        found: Found = {}
        for data in CONTINUOUS_DATA:
            spot: dict[str, Any] = {"experiment": "dimensions", "data": data, "method": method}
            others = [(p, d) for p in ("pca", "dca") for d in range(1, FEATURES[data] + 1) if (p, d) != ("dca", 1)]
            top = max(others, key=lambda pd, s=spot: mean(results, projection=pd[0], dims=pd[1], **s))  # type: ignore[misc]
            first = {"projection": "dca", "dims": 1}
            found[f"{data}: dca to 1 - {top[0]} to {top[1]}"] = gain(
                results, first, {"projection": top[0], "dims": top[1]}, **spot
            )
            levels = [e for e in results.values("epsilon", **spot) if math.isfinite(e)]
            plain = {"experiment": "buckets", "projection": "none"}
            found[f"{data}: dca to 1 - all features"] = gain(
                results, {"experiment": "dimensions", **first}, plain, lambda e, some=levels: e in some,  # type: ignore[misc]
                data=data, method=method,
            )  # fmt: skip
        measured[label] = found
        return better(found)

    sound = attempt(lambda: check("library, public sample", "buckets-auto"))
    published = attempt(lambda: check("as published", "paper-buckets-de"))
    reason = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(sound, published, measured, f"DCA to one dimension less the best other projection: {reason}")


def approach_one_is_worst(results: Results) -> Finding:
    """Section IV-B: of the three approaches the first has the lowest utility."""
    measured: dict[str, Any] = {}

    def check(label: str, first: str, others: Sequence[str]) -> bool:
        found: Found = {}
        for data in CONTINUOUS_DATA:
            for other in others:
                found[f"{data}: {other} - {first}"] = gain(
                    results, {"method": other}, {"method": first}, experiment="gaussian", data=data, projection="none"
                )
        measured[label] = found
        return better(found)

    sound = attempt(lambda: check("library", "gaussian-laplace-all", ("gaussian-one-bit", "gaussian-laplace")))
    published = attempt(lambda: check("as published", PAPER_GAUSSIAN[0], PAPER_GAUSSIAN[1:]))
    reason = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(sound, published, measured, f"on all features, over all ε: {reason}")


def projections_help_curves(results: Results) -> Finding:
    """Section IV-B: DCA or PCA always performs better than the original data, for all perturbation approaches."""
    measured: dict[str, Any] = {}

    def check(label: str, methods: Sequence[str]) -> bool:
        found: Found = {}
        for data in CONTINUOUS_DATA:
            for method in methods:
                spot: dict[str, Any] = {"experiment": "gaussian", "data": data, "method": method}
                top = max(("pca", "dca"), key=lambda p, s=spot: mean(results, projection=p, **s))  # type: ignore[misc]
                first, second = {"projection": top}, {"projection": "none"}
                found[f"{data}: {method}, {top} - none"] = gain(results, first, second, **spot)
        measured[label] = found
        return better(found) and all(one.above for one in found.values())

    sound = attempt(lambda: check("library", ("gaussian-laplace-all", "gaussian-one-bit", "gaussian-laplace")))
    published = attempt(lambda: check("as published", PAPER_GAUSSIAN))
    reason = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(sound, published, measured, reason)


def numbers_are_private(results: Results) -> Finding:
    """Sections II-C and III-B: projected numbers are reported with ε-local privacy."""
    return Finding(
        Verdict.FAILS, {},
        f"{RAW}. No device could do that alone, and what it is told about others is not covered by ε. The ranges of "
        "the features themselves are known beforehand, as the paper says, and cost nothing. The library takes "
        "directions from a public sample",
    )  # fmt: skip
