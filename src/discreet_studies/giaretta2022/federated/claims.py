"""The claims of giaretta2022's federated part and how measurements decide them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from discreet_studies.claims import Claim, Finding, Verdict, attempt, finding, undecided
from discreet_studies.giaretta2022.federated.experiments import CATEGORICAL, CUT, DATA, KEPT, NODES, SIZES
from discreet_studies.results import Estimate, MissingResultsError, Results, average, difference

PAPER = "giaretta2022"
NEAR = 0.02  # two points of accuracy from the non-private model is "reaching" it
ALIKE = 0.01  # a point of accuracy is no difference that matters
SOUND, PUBLISHED = "federated", "paper"


def both(check: Callable[[str], tuple[bool, Any, str]]) -> Finding:
    """Judge a claim for the sound and for the as-published version."""
    measured: dict[str, Any] = {}
    words: list[str] = []

    def run(method: str) -> bool:
        passed, numbers, text = check(method)
        measured[method] = numbers
        words.append(f"{method}: {text}")
        return passed

    sound, published = attempt(lambda: run(SOUND)), attempt(lambda: run(PUBLISHED))
    return finding(sound, published, measured, "; ".join(words))


def accuracy(results: Results, data: str, method: str, nodes: int, epsilon: float) -> Estimate:
    """Mean accuracy of the sweep."""
    return results.estimate(experiment="sweep", data=data, method=method, nodes=nodes, epsilon=epsilon)


def plain(results: Results, data: str) -> float:
    """Accuracy without privacy."""
    return results.estimate(experiment="sweep", data=data, method="plain").mean


def by_trials(results: Results, **spot: Any) -> Estimate:
    """Mean accuracy with the standard error that the spread of single trials implies: blocks are few, trials many."""
    found = results.where(**spot)
    counts = [row["count"] for row in found if row.get("spread") is not None]
    if not counts:
        raise MissingResultsError(f"no trials of {spot.get('method')} in {spot.get('experiment')}")
    mean = sum(row["accuracy"] * row["count"] for row in found) / sum(counts)
    freedom = sum(counts) - len(counts)
    variance = sum(row["spread"] ** 2 * (row["count"] - 1) for row in found) / freedom
    return Estimate(mean, (variance / sum(counts)) ** 0.5, sum(counts))


def alike(gaps: list[Estimate], tolerance: float) -> bool:
    """Whether no difference exceeds the tolerance; where the errors are too large to tell, nothing is known."""
    if any(abs(gap.mean) - 4 * gap.error > tolerance for gap in gaps):
        return False
    if any(abs(gap.mean) + gap.error > 2 * tolerance for gap in gaps):
        worst = max(gaps, key=lambda gap: abs(gap.mean) + gap.error)
        raise undecided(
            f"a difference of {tolerance} from none, {worst}", [(worst, (math.copysign(2 * tolerance, worst.mean),))]
        )
    return True


def epsilons(results: Results, data: str, method: str) -> list[float]:
    """The ε of the sweep."""
    found = results.values("epsilon", experiment="sweep", data=data, method=method)
    if not found:
        raise MissingResultsError(f"no sweep of {method} on {data}")
    return found


def reached(results: Results, data: str, method: str, nodes: int) -> float:
    """The least ε from which on accuracy stays within two points of the non-private model's; infinite if none."""
    goal, least = plain(results, data) - NEAR, float("inf")
    for epsilon in reversed(epsilons(results, data, method)):
        if accuracy(results, data, method, nodes, epsilon).mean < goal:
            break
        least = epsilon
    return least


def skin_at_one(results: Results) -> Finding:
    """Section 4.1: a value of 1 already yields maximum accuracy in all cases."""

    def check(method: str) -> tuple[bool, Any, str]:
        gaps = {}
        for nodes in NODES:
            curve = {e: accuracy(results, "skin", method, nodes, e) for e in epsilons(results, "skin", method)}
            gaps[nodes] = max(one.mean for one in curve.values()) - curve[1.0].mean
        worst = max(gaps, key=lambda n: gaps[n])
        text = f"at ε = 1 at most {gaps[worst]:.4f} below the best of the curve (N = {worst})"
        return gaps[worst] <= ALIKE, gaps, text

    return both(check)


