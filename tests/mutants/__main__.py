"""python -m tests.mutants: plant every fault of the list in turn; exit code 1 if the tests let one survive."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.mutants.fault import ROOT, Fault, StaleError, every_fault
from tests.mutants.runner import KILLED, Outcome, run


def main() -> int:
    """Parse the command line, run the faults, report."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="ids to run, such as 'bounds/*' or '*noise*'"
    )
    parser.add_argument("--jobs", type=int, default=1, help="scratch copies to work in at the same time")
    parser.add_argument("--list", action="store_true", help="print the list and run nothing")
    parser.add_argument("--table", action="store_true", help="print the table of docs/mutants.md and run nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes to a file")
    parser.add_argument("--no-baseline", action="store_true", help="do not first run the tests without any fault")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160, soft_wrap=True)
    faults = chosen(every_fault(), options.only)
    if not faults:
        parser.error("no fault has such an id: --list shows them all")
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    if options.table:
        print(room_table(faults))
        return 0
    if options.list:
        for fault in faults:
            console.print(
                f"[bold]{fault.id}[/]  {fault.path}\n    {fault.means}\n    noticed by {', '.join(fault.tests)}"
            )
        return 0
    try:
        for fault in faults:
            fault.planted((ROOT / fault.path).read_text())
    except (StaleError, OSError) as error:
        parser.error(str(error))
    started = time.monotonic()
    outcomes, wrong = watched(faults, options.jobs, not options.no_baseline, console)
    if wrong:
        console.print(wrong, markup=False)
        parser.error("these tests fail without any fault: mend them first")
    seconds = time.monotonic() - started
    spent = sum(os.times()[:4])  # of processors, whatever else the machine does
    report(outcomes, seconds, spent, console)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        times = {"seconds": round(seconds, 1), "processor_seconds": round(spent, 1)}
        text = times | {"faults": [outcome.to_dict() for outcome in outcomes]}
        options.json.write_text(json.dumps(text, indent=2) + "\n")
    return int(any(outcome.verdict != KILLED for outcome in outcomes))


def room_table(faults: list[Fault]) -> str:
    """Rooms, how many faults each has, and a few of them in words."""
    lines = ["| room | faults | for instance |", "|---|---|---|"]
    for room in dict.fromkeys(fault.room for fault in faults):
        mine = [fault for fault in faults if fault.room == room]
        some = "; ".join(dict.fromkeys(fault.means for fault in mine[:: max(1, len(mine) // 3)][:3]))
        lines.append(f"| {room} | {len(mine)} | {some} |")
    return "\n".join([*lines, f"| all | {len(faults)} | |"])


def chosen(faults: list[Fault], patterns: list[str] | None) -> list[Fault]:
    """The faults whose id fits a pattern or contains it."""
    if not patterns:
        return faults
    return [f for f in faults if any(fnmatch.fnmatch(f.id, p) or p in f.id for p in patterns)]


def watched(faults: list[Fault], jobs: int, baseline: bool, console: Console) -> tuple[list[Outcome], str]:
    """The run behind a progress bar; survivors are named at once, and every fault where there is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("copying the tree", total=len(faults))

        def tell(news: Outcome | str) -> None:
            if isinstance(news, str):
                bar.update(task, description=news)
                return
            bar.update(task, advance=1, description=news.fault.id)
            if news.verdict != KILLED or not console.is_terminal:
                line = f"{news.verdict} in {news.seconds:.1f} s: {news.fault.id} ({news.noticed})"
                console.print(line, markup=False, highlight=False)

        return run(faults, jobs=jobs, baseline=baseline, tell=tell)


def report(outcomes: list[Outcome], seconds: float, spent: float, console: Console) -> None:
    """Killed and survived by room, and every fault that was not killed."""
    table = Table("room", "faults", "killed", "seconds", box=None)
    rooms: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        rooms.setdefault(outcome.fault.room, []).append(outcome)
    for room, mine in rooms.items():
        killed = sum(one.verdict == KILLED for one in mine)
        table.add_row(room, str(len(mine)), str(killed), f"{sum(one.seconds for one in mine):.0f}")
    console.print(table)
    for one in outcomes:
        if one.verdict != KILLED:
            console.print(f"[bold]{one.verdict}[/] {one.fault.id}: {one.fault.means}")
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    summary = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    console.print(f"{len(outcomes)} faults: {summary}; {seconds:.0f} s, {spent:.0f} s of processor time")


if __name__ == "__main__":
    sys.exit(main())
