"""The decisions of the automatic choice: arms between which each is made, its constants, and how it is made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet import kinds
from discreet.additive import newton
from discreet.additive import plan as additive
from discreet.auto import classifier, rule
from discreet.bayes import bins
from discreet.bayes.bins import cut_low, rebinned
from discreet.bayes.denoising import shrink
from discreet.calibration import plan as calibration
from discreet.estimators import counts
from discreet.resolution import fine, pooled
from discreet.resolution.grids import with_edges
from discreet.schema import Numeric
from discreet.selection import kinds as selective

DELTA = 1e-6
NEVER, ALWAYS = 10**9, 0
UNSEEN = {(fine, "RICH"): math.inf, (fine, "RICHER"): math.inf}
EVEN = {(pooled, "NUMBERS"): NEVER, **UNSEEN}  # numbers cut without a look at them
SHAPED = {(kinds, "SHAPES_LEAN"): 0.0, (kinds, "SHAPES_FEW"): 1, (kinds, "SHAPES_RICH"): math.inf}
KNORM, NORMAL = {(additive, "GAIN"): math.inf}, {(additive, "GAIN"): -math.inf}
Cell = dict[str, Any]
Constants = dict[str, float]


@dataclass(frozen=True)
class Arm:
    """One way to spend a budget: a kind of model, constants that force a step on or off, and a δ."""

    kind: str
    forced: dict[tuple[Any, str], Any]
    delta: float = 0.0


@contextmanager
def forced(names: dict[tuple[Any, str], Any]) -> Iterator[None]:
    """Names of modules with other values for a while."""
    before = {place: getattr(*place) for place in names}
    try:
        for (module, name), value in names.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)


def _closely(share: Fraction) -> Arm:
    seen = {(fine, "RICH"): ALWAYS, (fine, "RICHER"): ALWAYS, (fine, "LEAN"): ALWAYS}
    return Arm("additive", seen | {(fine, "SHARE"): share})


def _together(dense: float) -> dict[tuple[Any, str], Any]:
    return {(pooled, "NUMBERS"): 1, (pooled, "LEAST"): ALWAYS, (pooled, "DENSE"): dense}


def _calibrated(share: Fraction) -> Arm:
    forced = {(calibration, "START"): ALWAYS if share else math.inf}
    return Arm("naive-bayes", forced | {(calibration, "LEAST"): share, (calibration, "MOST"): share})


ARMS = {
    "counted": Arm("naive-bayes", EVEN),
    "counted, pooled": Arm("naive-bayes", _together(math.inf)),
    "counted, densely pooled": Arm("naive-bayes", _together(ALWAYS)),
    "counted, as it is": Arm("naive-bayes", {}),
    "fitted, as it is": Arm("additive", {}),
    "selective": Arm("selective", {}),
    "fitted": Arm("additive", EVEN),
    "fitted, pooled": Arm("additive", EVEN | _together(math.inf)),
    "fitted, densely pooled": Arm("additive", EVEN | _together(ALWAYS)),
    "fitted, fine 5 %": _closely(Fraction(1, 20)),
    "fitted, fine 10 %": _closely(Fraction(1, 10)),
    "fitted, fine 20 %": _closely(Fraction(1, 5)),
    "fitted, K-norm": Arm("additive", EVEN | KNORM, DELTA),
    "fitted, normal": Arm("additive", EVEN | NORMAL, DELTA),
    "with a delta": Arm("auto", {(kinds, "SHAPES_LEAN"): math.inf}, DELTA),
    "shapes": Arm("additive", SHAPED, DELTA),
}
ON_TABLES = (0.5, 0.6, 0.75)  # of ρ, where shapes are read off tables and get weights by the rest
ARMS |= {
    f"shapes, {share:.0%} on tables": Arm("additive", SHAPED | {(newton, "SHAPES"): Fraction(str(share))}, DELTA)
    for share in ON_TABLES
}

PARTS = tuple(Fraction(part, 1000) for part in (25, 50, 100))  # of a budget, that a calibration may get
ARMS |= {f"calibrated {float(part):.1%}": _calibrated(part) for part in (Fraction(0), *PARTS)}
ARMS |= {
    f"counts of {float(share):.0%}": Arm("auto", {(classifier, "FIRST"): share, (counts, "ROUGH"): math.inf})
    for share in (counts.FIRST, counts.SHARE)
}
DOUBTS = (0.0, 0.5, 1.0, 2.0)  # deviations of noise that the share of the largest class is taken to be less
ARMS |= {f"share less {doubt:g}": Arm("auto", {(rule, "DOUBT"): doubt}) for doubt in DOUBTS}
FED, LEAST, LOW = (0.6, 1.0, 1.7), (2, 3), (1.0, 1.5, 2.0)
ARMS |= {
    f"counted, {fed:g} and {least} or more low {low:g} bins": Arm(
        "naive-bayes", EVEN | {(bins, "FED"): fed, (bins, "LEAST"): least, (bins, "LOW"): low}
    )
    for fed, least, low in itertools.product(FED, LEAST, LOW)
}


def standing(place: Callable[[float], float]) -> dict[tuple[Any, str], Any]:
    """Edges of numbers that may lie low at other places; everything else is cut as the library does."""

    def cut(feature: Numeric, count: int) -> Numeric:
        span, usual = feature.upper - feature.lower, cut_low(feature, count)
        if usual == rebinned(feature, count):
            return usual
        return with_edges(feature, (feature.lower + span * place(i / count) for i in range(1, count)))

    return {(bins, "cut_low"): cut}


CUTS: dict[str, dict[tuple[Any, str], Any]] = {
    **{f"power {low:g}": {(bins, "LOW"): low} for low in LOW},
    "mean of even and squared": standing(lambda part: (part + part**2) / 2),
    "half even and half squared": standing(lambda part: ((math.sqrt(1 + 8 * part) - 1) / 2) ** 2),
}
ARMS |= {f"as it is, {name} edges": Arm("auto", cut) for name, cut in CUTS.items()}
ARMS |= {
    f"as it is, {name} apart": Arm("auto", {(counts, "APART"): rows})
    for name, rows in (("all", NEVER), ("by size", ALWAYS))
}
PLENTY = (30.0, 100.0, 300.0)  # rows·ε per feature and class, from which on there are more than FEW bins
ARMS |= {f"counted, more from {plenty:g}": Arm("naive-bayes", EVEN | {(bins, "PLENTY"): plenty}) for plenty in PLENTY}
NEAR, FAR, OWN = (0.15, 0.3), (0.3, 0.6, 2.0), (0.0, 0.1, 0.3)  # how a chain along bins may be averaged
ARMS["counted, read cell by cell"] = Arm("naive-bayes", EVEN | {(shrink, "FEWEST"): NEVER})
ARMS |= {
    f"counted, read along {near:g} and {far:g} with {own:g}": Arm(
        "naive-bayes", EVEN | {(shrink, "NEAR"): near, (shrink, "FAR"): far, (shrink, "OWN"): own}
    )
    for near, far, own in itertools.product(NEAR, FAR, OWN)
}
BLUNT = (4, 5, 6, 8)  # the widest prior by which a cell's counts are taken for a normal likelihood
ARMS["counted, blunt to none"] = Arm("naive-bayes", EVEN | {(shrink, "FEWEST"): NEVER})
ARMS |= {f"counted, blunt to {blunt}": Arm("naive-bayes", EVEN | {(shrink, "BLUNT"): blunt}) for blunt in BLUNT}
USUAL = "counted, 0.6 and 3 or more low 1 bins"  # as they were before edges stood low


@dataclass(frozen=True)
class Rule:
    """A line of the automatic choice: the arms between which it decides, its constants, and how it decides."""

    arms: tuple[str, ...]  # the first of them is what happens where the others do not
    grid: dict[str, tuple[float, ...]]
    pick: Callable[..., str]
    home: Any  # the module that has these constants

    def own(self) -> Constants:
        """The constants of the library."""
        return {name: float(getattr(self.home, name)) for name in self.grid}

    def tried(self) -> list[Constants]:
        """Every point of the grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    def losses(self, cells: list[Cell], tried: list[Constants]) -> np.ndarray:
        """How much the best arm is ahead of the chosen one, for each choice of constants: the mean over cells."""
        found = np.zeros(len(tried))
        for cell in cells:
            scores = {arm: cell["scores"][arm] for arm in self.arms if arm in cell["scores"]}
            usual, best = scores[self.arms[0]], max(scores.values())
            found += [best - scores.get(self.pick(cell["facts"], **one), usual) for one in tried]
        return found / max(len(cells), 1)


