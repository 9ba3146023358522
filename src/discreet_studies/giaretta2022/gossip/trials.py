"""One task of the gossip experiments at a time."""

from __future__ import annotations

import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.gossip.simulate import Simulation
from discreet.gossip.topology import Crash, Network
from discreet.nodes.partition import assign
from discreet_studies.giaretta2022.federated.trials import bench
from discreet_studies.giaretta2022.gossip.bench import KINDS, AsPublished, Fitted, Sound
from discreet_studies.giaretta2022.gossip.experiments import LONG, NODES, STEPS
from discreet_studies.giaretta2022.gossip.liars import lying_gossip
from discreet_studies.giaretta2022.linear import Linear
from discreet_studies.tasks import Task

Floats = NDArray[np.float64]
POINT = 0.01  # a node is near the federated accuracy within a point, or within a test row where that is more
SHOWN = 4  # parameters of each kind that figure 7 follows
BOLD = 100.0  # how many times its share a liar claims, with the classes swapped
TURNS = {"complete": 200, "random-regular": 300, "small-world": 2000, "ring": 4000}
CLOSE = (0.1, 0.01, 1e-6)
MOST = (0.5, 0.2, 0.1)


@lru_cache(maxsize=2)
def linear(directory: Path, name: str, most: int) -> Linear:
    """The test rows of a data set."""
    held = bench(directory, name)
    return Linear(held.schema, held.test.X, held.test.y, most)


def execute(task: Task, seed: int, directory: Path) -> dict[str, Any]:
    """Run one task."""
    rng = np.random.default_rng(seed)
    if task.experiment in {"curve", "long", "data"}:
        return _curve(task, rng, directory)
    if task.experiment == "liars":
        return _liars(task, rng, directory)
    if task.experiment == "growth":
        return _growth(task, rng)
    if task.experiment == "speed":
        return _speed(task, rng, directory)
    return _links(task, rng)


def _version(task: Task, directory: Path) -> Sound | AsPublished:
    held = bench(directory, task.data)
    if task.method == "paper":
        return AsPublished(held, task.epsilon, NODES)
    return Sound(held, str(task.option("model", "default")), task.epsilon, NODES)


def _curve(task: Task, rng: np.random.Generator, directory: Path) -> dict[str, Any]:
    """Accuracy and parameters of nodes, step by step, beside the federated model of the same updates."""
    version = _version(task, directory)
    judge = linear(directory, task.data, int(task.option("test")))
    design = judge.design(version.gaussian)
    held = bench(directory, task.data)
    rows = version.rows(assign(held.train.y, NODES, "uniform", rng=rng), rng)
    goal = version.fit(rows.mean(axis=0, dtype=np.float64))
    federated = float(judge.accuracies(goal.coefficients[None], design)[0])
    simulation = Simulation(
        rows, Network(NODES, clock="free"), "push-sum" if task.method == "push-sum" else "published"
    )
    near = POINT if POINT * len(judge.truth) >= 1 else 1 / len(judge.truth) + 1e-9
    nodes = np.linspace(0, NODES - 1, int(task.option("measured"))).astype(np.int64)
    steps = {"curve": STEPS, "long": LONG, "data": (30, 35, 100)}[task.experiment]
    found: dict[str, list[Any]] = {"quartiles": [], "near": [], "kinds": [], "shown": []}
    for step in steps:
        simulation.run(step - simulation.turn, rng=rng)
        fits = [version.fit(average) for average in simulation.averages(nodes)]
        accuracy = judge.accuracies(np.stack([one.coefficients for one in fits]), design)
        found["quartiles"].append(np.quantile(accuracy, [0.25, 0.5, 0.75]).tolist())
        found["near"].append(float((np.abs(accuracy - federated) <= near).mean()))
        found["kinds"].append(_deviations(fits, goal))
        found["shown"].append(_shown(fits, goal))
    last = found["kinds"][-1]
    return {
        "federated": federated,
        "majority": held.majority,
        "accuracy": found["quartiles"][-1][1],
        "at_30": found["quartiles"][steps.index(30)][1],
        "near_30": found["near"][steps.index(30)],
        "reached": next((s for s, near in zip(steps, found["near"], strict=True) if near >= 0.75), None),
        **{f"{kind}_gap": None if last[kind] is None else last[kind]["gap"] for kind in KINDS},
        "deviation_bias": None if last["deviation"] is None else last["deviation"]["bias"],
        "steps": json.dumps(steps),
        **{name: json.dumps(values) for name, values in found.items()},
        "private": task.method != "paper",
    }


def _relative(fits: list[Fitted], goal: Fitted, kind: str) -> Floats:
    """Each node's parameters less the federated ones, as shares of the median size of that kind of parameter."""
    values = np.stack([one.parameters[kind] for one in fits])
    return np.asarray((values - goal.parameters[kind]) / np.median(np.abs(goal.parameters[kind])))


def _deviations(fits: list[Fitted], goal: Fitted) -> dict[str, Any]:
    """By kind: the typical gap of a parameter at a node, and how far all nodes together are off."""
    result: dict[str, Any] = {}
    for kind in KINDS:
        if not goal.parameters[kind].size:
            result[kind] = None
            continue
        # Like with like: gaps of every kind as shares of the typical size of that kind of parameter.
        off = _relative(fits, goal, kind)
        common = np.median(off, axis=0)  # of each parameter, over nodes
        result[kind] = {"gap": float(np.median(np.abs(off))), "bias": float(np.median(np.abs(common)))}
    return result


