"""The claims of giaretta2022's federated part and how measurements decide them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet_studies.claims import Claims, Finding, Verdict, attempt, finding, reading, undecided
from discreet_studies.giaretta2022.federated import own_claims
from discreet_studies.giaretta2022.federated.experiments import CATEGORICAL, CUT, DATA, KEPT, NODES, SIZES
from discreet_studies.giaretta2022.federated.measures import (
    ALIKE,
    PUBLISHED,
    SOUND,
    accuracy,
    alike,
    both,
    by_trials,
    epsilons,
    plain,
    reached,
)
from discreet_studies.results import Estimate, MissingResultsError, Results, average, difference

CLAIMS = Claims("giaretta2022")


@CLAIMS.says("On Skin ε = 1 already gives the highest accuracy for every N.")
def skin_at_one(results: Results) -> Finding:
    """Section 4.1: a value of 1 already yields maximum accuracy in all cases."""

    def check(method: str) -> tuple[bool, Any, str]:
        gaps = {}
        for nodes in NODES:
            curve = {e: accuracy(results, "skin", method, nodes, e) for e in epsilons(results, "skin", method)}
            gaps[nodes] = difference(max(curve.values(), key=lambda one: one.mean), curve[1.0])
        worst = max(gaps, key=lambda n: gaps[n].mean)
        text = f"at ε = 1 at most {gaps[worst]} below the best of the curve (N = {worst})"
        return alike(list(gaps.values()), ALIKE), gaps, text

    return both(check)


def _lost(results: Results, data: str, method: str) -> Estimate:
    """What ten nodes lose to noise on average over ε; accuracy without it is exact."""
    mean = average(accuracy(results, data, method, 10, e) for e in epsilons(results, data, method))
    return Estimate(plain(results, data) - mean.mean, mean.error, mean.count)


@CLAIMS.says("SPECT needs the largest ε of all data sets.")
def spect_is_hardest(results: Results) -> Finding:
    """Section 4.1: SPECT Heart represents the opposite extreme."""

    def check(method: str) -> tuple[bool, Any, str]:
        needed = {name: reached(results, name, method, 10) for name in DATA}
        lost = {name: _lost(results, name, method) for name in DATA}
        hardest = max(needed, key=lambda name: (needed[name], lost[name].mean))
        words = ", ".join(f"{name} {value:g} (mean loss {lost[name]})" for name, value in needed.items())
        return hardest == "spect", {"epsilon": needed, "mean loss": lost}, f"ε that N = 10 needs: {words}"

    return both(check)


@CLAIMS.says("On categorical data accuracy falls as the number of nodes grows.")
def categorical_loses(results: Results) -> Finding:
    """Section 4.1: the accuracy decreases for a larger number of nodes."""

    def check(method: str) -> tuple[bool, Any, str]:
        drops: dict[str, Estimate] = {}
        for name in CATEGORICAL:
            grid = epsilons(results, name, method)
            few, many = (average(accuracy(results, name, method, n, e) for e in grid) for n in (1, 1000))
            drops[name] = difference(few, many)
        words = ", ".join(f"{name} {one}" for name, one in drops.items())
        return all(one.above for one in drops.values()), drops, f"mean accuracy lost from N = 1 to 1000: {words}"

    return both(check)


@CLAIMS.says("When ε is low the noise completely hinders the prediction.")
def low_budgets_hinder(results: Results) -> Finding:
    """Section 4.1: the smallest ε, 0.01, leaves no more than the majority class on most data sets, whatever N."""

    def check(method: str) -> tuple[bool, Any, str]:
        gains: dict[str, Estimate] = {}
        for name in DATA:
            least = epsilons(results, name, method)[0]
            one = average(accuracy(results, name, method, n, least) for n in NODES)
            majority = results.where(experiment="sweep", data=name, method=method)[0]["majority"]
            gains[name] = Estimate(one.mean - majority, one.error, one.count)
        lost = sum(one.mean + 2 * one.error <= ALIKE for one in gains.values())
        kept = sum(one.mean - 2 * one.error > ALIKE for one in gains.values())
        told = ", ".join(f"{name} {one}" for name, one in gains.items())
        if lost <= len(gains) / 2 < len(gains) - kept:
            raise undecided(f"a gain of {ALIKE} from none for {method}, {told}",
                            [(one, (ALIKE,)) for one in gains.values()])  # fmt: skip
        return lost > len(gains) / 2, gains, f"at ε = 0.01, mean over N, less the majority class: {told}"

    return both(check)


def _gains(results: Results, method: str, baseline: dict[str, Any]) -> tuple[bool, Any, str]:
    """Accuracy of 100 nodes less a baseline's: for small ε on Adult, for every ε on Accelerometer."""
    gains = {}
    for name, most in (("adult", 0.4), ("accelerometer", 11.0)):
        spot = {"experiment": "sweep", "data": name}
        gains[name] = average(
            difference(accuracy(results, name, method, 100, e), results.estimate(epsilon=e, **spot, **baseline))
            for e in epsilons(results, name, method)
            if e < most
        )
    words = ", ".join(f"{name} {one}" for name, one in gains.items())
    lost = any(one.below or one.mean + 2 * one.error <= ALIKE for one in gains.values())
    if not lost and not all(one.above for one in gains.values()):
        unclear = [(one, (0.0, ALIKE)) for one in gains.values() if not one.above]
        raise undecided(f"a gain of {ALIKE} from none for {method}, {words}", unclear)
    return not lost, gains, words


