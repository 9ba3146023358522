"""The experiments of giaretta2022's federated part: ε and N, local sensitivities, uneven nodes, cut-offs, shares."""

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


@dataclass(frozen=True)
class Size:
    """How much of everything a run does: blocks of trials, each block one task."""

    blocks: int
    trials: int
    epsilons: tuple[float, ...]
    paper_trials: int
    uneven_epsilons: tuple[float, ...]
    share_trials: int


_HALF = tuple(round(10 ** (power / 2), 6) for power in range(-4, 3))
FULL = Size(blocks=20, trials=50, epsilons=_HALF, paper_trials=50, uneven_epsilons=_HALF, share_trials=100)
FAST = Size(
    blocks=3,
    trials=6,
    epsilons=(0.01, 0.1, 0.316228, 1.0, 3.162278, 10.0),
    paper_trials=3,
    uneven_epsilons=(0.1, 1.0, 10.0),
    share_trials=50,
)


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run, those on the same data next to each other."""
    size = FAST if fast else FULL
    planned: list[Task] = []
    for name in DATA:
        planned.append(Task("sweep", name, "plain", math.inf, cost=0.3))
        planned += [Task("sensitivity", name, "paper", math.inf, options=(("nodes", n),))
                    for n in NODES[1:] if name in NUMERIC]  # fmt: skip
        for block in range(size.blocks):
            planned += _sweep(size, name, block)
            if name == "adult":
                planned += _sizes(size, block)
                planned += _shares(size, block)
            if name in CUT:
                planned += _cuts(size, name, block)
        if name in CUT:
            planned.append(Task("nodes", name, "paper", math.inf))
    planned.append(Task("audit", "adult", "paper", 1.0, cost=3))
    return planned


def _task(experiment: str, data: str, method: str, epsilon: float, block: int, trials: int, *options: Option) -> Task:
    cost = trials * {"accelerometer": 0.02, "skin": 0.03, "adult": 0.02}.get(data, 0.005)
    return Task(experiment, data, method, epsilon, repeat=block, options=(("trials", trials), *options), cost=cost)


def _sweep(size: Size, name: str, block: int) -> list[Task]:
    planned = []
    for epsilon in size.epsilons:
        planned.append(_task("sweep", name, "vaidya", epsilon, block, max(1, size.paper_trials // 4)))
        for nodes in NODES:
            for method in ("federated", "secure", "inverse-variance"):
                if nodes > 1 or method == "federated":
                    trials = size.trials if method != "inverse-variance" else max(2, size.trials // 8)
                    planned.append(_task("sweep", name, method, epsilon, block, trials, ("nodes", nodes)))
            planned.append(_task("sweep", name, "paper", epsilon, block, size.paper_trials, ("nodes", nodes)))
    return planned


def _sizes(size: Size, block: int) -> list[Task]:
    return [
        _task("sizes", "adult", method, epsilon, block, trials, ("nodes", 1000), ("partition", partition))
        for epsilon in size.uneven_epsilons
        for partition in SIZES
        for method, trials in (
            ("paper", size.share_trials // 5),
            ("federated", size.share_trials),
            ("inverse-variance", size.paper_trials),
        )
    ]


def _shares(size: Size, block: int) -> list[Task]:
    """With and without secure aggregation beside the central model, by the library's default model too."""
    return [
        _task("shares", "adult", method, epsilon, block, size.share_trials, ("nodes", nodes), ("model", model))
        for model in MODELS
        for epsilon in (0.1, 1.0)
        for nodes in (10, 100, 1000)
        for method in ("central", "federated", "secure", "secure-half")
    ]


def _cuts(size: Size, name: str, block: int) -> list[Task]:
    methods: list[tuple[str, float]] = [(m, kept) for m in ("paper", "cut-off") for kept in KEPT]
    methods += [("inverse-variance", 1.0), ("sum", 1.0)]
    return [_task("cut-off", name, m, math.inf, block, size.paper_trials, ("kept", kept)) for m, kept in methods]