def chosen_first(facts: Constants, WIDE: float, SCARCE: float, LOPSIDED: float) -> str:
    """The line of `discreet.selection.kinds`."""
    each = facts["rows"] * facts["epsilon"] / max(facts["weights"], 1)
    worth = facts["features"] >= WIDE and each < SCARCE and facts["largest"] < LOPSIDED
    return "selective" if worth else "counted"


def fitted_together(
    facts: Constants, BINARY: float, SEVERAL: float, BINARY_NUMBERS: float, SEVERAL_NUMBERS: float
) -> str:
    """The line of `discreet.additive.kinds`."""
    two, numbers = facts["classes"] == 2, 2 * facts["numbers"] >= facts["features"]
    bar = (BINARY_NUMBERS if two else SEVERAL_NUMBERS) if numbers else (BINARY if two else SEVERAL)
    return "fitted, as it is" if facts["support"] >= bar else "counted, as it is"


def pooled_first(facts: Constants, what: str, NUMBERS: float, LEAST: float, DENSE: float) -> str:
    """The line of `discreet.resolution.pooled`, for weights or counts."""
    weight = facts["rows"] * facts["epsilon"]
    worth = facts["numbers"] >= NUMBERS and weight >= LEAST
    return (f"{what}, densely pooled" if weight >= DENSE else f"{what}, pooled") if worth else what


