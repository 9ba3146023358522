"""Pages: docs/papers and the verdicts of docs/studies.md, written from stored results without running anything."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from discreet.files import parse_json, write_text
from discreet_studies import STUDIES, StudyError, find_studies, stored
from discreet_studies.claims import Verdict, judge
from discreet_studies.items import Item, items_of, split
from discreet_studies.results import Row
from discreet_studies.study import Study
from discreet_studies.tasks import Task

RESULTS, DOCS = Path("studies/results"), Path("docs")
AUDITS = "audits.json"
BEGIN, END = "<!-- verdicts:begin -->", "<!-- verdicts:end -->"
HEAD = "<!-- Written by `python -m discreet_studies.pages --write` from studies/results. -->"


@dataclass(frozen=True)
class Kept:
    """A study or part of one with its stored runs, fast and full, and what each makes of its claims."""

    study: Study
    runs: dict[bool, stored.Stored]
    judged: dict[bool, list[dict[str, Any]]]

    @property
    def main(self) -> bool:
        """Which run counts: the full one where there is one."""
        return False not in self.runs

    def rows(self) -> Iterable[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Every claim as the run that counts judges it, and as the fast one does where that is another."""
        if not self.judged:
            return
        fast = self.judged.get(True, []) if not self.main else []
        for index, one in enumerate(self.judged[self.main]):
            yield one, fast[index] if fast else None


def keep(study: Study, folder: Path) -> Kept:
    """What is stored of a study, judged again."""
    files = {fast: stored.file_of(folder, study.name, study.part, fast=fast) for fast in (False, True)}
    runs = {fast: stored.recall(file) for fast, file in files.items() if file.exists()}
    judged = {fast: judge(study.claims, run.results) for fast, run in runs.items()}
    for one in (one for claims in judged.values() for one in claims):
        if one["verdict"] == Verdict.UNSOUND and not one["proof"]:
            one["proof"] = study.unsound
    return Kept(study, runs, judged)


def paper_page(name: str, parts: Sequence[Kept]) -> str:
    """The page of one paper: its items, the verdicts on its claims, tables and figures."""
    text = [
        f"# {name}", "", HEAD, "", STUDIES[name] + ".", "",
        f"`discreet reproduce {name} --full --data DIR --results studies/results --out DIR` measures what is not "
        f"stored yet; `discreet reproduce {name} --full --from-results --results studies/results --out DIR` judges "
        "what is. "
        "± is one standard error over repeats and folds; a difference counts from two on.", "",
        "## Stored runs", "",
        "| run | tasks stored | of | processor minutes | all of it takes about | seed | versions |",
        "|---|---|---|---|---|---|---|", *(line for part in parts for line in _runs(part)), "",
        "By these commands, one after the other (`python -m discreet_studies.check` measures some of it again):", "",
        *(line for part in parts for line in _commands(part)), "",
        *_items(items_of(name), parts),
    ]  # fmt: skip
    for part in parts:
        label = f", part {part.study.part}" if part.study.part else ""
        text += [f"## Verdicts{label}", "", *_verdicts(part), ""]
        if part.runs:
            text += [
                f"### Why{label}",
                "",
                *(f"- **{one['claim']}** {_tidy(one['reason'])}." for one, _ in part.rows()),
            ]
            run = part.runs[part.main]
            kind = "fast" if part.main else "full"
            text += ["", f"## Measured{label} ({kind} run)", "", part.study.tables(run.results).rstrip(), ""]
            text += [f"## Figures{label}", "", *_pictures(part), ""]
        text += [f"## Changed against the paper{label}", "", *(f"- {one}" for one in part.study.changes), ""]
    return "\n".join(text).replace("\n\n\n", "\n\n")


def _tidy(reason: str) -> str:
    return reason.strip().rstrip(".").replace("\n", " ")


def _runs(part: Kept) -> list[str]:
    lines = []
    for fast, run in part.runs.items():
        versions = ", ".join(sorted({one for command in run.commands for one in command["versions"]}))
        cells = [_label(part, fast), *_cost(part, fast), run.run["seed"], versions]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def _label(part: Kept, fast: bool) -> str:
    return " ".join(filter(None, (part.study.part, "fast" if fast else "full")))


def _cost(part: Kept, fast: bool) -> list[str]:
    """Tasks stored and planned, the processor minutes that the stored ones took, and what all of them would take."""
    run, planned = part.runs[fast], part.study.tasks(fast)
    spent = sum(one["processor_seconds"] for one in run.commands) / 60
    return [str(len(run.rows)), str(len(planned)), f"{spent:.1f}", f"{_whole_cost(planned, run.rows) / 60:.1f}"]


