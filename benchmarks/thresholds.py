"""The constants of the automatic choice: measured on held-back training rows, chosen leave-one-table-out."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks import collected
from benchmarks.common import data_dir, line
from benchmarks.peers import environments, splits
from discreet import PrivateClassifier, kinds
from discreet.additive import plan as additive
from discreet.bayes import bins
from discreet.errors import DataError, DiscreetError
from discreet.resolution import fine, pooled
from discreet.selection import kinds as selective
from discreet_studies.data import DataSet, load

MOST = 40_000  # rows of a table that are looked at: larger ones are far from all thresholds
HELD = 0.25  # of the training rows are scored; the test rows are left for the tables of docs/utility.md
DELTA = 1e-6
LEVELS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0)  # twice as dense as those of docs/utility.md: thresholds lie between
NEVER, ALWAYS = 10**9, 0
EVEN = {(pooled, "NUMBERS"): NEVER, (fine, "RICH"): math.inf}  # numbers cut without a look at them
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
def _forced(names: dict[tuple[Any, str], Any]) -> Iterator[None]:
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
    return Arm("additive", {(fine, "RICH"): ALWAYS, (fine, "LEAN"): ALWAYS, (fine, "SHARE"): share})


ARMS = {
    "counted": Arm("naive-bayes", EVEN),
    "counted, pooled": Arm("naive-bayes", {(pooled, "NUMBERS"): 1, (pooled, "LEAST"): ALWAYS}),
    "selective": Arm("selective", {}),
    "fitted": Arm("additive", EVEN),
    "fitted, pooled": Arm("additive", EVEN | {(pooled, "NUMBERS"): 1, (pooled, "LEAST"): ALWAYS}),
    "fitted, fine 5 %": _closely(Fraction(1, 20)),
    "fitted, fine 10 %": _closely(Fraction(1, 10)),
    "fitted, fine 20 %": _closely(Fraction(1, 5)),
    "fitted, K-norm": Arm("additive", EVEN | KNORM, DELTA),
    "fitted, normal": Arm("additive", EVEN | NORMAL, DELTA),
    "with a delta": Arm("auto", {(kinds, "SHAPES_RICH"): 0.0}, DELTA),
    "shapes": Arm(
        "additive",
        {
            (kinds, "SHAPES_RICH"): math.inf,
            (kinds, "SHAPES_LEAN"): 0.0,
            (kinds, "SHAPES_FEW"): 1,
            (kinds, "SHAPES_NUMBERS"): math.inf,
        },
        DELTA,
    ),
}


FED, FEW = (0.6, 1.0, 1.7), (6, 10, 16)
ARMS |= {
    f"counted, {fed:g} and {few} bins": Arm("naive-bayes", EVEN | {(bins, "FED"): fed, (bins, "FEW"): few})
    for fed, few in itertools.product(FED, FEW)
}


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
    return "fitted" if facts["support"] >= bar else "counted"


def pooled_first(facts: Constants, what: str, NUMBERS: float, LEAST: float) -> str:
    """The line of `discreet.resolution.pooled`, for weights or counts."""
    worth = facts["numbers"] >= NUMBERS and facts["rows"] * facts["epsilon"] >= LEAST
    return f"{what}, pooled" if worth else what


def looked_closely(facts: Constants, RICH: float, LEAN: float, SHARE: float) -> str:
    """The line of `discreet.resolution.fine`."""
    numbers = facts["numbers"]
    worth = numbers >= LEAN * facts["features"] and facts["rows"] * facts["epsilon"] >= RICH * max(numbers, 1)
    return f"fitted, fine {SHARE:.0%}".replace("%", " %") if worth else "fitted"


def normal_noise(facts: Constants, GAIN: float) -> str:
    """The line of `discreet.additive.plan`: what normal noise promises, as a multiple of what K-norm noise does."""
    return "fitted, normal" if facts.get("gain", 0.0) > GAIN else "fitted, K-norm"


def weighted_shapes(
    facts: Constants, SHAPES_FEW: float, SHAPES_NUMBERS: float, SHAPES_LEAN: float, SHAPES_RICH: float
) -> str:
    """The line of `discreet.kinds`, with a δ."""
    wide = facts["features"] >= SHAPES_FEW and facts["numbers"] < SHAPES_NUMBERS * facts["features"]
    worth = wide and SHAPES_LEAN <= facts.get("clear", 0.0) < SHAPES_RICH
    return "shapes" if worth else "with a delta"


_POOLED: dict[str, tuple[float, ...]] = {"NUMBERS": (2, 3, 4, 6, 8, 12, NEVER), "LEAST": (0, 100, 250, 500, 1000, 2000)}
RULES = {
    "selective": Rule(
        ("counted", "selective"),
        {
            "WIDE": (8, 10, 12, 16, 20, 24, 32),
            "SCARCE": (2, 3, 4, 5, 6, 8, 10, 12, 16),
            "LOPSIDED": (0.0, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 1.0),
        },
        chosen_first,
        selective,
    ),
    "additive": Rule(
        ("counted", "fitted"),
        {
            "BINARY": (4, 6, 8, 10, 15, 20, 25, 30),
            "SEVERAL": (12, 20, 30, 40, 60, 100),
            "BINARY_NUMBERS": (1, 2, 3, 4, 6, 8, 12, 20),
            "SEVERAL_NUMBERS": (4, 8, 12, 20, 30),
        },
        fitted_together,
        kinds,
    ),
    "pooled bins": Rule(
        ("counted", "counted, pooled"), _POOLED, lambda facts, **found: pooled_first(facts, "counted", **found), pooled
    ),
    "pooled knots": Rule(
        ("fitted", "fitted, pooled"), _POOLED, lambda facts, **found: pooled_first(facts, "fitted", **found), pooled
    ),
    "fine tables": Rule(
        ("fitted", "fitted, fine 5 %", "fitted, fine 10 %", "fitted, fine 20 %"),
        {
            "RICH": (1000, 1500, 2500, 4000, 6000, 10000, 20000, math.inf),
            "LEAN": (0, 0.1, 0.2, 0.3, 0.4),
            "SHARE": (0.05, 0.1, 0.2),
        },
        looked_closely,
        fine,
    ),
    "bins": Rule(
        tuple(sorted((name for name in ARMS if name.endswith(" bins")), key="counted, 1.7 and 10 bins".__ne__)),
        {"FED": FED, "FEW": FEW},
        lambda facts, FED, FEW: f"counted, {FED:g} and {FEW:g} bins",
        bins,
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
            "SHAPES_NUMBERS": (0.25, 0.5, math.inf),
            "SHAPES_LEAN": (0, 4, 8, 10, 15, 20, 30),
            "SHAPES_RICH": (0, 10, 20, 30, 50, 75, 100, 200, 400, math.inf),
        },
        weighted_shapes,
        kinds,
    ),
}


def run(
    data: str | None = None, seeds: int | None = None, folder: Path = Path("results"), datasets: Sequence[str] = (),
    epsilons: Sequence[float] = LEVELS, methods: Sequence[str] = (), report: bool = False, **_: Any,
) -> list[dict[str, Any]]:  # fmt: skip
    """Measure what the journal in `folder` lacks, then choose constants: on all tables, and without each of them.

    `methods` are the decisions that are looked at, all of them by default; only their arms are fitted.
    Tables are those that `benchmarks collected` has written, and of the reference data those that come with a split:
    of the others every row is in some seed's test rows.
    """
    unknown = sorted(set(methods) - set(RULES))
    if unknown:
        raise DataError(f"there is no decision {unknown[0]!r}; there are {', '.join(RULES)}")
    rules = {what: rule for what, rule in RULES.items() if not methods or what in methods}
    wanted = [name for name in ARMS if any(name in rule.arms for rule in rules.values())]
    own, more = data_dir(data), folder / collected.NAME
    places = [place for place in (own, more) if place is not None and (place / "datasets.json").exists()]
    journal = folder / "thresholds.jsonl"
    if not places and not report:
        return [line("all data sets", None, "the data are not here: pass --data DIR, or run 'benchmarks collected'")]
    if report and not journal.exists():
        return [line("all data sets", None, f"nothing was measured yet: there is no {journal}")]
    folder.mkdir(parents=True, exist_ok=True)
    known = [json.loads(one) for one in journal.read_text().splitlines()] if journal.exists() else []
    done = {(one["data"], one["epsilon"], one["seed"], arm) for one in known for arm in one["asked"]}
    tables = [
        (place, name) for place in places for name, one in splits.entries(place).items() if place == more or one.fixed
    ]
    edition = environments.edition("discreet")
    for seed, (place, name) in itertools.product(range(seeds or 5), tables if not report else ()):
        todo = {e: [arm for arm in wanted if (name, e, seed, arm) not in done] for e in epsilons}
        if not any(todo.values()) or (datasets and name not in datasets):
            continue
        table = load(place, name)
        for epsilon, arms in todo.items():
            if not arms:
                continue
            found = _measured(place, table, epsilon, seed, arms)
            known.append({"data": name, "epsilon": epsilon, "seed": seed, "edition": edition, "asked": arms, **found})
            with journal.open("a") as file:
                file.write(json.dumps(known[-1]) + "\n")
    names = {one["data"] for one in known} if report else {name for _, name in tables}
    known = [one for one in known if one["data"] in names]
    editions = len({one.get("edition") for one in known})
    cells = _cells(known)
    told = line(f"fits by {editions} version(s) of the code, tables", len(names & {c["data"] for c in cells}), "tables")
    return [told] + [found for what, rule in rules.items() for found in _chosen(what, rule, cells)]


def _measured(place: Path, table: DataSet, epsilon: float, seed: int, arms: Sequence[str]) -> Cell:
    """What is public of a fit, and the score of each arm on training rows that were held back."""
    own = splits.split(place, table.name, len(table), seed)[0]
    fit, test = (part[:MOST] for part in train_test_split(own, test_size=HELD, random_state=seed))
    X, y, schema = table.X, table.y, table.schema
    scores: dict[str, float] = {}
    facts: Constants = {"numbers": len(schema.numeric)}
    for name in arms:
        arm = ARMS[name]
        if not _asked(name, schema, len(fit) * epsilon):
            continue
        try:
            with _forced(arm.forced), _promised(facts):
                made = PrivateClassifier(epsilon, schema, arm.kind, random_state=seed, delta=arm.delta)
                P = made.fit(X[fit], y[fit]).predict_proba(X[test])
        except DiscreetError:  # this kind of model has no room for such a table
            continue
        if len(schema.classes) == 2:
            scores[name] = float(roc_auc_score(y[test], P[:, 1]))
        else:
            scores[name] = float((made.classes_[P.argmax(axis=1)] == y[test]).mean())
        facts |= {**made.choice_.facts, "largest": float(made.counts_.shares.max())}
    return {"scores": scores, "facts": facts}


@contextmanager
def _promised(facts: Constants) -> Iterator[None]:
    """Note what normal noise promises in the first fit of weights that compares it."""
    compared = additive.gain

    def noted(*errors: float) -> float:
        found = compared(*errors)
        facts.setdefault("gain", found)
        return found

    with _forced({(additive, "gain"): noted}):
        yield


def _asked(name: str, schema: Any, weight: float) -> bool:
    """Whether an arm may decide anything on such a table; `weight` is rows times ε."""
    two, numbers = len(schema.classes) == 2, len(schema.numeric)
    if name.endswith(" bins"):
        return numbers > 0
    if "fine" in name:
        return two and numbers > 0 and weight >= 1000 * numbers
    if "pooled" in name:
        return numbers > 1 and 2 * numbers >= len(schema.features)
    if name in {"fitted, K-norm", "fitted, normal", "with a delta", "shapes"}:
        return two
    return True


def _cells(known: list[Cell]) -> list[Cell]:
    """The means over seeds."""
    fits: dict[tuple[str, float, int], Cell] = {}
    for one in known:
        fit = fits.setdefault((one["data"], one["epsilon"], one["seed"]), {"scores": {}, "facts": {}})
        fit["scores"] |= one["scores"]
        fit["facts"] |= one["facts"]
    groups: dict[tuple[str, float], list[Cell]] = {}
    for (name, epsilon, _), fit in fits.items():
        groups.setdefault((name, epsilon), []).append(fit)
    found = []
    for (name, epsilon), some in groups.items():
        arms = [arm for arm in ARMS if all(arm in one["scores"] for one in some)]
        means = {arm: float(np.mean([one["scores"][arm] for one in some])) for arm in arms}
        facts = {key: float(np.mean([one["facts"].get(key, 0.0) for one in some])) for key in some[0]["facts"]}
        found.append({"data": name, "epsilon": epsilon, "scores": means, "facts": facts})
    return found


def _chosen(what: str, rule: Rule, every: list[Cell]) -> list[dict[str, Any]]:
    """The constants that lose least on all tables, and what those chosen without a table lose on it."""
    cells = [cell for cell in every if sum(arm in cell["scores"] for arm in rule.arms) > 1]
    names, tried = sorted({cell["data"] for cell in cells}), rule.tried()
    if not names:
        return []
    of = {name: [cell for cell in cells if cell["data"] == name] for name in names}
    lost = np.array([rule.losses(of[name], tried) for name in names])
    usual = [max(c["scores"][a] for a in rule.arms if a in c["scores"]) - c["scores"][rule.arms[0]] for c in cells]
    weights = [1 / len(of[cell["data"]]) for cell in cells]
    in_use = float(np.mean([rule.losses(of[name], [rule.own()])[0] for name in names]))

    def best(sums: np.ndarray) -> int:
        """The point that loses least; of those that are level, one in the middle."""
        level = np.flatnonzero(sums <= sums.min() + 1e-12)
        return int(level[len(level) // 2])

    held, results = [], []
    for name, own in zip(names, lost, strict=True):
        point = best(lost.sum(axis=0) - own)
        held.append(float(own[point]))
        results.append(line(f"{what}, without {name}: {_words(tried[point])}", held[-1], "held-out regret"))
    point = best(lost.sum(axis=0))
    results.append(line(f"{what}, held out", float(np.mean(held)), "mean held-out regret"))
    results.append(line(f"{what}, all: {_words(tried[point])}", float(lost[:, point].mean()), "fitted regret"))
    results.append(line(f"{what}, in use: {_words(rule.own())}", in_use, "regret"))
    results.append(line(f"{what}, never", float(np.average(usual, weights=weights)), "regret"))
    return results


def _words(constants: Constants) -> str:
    return " ".join(f"{key} {value:g}" for key, value in constants.items())