def calibrated_after(facts: Constants, START: float, ENOUGH: float) -> str:
    """The line of `discreet.calibration.plan`, to the nearest of the shares that were tried."""
    weight = facts["rows"] * facts["epsilon"]
    if weight < START * facts["classes"]:
        return "calibrated 0.0%"
    share = ENOUGH * facts["classes"] / max(weight, 1.0)
    return f"calibrated {float(min(PARTS, key=lambda part: abs(math.log(float(part) / share)))):.1%}"


def counted_again(facts: Constants, ROUGH: float) -> str:
    """The line of `discreet.estimators.counts`: the noise of a first count beside the rows."""
    spread = 1 / (float(counts.FIRST) * facts["epsilon"])
    rough = counts.is_rough(facts["rows"], 2 * spread**2, int(facts["classes"]), ROUGH)
    return "counts of 4%" if rough else "counts of 1%"


def looked_closely(facts: Constants, RICH: float, RICHER: float, LEAN: float, SHARE: float) -> str:
    """The line of `discreet.resolution.fine`."""
    numbers, bar = facts["numbers"], RICH if facts["classes"] == 2 else RICHER
    worth = numbers >= LEAN * facts["features"] and facts["rows"] * facts["epsilon"] >= bar * max(numbers, 1)
    return f"fitted, fine {SHARE:.0%}".replace("%", " %") if worth else "fitted"


def read_along(facts: Constants, FEWEST: float, NEAR: float, FAR: float, OWN: float) -> str:
    """The reading of `discreet.bayes.denoising.shrink`."""
    along = f"counted, read along {NEAR:g} and {FAR:g} with {OWN:g}"
    return along if FEWEST < NEVER else "counted, read cell by cell"


def blunted(facts: Constants, BLUNT: float) -> str:
    """How `discreet.bayes.denoising.shrink` lets cells speak to a chain."""
    return f"counted, blunt to {BLUNT:g}" if BLUNT < NEVER else "counted, blunt to none"


def normal_noise(facts: Constants, GAIN: float) -> str:
    """The line of `discreet.additive.plan`: what normal noise promises, as a multiple of what K-norm noise does."""
    return "fitted, normal" if facts.get("gain", 0.0) > GAIN else "fitted, K-norm"


def weighted_shapes(facts: Constants, SHAPES_FEW: float, SHAPES_LEAN: float, SHAPES_RICH: float) -> str:
    """The line of `discreet.kinds`, with a δ: where weights of cells would have too little support, or much noise."""
    bar = kinds.BINARY_NUMBERS if 2 * facts["numbers"] >= facts["features"] else kinds.BINARY
    clear = facts.get("clear", 0.0)
    worth = facts["features"] >= SHAPES_FEW and (facts["support"] < bar or clear < SHAPES_RICH)
    return "shapes" if worth and clear >= SHAPES_LEAN else "with a delta"


def shared_shapes(facts: Constants, SHAPES: float) -> str:
    """The share of `discreet.additive.newton`, where shapes are taken."""
    taken = {name: float(getattr(kinds, name)) for name in ("SHAPES_FEW", "SHAPES_LEAN", "SHAPES_RICH")}
    shapes = weighted_shapes(facts, **taken) == "shapes"
    return f"shapes, {SHAPES:.0%} on tables" if shapes else "with a delta"


