"""discreet reproduce: run a paper's experiments again and judge its claims."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.terminal import console, note, print_json, table


def command(
    study: Annotated[
        str | None, typer.Argument(help="The study, by its short name, or all.", show_default=False)
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part", help="One part of a study that has several; all of them unless told.", show_default=False
        ),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Show which studies there are.")] = False,
    fast: Annotated[
        bool, typer.Option("--fast/--full", help="Minutes instead of hours: fewer repeats and rows.")
    ] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="The directory of the reference data sets (or DISCREET_DATA).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to put results, figures, summary and claims.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option("--results", help="Keep small result files here; nothing that they hold is measured again."),
    ] = None,
    from_results: Annotated[
        bool, typer.Option("--from-results", help="Measure nothing: judge and draw what --results holds.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only tasks with this value in a column, such as data=adult.", show_default=False),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", min=1, help="Only the first so many repeats.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The root of all seeds.")] = 0,
    workers: Annotated[int | None, typer.Option(min=0, help="Processes at once; all cores unless told.")] = None,
    as_json: options.Json = False,
) -> None:
    """Run a paper's experiments again and judge its claims; a killed run goes on where it stopped."""
    from discreet_studies import PARTS, STUDIES, StudyError, find_studies

    if listing:
        if as_json:
            print_json(
                [{"study": name, "title": title, "parts": list(PARTS.get(name, ()))} for name, title in STUDIES.items()]
            )
        else:
            shown = [[name, ", ".join(PARTS.get(name, ())), title] for name, title in STUDIES.items()]
            console().print(table("", ["study", "parts", "paper"], shown, left=3))
        return
    if study is None:
        raise StudyError("name a study: 'discreet reproduce --list' shows them")
    chosen = find_studies(study, part)
    if out is None:
        raise StudyError("say where the results should go: --out DIR")
    if out.exists() and not out.is_dir():
        raise StudyError(f"{out} is a file: --out needs a directory")
    from discreet_studies.data import find_data
    from discreet_studies.study import reproduce, retell
    from discreet_studies.tasks import chosen_tasks

    if from_results and results is None:
        raise StudyError("say where the stored results are: --results DIR")
    wanted = chosen_tasks(only or (), repeats)
    directory = None if from_results else find_data(data)
    command = " ".join(
        ["discreet reproduce", study, *(["--part", part] if part else []), "--fast" if fast else "--full",
         *(f"--only {one}" for one in only or ()), *([f"--repeats {repeats}"] if repeats else []), f"--seed {seed}"]
    )  # fmt: skip
    told = []
    for one, folders in chosen:
        place = out.joinpath(*folders)
        try:
            if directory is None:
                assert results is not None
                outcome = retell(one, results, place, fast=fast)
            else:
                with _bar(" ".join(filter(None, (one.name, one.part))), quiet=as_json) as report:
                    outcome = reproduce(one, directory, place, fast=fast, seed=seed, workers=workers, report=report,
                                        only=wanted, results_folder=results, command=command)  # fmt: skip
        except KeyboardInterrupt:
            note(f"stopped: what was measured is kept in {out}, and the same command goes on from there")
            raise typer.Exit(130) from None
        failed = len(outcome.results.failures)
        told.append({"study": one.name, "part": one.part, "fast": fast, "failed_tasks": failed,
                     "claims": outcome.claims, "files": [str(file) for file in outcome.files]})  # fmt: skip
        if as_json:
            continue
        rows = [[claim[key] for key in ("claim", "verdict", "reason")] for claim in outcome.claims]
        console().print(table(one.title, ["claim", "verdict", "why"], rows, left=3))
        if failed:
            note(f"note: {failed} of {len(outcome.results.rows)} tasks failed; summary.md says why")
        note(f"note: all noise was simulated; results, figures, summary.md and claims.json are in {place}")
    if as_json:
        print_json(told[0] if len(told) == 1 else told)


@contextmanager
def _bar(label: str, *, quiet: bool) -> Iterator[Any]:
    """A bar with the time left on a terminal; a line now and then elsewhere."""
    import time

    from rich.console import Console

    screen = Console(stderr=True)
    if quiet:
        yield None
        return
    if not screen.is_terminal:
        last = [time.monotonic()]

        def line(state: Any) -> None:
            if time.monotonic() - last[0] >= 30:
                last[0] = time.monotonic()
                note(f"{label}: {state.done} of {state.total} tasks, {_words(state.left)} left")

        yield line
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
                  console=screen, transient=True) as bar:  # fmt: skip
        task = bar.add_task(label, total=1.0, left="")

        def update(state: Any) -> None:
            failed = f", {state.failed} failed" if state.failed else ""
            text = f"{state.done}/{state.total} tasks{failed}, {_words(state.left)} left"
            bar.update(task, completed=state.share, left=text)

        yield update


def _words(seconds: float | None) -> str:
    if seconds is None:
        return "time unknown"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
