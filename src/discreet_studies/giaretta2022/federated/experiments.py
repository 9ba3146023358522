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
OURS = 8  # blocks of what is not the paper's: 160 trials of the sound sum beside the paper's 1000
HALF_DECADES = tuple(round(10 ** (power / 2), 6) for power in range(-4, 3))


@dataclass(frozen=True)
class Size:
    """How much of everything a run does: blocks of trials, each block one task."""

    blocks: int
    trials: int  # of the paper's version, in each block
    sound: int
    others: int  # of what is ours alone, and of the slow baseline
    cuts: int
    epsilons: tuple[float, ...]


FULL = Size(blocks=20, trials=50, sound=20, others=6, cuts=16, epsilons=HALF_DECADES)
FAST = Size(blocks=3, trials=12, sound=8, others=4, cuts=3, epsilons=HALF_DECADES[::2])


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run, those on the same data next to each other."""
    size = FAST if fast else FULL
    planned: list[Task] = []
    for name in DATA:
        planned.append(Task("sweep", name, "plain", math.inf, cost=0.3))
        planned += [Task("sensitivity", name, "paper", math.inf, options=(("nodes", n),))
                    for n in NODES[1:] if name in NUMERIC]  # fmt: skip
        for block in range(size.blocks):
            planned += [*_sweep(size, name, block), *_sizes(size, name, block), *_skew(size, name, block)]
            if name == "adult" and block < 2 * OURS:
                planned += _shares(size, block)
            if block < (6 if name in CUT else 2):
                planned += _cuts(size, name, block)
            if name in CHOSEN and block < OURS:
                planned += _chosen(size, name, block)
        planned.append(Task("nodes", name, "paper", math.inf))
    planned.append(Task("audit", "adult", "paper", 1.0, cost=3))
    return planned


def _task(experiment: str, data: str, method: str, epsilon: float, block: int, trials: int, *options: Option) -> Task:
    cost = trials * {"paper": 0.4, "paper-left-out": 0.4, "inverse-variance": 30.0, "cut-off": 6.0, "vaidya": 5.0}.get(
        method, 1.3
    )
    return Task(experiment, data, method, epsilon, repeat=block, options=(("trials", trials), *options), cost=cost)


def _sweep(size: Size, name: str, block: int) -> list[Task]:
    """Figure 2."""
    planned = []
    for epsilon in size.epsilons:
        if block < OURS:
            planned.append(_task("sweep", name, "vaidya", epsilon, block, size.others))
        for nodes in NODES:
            given = ("nodes", nodes)
            planned.append(_task("sweep", name, "paper", epsilon, block, size.trials, given))
            if block < OURS:
                planned.append(_task("sweep", name, "federated", epsilon, block, size.sound, given))
            if nodes > 1 and block < OURS:
                planned.append(_task("sweep", name, "secure", epsilon, block, size.others, given))
                if block < 2:
                    planned.append(_task("sweep", name, "inverse-variance", epsilon, block, 2, given))
    return planned


def _sizes(size: Size, name: str, block: int) -> list[Task]:
    """Figure 4, on all data sets. A sound sum does not depend on who holds which row, so one law stands for all."""
    return [
        _task("sizes", name, method, epsilon, block, size.trials, ("nodes", 1000), ("partition", partition))
        for epsilon in size.epsilons[2::2]
        for partition in SIZES
        for method in ("paper", "federated")
        if method == "paper" or (partition == SIZES[0] and block < 4)
    ]


def _skew(size: Size, name: str, block: int) -> list[Task]:
    """Section 6: rows that are not dealt out alike, by class or by likeness."""
    return [
        _task("skew", name, method, epsilon, block, trials, ("nodes", 100), ("partition", partition))
        for epsilon in (0.1, 1.0, 10.0)
        for partition in SKEWED
        for method, trials in (("paper", size.trials), ("inverse-variance", 1))
        if block < (20 if method == "paper" else 4)
        and not (partition == "clustered" and (block >= 2 or name in ("accelerometer", "skin")))
    ]


def _chosen(size: Size, name: str, block: int) -> list[Task]:
    """Section 6: a first round that finds the features worth counting, and a second that counts those alone."""
    return [
        _task("selection", name, "chosen", epsilon, block, size.others, ("nodes", nodes), ("k", k))
        for epsilon in (0.1, 1.0, 10.0)
        for nodes in (10, 100)
        for k in (0, 3, 8)  # 0: all features at the whole budget
    ]


def _shares(size: Size, block: int) -> list[Task]:
    """With and without secure aggregation beside the central model, by the library's default model too."""
    return [
        _task("shares", "adult", method, epsilon, block, size.others, ("nodes", nodes), ("model", model))
        for model in MODELS
        for epsilon in (0.1, 1.0)
        for nodes in (10, 100, 1000)
        for method in ("central", "federated", "secure", "secure-half")
    ]


def _cuts(size: Size, name: str, block: int) -> list[Task]:
    """Figure 5: the paper shows two data sets and says that the others are alike."""
    published = ("paper", "paper-left-out") if name in CUT else ("paper",)
    methods: list[tuple[str, float]] = [(m, kept) for m in (*published, "cut-off") for kept in KEPT]
    planned = [_task("cut-off", name, m, math.inf, block, size.cuts, ("kept", kept)) for m, kept in methods]
    if name in CUT:
        planned.append(_task("cut-off", name, "inverse-variance", math.inf, block, 4, ("kept", 1.0)))
    return planned
