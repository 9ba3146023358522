"""What yilmaz2020 says about numbers and projections, and how measurements decide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from discreet_studies.claims import (
    SANE,
    Attempt,
    Claims,
    Finding,
    Found,
    Verdict,
    attempt,
    best_of,
    better,
    finding,
    side_by_side,
    undecided,
    words,
)
from discreet_studies.published.yilmaz2020 import RAW
from discreet_studies.results import Estimate, Results, difference
from discreet_studies.yilmaz2020.comparisons import gain, mean
from discreet_studies.yilmaz2020.experiments import CONTINUOUS_DATA, FEATURES, PAPER_DIMS
from discreet_studies.yilmaz2020.methods import (
    OURS_BUCKETS,
    OURS_GAUSSIAN,
    PAPER_BUCKETS,
    PAPER_GAUSSIAN,
)

CLAIMS = Claims("yilmaz2020")
# One report each, after directions from a public sample; and as published, after those of the private rows.
PROJECTED = (("library, public sample", "buckets-auto"), ("as published", "paper-buckets-de"))


def _best(results: Results, methods: Sequence[str], **spot: Any) -> str:
    return max(methods, key=lambda m: mean(results, method=m, **spot))


def _buckets_and_curves(results: Results, lead: Callable[..., Estimate], what: str) -> Finding:
    """How far the best buckets are ahead of the best curves, in one sense or another."""

    def compare(binned: Sequence[str], curved: Sequence[str]) -> Found:
        found: Found = {}
        for data in CONTINUOUS_DATA:
            for projection in ("none", "dca"):  # the two with the same dimensions in both experiments
                spot: dict[str, Any] = {"data": data, "projection": projection}
                first = {"experiment": "buckets", "method": _best(results, binned, experiment="buckets", **spot)}
                second = {"experiment": "gaussian", "method": _best(results, curved, experiment="gaussian", **spot)}
                found[f"{data}, {projection}"] = lead(first, second, **spot)
        return found

    return side_by_side(
        compare, ("library", OURS_BUCKETS, OURS_GAUSSIAN), ("as published", PAPER_BUCKETS, PAPER_GAUSSIAN), what
    )


@CLAIMS.says("Discretisation is more accurate than Gaussian Naive Bayes.")
def buckets_beat_curves(results: Results) -> Finding:
    """Section IV-B: discretisation is more accurate than Gaussian Naive Bayes."""
    return _buckets_and_curves(results, partial(gain, results), "best buckets less best curves over all ε")


@CLAIMS.says("DCA to one dimension is the best projection, and better than none.")
def one_discriminant_dimension(results: Results) -> Finding:
    """Section IV-B: DCA to one dimension is the best of all projections."""

    def compare(method: str) -> Found:
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
        return found

    return side_by_side(compare, *PROJECTED, "DCA to one dimension less the best other projection")


@CLAIMS.says("PCA is best at 1 dimension on Australian and 6 on Diabetes, DCA at 1 on both.")
def best_dimensions(results: Results) -> Finding:
    """Section IV-B: best are 1 dimension on Australian, and 6 for PCA and 1 for DCA on Diabetes."""

    def compare(method: str) -> Found:
        found: Found = {}
        for (data, projection), dims in PAPER_DIMS.items():
            spot: dict[str, Any] = {"experiment": "dimensions", "data": data, "projection": projection}
            spot["method"] = method
            others = [d for d in range(1, FEATURES[data] + 1) if d != dims]
            top = max(others, key=lambda d, s=spot: mean(results, dims=d, **s))  # type: ignore[misc]
            found[f"{data}, {projection}: {dims} - {top}"] = gain(results, {"dims": dims}, {"dims": top}, **spot)
        return found

    def passes(found: Found) -> bool:
        if any(one.below for one in found.values()):
            return False
        unclear = [(one, (-SANE,)) for one in found.values() if one.mean - 2 * one.error < -SANE]
        if unclear:
            raise undecided(f"a loss of {SANE} against the best other number from none, {words(found)}", unclear)
        return True

    return side_by_side(compare, *PROJECTED, "buckets, the printed number of dimensions less the best other", passes)


@CLAIMS.says("The lead of discretisation is largest at small ε.")
def buckets_win_most_at_small(results: Results) -> Finding:
    """Section IV-B: the superiority of discretisation is more apparent for smaller ε."""

    def lead(first: dict[str, Any], second: dict[str, Any], **spot: Any) -> Estimate:
        small, large = (gain(results, first, second, keep, **spot) for keep in (lambda e: e <= 1, lambda e: e > 2))
        return difference(small, large)

    return _buckets_and_curves(results, lead, "lead of buckets over curves at ε ≤ 1 less that at ε > 2")


@CLAIMS.says("Of the three approaches to several numbers the first is the worst.")
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

    # On known ranges and without a projection the published approaches are private as they stand.
    library = attempt(lambda: check("library", "gaussian-laplace-all", ("gaussian-one-bit", "gaussian-laplace")))
    published = attempt(lambda: check("as published", PAPER_GAUSSIAN[0], PAPER_GAUSSIAN[1:]))
    reason = "; ".join(f"{label}: {words(found)}" for label, found in measured.items())
    return finding(
        best_of([library, published]), Attempt(False), measured, f"on all features, over all ε: {reason}"
    )  # fmt: skip


@CLAIMS.says("PCA or DCA always improves Gaussian Naive Bayes.")
def projections_help_curves(results: Results) -> Finding:
    """Section IV-B: DCA or PCA always performs better than the original data, for all perturbation approaches."""

    def compare(methods: Sequence[str]) -> Found:
        found: Found = {}
        for data in CONTINUOUS_DATA:
            for method in methods:
                spot: dict[str, Any] = {"experiment": "gaussian", "data": data, "method": method}
                top = max(("pca", "dca"), key=lambda p, s=spot: mean(results, projection=p, **s))  # type: ignore[misc]
                first, second = {"projection": top}, {"projection": "none"}
                found[f"{data}: {method}, {top} - none"] = gain(results, first, second, **spot)
        return found

    sound = ("library", ("gaussian-laplace-all", "gaussian-one-bit", "gaussian-laplace"))
    return side_by_side(
        compare, sound, ("as published", PAPER_GAUSSIAN), "the better projection less all features, over all ε",
        lambda found: better(found) and all(one.above for one in found.values()),
    )  # fmt: skip


@CLAIMS.says("Projected numbers are reported with ε-local privacy.")
def numbers_are_private(results: Results) -> Finding:
    """Sections II-C and III-B: projected numbers are reported with ε-local privacy."""
    return Finding(
        Verdict.FAILS, {},
        f"{RAW}. No device could do that alone, and what it is told about others is not covered by ε. The ranges of "
        "the features themselves are known beforehand, as the paper says, and cost nothing. The library takes "
        "directions from a public sample",
        proof="audit:control-yilmaz2020-projection",
    )  # fmt: skip