@CLAIMS.says("Federated is better than Vaidya et al. for small ε on Adult and every ε on Accelerometer.")
def beats_centralised(results: Results) -> Finding:
    """Section 4.1: better for small ε on Adult, and for all values of ε on Accelerometer."""

    def check(method: str) -> tuple[bool, Any, str]:
        passed, gains, words = _gains(results, method, {"method": "vaidya"})
        return passed, gains, f"N = 100 less Vaidya et al.: {words}"

    return both(check)


@CLAIMS.says("The reason is that parting the rows lowers noise: 100 nodes are better there than one.")
def gains_by_parting(results: Results) -> Finding:
    """Section 4.1, the reason given: local sensitivities fall when rows are parted."""

    def check(method: str) -> tuple[bool, Any, str]:
        passed, gains, words = _gains(results, method, {"method": method, "nodes": 1})
        return passed, gains, f"N = 100 less N = 1: {words}"

    return both(check)


@CLAIMS.says("Local sensitivities fall as N grows on Adult and Accelerometer, but hardly on Skin.")
def sensitivity_falls(results: Results) -> Finding:
    """Figure 3: local sensitivities fall with N on Adult and Accelerometer, hardly on Skin."""
    ratios = {
        name: {n: results.estimate("ratio", experiment="sensitivity", data=name, nodes=n).mean for n in (10, 100)}
        for name in ("accelerometer", "adult", "skin")
    }
    words = ", ".join(f"{name} {found[10]:.2f} and {found[100]:.2f}" for name, found in ratios.items())
    falls = ratios["skin"][100] > max(ratios["adult"][100], ratios["accelerometer"][100]) + 0.1
    text = f"mean local maximum at N = 10 and 100, beside N = 1: {words}; the sound version has no local sensitivity"
    rows = results.where(experiment="sensitivity", data="adult", nodes=100)[0]
    spread = Estimate(float(rows["ratio"]), float(rows["q75"] - rows["q25"]) / 1.35 / 1200**0.5, 1200)
    measured = {**ratios, "adult, mean over 100 nodes, 6 numbers and 2 classes": spread}
    return Finding(
        Verdict.UNSOUND if falls else Verdict.FAILS, measured, text, "audit:control-giaretta2022-as-published"
    )


@CLAIMS.says("In most cases the centralised accuracy needs the same or a slightly higher ε.")
def close_to_centralised(results: Results) -> Finding:
    """Section 4.1: similar accuracy to centralised counterparts with the same or only slightly higher budget."""

    def check(method: str) -> tuple[bool, Any, str]:
        needed = {name: (reached(results, name, method, 1), reached(results, name, method, 10)) for name in DATA}
        close = [name for name, (one, ten) in needed.items() if ten <= one * 10**0.5 * 1.01 and ten < float("inf")]
        words = ", ".join(f"{name} {one:g} and {ten:g}" for name, (one, ten) in needed.items())
        text = f"ε needed at N = 1 and N = 10: {words}; half a decade more is slightly more"
        errors = {name: accuracy(results, name, method, 10, epsilons(results, name, method)[-1]) for name in DATA}
        return len(close) > len(DATA) / 2, {"epsilon": needed, "at the largest ε": errors}, text

    return both(check)


@CLAIMS.says("Federated models are comparable to centralised ones: of use at N = 1000 and ε = 10^0.5.")
def useful_at_a_thousand(results: Results) -> Finding:
    """Sections 1 and 7: accuracy comparable to the centralised counterpart; here at the N and ε of figures 6 and 7.

    A model below the larger class's share is of no use, however well everybody agrees about it.
    """
    epsilon = round(10**0.5, 6)

    def check(method: str) -> tuple[bool, Any, str]:
        found: dict[str, dict[str, Any]] = {}
        useless: list[str] = []
        for name in DATA:
            spot: dict[str, Any] = {"experiment": "sweep", "data": name, "method": method, "nodes": 1000}
            one = results.estimate(epsilon=epsilon, **spot)
            majority = results.where(epsilon=epsilon, **spot)[0]["majority"]
            found[name] = {"accuracy": one, "majority": majority, "without privacy": plain(results, name)}
            if one.mean + 2 * one.error < majority:
                useless.append(name)
        words = ", ".join(
            f"{name} {one['accuracy'].mean:.3f} ± {one['accuracy'].error:.3f} (majority {one['majority']:.3f})"
            for name, one in found.items()
        )
        text = f"N = 1000, ε = {epsilon:.2f}: {words}; below the majority class: {', '.join(useless) or 'none'}"
        text += f" ({reading('on all but SPECT, which the text names the hardest', lambda: set(useless) <= {'spect'})})"
        return not useless, found, text

    return both(check)