def _commands(part: Kept) -> list[str]:
    return [
        f"- {_label(part, fast)}: " + "; ".join(f"`{one['command']}`" for one in run.commands)
        for fast, run in part.runs.items()
    ]


def _whole_cost(planned: Sequence[Task], rows: Sequence[Row]) -> float:
    """Processor seconds of all planned tasks, by the mean of stored ones of the same experiment, data and method."""
    spent: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        for key in _likes(row["experiment"], row["data"], row["method"]):
            spent.setdefault(key, []).append(float(row.get("processor_seconds") or 0.0))
    means = {key: math.fsum(found) / len(found) for key, found in spent.items()}
    return math.fsum(
        next((means[key] for key in _likes(task.experiment, task.data, task.method) if key in means), 0.0)
        for task in planned
    )


def _likes(experiment: str, data: str, method: str) -> tuple[tuple[str, ...], ...]:
    """What a task is like, nearest first."""
    return (experiment, data, method), (experiment, data), (experiment,)


def _items(items: Sequence[Item], parts: Sequence[Kept]) -> list[str]:
    counts = {status: sum(one.status.value == status for one in items) for status in ("full", "mended", "refused")}
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    names = {
        claim.name: one["verdict"]
        for part in parts
        for claim, (one, _) in zip(part.study.claims, part.rows(), strict=False)
    }
    lines = [
        f"## Every item: {len(items)} ({said})", "",
        "| | in the paper | what | where | status | verdict |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for item in items:
        status = item.status.value + (f": {item.why}" if item.why else "")
        verdicts = "; ".join(dict.fromkeys(names.get(name, "not measured yet") for name in item.claims)) or "–"
        cells = [item.kind, item.source, item.what, ", ".join(map(_place, item.where)) or "–", status, verdicts]
        lines.append("| " + " | ".join(_cell(one) for one in cells) + " |")
    return [*lines, ""]


def audited(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What the audit finds of as-published mechanisms: a lower bound on ε at 95 % confidence, by seed 1."""
    from discreet.audit import run_case

    found = {name: run_case(name, seed=1) for name in sorted(set(names))}
    return {
        name: {"claimed": one.epsilon, "at_least": round(one.lower_bound, 3),
               "command": f"discreet audit {name} --controls --seed 1"}
        for name, one in found.items()
    }  # fmt: skip


@lru_cache(maxsize=1)
def _figures_of_audits() -> dict[str, dict[str, Any]]:
    file = RESULTS / AUDITS
    return dict(parse_json(file.read_bytes())) if file.exists() else {}


def _place(reference: str) -> str:
    kind, name = split(reference)
    if kind == "audit" and name in _figures_of_audits():
        one = _figures_of_audits()[name]
        return f"audit `{name}` (claimed ε = {one['claimed']:g}, found at least {one['at_least']:g})"
    if kind == "code":
        return f"`{name.replace(':', '.')}`"
    if kind == "proof":
        return f"[{name.removesuffix('.md')}](../proofs/{name})"
    return f"{kind} `{name}`"


def _verdicts(part: Kept) -> list[str]:
    if not part.judged:
        return ["No results are stored yet."]
    lines = [
        "| claim | verdict | standard error (at most) | measurements (at least) | fast run |",
        "|---|---|---|---|---|",
    ]
    for one, fast in part.rows():
        error, count = one["standard_error"], one["measurements"]
        other = "" if fast is None else "the same" if fast["verdict"] == one["verdict"] else f"**{fast['verdict']}**"
        whose = "" if one["paper"] == part.study.name else f" ({one['paper']}'s own claim)"
        rests = "; ".join(map(_place, one["proof"].split()))
        cells = [
            one["claim"] + whose, f"**{one['verdict']}**" + (f" ({rests})" if rests else ""),
            "–" if error is None else f"{error:.4f}", str(count) if count else "–",
            other or ("the fast run only" if part.main else "–"),
        ]  # fmt: skip
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _figures(part: Kept, docs: Path) -> Path:
    return docs.joinpath("figures", "papers", part.study.name, *([part.study.part] if part.study.part else []))


def _pictures(part: Kept) -> list[str]:
    folder = _figures(part, DOCS)
    up = Path("..") / folder.relative_to(DOCS)
    return [f"![{file.stem}]({up.as_posix()}/{file.name})" for file in sorted(folder.glob("*.svg"))]


def draw(part: Kept, docs: Path) -> None:
    """The figures of the run that counts, as SVG."""
    folder = _figures(part, docs)
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.svg"):
        file.unlink()
    for file in part.study.draw(part.runs[part.main].results, folder):
        if file.suffix != ".svg":
            file.unlink()


def disagreements(kept: dict[str, list[Kept]]) -> list[str]:
    """Every claim on which the stored fast and full runs disagree, as a section of docs/studies.md."""
    both = [part for parts in kept.values() for part in parts if len(part.judged) == 2]
    lines = [
        f"| {part.study.name}{f', part {part.study.part}' if part.study.part else ''} | {_cell(one['claim'])} "
        f"| {fast['verdict']} ({fast['measurements'] or '–'}) | {one['verdict']} ({one['measurements'] or '–'}) |"
        for part in both
        for one, fast in part.rows()
        if fast is not None and fast["verdict"] != one["verdict"]
    ]
    claims = sum(len(part.judged[False]) for part in both)
    said = f"{len(lines)} of {claims}" if lines else f"None of {claims}"
    text = ["### Where fast and full disagree", "",
            f"{said} claims get another verdict from the fast run than from the full one, which counts. In brackets: "
            "the fewest measurements behind an estimate."]  # fmt: skip
    if lines:
        text += ["", "| study | claim | fast | full |", "|---|---|---|---|", *lines]
    missing = [_label(part, fast) for parts in kept.values() for part in parts
               for fast in (True, False) if fast not in part.runs]  # fmt: skip
    return [*text, *(["", f"Not stored: {', '.join(missing)}."] if missing else [])]


def costs(kept: dict[str, list[Kept]]) -> list[str]:
    """What every stored run took, in processor minutes of one core, as a section of docs/studies.md."""
    text = ["### What the runs cost", "", "Processor minutes of one core, by the tasks that are stored.", "",
            "| study | run | tasks stored | of | took | all of it takes about |",
            "|---|---|---|---|---|---|"]  # fmt: skip
    for name, parts in kept.items():
        for part in parts:
            text += [f"| {name} | {_label(part, fast)} | {' | '.join(_cost(part, fast))} |" for fast in part.runs]
    return text


def verdict_block(kept: dict[str, list[Kept]]) -> str:
    """The verdicts on all papers, as docs/studies.md shows them."""
    text = [BEGIN, "", *disagreements(kept), "", *costs(kept)]
    for name, parts in kept.items():
        text += ["", f"### [{name}](papers/{name}.md)"]
        for part in parts:
            text += ["", *([f"Part {part.study.part}:", ""] if part.study.part else []), *_verdicts(part)]
    return "\n".join([*text, "", END]).replace("](../proofs/", "](proofs/")  # one folder up from the papers' pages


def in_place(page: str, block: str) -> str:
    """A page with its block of verdicts replaced."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise StudyError(f"the page must hold {BEGIN} and {END} once each")
    return page[: page.index(BEGIN)] + block + page[page.index(END) + len(END) :]


def pages(results: Path = RESULTS, docs: Path = DOCS, *, figures: bool = False) -> dict[Path, str]:
    """Every page that stored results decide, by its file."""
    kept = {name: [keep(study, results) for study, _ in find_studies(name)] for name in STUDIES if has_items(name)}
    if figures:
        for part in (part for parts in kept.values() for part in parts if part.runs):
            draw(part, docs)
    found = {docs / "papers" / f"{name}.md": paper_page(name, parts) for name, parts in kept.items()}
    studies = docs / "studies.md"
    found[studies] = in_place(studies.read_text(encoding="utf-8"), verdict_block(kept))
    return found


def has_items(name: str) -> bool:
    """Whether a study has a list of its paper's items."""
    try:
        return bool(items_of(name))
    except ModuleNotFoundError:
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or say which of them are stale."""
    parser = argparse.ArgumentParser(prog="python -m discreet_studies.pages", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the pages and figures; else only compare")
    parser.add_argument("--audit", action="store_true", help="audit what was published again, then write")
    chosen = parser.parse_args(arguments)
    if chosen.audit:
        named = (study.unsound.split() for name in STUDIES for study, _ in find_studies(name))
        cases = [name for part in named for kind, name in map(split, part) if kind == "audit"]
        write_text(RESULTS / AUDITS, json.dumps(audited(cases), indent=2, sort_keys=True) + "\n")
        chosen.write = True
    if not chosen.write:
        stale = [file for file, text in pages().items() if not file.exists() or file.read_text("utf-8") != text]
        for file in stale:
            print(f"{file} is stale: run python -m discreet_studies.pages --write", file=sys.stderr)
        return 1 if stale else 0
    for file, text in pages(figures=True).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, text)
        print(file)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
