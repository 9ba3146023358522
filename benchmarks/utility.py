"""Accuracy and AUC at the same ε beside scikit-learn, diffprivlib, DP-EBM and AIM, on the same splits and bounds."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.common import data_dir, line
from benchmarks.peers import environments, figures, runner, splits
from benchmarks.peers.bars import EPSILONS
from benchmarks.peers.former import Former
from benchmarks.peers.summary import summarise
from benchmarks.peers.tables import Report, publish
from benchmarks.peers.tasks import FAMILY, OURS, Entry, Journal, Task, chosen, tasks_for
from discreet.errors import DataError
from discreet.files import write_text

LIMIT = 900  # seconds


def run(
    data: str | None = None,
    folder: Path = Path("results"),
    datasets: Sequence[str] = (),
    epsilons: Sequence[float] = EPSILONS,
    seeds: int | None = None,
    methods: Sequence[str] = (),
    peers: Path | None = None,
    jobs: int = 1,
    limit: int = LIMIT,
    reuse: bool = False,
    report: bool = False,
    readme: bool = False,
    beside: Path | None = None,
    **_: Any,
) -> list[dict[str, Any]]:
    """Measure what the journal in `folder` lacks, write tables and figures there, and tell what was reached.

    With `reuse`, results of other editions of our own estimators count, too; `report` measures nothing more;
    `readme` puts the tables into docs/index.md and docs/utility.md, and the figures into docs/figures/utility.
    `beside` is a former report, whose figures are kept where the journal has no fits of a method on a data set.
    """
    former = Former.none() if beside is None else Former.read(beside)
    place = data_dir(data)
    if place is None:
        return [line("all data sets", None, "the data are not here: pass --data DIR")]
    console = Console(stderr=True)
    sets = splits.entries(place)
    unknown = sorted(set(datasets) - set(sets))
    if unknown:
        raise DataError(f"the manifest has no data set {unknown[0]!r}; it has {', '.join(sorted(sets))}")
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder / "utility.jsonl")
    wanted = _present(chosen(methods), console)
    pythons = {} if report else _pythons(wanted, peers or environments.cache_dir(), console)
    wanted = [method for method in wanted if report or FAMILY[method] in pythons]
    editions = {family: environments.edition(family) for family in set(FAMILY.values())}
    tasks: list[Task] = []
    for name in sets:
        if not datasets or name in datasets:
            tasks += tasks_for(name, sets[name], wanted, editions, epsilons, seeds)
    if reuse:
        tasks = [journal.known(task) for task in tasks]
    if report:
        tasks = [task for task in tasks if task in journal.rows]
    todo = [task for task in tasks if not report and not journal.done(task, limit)]
    with tempfile.TemporaryDirectory() as temporary, _progress(console) as progress:
        prepared = {}
        for name in dict.fromkeys(task.data for task in todo):
            prepared[name] = Path(temporary) / f"{name}.npz"
            splits.prepare(place, name, range(seeds or sets[name].seeds)).save(prepared[name])
        bar = progress.add_task("fits", total=len(todo))
        runner.run(todo, journal, prepared, pythons, jobs=jobs, limit=limit, tell=lambda n: progress.advance(bar, n))
    return _report([journal.rows[task] for task in tasks], sets, folder, readme, former)


def _report(
    rows: list[dict[str, Any]], sets: dict[str, Entry], folder: Path, readme: bool, former: Former
) -> list[dict[str, Any]]:
    """Write the tables, and give one line per cell of our estimator."""
    results = summarise(rows, {name: sets[name].facts() for name in {row["data"]: None for row in rows}}, former)
    shown = Report(results)
    text = encoded(results)
    write_text(folder / "utility.json", text)
    write_text(folder / "utility.md", shown.full() + "\n")
    figures.draw(shown, folder / "figures")
    if readme:
        write_text(environments.ROOT / "docs" / "utility.json", text)
        publish(results, environments.ROOT)
        figures.draw(shown, environments.ROOT / "docs" / "figures" / "utility")
    lines = []
    for metric, cell, peers, bar in shown.lines():
        error = cell[f"{metric}_error"]
        unit = f"{'AUC' if metric == 'auc' else 'accuracy'} (s.e. {error}, {cell['seeds']} seeds; {peers})"
        what = f"{sets[cell['data']].title}, {cell['method']}, epsilon = {cell['epsilon']:g}"
        goal, met = ("", None) if bar is None else (f">= {bar[0]:g} within 2 s.e.", bar[1])
        lines.append(line(what, cell[metric], unit, goal, met))
    return lines


def encoded(results: dict[str, Any]) -> str:
    """JSON with one line per cell and contest, so that a change shows as a few lines."""
    parts = []
    for key, value in results.items():
        inner = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = "[\n  " + ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n ]"
        parts.append(f" {json.dumps(key)}: {inner}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _present(methods: list[str], console: Console) -> list[str]:
    """The methods without those whose estimator this version does not have."""
    import discreet

    absent = [method for method in methods if method in OURS and not hasattr(discreet, OURS[method])]
    for method in absent:
        console.print(f"{method} is left out: this version has no {OURS[method]}")
    return [method for method in methods if method not in absent]


def _pythons(methods: list[str], folder: Path, console: Console) -> dict[str, Path]:
    """The interpreter of every environment that could be had."""
    result = {}
    for family in dict.fromkeys(FAMILY[method] for method in methods):
        try:
            with console.status(f"the environment of {family}"):
                result[family] = environments.interpreter(family, folder)
        except environments.BuildError as error:
            console.print(f"{family} is left out: {error}")
    return result


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)