def _uneven(results: Results, names: tuple[str, ...]) -> Finding:
    gaps: dict[str, Estimate] = {}
    drawn: list[bool] = []  # figure 4 draws the standard deviation of single trials
    for name in names:
        spot = {"experiment": "sizes", "data": name, "method": PUBLISHED}
        for epsilon in results.values("epsilon", **spot):
            even = by_trials(results, partition=SIZES[0], epsilon=epsilon, **spot)
            for other in SIZES[1:]:
                uneven = by_trials(results, partition=other, epsilon=epsilon, **spot)
                gaps[f"{name}, {other}, ε = {epsilon:g}"] = difference(uneven, even)
                drawn.append(abs(uneven.mean - even.mean) <= even.error * even.count**0.5)
    if not gaps:
        raise MissingResultsError("no laws of sizes")
    worst = max(gaps, key=lambda one: abs(gaps[one].mean))
    passed = attempt(lambda: alike(list(gaps.values()), ALIKE))
    other = reading("within the standard deviation of single trials, which figure 4 draws", lambda: all(drawn))
    reason = (
        f"as published, uneven less even sizes is {gaps[worst]} at most ({worst}); sound sums do not see sizes. "
        f"Another reading: {other}"
    )
    return finding(passed, passed, gaps, reason)


@CLAIMS.says("Nodes of very different sizes do equally well on Adult (figure 4).")
def uneven_sizes(results: Results) -> Finding:
    """Section 4.2, figure 4: nodes of different sizes perform equally well on Adult.

    A sound sum does not depend on who holds which row: it has no difference to measure.
    """
    return _uneven(results, ("adult",))


@CLAIMS.says("Sizes do not matter on the other data sets either.")
def uneven_elsewhere(results: Results) -> Finding:
    """The caption of figure 4: similar results are achieved on other datasets."""
    return _uneven(results, tuple(name for name in DATA if name != "adult"))


def cut_levels(results: Results, data: str, method: str) -> dict[float, tuple[Estimate, Estimate]]:
    """Median accuracy and its spread from run to run, by the share of nodes that are kept."""
    spot = {"experiment": "cut-off", "data": data, "method": method}
    return {k: (results.estimate("median", kept=k, **spot), results.estimate("spread", kept=k, **spot)) for k in KEPT}


@CLAIMS.says("Cutting off noisy nodes changes the variance, not the typical accuracy.")
def cutoff_spares_typical(results: Results) -> Finding:
    """Section 4.2, figure 5: a cut-off does not change the typical accuracy, but the variance."""

    def check(method: str) -> tuple[bool, Any, str]:
        found: dict[str, Any] = {}
        outcome = []
        for name in CUT:
            table = cut_levels(results, name, method)
            middle = {k: one for k, (one, _) in table.items() if 0.1 <= k <= 1.0}
            high, low = (pick(middle.values(), key=lambda one: one.mean) for pick in (max, min))
            moved = difference(high, low)
            spreads = {k: spread for k, (_, spread) in table.items()}
            least = min(spreads.values(), key=lambda one: one.mean)
            ends = difference(max(spreads[KEPT[0]], spreads[1.0], key=lambda one: one.mean), least)
            found[name] = {"median moves": moved, "spread at the ends less the least": ends}
            outcome += [moved.mean - 2 * moved.error <= 2 * ALIKE, ends.above]
        words = ", ".join(f"{name}: {', '.join(f'{k} {v}' for k, v in one.items())}" for name, one in found.items())
        return all(outcome), found, f"between keeping a tenth and all of the nodes, two points are no change: {words}"

    # Which nodes are cut depends on what equation 28 makes of terms that divide by zero, which the text leaves open.
    readings = ["paper", "paper-left-out"] if results.where(method="paper-left-out") else ["paper"]
    return both(check, sound="cut-off", published=readings)


READINGS = {"errors": "divided by one", "errors_left_out": "left out"}  # terms of equation 28 that divide by zero


