"""Claims of thesis2015 about single features: thresholds, scores, chances, words, and what rows or budget buy."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from discreet_studies.claims import Claims, Finding, Verdict, undecided, verdict_of
from discreet_studies.results import Estimate, MissingResultsError, Results, difference
from discreet_studies.thesis2015.selection.experiments import FIXED_THRESHOLDS, HALVES, QUANTILES
from discreet_studies.thesis2015.selection.portraits import chances, information_reach

CLAIMS = Claims("thesis2015")

SMALL = 0.02  # two points are no change worth the name


def reaches(gain: Estimate, goal: float) -> bool:
    """Whether a gain reaches a goal; where two standard errors leave both possible, nothing is known."""
    if abs(gain.mean - goal) <= 2 * gain.error and not gain.mean >= goal + gain.error:
        raise undecided(f"whether {gain} reaches {goal}", [(gain, (goal,))])
    return gain.mean >= goal


def threshold_curve(results: Results, data: str, metric: str = "accuracy") -> dict[str, Estimate]:
    """Figures 3.1 to 3.3: a measurement by all eleven thresholds, in rows and in quantiles of the noise."""
    spot: dict[str, Any] = {"experiment": "threshold", "data": data}
    curve = {("log 2/ε" if t < 0 else f"{t}"): results.estimate(metric, rows=t, **spot) for t in FIXED_THRESHOLDS}
    return curve | {f"{level} %": results.estimate(metric, level=level, **spot) for level in QUANTILES}


@CLAIMS.says("Section 3.3.4: thresholds gain about five points on Mushroom and nothing elsewhere.")
def thresholds(results: Results) -> Finding:
    """Section 3.3.4: a larger threshold gains about five points on Mushroom and nothing elsewhere."""
    found: dict[str, Estimate] = {}
    tops = {}
    for name in ("xwindows", "mushroom", "newsgroup"):
        curve = threshold_curve(results, name)
        tops[name] = max(curve, key=lambda share: curve[share].mean)
        found[name] = difference(curve[tops[name]], curve["0"])
    holds = reaches(found["mushroom"], 0.03) and not any(reaches(found[n], 0.03) for n in ("xwindows", "newsgroup"))
    words = ", ".join(f"{name} {one} (at {tops[name]})" for name, one in found.items())
    return Finding(verdict_of(holds), found, f"best of eleven thresholds less zero: {words}")


@CLAIMS.says(
    "Section 3.3.4: at the 65 % quantile three quarters of the features of Mushroom and Newsgroup are "
    "thresholded, and more of XWindows."
)
def thresholded_features(results: Results) -> Finding:
    """Section 3.3.4: at the 65 % quantile three quarters of Mushroom and Newsgroup are thresholded, XWindows more."""
    widths = {"xwindows": 600, "mushroom": 112, "newsgroup": 100}
    found: dict[str, dict[str, Estimate]] = {}
    for metric in ("thresholded", "silenced"):  # in one class at least; in both, so that the feature says nothing
        found[metric] = {}
        for name, width in widths.items():
            one = threshold_curve(results, name, metric)["65 %"]
            found[metric][name] = Estimate(one.mean / width, one.error / width, one.count)

    def shows(table: dict[str, Estimate]) -> bool:
        about = all(0.65 <= table[name].mean <= 0.85 for name in ("mushroom", "newsgroup"))
        return about and all(difference(table["xwindows"], table[name]).above for name in ("mushroom", "newsgroup"))

    words = "; ".join(
        f"{what}: " + ", ".join(f"{name} {one.mean:.2f} ± {one.error:.2f}" for name, one in found[metric].items())
        for what, metric in (("in one class at least", "thresholded"), ("in both", "silenced"))
    )
    return Finding(
        verdict_of(any(shows(table) for table in found.values())),
        found,
        f"share of features whose on-counts are raised, {words}; .65 to .85 counts as about 75 %",
    )


@CLAIMS.says("Section 3.6: half the rows at ε = 1 are as good as all of them at ε = 0.5.")
def halves(results: Results) -> Finding:
    """Section 3.6: 0.5-private on all rows is as accurate as 1-private on half of them (printed: 78.6 and 78.4 %)."""
    found, levels = {}, {}
    for name in HALVES:
        spot: dict[str, Any] = {"experiment": "halves", "data": name}
        whole, half = (results.estimate("train_accuracy", method=m, **spot) for m in ("budget", "rows"))
        found[name], levels[name] = difference(whole, half), whole.mean
    small = all(abs(one.mean) <= SMALL + 2 * one.error for one in found.values())
    clear = any(abs(one.mean) - 2 * one.error > SMALL for one in found.values())
    words = ", ".join(f"{name} {one} (of {levels[name]:.3f})" for name, one in found.items())
    verdict = Verdict.FAILS if clear else Verdict.HOLDS if small else Verdict.UNDECIDED
    return Finding(verdict, found, f"training accuracy of all rows at ε = 0.5 less half of them at ε = 1: {words}")


@CLAIMS.says("Section 3.5.1: dividing the budget or the rows between the two steps hardly matters.")
def steps(results: Results) -> Finding:
    """Section 3.5.1: dividing the budget or the rows between selection and training makes little difference."""
    found = {}
    for name in ("newsgroup", "mushroom"):
        spot: dict[str, Any] = {"experiment": "steps", "data": name}
        budget, rows = (results.estimate(method=m, **spot) for m in ("count-mask", "count-mask-rows"))
        found[name] = difference(budget, rows)
    words = ", ".join(f"{name} {one}" for name, one in found.items())
    if any(abs(one.mean) - 2 * one.error > SMALL for one in found.values()):
        return Finding(Verdict.FAILS, found, f"budget divided less rows divided: {words}; two points are little")
    if any(abs(one.mean) + one.error > 2 * SMALL for one in found.values()):
        raise undecided(f"whether {words} is little", [(one, (SMALL,)) for one in found.values()])
    return Finding(Verdict.HOLDS, found, f"budget divided less rows divided: {words}; two points are little")


PRINTED_TOP = {"windows": (0.215, 56, 288), "microsoft": (0.095, 6, 107), "dos": (0.092, 10, 115),
               "motif": (0.078, 80, 2), "window": (0.067, 137, 32), "sun": (0.045, 65, 7), "code": (0.044, 82, 15),
               "win": (0.044, 5, 95), "xterm": (0.040, 40, 0), "server": (0.040, 74, 13)}  # fmt: skip


@CLAIMS.says("Tables A.2 and A.3: the ten most informative words of XWindows and their counts.")
def top_words(results: Results) -> Finding:
    """Tables A.2 and A.3: the ten most informative words of XWindows, their information and their counts."""
    row = results.where(experiment="features", data="xwindows")
    if not row:
        raise MissingResultsError("the features of XWindows were not looked at")
    ours: dict[str, list[float]] = json.loads(row[0]["top"])
    same = set(ours) == set(PRINTED_TOP)
    off = [word for word, (_, a, b) in PRINTED_TOP.items() if word in ours and tuple(ours[word][1:]) != (a, b)]
    far = max(abs(ours[word][0] - bits) for word, (bits, _, _) in PRINTED_TOP.items() if word in ours)
    text = f"{'the same ten words' if same else 'other words'}; bits within {far:.3f}; counts differ for: " + (
        ", ".join(f"{w} {ours[w][1]}/{ours[w][2]} here, {PRINTED_TOP[w][1]}/{PRINTED_TOP[w][2]} printed" for w in off)
        or "none"
    )
    text += "; 5 and 95 would be .08 bits, not the printed .044, so that two digits have changed places there"
    measured = {"here": ours, "printed": PRINTED_TOP}
    holds = same and far <= 0.01 and len(off) <= 1
    return Finding(
        verdict_of(holds),
        measured,
        text,
        "code:discreet_studies.thesis2015.selection.portraits:features",
    )


@CLAIMS.says("Figures 3.4 and 3.13: a few features of Mushroom are very informative, those of the others are not.")
def few_informative(results: Results) -> Finding:
    """Figures 3.4 and 3.13: Mushroom has a few very informative features, the others not; .05 bits on Newsgroup2."""
    bits = {}
    for name in ("xwindows", "mushroom", "newsgroup", "newsgroup2"):
        row = results.where(experiment="features", data=name)
        if not row:
            raise MissingResultsError(f"the features of {name} were not looked at")
        bits[name] = max(json.loads(row[0]["each_information"]))
    holds = bits["mushroom"] > 2 * max(bits["xwindows"], bits["newsgroup"]) and abs(bits["newsgroup2"] - 0.05) < 0.02
    words = ", ".join(f"{name} {value:.3f}" for name, value in bits.items())
    return Finding(
        verdict_of(holds),
        bits,
        f"bits of the most informative feature, computed without noise: {words}; printed: about .05 on Newsgroup2",
        "code:discreet_studies.thesis2015.selection.data:mutual_information",
    )


@CLAIMS.says(
    "Figure 3.7: the best few features give 80 % on XWindows and 97 % on Mushroom at ε = 0.1, and more "
    "of them spoil it."
)
def few_features_suffice(results: Results) -> Finding:
    """Figure 3.7: the best few features give 80 % on XWindows and 97 % on Mushroom at ε = 0.1, more spoil it."""
    found: dict[str, Any] = {}
    passed = []
    for name, goal, many in (("xwindows", 0.75, 100), ("mushroom", 0.93, 100)):
        spot: dict[str, Any] = {"experiment": "top", "data": name}
        grid = results.values("k", method="oracle", **spot)
        if many not in grid:
            raise MissingResultsError(f"too few features of {name} were tried")
        private = {k: results.estimate(method="oracle", k=k, **spot) for k in grid}
        best = max(private, key=lambda k: private[k].mean)
        found[name] = {"best": private[best], "at": best, f"at {many}": private[many]}
        passed.append(private[best].mean > goal and best <= 10 and difference(private[best], private[many]).above)
    plain = {k: results.estimate(method="plain", k=k, experiment="top", data="xwindows").mean
             for k in results.values("k", method="plain", experiment="top", data="xwindows")}  # fmt: skip
    gain = max(plain.values()) - plain[600]
    found["without privacy, XWindows"] = plain
    words = "; ".join(f"{n}: {found[n]['best']} with {found[n]['at']} features, {found[n]['at 100']} with 100"
                      for n in ("xwindows", "mushroom"))  # fmt: skip
    return Finding(
        verdict_of(all(passed)),
        found,
        f"{words}; without privacy the best few gain {gain:.3f} on XWindows (printed: about .04)",
    )


@CLAIMS.says("Figures 3.11, 3.12 and 3.18: chances are too flat by information, and farther apart by counts.")
def peaked_by_counts(results: Results) -> Finding:
    """Figures 3.11, 3.12 and 3.18: chances are flat by mutual information on XWindows, and farther apart by counts."""
    spreads: dict[str, dict[str, float]] = {}
    for name in ("xwindows", "mushroom", "adult", "newsgroup2"):
        row = results.where(experiment="features", data=name)
        if not row:
            raise MissingResultsError(f"the features of {name} were not looked at")
        bits, scores = (np.array(json.loads(row[0][f"each_{key}"])) for key in ("information", "scores"))
        reach = information_reach(int(row[0]["train_rows"]))
        by = {"information": chances(bits, reach, 0.05), "counts": chances(scores, 1.0, 0.05)}
        spreads[name] = {how: float(np.ptp(values)) for how, values in by.items()}
    flat = spreads["xwindows"]["information"] < 0.15
    apart = all(one["counts"] > one["information"] for one in spreads.values())
    words = "; ".join(f"{n} {one['information']:.2f} and {one['counts']:.2f}" for n, one in spreads.items())
    return Finding(
        verdict_of(flat and apart),
        spreads,
        f"largest less smallest chance of a feature at ε = .05 each, by mutual information and by counts: {words}",
        "code:discreet_studies.thesis2015.selection.portraits:chances",
    )


@CLAIMS.says(
    "Sections 3.3.2 to 3.3.4: deviations of 8500 and 850, thresholds of 2140 and 214, no count off by more than 94."
)
def noise_on_counts(results: Results) -> Finding:
    """What the thesis reckons for D = 600: noise at ε = 0.1 and 1, the 65 % quantile, and theorem 2.2.2."""
    wide = {e: 600 / e for e in (0.1, 1.0)}
    reckoned = {
        **{f"deviation at ε = {e:g}": (math.sqrt(2) * one, p)
           for (e, one), p in zip(wide.items(), (8500, 850), strict=True)},
        **{f"threshold at ε = {e:g}": (-one * math.log(2 * (1 - 0.65)), p)
           for (e, one), p in zip(wide.items(), (2140, 214), strict=True)},
        "largest error at ε = 0.1": (math.log(600 / 0.05) * wide[0.1], 94),
    }  # fmt: skip
    off = [name for name, (value, printed) in reckoned.items() if not 0.99 <= value / printed <= 1.01]
    told = ", ".join(f"{name} {value:.0f} (printed {printed})" for name, (value, printed) in reckoned.items())
    alone = math.log(600 / 0.05) / 0.1
    return Finding(
        verdict_of(not off),
        {name: list(pair) for name, pair in reckoned.items()},
        f"{told}; not as printed: {', '.join(off) or 'none'}. {alone:.0f} is the error of counts that cost 0.1 each; "
        "600 of them, as Algorithm 1 releases, share it. Computed, not measured",
        "proof:additive-noise.md",
    )
