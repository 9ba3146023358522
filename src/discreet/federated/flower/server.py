"""The ServerApp: it runs one round and writes the model; it sees noised integers only."""

from __future__ import annotations

from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from discreet.federated.flower.gather import Patience, Report, Watch, gather, ignore
from discreet.federated.flower.records import Request
from discreet.federated.flower.steps import KeptStep
from discreet.federated.flower.task import KeptRound, RoundTask
from discreet.schema import Schema


def _print(event: str, node: str) -> None:
    print(f"{event}: {node}", flush=True)


def conduct(grid: Grid, task: RoundTask, report: Report = _print, watch: Watch = ignore) -> dict[str, Any]:
    """Run the task's round over the grid, write the model, and tell what each node gave."""
    if task.secure:
        from discreet.federated.flower.secure_round import conduct_secure

        return conduct_secure(grid, task, report, watch)
    schema = Schema.load(task.schema)
    progress = KeptStep(task, schema) if task.stream else KeptRound(task, schema)
    request = Request(progress.round_id, schema.hash, task.settings, progress.at)
    outcome = gather(
        grid, request, progress.aggregate(), expected=task.nodes, at_least=task.at_least or None,
        known=task.known or None, named=bool(task.keys), patience=Patience(task.wait, task.resend), report=report,
        keep=progress.keep, watch=watch,
    )  # fmt: skip
    missing = progress.complete(outcome.aggregate)
    outcome.aggregate.model(task.smoothing).save(task.out)
    progress.finish()
    return {
        "model": task.out,
        "round": progress.round_id,
        "secure": False,
        "nodes": outcome.table(),
        "refused": outcome.refused,
        **({} if progress.at is None else {"steps": progress.at[0], "step": progress.at[1], "missing": missing}),
    }


def make_app(
    task: RoundTask | None = None,
    report: Report = _print,
    results: list[dict[str, Any]] | None = None,
    watch: Watch = ignore,
) -> ServerApp:
    """The app, for a task or for the one in its run configuration; it tells `report` and `results` how it goes."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        result = conduct(grid, task or RoundTask.read(context.run_config), report, watch)
        if results is not None:
            results.append(result)

    return app


app = make_app()
