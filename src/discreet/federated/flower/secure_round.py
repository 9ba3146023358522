"""A round under masks over a grid: stage by stage with whoever answers in time, anew if too few are left."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from flwr.serverapp import Grid

from discreet.errors import DiscreetError
from discreet.federated.flower.gather import Patience, Post, Report, Watch, ignore, names, reasons
from discreet.federated.flower.keys import FederationKeys
from discreet.federated.flower.records import Request, masked_record, read_masked
from discreet.federated.flower.task import RoundTask
from discreet.federated.secure import AbortError, SecureCoordinator, SecureError
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError
from discreet.schema import Schema

ATTEMPTS = 3
FINAL = {NodeRefusal.BUDGET, NodeRefusal.SCHEMA, NodeRefusal.SETTINGS, NodeRefusal.REQUEST}


def conduct_secure(grid: Grid, task: RoundTask, report: Report, watch: Watch = ignore) -> dict[str, Any]:
    """Run a task's round under masks, write the model, and tell who is in it."""
    schema = Schema.load(task.schema)
    registry = FederationKeys(Path(task.keys)).registry()
    shared = task.shares(schema, len(registry))
    budget = shared.plan.budget
    _assemble(grid, task, set(registry), report, watch)
    patience = Patience(task.wait, min(task.resend, task.stage / 3))
    final: set[str] = set()  # nodes that would refuse every attempt
    for attempt in range(1, ATTEMPTS + 1):
        refused: dict[str, NodeRefusedError | SecureError] = {}
        coordinator = SecureCoordinator(shared.open_round(registry))
        request = Request(coordinator.round.digest.hex(), schema.hash, task.settings)
        try:
            while not coordinator.done:
                report("stage", coordinator.stage)
                _stage(Post(grid, patience, report, "query"), coordinator, request, task.stage, refused, watch)
                coordinator.close()
            break
        except AbortError as error:
            report("given up", f"attempt {attempt}: {error}")
            final |= {node for node, why in refused.items() if getattr(why, "reason", None) in FINAL}
            if attempt == ATTEMPTS or len(registry) - len(final) < shared.least_honest + shared.colluding:
                raise DiscreetError(
                    f"the secure round came to no end ({error}){reasons(refused)}: no model was written"
                ) from None
    survivors = coordinator.survivors
    shared.model(coordinator.result, len(survivors), smoothing=task.smoothing).save(task.out)
    epsilon = None if budget.epsilon is None else float(budget.epsilon)
    row = {"epsilon": epsilon, "delta": task.delta, "rho": None, "rows": None, "weight": 1 / len(survivors)}
    return {
        "model": task.out,
        "round": request.round_id,
        "secure": True,
        "nodes": [{"node": node, **row} for node in survivors],
        "refused": {node: str(why) for node, why in refused.items()},
    }


def _assemble(grid: Grid, task: RoundTask, wanted: set[str], report: Report, watch: Watch) -> None:
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


def _stage(
    post: Post,
    coordinator: SecureCoordinator,
    request: Request,
    seconds: float,
    refused: dict[str, NodeRefusedError | SecureError],
    watch: Watch,
) -> None:
    """Ask everybody who is due until all have answered or the stage's time is up."""
    due = set(coordinator.awaiting)
    done: set[int] = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        here = {node: name for node, name in names(post.grid).items() if name in due}
        post.called.update(here)  # a node that goes offline keeps its name
        for node, name in here.items():
            post.ask(node, masked_record(coordinator.message(name), request), end - time.monotonic())
        post.hear(lambda name, reply: coordinator.receive(name, read_masked(reply)), done, refused)
        due -= {post.called[node] for node in done}
        if not due:
            return
        watch()
        time.sleep(post.patience.poll)
