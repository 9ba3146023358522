"""A study as a whole: its tasks run, its figures drawn, its claims judged, and all of it written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from discreet.bayes.model import normalised
from discreet.evaluation.exact import rates
from discreet.files import write_text
from discreet_studies import STUDIES, StudyError, engine, stored
from discreet_studies.claims import Claim, judge, write_claims
from discreet_studies.data import fingerprints
from discreet_studies.methods import Floats
from discreet_studies.results import Results
from discreet_studies.tasks import Task

Execute = Callable[[Task, int, Path], Mapping[str, Any]]
FIGURES = "figures"
SAMPLER = "numpy: pseudo-random simulation"


@dataclass(frozen=True)
class Study:
    """A paper's experiments as data: which tasks, how to run one, which claims to judge, what to draw and to say.

    `tables` turns results into Markdown sections; `changes` lists what differs from the paper and why; `unsound` names
    the audits or proofs that show why the as-published version is not private, as items do.
    """

    name: str
    data: tuple[str, ...]
    tasks: Callable[[bool], list[Task]]
    execute: Execute
    claims: Sequence[Claim]
    draw: Callable[[Results, Path], list[Path]]
    tables: Callable[[Results], str]
    changes: tuple[str, ...]
    part: str | None = None
    unsound: str = ""

    @property
    def title(self) -> str:
        """What the paper is called."""
        return STUDIES[self.name]


@dataclass(frozen=True)
class Outcome:
    """What a study wrote and found."""

    results: Results
    claims: list[dict[str, Any]]
    files: list[Path]


def reproduce(
    study: Study,
    data: Path,
    out: Path,
    *,
    fast: bool = False,
    seed: int = 0,
    workers: int | None = None,
    report: engine.Report | None = None,
    only: Callable[[Task], bool] | None = None,
    results_folder: Path | None = None,
    command: str = "",
) -> Outcome:
    """Run a study, or go on with one that was interrupted, and write results, figures, summary and claims.

    With a `results_folder` nothing is measured that is stored there already, be it by the other kind of run, and what
    is measured is stored there; then all of it, whichever command measured it, is judged.
    """
    from discreet_studies.figures import require_matplotlib

    require_matplotlib()  # before hours of work, not after
    everything = study.tasks(fast)
    tasks = [task for task in everything if only is None or only(task)]
    if not tasks:
        raise StudyError(f"no task of {study.name} is as asked: leave out --only or --repeats")
    facts = {"study": study.name, "fast": fast, "data": fingerprints(data, study.data)}
    identity = {**facts, **({"part": study.part} if study.part else {}), "library": _versions()[0]}
    file, known, taken = None, {}, {}
    run = {**facts, "part": study.part, "seed": seed,
           "options": sorted({name for task in everything for name, _ in task.options})}  # fmt: skip
    if results_folder is not None:
        file = stored.file_of(results_folder, study.name, study.part, fast=fast)
        if file.exists():
            before = stored.recall(file)
            stored.refuse_another_run(file, before, run)
            known = before.known(tasks)
        taken = stored.same_tasks(results_folder, run, [task for task in tasks if task.key not in known])
    out.mkdir(parents=True, exist_ok=True)
    execute = partial(study.execute, directory=data)  # type: ignore[call-arg]
    results = engine.run(
        tasks, execute, out, identity=identity, seed=seed, workers=workers, report=report, known={**taken, **known}
    )
    if file is not None:
        fresh = [row for row in results.rows if row["key"] not in known]
        if fresh or not file.exists():
            stored.store(file, stored.merged(file, run, fresh, _account(command, fresh)))
        results = stored.recall(file).results
    return write_outcome(study, results, out, fast=fast, seed=seed)


def retell(study: Study, folder: Path, out: Path, *, fast: bool) -> Outcome:
    """Judge and draw stored results; nothing is measured."""
    kept = stored.recall(stored.file_of(folder, study.name, study.part, fast=fast))
    return write_outcome(study, kept.results, out, fast=fast, seed=int(kept.run["seed"]))


def _versions() -> tuple[str, str]:
    from importlib.metadata import version

    return f"discreet {version('discreet')}", f"numpy {version('numpy')}"


def _account(command: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What one command added to stored results, and what measuring it took."""
    spent = sum(row.get("processor_seconds", row.get("seconds", 0.0)) for row in rows)
    return {"command": command, "versions": list(_versions()), "tasks": len(rows), "processor_seconds": round(spent, 1)}


def write_outcome(study: Study, results: Results, out: Path, *, fast: bool, seed: int) -> Outcome:
    """Judge results, measured now or stored before, and write figures, summary and claims."""
    judged = judge(study.claims, results)
    (out / FIGURES).mkdir(parents=True, exist_ok=True)
    figures = study.draw(results, out / FIGURES)
    write_claims(out / "claims.json", judged)
    write_text(out / "summary.md", summary(study, results, judged, figures, fast=fast, seed=seed))
    files = [out / engine.RESULTS, out / "claims.json", out / "summary.md", *figures]
    return Outcome(results, judged, [file for file in files if file.exists()])


def measure(scores: Floats, truth: Any, classes: int) -> dict[str, float]:
    """Accuracy, balanced accuracy and log-loss (probabilities floored at 1e-15) of joint log-probabilities."""
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (truth, scores.argmax(axis=1)), 1)
    floored = np.clip(scores - scores.max(axis=1, keepdims=True), -700.0, 0.0)
    log_probability = normalised(floored)[np.arange(len(truth)), truth]
    return {**rates(confusion), "log_loss": float(-np.maximum(log_probability, np.log(1e-15)).mean())}


def summary(
    study: Study, results: Results, judged: list[dict[str, Any]], figures: list[Path], *, fast: bool, seed: int
) -> str:
    """The Markdown page of a finished run."""
    lines = [
        f"# {study.name}" + (f", part {study.part}" if study.part else ""),
        "",
        study.title,
        "",
        f"{'Fast' if fast else 'Full'} run, root seed {seed}, {len(results.rows)} measurements. All noise comes from "
        f"the simulation sampler ({SAMPLER}): no model of this run is for release. ± is one standard error over "
        "repeats and folds.",
        "",
        "## Claims",
        "",
        "| claim | verdict | why |",
        "|---|---|---|",
        *(f"| {_cell(one['claim'])} | **{one['verdict']}** | {_cell(one['reason'])} |" for one in judged),
        "",
        study.tables(results).rstrip(),
        "",
        "## Figures",
        "",
        *(f"![{file.stem}]({FIGURES}/{file.name})" for file in figures if file.suffix == ".png"),
        "",
        "## Changed against the paper",
        "",
        *(f"- {change}" for change in study.changes),
        "",
    ]
    failures: dict[tuple[str, str], int] = {}
    for row in results.failures:
        spot = (row["method"], row["error"])
        failures[spot] = failures.get(spot, 0) + 1
    if failures:
        lines += ["## Failed tasks", ""]
        lines += [f"- {method}: {count} × {error}" for (method, error), count in sorted(failures.items())]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