def _powers(results: Results, column: str) -> dict[str, dict[str, Estimate]]:
    """The powers of ε and of rows in the errors of one federation's nodes, by least squares of logarithms."""
    found: dict[str, dict[str, Estimate]] = {}
    for name in CUT:
        rows = results.where(experiment="nodes", data=name)
        if not rows or column not in rows[0]:
            raise MissingResultsError(f"no nodes of {name}")
        sizes, budgets, errors = (np.log(json.loads(rows[0][key])) for key in ("sizes", "epsilons", column))
        design = np.column_stack([np.ones(len(sizes)), budgets, sizes])
        solved, rest, *_ = np.linalg.lstsq(design, errors, rcond=None)
        spread = float(rest[0]) / max(len(sizes) - 3, 1) if len(rest) else 0.0
        error = np.sqrt(spread * np.diag(np.linalg.inv(design.T @ design)))
        found[name] = {
            what: Estimate(float(solved[i]), float(error[i]), len(sizes)) for i, what in ((1, "ε"), (2, "rows"))
        }
    return found


def _by_powers(results: Results, passed: Callable[[dict[str, dict[str, Estimate]]], bool], note: str) -> Finding:
    """Judge a sentence on figure 5, left, by both readings of equation 28; the one that suits it counts."""
    found = {said: _powers(results, column) for column, said in READINGS.items()}
    rows = {name: results.where(experiment="nodes", data=name)[0] for name in CUT}
    lost = ", ".join(f"{row['undefined']} of {len(json.loads(row['sizes']))} on {name}" for name, row in rows.items())
    words = "; ".join(
        f"{said} ({'shown' if passed(table) else 'not shown'}): "
        + ", ".join(f"{name} power of ε {one['ε']}, of rows {one['rows']}" for name, one in table.items())
        for said, table in found.items()
    )
    return Finding(
        Verdict.UNSOUND if any(map(passed, found.values())) else Verdict.FAILS,
        found,
        f"equation 28's error of the as-published nodes of one federation, least squares of logarithms. As printed it "
        f"divides by zero at nodes that lack a class or a value ({lost}), and the text does not say what then; with "
        f"such terms {words}. Of two readings that the text leaves open the one that suits the claim counts. {note}; "
        "the error needs the true statistics, which a sound coordinator has not",
    )


@CLAIMS.says("The error of a node depends mostly on its ε, and on its size as well (figure 5, left).")
def noise_by_epsilon_and_size(results: Results) -> Finding:
    """Section 4.2, figure 5 left: a node's error depends mostly on ε, and significantly on its size as well."""

    def passed(table: dict[str, dict[str, Estimate]]) -> bool:
        return all(
            one["ε"].below and one["rows"].below and difference(one["rows"], one["ε"]).above for one in table.values()
        )

    return _by_powers(results, passed, "Mostly means: a larger power of ε than of rows on both data sets")


@CLAIMS.says(
    "Its size matters most where features are categories, as on Adult, its ε where they are numbers (figure 5, left)."
)
def size_matters_by_kind(results: Results) -> Finding:
    """Section 4.2: ε counts most where features are numbers (Skin), size where they are categories (Adult)."""

    def passed(table: dict[str, dict[str, Estimate]]) -> bool:
        return difference(table["skin"]["rows"], table["adult"]["rows"]).above

    return _by_powers(results, passed, "Shown means: a steeper power of rows on Adult than on Skin")


@CLAIMS.says("The worst accuracies come with a single node below the threshold (figure 5, right).")
def worst_with_fewest(results: Results) -> Finding:
    """Section 4.2, figure 5 right: the worst accuracies are obtained when only a single node is below the threshold."""
    names = {SOUND: "cut-off", PUBLISHED: "paper"}

    def check(method: str) -> tuple[bool, Any, str]:
        found: dict[str, Estimate] = {}
        for name in CUT:
            spot = {"experiment": "cut-off", "data": name, "method": names[method]}
            lows = {k: results.estimate("lowest", kept=k, **spot) for k in KEPT}
            second = min((one for k, one in lows.items() if k != KEPT[0]), key=lambda one: one.mean)
            found[name] = difference(second, lows[KEPT[0]])
        words = ", ".join(f"{name} {one}" for name, one in found.items())
        return all(one.above for one in found.values()), found, f"{words}"

    return both(check, "by how much the worst run is worse with the fewest nodes than with any other number; ")


@CLAIMS.says("Noise scaled to the local sensitivity guarantees differential privacy.")
def local_sensitivity_is_private(results: Results) -> Finding:
    """Section 2.2: both notions of sensitivity guarantee that differential privacy is satisfied."""
    found = results.estimate("epsilon_found", experiment="audit", method="paper").mean
    verdict = Verdict.FAILS if found > 1.0 else Verdict.UNDECIDED
    return Finding(
        verdict, {"lower bound": found}, f"at a claimed ε of 1 the audit finds ε ≥ {found:.2f} (20,000 samples)",
        "audit:control-giaretta2022-as-published",
    )  # fmt: skip


CLAIMS += own_claims.CLAIMS
