"""What zafarani2021 says about the cost of training, measured on its own algorithms in processor time."""

from __future__ import annotations

import math
from typing import Any

from discreet_studies.claims import Attempt, Claims, Finding, attempt, finding, undecided, verdict_of
from discreet_studies.results import Estimate, MissingResultsError, Results, slope

CLAIMS = Claims("zafarani2021")

FEW = 5000  # the size that the paper names
FIXED = 50_000  # below this many rows a fit of the library is mostly fixed cost


def times(results: Results, method: str, least: int = 0) -> list[tuple[float, float]]:
    """(rows, processor seconds) of every timed fit."""
    rows = results.where(experiment="time", method=method)
    found = [(float(row["train_rows"]), float(row["fit_seconds"])) for row in rows if row["train_rows"] >= least]
    if not found:
        failed = [row["error"] for row in results.failures if row["method"] == method]
        raise MissingResultsError(f"{method} was not timed" + (f": {failed[0]}" if failed else ""))
    return sorted(found)


def growth(results: Results, method: str, least: int) -> Estimate:
    """The log-log slope of the time beyond that of the smallest size, which is fixed cost."""
    points = times(results, method)
    base = min(seconds for rows, seconds in points if rows == points[0][0])
    return slope((rows, seconds - base) for rows, seconds in points if rows >= least and seconds > base)


def ratio(results: Results, slow: str, fast: str, rows: float) -> Estimate:
    """The logarithm to base ten of how many times as long one fit takes as another, over repeats."""
    pairs = [
        {row["repeat"]: row["fit_seconds"] for row in results.where(experiment="time", method=name, train_rows=rows)}
        for name in (slow, fast)
    ]
    return Estimate.of(math.log10(pairs[0][one] / pairs[1][one]) for one in sorted(pairs[0].keys() & pairs[1].keys()))


@CLAIMS.says("Smooth sensitivity makes the cost of training grow as n².")
def quadratic_cost(results: Results) -> Finding:
    """Theorem 10 and section 7.3: smooth sensitivity takes training to O(n²)."""
    literal = growth(results, "paper-literal", FEW)
    measured: dict[str, Any] = {"exponent of Algorithm 1 with the printed search": literal}
    for method in ("paper-global", "smooth", "vaidya"):
        measured[f"exponent of {method}"] = growth(results, method, FIXED)
    ours = measured["exponent of smooth"]
    passed = {name: one.mean - 2 * one.error > 1.5 for name, one in (("ours", ours), ("literal", literal))}
    return Finding(
        verdict_of(passed["ours"], passed["literal"]), measured,
        "processor time of whole fits beyond the fixed cost grows as n to the power of: "
        + "; ".join(f"{name.removeprefix('exponent of ')} {one}" for name, one in measured.items())
        + ". The quadratic cost is that of the printed search, not of smooth sensitivity",
        proof="proof:smooth-sensitivity.md",
    )  # fmt: skip


@CLAIMS.says("The run-time gap falls from ten times at 5,000 rows to three at a million.")
def shrinking_gap(results: Results) -> Finding:
    """Section 7.3: nearly an order of magnitude at 5,000 rows, half of one with over a million."""
    measured: dict[str, Any] = {}
    pairs = {"printed search": ("paper-literal", "paper-global"), "library": ("smooth", "vaidya")}
    for label, (slow, fast) in pairs.items():
        sizes = sorted({rows for rows, _ in times(results, slow)} & {rows for rows, _ in times(results, fast)})
        few = next(rows for rows in sizes if rows >= FEW)
        measured[label] = {f"{rows:.0f} rows": ratio(results, slow, fast, rows) for rows in (few, sizes[-1])}
    first, last = measured["printed search"].values()
    fall = Estimate(first.mean - last.mean, math.hypot(first.error, last.error), min(first.count, last.count))
    measured["fall with the printed search"] = fall

    def check() -> bool:
        if not math.isfinite(fall.error) or not (fall.above or fall.below):
            raise undecided(f"whether the gap falls, {fall}", [(fall, (0.0,))])
        return fall.above

    words = "; ".join(
        f"{label}: " + ", ".join(f"{10**one.mean:.1f} times at {size}" for size, one in found.items())
        for label, found in measured.items() if isinstance(found, dict)
    )  # fmt: skip
    return finding(
        attempt(check), Attempt(False), measured,
        f"smooth over global in processor time: {words} (± of the logarithms to base ten: "
        f"{first.error:.3f} and {last.error:.3f}). With a search over n² pairs the gap can only grow, so the printed "
        "fall over two hundred times the rows is not of the printed search",
    )  # fmt: skip
