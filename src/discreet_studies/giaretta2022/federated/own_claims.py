"""Claims of our own about federations: secure sums, weights, skewed rows, and features chosen in a first round."""

from __future__ import annotations

from typing import Any

from discreet_studies.claims import Claims, Finding, verdict_of
from discreet_studies.giaretta2022.federated.experiments import CHOSEN, CUT, DATA, KEPT
from discreet_studies.giaretta2022.federated.measures import ALIKE, PUBLISHED, alike, by_trials
from discreet_studies.results import Estimate, MissingResultsError, Results, average, difference

CLAIMS = Claims("giaretta2022")


@CLAIMS.ours("With secure aggregation N nodes are as accurate as one trusted curator.")
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
    return Finding(verdict_of(good), measured, f"secure less central {whole}; {words}")


@CLAIMS.ours("Inverse-variance weights reach the best cut-off's accuracy without choosing one.")
def weights_beat_cutoff(results: Results) -> Finding:
    """Beyond the paper: inverse-variance weights do what the best cut-off does, without choosing one."""
    measured = {}
    good = True
    for name in CUT:
        spot = {"experiment": "cut-off", "data": name}
        cuts = {k: results.estimate(method="cut-off", kept=k, **spot) for k in KEPT}
        best = max(cuts.values(), key=lambda one: one.mean)
        weighed = results.estimate(method="inverse-variance", **spot)
        measured[name] = {"best cut-off": best, "no cut-off": cuts[1.0], "inverse-variance": weighed}
        gap = difference(weighed, best)
        good = good and gap.mean + 2 * gap.error >= -ALIKE
    words = "; ".join(f"{n}: " + ", ".join(f"{k} {v}" for k, v in row.items()) for n, row in measured.items())
    return Finding(verdict_of(good), measured, words)


@CLAIMS.ours("Rows that gather by class or likeness cost inverse-variance weights no more than two points.")
def skewed_rows(results: Results) -> Finding:
    """Section 6: rows that gather by class or by likeness. Sound sums are the same; weights and maxima are not."""
    measured: dict[str, Estimate] = {}
    for method in (PUBLISHED, "inverse-variance"):
        for name in DATA:
            for partition in ("label-skew", "clustered"):
                gaps = []
                for epsilon in (0.1, 1.0, 10.0):
                    spot: dict[str, Any] = {"experiment": "skew", "data": name, "method": method, "epsilon": epsilon}
                    if results.where(partition=partition, **spot):
                        even = results.estimate(partition="uniform", **spot)
                        gaps.append(difference(results.estimate(partition=partition, **spot), even))
                if gaps:
                    measured[f"{method}, {name}, {partition}"] = average(gaps)
    if not measured:
        raise MissingResultsError("no rows were dealt out unevenly")
    ours = {key: one for key, one in measured.items() if not key.startswith(PUBLISHED)}
    lost = min(ours.values(), key=lambda one: one.mean)
    words = ", ".join(f"{key} {one}" for key, one in measured.items())
    verdict = verdict_of(all(one.mean + 2 * one.error > -2 * ALIKE for one in ours.values()))
    return Finding(verdict, measured, f"less an even deal, N = 100, mean over ε: worst of the weights {lost}; {words}")


@CLAIMS.ours("At ε = 0.1 a first round that chooses features pays on most data sets.")
def choosing_first(results: Results) -> Finding:
    """Section 6: features chosen in a first round, at half the budget, against all features at the whole budget."""
    measured: dict[str, Any] = {}
    helped = []
    for name in CHOSEN:
        for epsilon in (0.1, 1.0, 10.0):
            spot: dict[str, Any] = {"experiment": "selection", "data": name, "epsilon": epsilon, "nodes": 100}
            whole = results.estimate(k=0, **spot)
            gaps = {k: difference(results.estimate(k=k, **spot), whole) for k in (3, 8)}
            best = max(gaps, key=lambda k: gaps[k].mean)
            measured[f"{name}, ε = {epsilon:g}"] = gaps[best]
            if epsilon == 0.1:
                helped.append(gaps[best].above)
    words = ", ".join(f"{key} {one}" for key, one in measured.items())
    verdict = verdict_of(sum(helped) > len(helped) / 2)
    return Finding(verdict, measured, f"the better of 3 and 8 features less all of them, N = 100: {words}")
