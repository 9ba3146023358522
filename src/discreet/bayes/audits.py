"""What an audit needs of Naive Bayes: its release and its whole fit, on the neighbours that move it farthest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet import sources
from discreet.audit import AuditCase, Pair, case_at_one
from discreet.bayes import SmoothSettings
from discreet.bayes.bernoulli import collect_tables
from discreet.bayes.classifier import PrivateNB
from discreet.bayes.plan import Plan
from discreet.bayes.release import exact_bundles, noised
from discreet.bayes.smooth import release_staged
from discreet.bayes.stream import Stream
from discreet.mechanisms.noise import ExactSampler, SimulationSampler
from discreet.schema import Categorical, Numeric, Schema
from discreet.sources import collect

DELTA = 1e-5
SCHEMA = Schema(
    features=[Categorical("c", ["p", "q", "r"]), Numeric("x", 1000, 1001, step=0.25, bins=2)],
    target="y",
    classes=[0, 1],
)
NUMBER = Schema(features=SCHEMA.features[1:], target="y", classes=[0, 1])
BITS = Schema([Categorical(name, [0, 1]) for name in "ab"], "y", [0, 1])
# Extreme rows: at the ends of the bounds the sum and the square sum move as far as they can.
PEOPLE = Schema([Numeric("x", 0, 1, step=1, bins=2)], "y", [0, 1], id="w")
FEW = (("p", 1000.0, 0), ("q", 1001.0, 1), ("q", 1000.5, 0))
ADDED = ("r", 1001.0, 1)


def columns_of(rows: Sequence[tuple[Any, ...]]) -> tuple[Any, Any]:
    """Rows of three values as features and labels."""
    table = np.empty((len(rows), 3), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    return table[:, :2], table[:, 2]


@dataclass(frozen=True)
class Released:
    """What a fit at an epsilon with some settings publishes."""

    epsilon: float
    settings: dict[str, Any] = field(default_factory=dict)


class NoisyRelease(Released):
    """All integers of a Naive Bayes release, drawn many times at once by the code that fits use."""

    @cached_property
    def plan(self) -> Plan:
        """The plan of a fit with these settings."""
        plan: Plan = PrivateNB(self.epsilon, schema=SCHEMA, **self.settings).plan()
        return plan

    def sample(self, data: Sequence[tuple[Any, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy tables, one release per row; the noise is the exact one and ignores `rng`."""
        X, y = columns_of(data)
        statistics = collect(X, SCHEMA, y, detail=self.plan.detail, empty=True)
        drawn = []
        for bundle in exact_bundles(statistics, self.plan):
            if self.plan.mechanism == "knorm":  # tables drawn together are drawn one by one
                releases = [noised(bundle, self.plan, ExactSampler()) for _ in range(size)]
                drawn += [np.stack([one[key] for one in releases]) for key in bundle]
                continue
            copies = {key: np.tile(values, (size, 1)) for key, values in bundle.items()}
            drawn += list(noised(copies, self.plan, ExactSampler()).values())
        return np.concatenate(drawn, axis=1)


