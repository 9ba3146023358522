"""discreet audit --peers: other libraries' claims, each heard in an environment of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli.terminal import console, note, print_json, progress, table

if TYPE_CHECKING:
    from discreet.peers import Journal, PeerCase


JOURNAL = "peers.journal"


def hear_all(
    names: list[str],
    listing: bool,
    folder: Path | None,
    samples: int | None,
    confidence: float,
    out: Path | None,
    as_json: bool,
) -> None:
    """Hear the cases that are named, or show them; exit code 1 if a claim was refuted."""
    from discreet.errors import AuditError
    from discreet.peers import Journal, chosen

    cases = chosen(names)
    if out is not None and (names or listing):
        raise AuditError("--out writes the page of all cases: leave out NAMEs and --list")
    if listing:
        _list(cases, as_json)
        return
    journal = None
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        journal = Journal(out / JOURNAL)
        if len(journal):
            note(f"{journal.path} has {len(journal)} results of before, which are not heard again")
    results = [_one(case, folder or _cache(), samples, confidence, journal, as_json) for case in cases]
    if out is not None:
        _write(results, out)
    if as_json:
        print_json(results)
    else:
        _show(results)
    if any(one["verdict"] == "leaks" for one in results):
        raise typer.Exit(1)


def _one(
    case: PeerCase, folder: Path, samples: int | None, confidence: float, journal: Journal | None, quiet: bool
) -> dict[str, Any]:
    from discreet.errors import AuditError
    from discreet.peers import BuildError, build, hear, not_run, pinned

    found = None if journal is None else journal.get(case, samples, confidence)
    if found is not None:
        return found
    try:
        with progress(f"building the environment of {case.family}, unless it is there", quiet=quiet):
            python = build(pinned(case.family), folder)
        with progress(f"auditing {case.name}", quiet=quiet) as tell:
            found = hear(case, python, samples=samples, confidence=confidence, tell=tell)
    except (BuildError, AuditError) as error:
        return not_run(case, str(error))
    if journal is not None:
        journal.add(case, samples, confidence, found)
    return found


def _write(results: list[dict[str, Any]], out: Path) -> None:
    import json

    from discreet.files import write_text
    from discreet.peers import page

    write_text(out / "peers.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    write_text(out / "peers.md", page(results))
    if all(one["samples"] for one in results):  # else the next run tries again what could not be run
        (out / JOURNAL).unlink(missing_ok=True)
    note(f"wrote {out / 'peers.json'} and {out / 'peers.md'}")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "discreet-peers"


def _list(cases: list[PeerCase], as_json: bool) -> None:
    if as_json:
        print_json([{"name": c.name, "epsilon": c.epsilon, "delta": c.delta, "neighbours": c.neighbours,
                     "setting": c.setting, "basis": c.basis} for c in cases])  # fmt: skip
        return
    rows = [[c.name, f"{c.epsilon:g}", f"{c.delta:g}", c.neighbours] for c in cases]
    console().print(table("claims of other libraries", ["case", "claimed", "delta", "neighbours"], rows, left=4))


def _show(results: list[dict[str, Any]]) -> None:
    rows = [
        [one["name"], one["version"] or "–", f"{one['epsilon']:g}", f"{one['delta']:g}",
         "–" if one["lower_bound"] is None else f"{one['lower_bound']:.3f}", one["verdict"], f"{one['samples']}",
         f"{one['seconds']:.1f}"]
        for one in results
    ]  # fmt: skip
    heads = ["case", "version", "claimed", "delta", "at least", "verdict", "runs", "s"]
    console().print(table("claims of other libraries", heads, rows))
    for one in results:
        if one["reproduction"] and one["verdict"] != "consistent":
            console().print(f"{one['name']}: shown by '{one['event']}' on '{one['pair']}', {one['basis']}")
    note("consistent means that nothing was proven; --json has each setting and its smallest reproduction")
