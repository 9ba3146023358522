"""A round under masks over a grid: stage by stage with whoever answers in time, anew if too few are left."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from flwr.serverapp import Grid

from discreet.errors import DiscreetError
from discreet.federated.flower.gather import Patience, Post, Report, Watch, ignore, names
from discreet.federated.flower.keys import Keys
from discreet.federated.flower.records import BusyError, NodeRefusal, RefusedError, Request, read_secure, secure_record
from discreet.federated.flower.task import Task
from discreet.federated.secure import AbortError, SecureCoordinator, SecureError
from discreet.federated.shares import SharePlan
from discreet.schema import Schema

ATTEMPTS = 3
FINAL = {NodeRefusal.BUDGET, NodeRefusal.SCHEMA, NodeRefusal.SETTINGS, NodeRefusal.REQUEST}


def conduct_secure(grid: Grid, task: Task, report: Report, watch: Watch = ignore) -> dict[str, Any]:
    """Run a task's round under masks, write the model, and tell who is in it."""
    schema = Schema.load(task.schema)
    registry = Keys(Path(task.keys)).registry()
    shared = task.shares(schema, len(registry))
    budget = shared.plan.budget
    _assemble(grid, task, set(registry), report, watch)
    final: set[str] = set()  # nodes that would refuse every attempt
    for attempt in range(1, ATTEMPTS + 1):
        refused: dict[str, RefusedError | SecureError] = {}
        try:
            coordinator, name = _attempt(grid, task, shared, schema, registry, report, refused, watch)
            break
        except AbortError as error:
            report("given up", f"attempt {attempt}: {error}")
            final |= {node for node, why in refused.items() if isinstance(why, RefusedError) and why.reason in FINAL}
            if attempt == ATTEMPTS or len(registry) - len(final) < shared.least_honest + shared.colluding:
                reasons = "".join(f"; {node}: {why}" for node, why in sorted(refused.items()))
                raise DiscreetError(
                    f"the secure round came to no end ({error}){reasons}: no model was written"
                ) from None
    survivors = coordinator.survivors
    shared.model(coordinator.result, len(survivors), smoothing=task.smoothing).save(task.out)
    epsilon = None if budget.epsilon is None else float(budget.epsilon)
    row = {"epsilon": epsilon, "delta": task.delta, "rho": None, "rows": None, "weight": 1 / len(survivors)}
    return {
        "model": task.out,
        "round": name,
        "secure": True,
        "nodes": [{"node": node, **row} for node in survivors],
        "refused": {node: str(why) for node, why in refused.items()},
    }


def _assemble(grid: Grid, task: Task, wanted: set[str], report: Report, watch: Watch) -> None:
    """Wait until every registered node is there, or as many as must be when the time is up."""
    end, seen = time.monotonic() + task.wait, set[str]()
    while True:
        here = set(names(grid).values()) & wanted
        for name in sorted(here - seen):
            report("joined", name)
        seen |= here
        if here == wanted:
            return
        if time.monotonic() > end:
            if len(here) >= len(wanted) - task.dropouts:
                return
            raise DiscreetError(f"{len(here)} of {len(wanted)} nodes are there: a secure round needs more")
        watch()
        time.sleep(0.5)


def _attempt(
    grid: Grid,
    task: Task,
    shared: SharePlan,
    schema: Schema,
    registry: dict[str, bytes],
    report: Report,
    refused: dict[str, RefusedError | SecureError],
    watch: Watch,
) -> tuple[SecureCoordinator, str]:
    round_ = shared.open_round(registry)
    coordinator = SecureCoordinator(round_)
    request = Request(round_.digest.hex(), schema.hash, task.settings)
    patience = Patience(task.wait, min(task.resend, task.stage / 3))
    while not coordinator.done:
        report("stage", coordinator.stage)
        _stage(grid, Post(grid, patience, "query"), coordinator, request, task.stage, report, refused, watch)
        coordinator.close()
    return coordinator, request.round_id


def _stage(
    grid: Grid,
    post: Post,
    coordinator: SecureCoordinator,
    request: Request,
    seconds: float,
    report: Report,
    refused: dict[str, RefusedError | SecureError],
    watch: Watch,
) -> None:
    """Ask everybody who is due until all have answered or the stage's time is up."""
    due, called = set(coordinator.awaiting), dict[int, str]()
    end = time.monotonic() + seconds
    while due and time.monotonic() < end:
        here = {node: name for node, name in names(grid).items() if name in due}
        called.update(here)
        for node, name in here.items():
            if post.ask(node, secure_record(request, coordinator.message(name)), end - time.monotonic()):
                report("asked" if post.tries[node] == 1 else "asked again", name)
        for node, message in post.replies():
            name = called[node]  # also of a node that has gone offline since it was asked
            if name not in due:
                continue
            if message.has_error():
                post.lost(node)
                continue
            due.discard(name)
            try:
                coordinator.receive(name, read_secure(message.content))
                report("answered", name)
            except BusyError:
                due.add(name)
                post.lost(node)
            except (RefusedError, SecureError) as error:
                refused[name] = error
                report("refused", f"{name}: {error}")
        if due:
            watch()
            time.sleep(post.patience.poll)