def spect_is_hardest(results: Results) -> Finding:
    """Section 4.1: SPECT Heart represents the opposite extreme."""

    def check(method: str) -> tuple[bool, Any, str]:
        needed = {name: reached(results, name, method, 10) for name in DATA}
        lost = {
            name: plain(results, name)
            - average(accuracy(results, name, method, 10, e) for e in epsilons(results, name, method)).mean
            for name in DATA
        }
        hardest = max(needed, key=lambda name: (needed[name], lost[name]))
        words = ", ".join(f"{name} {value:g}" for name, value in needed.items())
        return hardest == "spect", {"epsilon": needed, "mean loss": lost}, f"ε that N = 10 needs: {words}"

    return both(check)


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


def beats_centralised(results: Results) -> Finding:
    """Section 4.1: better for small ε on Adult, and for all values of ε on Accelerometer."""

    def check(method: str) -> tuple[bool, Any, str]:
        passed, gains, words = _gains(results, method, {"method": "vaidya"})
        return passed, gains, f"N = 100 less Vaidya et al.: {words}"

    return both(check)


def gains_by_parting(results: Results) -> Finding:
    """Section 4.1, the reason given: local sensitivities fall when rows are parted."""

    def check(method: str) -> tuple[bool, Any, str]:
        passed, gains, words = _gains(results, method, {"method": method, "nodes": 1})
        return passed, gains, f"N = 100 less N = 1: {words}"

    return both(check)


def sensitivity_falls(results: Results) -> Finding:
    """Figure 3: local sensitivities fall with N on Adult and Accelerometer, hardly on Skin."""
    ratios = {
        name: {n: results.estimate("ratio", experiment="sensitivity", data=name, nodes=n).mean for n in (10, 100)}
        for name in ("accelerometer", "adult", "skin")
    }
    words = ", ".join(f"{name} {found[10]:.2f} and {found[100]:.2f}" for name, found in ratios.items())
    falls = ratios["skin"][100] > max(ratios["adult"][100], ratios["accelerometer"][100]) + 0.1
    text = f"mean local maximum at N = 10 and 100, beside N = 1: {words}; the sound version has no local sensitivity"
    return Finding(Verdict.UNSOUND if falls else Verdict.FAILS, ratios, text)


def close_to_centralised(results: Results) -> Finding:
    """Section 4.1: similar accuracy to centralised counterparts with the same or only slightly higher budget."""

    def check(method: str) -> tuple[bool, Any, str]:
        needed = {name: (reached(results, name, method, 1), reached(results, name, method, 10)) for name in DATA}
        close = [name for name, (one, ten) in needed.items() if ten <= one * 10**0.5 * 1.01 and ten < float("inf")]
        words = ", ".join(f"{name} {one:g} and {ten:g}" for name, (one, ten) in needed.items())
        text = f"ε needed at N = 1 and N = 10: {words}; half a decade more is slightly more"
        return len(close) > len(DATA) / 2, needed, text

    return both(check)


def uneven_sizes(results: Results) -> Finding:
    """Section 4.2, figure 4: nodes of different sizes perform equally well."""

    def check(method: str) -> tuple[bool, Any, str]:
        spot = {"experiment": "sizes", "data": "adult", "method": method}
        gaps: dict[str, Estimate] = {}
        for epsilon in results.values("epsilon", **spot):
            even = by_trials(results, partition=SIZES[0], epsilon=epsilon, **spot)
            for other in SIZES[1:]:
                uneven = by_trials(results, partition=other, epsilon=epsilon, **spot)
                gaps[f"{other}, ε = {epsilon:g}"] = difference(uneven, even)
        if not gaps:
            raise MissingResultsError(f"no laws of sizes for {method}")
        worst = max(gaps.values(), key=lambda gap: abs(gap.mean))
        return alike(list(gaps.values()), ALIKE), gaps, f"uneven less even sizes is {worst} at most"

    return both(check)


def cutoff_spares_typical(results: Results) -> Finding:
    """Section 4.2, figure 5: a cut-off does not change the typical accuracy, but the variance."""
    names = {SOUND: "cut-off", PUBLISHED: "paper"}

    def check(method: str) -> tuple[bool, Any, str]:
        found: dict[str, Any] = {}
        good = True
        for name in CUT:
            spot = {"experiment": "cut-off", "data": name, "method": names[method]}
            medians = {k: results.estimate("median", kept=k, **spot).mean for k in KEPT}
            spreads = {k: results.estimate("spread", kept=k, **spot).mean for k in KEPT}
            middle = [medians[k] for k in KEPT if 0.1 <= k <= 1.0]
            moved = max(middle) - min(middle)
            wider = max(spreads[KEPT[0]], spreads[1.0]) > 1.5 * min(spreads.values())
            found[name] = {"median": medians, "spread": spreads, "moved": moved}
            good = good and moved <= 2 * ALIKE and wider
        words = ", ".join(f"{name} {one['moved']:.4f}" for name, one in found.items())
        return good, found, f"median accuracy moves between keeping a tenth and all of the nodes by {words}"

    return both(check)