def _shown(fits: list[Fitted], goal: Fitted) -> dict[str, Any]:
    """Quartiles over nodes of a few parameters of each kind, beside the federated value."""
    result: dict[str, Any] = {}
    for kind in KINDS:
        size = goal.parameters[kind].size
        if size:
            picked = np.unique(np.linspace(0, size - 1, SHOWN).astype(np.int64))
            values = np.stack([one.parameters[kind][picked] for one in fits])
            quartiles = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
            result[kind] = {"quartiles": quartiles.tolist(), "goal": goal.parameters[kind][picked].tolist()}
    return result


def _liars(task: Task, rng: np.random.Generator, directory: Path) -> dict[str, Any]:
    """Accuracy of honest nodes' models where some nodes claim many times their share with the classes swapped."""
    held = bench(directory, task.data)
    version = Sound(held, "default", task.epsilon, NODES)
    judge = linear(directory, task.data, int(task.option("test")))
    design = judge.design(False)
    rows = version.rows(assign(held.train.y, NODES, "uniform", rng=rng), rng).astype(np.float64)
    swapped = {key: table[::-1] for key, table in version.layout.tables(rows.mean(axis=0)).items()}
    lie = BOLD * np.concatenate([np.ravel(swapped[key]) for key, _ in version.layout.shapes])
    liars = np.zeros(NODES, np.bool_)
    liars[rng.permutation(NODES)[: int(task.option("liars"))]] = True
    # An honest update spreads by its noise and by its rows, which are about Poisson around a public guess of them.
    scale = version.scale() + np.sqrt(len(held.train) / NODES)
    averages = lying_gossip(rows, liars, lie, task.method, 40, scale=scale, rng=rng)
    honest = np.flatnonzero(~liars)
    picked = honest[np.linspace(0, len(honest) - 1, min(len(honest), int(task.option("measured")))).astype(np.int64)]
    fits = np.stack([version.fit(average).coefficients for average in averages[picked]])
    accuracy = judge.accuracies(fits, design)
    truth = rows[~liars].mean(axis=0)
    error = np.abs(averages[picked] - truth).mean() / np.abs(truth).mean()
    goal = float(judge.accuracies(version.fit(truth).coefficients[None], design)[0])
    worst = float(np.quantile(accuracy, 0.05))
    return {"accuracy": float(np.median(accuracy)), "lowest": worst, "error": float(error), "federated": goal}


def _growth(task: Task, rng: np.random.Generator) -> dict[str, Any]:
    """Turns until every node is close, on a few columns of made-up updates."""
    nodes = int(task.option("nodes"))
    rows = rng.poisson(50, (nodes, 4)) + rng.integers(-60, 61, (nodes, 4))
    simulation = Simulation(rows, Network(nodes, clock="free"), task.method)
    reached: dict[str, int | None] = {f"within_{close:g}": None for close in CLOSE}
    # "A vast majority of the nodes": nine of ten, whose estimates are off by no more than a share of the average.
    reached |= {f"most_{close:g}": None for close in MOST}
    while simulation.turn < 150 and any(turn is None for turn in reached.values()):
        simulation.run(1, rng=rng)
        gaps = simulation.gaps()
        gap, most = float(gaps.max()), float(np.quantile(gaps, 0.9))
        for name, value, limits in (("within", gap, CLOSE), ("most", most, MOST)):
            for close in limits:
                if value <= close and reached[f"{name}_{close:g}"] is None:
                    reached[f"{name}_{close:g}"] = simulation.turn
    return {**reached, "gap": gap, "most_gap": most}


def _speed(task: Task, rng: np.random.Generator, directory: Path) -> dict[str, Any]:
    """Seconds for a hundred turns of a thousand nodes with all of Adult's parameters."""
    held = bench(directory, task.data)
    version = Sound(held, "default", task.epsilon, NODES)
    simulation = Simulation(version.rows(assign(held.train.y, NODES, "uniform", rng=rng), rng), Network(NODES))
    simulation.run(1, rng=rng)
    start = time.perf_counter()
    simulation.run(100, rng=rng)
    return {
        "seconds": time.perf_counter() - start,
        "columns": version.layout.size,
        "gap": float(simulation.gaps().max()),
    }


def _links(task: Task, rng: np.random.Generator) -> dict[str, Any]:
    """Turns to 1e-6 on a topology with losses, or the error that crashes for good leave behind."""
    topology = str(task.option("topology", "complete"))
    crashed = round(NODES * float(task.option("crashed", 0.0)))
    who = rng.permutation(NODES)[:crashed]
    crashes = [Crash(int(node), int(rng.integers(1, 30))) for node in who]
    rows = rng.poisson(50, (NODES, 4)) + rng.integers(-60, 61, (NODES, 4))
    network = Network(NODES, topology, clock="free", loss=float(task.option("loss", 0.0)), crashes=crashes)
    simulation = Simulation(rows, network)
    alive = np.setdiff1d(np.arange(NODES), who)
    reached, last = None, TURNS[topology]
    for turn in network.turns(last, rng=rng):
        simulation.step(turn)
        if float(simulation.gaps()[alive].max()) <= 1e-6:
            reached = simulation.turn
            break
    values, weight = simulation.mass()
    conserved = (
        bool((values == (rows.sum(axis=0) << simulation.bits)).all()) and weight == NODES << simulation.weight_bits
    )
    return {"reached": reached, "gap": float(simulation.gaps()[alive].max()), "conserved": conserved}
