"""The experiments of giaretta2022's federated part: ε and N, maxima, uneven or skewed nodes, cut-offs, shares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.nodes.settings import Settings
from discreet_studies.tasks import Option, Task

DATA = ("accelerometer", "adult", "votes", "mushroom", "skin", "spect")
NUMERIC, CATEGORICAL = ("accelerometer", "adult", "skin"), ("votes", "mushroom", "spect")
NODES = (1, 10, 100, 1000)
SIZES = ("uniform", "uniform-1-10", "exponential")
CUT = ("adult", "skin")
KEPT = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # shares of nodes below the cut-off; 0 keeps the best one alone
TEST_SHARE = 0.1
MODELS = {"gaussian": Settings(numeric="gaussian", split="equal"), "default": Settings()}


SKEWED = ("uniform", "label-skew", "clustered")
CHOSEN = ("adult", "mushroom", "votes", "spect")  # data sets with enough features to choose among
WHOLE = 1000  # trials of every point, as in the paper
WEIGHED = {
    "sweep": 4,
    "skew": 100,
}  # weights are ours: the sweep only shows them
HALF_DECADES = tuple(round(10 ** (power / 2), 6) for power in range(-4, 3))


@dataclass(frozen=True)
class Size:
    """How much of everything a run does: trials in each block, which is one task, and how many trials of a point."""

    trials: int  # of the paper's version, in each block
    sound: int
    others: int  # of what is ours alone, and of the slow baseline
    cuts: int
    epsilons: tuple[float, ...]
    most: int = 10**9  # blocks

    def blocks(self, each: int, whole: int = WHOLE) -> range:
        """The blocks of so many trials each that make the whole."""
        return range(min(self.most, -(-whole // each)))


FULL = Size(trials=50, sound=20, others=6, cuts=16, epsilons=HALF_DECADES)
FAST = Size(trials=12, sound=8, others=4, cuts=3, epsilons=HALF_DECADES[::2], most=3)


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run, those on the same data next to each other."""
    size = FAST if fast else FULL
    planned: list[Task] = []
    for name in DATA:
        planned.append(Task("sweep", name, "plain", math.inf, cost=0.3))
        planned += [Task("sensitivity", name, "paper", math.inf, options=(("nodes", n),))
                    for n in NODES[1:] if name in NUMERIC]  # fmt: skip
        planned += [*_sweep(size, name), *_sizes(size, name), *_skew(size, name), *_cuts(size, name)]
        if name == "adult":
            planned += _shares(size)
        if name in CHOSEN:
            planned += _chosen(size, name)
        planned.append(Task("nodes", name, "paper", math.inf))
    planned.append(Task("audit", "adult", "paper", 1.0, cost=3))
    return planned


def _task(experiment: str, data: str, method: str, epsilon: float, block: int, trials: int, *options: Option) -> Task:
    cost = trials * {"paper": 0.4, "paper-left-out": 0.4, "inverse-variance": 30.0, "cut-off": 6.0, "vaidya": 5.0}.get(
        method, 1.3
    )
    return Task(experiment, data, method, epsilon, repeat=block, options=(("trials", trials), *options), cost=cost)


def _sweep(size: Size, name: str) -> list[Task]:
    """Figure 2."""

    def points(method: str, trials: int, nodes: tuple[int, ...], whole: int = WHOLE) -> list[Task]:
        return [
            _task("sweep", name, method, epsilon, block, trials, ("nodes", n))
            for block in size.blocks(trials, whole)
            for epsilon in size.epsilons
            for n in nodes
        ]

    vaidya = [
        _task("sweep", name, "vaidya", epsilon, block, size.others)
        for block in size.blocks(size.others)
        for epsilon in size.epsilons
    ]
    return [
        *points("paper", size.trials, NODES),
        *points("federated", size.sound, NODES),
        *points("secure", size.others, NODES[1:]),
        *points("inverse-variance", 2, NODES[1:], WEIGHED["sweep"]),
        *vaidya,
    ]


def _sizes(size: Size, name: str) -> list[Task]:
    """Figure 4, on all data sets. A sound sum does not depend on who holds which row, so one law stands for all."""
    return [
        _task("sizes", name, method, epsilon, block, size.trials, ("nodes", 1000), ("partition", partition))
        for block in size.blocks(size.trials)
        for epsilon in size.epsilons[2::2]
        for method, partitions in (("paper", SIZES), ("federated", SIZES[:1]))
        for partition in partitions
    ]


def _skew(size: Size, name: str) -> list[Task]:
    """Section 6: rows that are not dealt out alike, by class or by likeness."""
    return [
        _task("skew", name, method, epsilon, block, trials, ("nodes", 100), ("partition", partition))
        for method, trials, whole in (("paper", size.trials, WHOLE), ("inverse-variance", 1, WEIGHED["skew"]))
        for block in size.blocks(trials, whole)
        for epsilon in (0.1, 1.0, 10.0)
        for partition in SKEWED
        if not (partition == "clustered" and name in ("accelerometer", "skin"))
    ]


def _chosen(size: Size, name: str) -> list[Task]:
    """Section 6: a first round that finds the features worth counting, and a second that counts those alone."""
    return [
        _task("selection", name, "chosen", epsilon, block, size.others, ("nodes", nodes), ("k", k))
        for block in size.blocks(size.others)
        for epsilon in (0.1, 1.0, 10.0)
        for nodes in (10, 100)
        for k in (0, 3, 8)  # 0: all features at the whole budget
    ]


def _shares(size: Size) -> list[Task]:
    """With and without secure aggregation beside the central model, by the library's default model too."""
    return [
        _task("shares", "adult", method, epsilon, block, size.others, ("nodes", nodes), ("model", model))
        for block in size.blocks(size.others)
        for model in MODELS
        for epsilon in (0.1, 1.0)
        for nodes in (10, 100, 1000)
        for method in ("central", "federated", "secure", "secure-half")
    ]


def _cuts(size: Size, name: str) -> list[Task]:
    """Figure 5: the paper shows two data sets and says that the others are alike."""
    published = ("paper", "paper-left-out") if name in CUT else ("paper",)
    ours = [("inverse-variance", 4, 1.0)] if name in CUT else []
    points = [(method, size.cuts, kept) for method in (*published, "cut-off") for kept in KEPT]
    return [
        _task("cut-off", name, method, math.inf, block, trials, ("kept", kept))
        for block in size.blocks(size.cuts)
        for method, trials, kept in [*points, *ours]
    ]