class SmoothRelease(Released):
    """Counts, then trimmed means and variances whose noise follows the data: each release is drawn on its own."""

    def sample(self, data: Sequence[tuple[Any, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Simulated releases: trims and laws follow each release's own noisy counts."""
        X, y = columns_of(data)
        plan = PrivateNB(self.epsilon, schema=NUMBER, **self.settings).plan()
        statistics = collect(X[:, 1:], NUMBER, y, detail=plan.detail)
        sampler = SimulationSampler(rng)
        drawn = (release_staged(statistics, plan, sampler).values for _ in range(size))
        return np.stack([np.concatenate([np.ravel(values[key]) for key in sorted(values)]) for values in drawn])


class WholeFit(Released):
    """The parameters of a released model, from rows to estimates."""

    def __call__(self, data: Sequence[tuple[Any, ...]]) -> Any:
        """Fit once and return what is published."""
        X, y = columns_of(data)
        model = PrivateNB(self.epsilon, schema=SCHEMA, **self.settings).fit(X, y).model_
        values = [value for one in model.likelihoods for value in vars(one).values()]
        tables = [np.ravel(value) for value in values if isinstance(value, np.ndarray)]
        return np.concatenate([model.log_prior, *tables])


class TotalRelease(Released):
    """All integers of a release from rows that may hold anything, of people who may have any number of them."""

    def sample(self, data: Sequence[tuple[Any, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy tables, one release per row; the rows are read anew for each, as which of them stay is drawn."""
        table = pa.table({name: pa.array([row[i] for row in data], pa.string()) for i, name in enumerate("wxy")})
        plan = PrivateNB(self.epsilon, schema=PEOPLE, unexpected="absorb", mechanism="laplace", **self.settings).plan()
        drawn = []
        for _ in range(size):
            statistics = collect(
                table, PEOPLE, detail=plan.detail, contributions=plan.contributions, unexpected=plan.unexpected
            )
            bundles = [noised(bundle, plan, SimulationSampler(rng)) for bundle in exact_bundles(statistics, plan)]
            drawn.append(np.concatenate([values for bundle in bundles for values in bundle.values()]))
        return np.stack(drawn)


def _total_pairs(adjacency: str) -> list[Pair]:
    """A person with many rows stands before the others, among whom are rows that are none."""
    others = (("a", "0", "0"), ("b", "1", "1"), ("b", "text", "0"), ("c", "0", "2"))
    here = (("z", "1", "1"),) * 3
    if adjacency == "add-remove":
        return [Pair(others, (*here, *others), "one more person with too many rows")]
    changed = (("z", "0", "0"), ("z", "0", "0"), ("z", "-", "none"))
    return [Pair((*here, *others), (*changed, *others), "one person's rows change wholly")]


class PartedRelease(Released):
    """The noisy tables of two features, each counted on the rows dealt to it."""

    def sample(self, data: Sequence[tuple[int, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy tables, one release per row; deals and noise are exact and ignore `rng`."""
        table = np.array(data, np.int64)
        plan = PrivateNB(self.epsilon, schema=BITS, strategy="partition", **self.settings).plan()
        rows = sources.open(table[:, :2], BITS, table[:, 2])
        drawn = (collect_tables(rows, plan, ExactSampler()).values for _ in range(size))
        return np.stack([np.concatenate([np.ravel(one) for one in values.values()]) for values in drawn])


def _parted_pairs(adjacency: str) -> list[Pair]:
    """The row that differs comes first: were rows dealt in turn, all others would change their feature with it."""
    others = ((0, 0, 0), (1, 1, 1)) * 3
    if adjacency == "add-remove":
        return [Pair(others, ((0, 0, 0), *others), "one more row, before the others")]
    return [Pair(((0, 0, 0), *others), ((1, 1, 1), *others), "the first row changes wholly")]


class StreamRelease(Released):
    """Every noisy sum that the first steps of a stream publish; all rows are in the first step."""

    def sample(self, data: Sequence[tuple[int, ...]], size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Noisy sums, one stream per row, by the code that steps use; the noise is exact and ignores `rng`."""
        settings = {key: value for key, value in self.settings.items() if key not in {"steps", "copies"}}
        plan = PrivateNB(self.epsilon, schema=BITS, **settings).plan()
        table, whole = np.array(data, np.int64).reshape(-1, 3), Stream(plan)
        drawn = []
        for step in range(1, self.settings["steps"] + 1):
            rows = table if step == 1 else table[:0]
            exact = whole._with(collect(rows[:, :2], BITS, rows[:, 2], detail=plan.detail, empty=True))
            for sums in whole._sums(exact, step):
                for group in range(len(BITS.classes)):
                    copies = {key: np.tile(values[group], (size, 1)) for key, values in sums.items()}
                    for _ in range(self.settings.get("copies", 1)):
                        drawn += list(noised(copies, plan, ExactSampler()).values())
            whole.exact = exact
        return np.concatenate(drawn, axis=1)


def _stream_cases(near: str) -> Iterator[AuditCase]:
    """A stream of two levels until its first block is whole, one by the root, and one that draws its noise again."""
    few = ((0, 0, 0), (1, 1, 1))
    pair = Pair(few, (*few, (0, 0, 0)), "one more row in the first step")
    if near == "replace":
        pair = Pair((*few, (0, 0, 0)), (*few, (1, 1, 1)), "a row of the first step changes wholly")
    laplace: dict[str, Any] = {"mechanism": "laplace", "adjacency": near}
    gaussian = {"mechanism": "gaussian", "adjacency": near, "delta": DELTA, "stream": 4, "steps": 4}
    named = f"naive-bayes-stream-{near}"
    note = "every noisy sum of the steps of a stream"
    for name, settings, delta in (
        (named, {**laplace, "stream": 90, "steps": 8}, 0.0),
        (f"{named}-gaussian", gaussian, DELTA),
        (f"control-stream-redrawn-{near}", {**laplace, "stream": 4, "steps": 1, "copies": 2}, 0.0),
    ):
        told = "a step whose noise is drawn again, as by restarts that forgot it" if "copies" in settings else note
        build = partial(StreamRelease, settings=settings)
        if "copies" in settings and near == "replace":
            continue  # one neighbour shows it
        size = 5_000 if delta else 40_000
        yield case_at_one(name, build, [pair], told, adjacency=near, samples=size, delta=delta)


def _pairs(adjacency: str) -> list[Pair]:
    if adjacency == "add-remove":
        return [Pair(FEW, (*FEW, ADDED), "one more row, at the end of the bounds")]
    return [
        Pair((*FEW, ("p", 1001.0, 0)), (*FEW, ("q", 1001.0, 1)), "a row at the end of the bounds changes its label"),
        Pair((*FEW, ("p", 1000.0, 0)), (*FEW, ("p", 1001.0, 0)), "a row moves from one bound to the other"),
    ]


def _smooth_pairs(adjacency: str) -> list[Pair]:
    """A class of no or one row gets its first or second, at a bound: mean and variance go from one end to the other."""
    low, high = ("p", 1000.0, 0), ("p", 1001.0, 1)
    if adjacency == "add-remove":
        return [Pair((low,), (low, high), "the first row of a class, at a bound")]
    return [Pair((low, ("p", 1001.0, 0)), (low, high), "one of two rows at the bounds changes its label")]


def audit_cases() -> list[AuditCase]:
    """Releases of tables and of moments under both adjacencies and both laws, and a whole fit."""
    # what, its mechanism, neighbours, note, runs, settings
    trimmed = {"smooth": SmoothSettings("smooth", trim=0), "split": {"x": 0.8, "y": 0.2}, "numeric": "gaussian"}
    listed: list[tuple[str, type[Released], Callable[[str], list[Pair]], str, int, dict[str, Any]]] = [
        ("tables", NoisyRelease, _pairs, "every integer that a release publishes", 40_000, {"numeric": "histogram"}),
        ("residual", NoisyRelease, _pairs, "every table that a release in a residual basis publishes", 10_000,
         {"numeric": "histogram", "mechanism": "residual"}),
        ("moments", NoisyRelease, _pairs, "every integer that a release publishes", 40_000, {"numeric": "gaussian"}),
        ("smooth", SmoothRelease, _smooth_pairs,
         "counts, trimmed means and variances under smooth bounds, by the simulation twin", 8_000, trimmed),
        ("total", TotalRelease, _total_pairs,
         "every integer of a release that absorbs whatever the rows hold", 3_000, {}),
        ("parted", PartedRelease, _parted_pairs,
         "the tables of features that are counted on parts of the rows", 3_000, {}),
    ]  # fmt: skip
    cases = [case_at_one("naive-bayes-fit", WholeFit, _pairs("add-remove"), "the parameters of a fitted PrivateNB",
                         samples=4_000)]  # fmt: skip
    for near in ("add-remove", "replace"):
        for what, kind, pairs, note, samples, settings in listed:
            both = (DELTA,) if what == "residual" else (0.0, DELTA)
            for delta in both if kind is NoisyRelease else (0.0,):
                given = {"adjacency": near, **settings, **({"delta": delta} if kind is NoisyRelease else {})}
                name = f"naive-bayes-{what}-{near}{'-gaussian' if delta else ''}"
                build = partial(kind, settings=given)
                cases.append(case_at_one(name, build, pairs(near), note, adjacency=near, samples=samples, delta=delta))
        cases += _stream_cases(near)
    return cases
