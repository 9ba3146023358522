"""The experiments of giaretta2022's gossip part: convergence, what stays behind, growth with N, links, and liars."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet_studies.giaretta2022.federated.experiments import DATA
from discreet_studies.tasks import Option, Task

EPSILON = round(10**0.5, 6)
NODES = 1000
STEPS = (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100)
LONG = (30, 100, 300, 1000)
VERSIONS = ("push-sum", "published", "paper")  # the sound updates under both protocols, and the paper in all
LIARS = (0, 1, 10, 50, 100, 200)
RULES = ("push-sum", "mean", "clipped", "trimmed", "median")
LINKS = (
    ("complete", 0.0), ("complete", 0.1), ("complete", 0.3), ("random-regular", 0.0), ("random-regular", 0.1),
    ("small-world", 0.0), ("ring", 0.0),
)  # fmt: skip
SCATTERED = {"votes": 15, "spect": 15}  # repeats of the small ones, which scatter most and take least
TURNED = 40  # repeats of the curves of the published rule, whose nodes figure 6 counts and figure 7 puts in order
CRASHED = (0.01, 0.05, 0.2)


@dataclass(frozen=True)
class Size:
    """How much of everything a run does."""

    repeats: int
    measured: int
    test_rows: int
    largest: int


FULL = Size(repeats=3, measured=60, test_rows=1 << 30, largest=5)
FAST = Size(repeats=2, measured=40, test_rows=4000, largest=4)


def tasks(fast: bool) -> list[Task]:
    """All tasks of a run."""
    size = FAST if fast else FULL
    measured: tuple[Option, ...] = (("measured", size.measured), ("test", size.test_rows))
    planned: list[Task] = []
    for repeat in range(size.repeats):
        for version in VERSIONS:
            for model in ("gaussian", "default") if version != "paper" else ("gaussian",):
                planned.append(_task("curve", "adult", version, repeat, ("model", model), *measured, cost=3))
            if repeat < 2:
                planned.append(_task("long", "adult", version, repeat, ("model", "gaussian"), *measured, cost=6))
        for rule in RULES if repeat < 2 else ():
            for liars in LIARS:
                planned.append(_task("liars", "adult", rule, repeat, ("liars", liars), *measured, cost=1))
        for power in range(1, size.largest + 1):
            for protocol in ("push-sum", "published"):
                option = ("nodes", 10**power)
                planned.append(_task("growth", "adult", protocol, repeat, option, cost=10.0**power / 30_000))
        for topology, loss in LINKS:
            planned.append(
                _task("links", "adult", "push-sum", repeat, ("topology", topology), ("loss", loss), cost=0.5)
            )
        for share in CRASHED:
            planned.append(_task("crashes", "adult", "push-sum", repeat, ("crashed", share), cost=0.5))
    if size is FULL:
        for repeat in range(size.repeats, TURNED):
            for version in ("published", "paper"):
                planned.append(_task("curve", "adult", version, repeat, ("model", "gaussian"), *measured, cost=3))
    for name in DATA:
        times = size.repeats if size is FAST else SCATTERED.get(name, size.repeats)
        options: tuple[Option, ...] = (("model", "gaussian"), ("measured", 100), ("test", size.test_rows))
        planned += [_task("data", name, v, r, *options, cost=1) for r in range(times) for v in VERSIONS]
    planned.append(_task("speed", "adult", "push-sum", 0, ("nodes", NODES), cost=0.5))
    return sorted(planned, key=lambda task: (task.data, task.experiment))


def _task(experiment: str, data: str, method: str, repeat: int, *options: Option, cost: float) -> Task:
    epsilon = math.inf if experiment in {"growth", "links", "crashes"} else EPSILON
    return Task(experiment, data, method, epsilon, repeat=repeat, options=options, cost=cost)