_POOLED: dict[str, tuple[float, ...]] = {
    "NUMBERS": (2, 3, 4, 6, 8, 12, NEVER),
    "LEAST": (0, 50, 100, 250, 500, 1000, 2000),
    "DENSE": (0, 500, 2000, 10_000, 50_000, math.inf),
}
RULES = {
    "selective": Rule(
        ("counted", "selective"),
        {
            "WIDE": (16, 20, 24, 32, 48),
            "SCARCE": (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30),
            "LOPSIDED": (0.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 1.0),
        },
        chosen_first,
        selective,
    ),
    "additive": Rule(
        ("counted, as it is", "fitted, as it is"),
        {
            "BINARY": (6, 8, 10, 15, 20, 25, 30, 40, 50, 60),
            "SEVERAL": (12, 20, 30, 40, 60, 100),
            "BINARY_NUMBERS": (1, 2, 3, 4, 6, 8, 12, 20, 25, 30, 40, 60),
            "SEVERAL_NUMBERS": (4, 8, 12, 20, 30, 40),
        },
        fitted_together,
        kinds,
    ),
    "pooled bins": Rule(
        ("counted", "counted, pooled", "counted, densely pooled"),
        _POOLED,
        lambda facts, **found: pooled_first(facts, "counted", **found),
        pooled,
    ),
    "pooled knots": Rule(
        ("fitted", "fitted, pooled", "fitted, densely pooled"),
        _POOLED,
        lambda facts, **found: pooled_first(facts, "fitted", **found),
        pooled,
    ),
    "fine tables": Rule(
        ("fitted", "fitted, fine 5 %", "fitted, fine 10 %", "fitted, fine 20 %"),
        {
            "RICH": (1000, 1500, 2500, 4000, 6000, 10000, 20000, math.inf),
            "RICHER": (500, 750, 1000, 1250, 1500, 2500, 4000, math.inf),
            "LEAN": (0, 0.1, 0.2, 0.3, 0.4),
            "SHARE": (0.05, 0.1, 0.2),
        },
        looked_closely,
        fine,
    ),
    "bins": Rule(
        tuple(sorted((name for name in ARMS if name.endswith(" bins")), key=USUAL.__ne__)),
        {"FED": FED, "LEAST": LEAST, "LOW": LOW},
        lambda facts, FED, LEAST, LOW: f"counted, {FED:g} and {LEAST:g} or more low {LOW:g} bins",
        bins,
    ),
    "edges": Rule(
        tuple(f"as it is, {name} edges" for name in CUTS),
        {"CUT": tuple(range(len(CUTS)))},  # by its place in the list
        lambda facts, CUT: f"as it is, {list(CUTS)[int(CUT)]} edges",
        SimpleNamespace(CUT=list(CUTS).index(f"power {bins.LOW:g}")),
    ),
    "classes": Rule(
        ("as it is, all apart", "as it is, by size apart"),
        {"APART": (0, 300, 1000, 2000, 3000, NEVER)},
        lambda facts, APART: f"as it is, {'by size' if facts['rows'] >= APART else 'all'} apart",
        counts,
    ),
    "many bins": Rule(
        tuple(f"counted, more from {plenty:g}" for plenty in PLENTY),
        {"PLENTY": PLENTY},
        lambda facts, PLENTY: f"counted, more from {PLENTY:g}",
        bins,
    ),
    "reading": Rule(
        tuple(name for name in ARMS if name.startswith("counted, read")),
        {"FEWEST": (3, NEVER), "NEAR": NEAR, "FAR": FAR, "OWN": OWN},
        read_along,
        shrink,
    ),
    "likelihood": Rule(
        ("counted, blunt to none", *(f"counted, blunt to {blunt}" for blunt in BLUNT)),
        {"BLUNT": (*BLUNT, NEVER)},
        blunted,
        shrink,
    ),
    "calibration": Rule(
        ("calibrated 0.0%", *(f"calibrated {float(part):.1%}" for part in PARTS)),
        {
            "START": (50, 100, 150, 200, 300, 500, 750, 1000, 1500, NEVER),
            "ENOUGH": (1, 12, 25, 50, 100, 200, 400, NEVER),
        },
        calibrated_after,
        calibration,
    ),
    "counts": Rule(
        ("counts of 4%", "counts of 1%"),
        {"ROUGH": (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, math.inf)},
        counted_again,
        counts,
    ),
    "doubt": Rule(
        tuple(f"share less {doubt:g}" for doubt in DOUBTS),
        {"DOUBT": DOUBTS},
        lambda facts, DOUBT: f"share less {DOUBT:g}",
        rule,
    ),
    "normal noise": Rule(
        ("fitted, K-norm", "fitted, normal"),
        {"GAIN": (0.0, 0.6, 0.7, 0.8, 0.9, 1.0, 1.05, 1.1, 1.2, 1.3, 1.5, 2.0, math.inf)},
        normal_noise,
        additive,
    ),
    "shapes": Rule(
        ("with a delta", "shapes"),
        {
            "SHAPES_FEW": (8, 12, 16, 20, 24, 32),
            "SHAPES_LEAN": (10, 15, 20, 25, 30, 40, 60, math.inf),
            "SHAPES_RICH": (0, 30, 50, 70, 100, 150, 200, math.inf),
        },
        weighted_shapes,
        kinds,
    ),
    "tables of shapes": Rule(
        ("with a delta", *(f"shapes, {share:.0%} on tables" for share in ON_TABLES)),
        {"SHAPES": ON_TABLES},
        shared_shapes,
        newton,
    ),
}