def local_sensitivity_is_private(results: Results) -> Finding:
    """Section 2.2: both notions of sensitivity guarantee that differential privacy is satisfied."""
    found = results.estimate("epsilon_found", experiment="audit", method="paper").mean
    verdict = Verdict.FAILS if found > 1.0 else Verdict.UNTESTED
    return Finding(verdict, {"lower bound": found}, f"at a claimed ε of 1 the audit finds ε ≥ {found:.2f}")


def secure_is_central(results: Results) -> Finding:
    """Beyond the paper: with noise shares N nodes cost one node's noise."""
    measured: dict[str, Any] = {}
    gaps: list[Estimate] = []
    for model in ("gaussian", "default"):
        for epsilon in (0.1, 1.0):
            spot: dict[str, Any] = {"experiment": "shares", "data": "adult", "model": model, "epsilon": epsilon}
            for nodes in (10, 100, 1000):
                row = {m: by_trials(results, method=m, nodes=nodes, **spot) for m in ("central", "federated", "secure")}
                gaps.append(difference(row["secure"], row["central"]))
                measured[f"{model}, ε = {epsilon:g}, N = {nodes}"] = row
    words = "; ".join(
        f"{name}: central {row['central'].mean:.4f}, secure {row['secure'].mean:.4f}, plain {row['federated'].mean:.4f}"
        for name, row in measured.items()
    )
    whole = average(gaps)
    good = alike(gaps, 0.003) and alike([whole], 0.002)
    return Finding(Verdict.HOLDS if good else Verdict.FAILS, measured, f"secure less central {whole}; {words}")


def weights_beat_cutoff(results: Results) -> Finding:
    """Beyond the paper: inverse-variance weights do what the best cut-off does, without choosing one."""
    measured = {}
    good = True
    for name in CUT:
        spot = {"experiment": "cut-off", "data": name}
        cuts = {k: results.estimate(method="cut-off", kept=k, **spot).mean for k in KEPT}
        weighed = results.estimate(method="inverse-variance", **spot).mean
        measured[name] = {"best cut-off": max(cuts.values()), "no cut-off": cuts[1.0], "inverse-variance": weighed}
        good = good and weighed >= max(cuts.values()) - ALIKE
    words = "; ".join(f"{n}: " + ", ".join(f"{k} {v:.4f}" for k, v in row.items()) for n, row in measured.items())
    return Finding(Verdict.HOLDS if good else Verdict.FAILS, measured, words)


CLAIMS = (
    Claim(PAPER, "On Skin ε = 1 already gives the highest accuracy for every N.", skin_at_one),
    Claim(PAPER, "SPECT needs the largest ε of all data sets.", spect_is_hardest),
    Claim(PAPER, "On categorical data accuracy falls as the number of nodes grows.", categorical_loses),
    Claim(PAPER, "Federated is better than Vaidya et al. for small ε on Adult and every ε on Accelerometer.",
          beats_centralised),
    Claim(PAPER, "The reason is that parting the rows lowers noise: 100 nodes are better there than one.",
          gains_by_parting),
    Claim(PAPER, "Local sensitivities fall as N grows on Adult and Accelerometer, but hardly on Skin.",
          sensitivity_falls),
    Claim(PAPER, "In most cases the centralised accuracy needs the same or a slightly higher ε.", close_to_centralised),
    Claim(PAPER, "Nodes of very different sizes do equally well.", uneven_sizes),
    Claim(PAPER, "Cutting off noisy nodes changes the variance, not the typical accuracy.", cutoff_spares_typical),
    Claim(PAPER, "Noise scaled to the local sensitivity guarantees differential privacy.",
          local_sensitivity_is_private),
    Claim("discreet", "With secure aggregation N nodes are as accurate as one trusted curator.",
          secure_is_central),
    Claim("discreet", "Inverse-variance weights reach the best cut-off's accuracy without choosing one.",
          weights_beat_cutoff),
)  # fmt: skip
