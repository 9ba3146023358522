"""discreet audit: measure the privacy that is really there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out
from discreet.cli.terminal import console, note, print_json, progress, table

if TYPE_CHECKING:
    from discreet.audit import AuditResult


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="A name from --list, or your own function as script.py:function; with --peers, cases or libraries.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Audit every honest claim of this library.")] = False,
    controls: Annotated[
        bool, typer.Option("--controls", help="Audit what is broken on purpose, all of it or NAME: it must be flagged.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="Show what can be audited by name.")] = False,
    epsilon: Annotated[float | None, typer.Option(help="The claim; each case has its own by default.")] = None,
    delta: Annotated[float, typer.Option(help="The delta of your own function's claim.")] = 0.0,
    samples: Annotated[int | None, typer.Option(min=400, help="Runs per pair of neighbours.")] = None,
    confidence: Annotated[float, typer.Option(help="The confidence of the lower bound.")] = 0.95,
    seed: Annotated[int | None, typer.Option(min=0, help="For a repeatable search.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A file to continue from after an interruption.")] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Audit other libraries, each in an environment built for it: all, or NAMEs.")
    ] = False,
    environments: Annotated[
        Path | None, typer.Option(help="With --peers: where environments are built and reused (default: the cache).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="With --peers: a folder for peers.json and peers.md, and a journal to carry on from."),
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw both output laws into this PNG or SVG file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Measure a statistically valid lower bound on the epsilon a mechanism really has.

    Exit code 0 if no claim was refuted (with --controls: if every control was), 1 otherwise.
    """
    from discreet.audit import AuditError, list_cases

    if peers:
        if everything or controls or checkpoint or figure or delta or epsilon is not None or seed is not None:
            raise AuditError("--peers takes NAMEs, --list, --samples, --confidence, --environments and --out alone")
        from discreet.cli.peers import hear_all

        hear_all(names or [], listing, environments, samples, confidence, out, as_json)
        return
    if environments is not None or out is not None:
        raise AuditError("--environments and --out are for --peers")
    if listing:
        _list(as_json)
        return
    if len(names or []) > 1:
        raise AuditError("audit one NAME at a time; several are for --peers")
    name = names[0] if names else None
    if sum((name is not None and not controls, everything, controls)) != 1:
        raise AuditError("say what to audit: a NAME from --list, script.py:function, --all or --controls")
    if name is not None and controls and name not in {case.name for case in list_cases(control=True)}:
        raise AuditError(f"{name} is no control: leave out --controls, or choose one of those in --list")
    if checkpoint is not None and name is None:
        raise AuditError("a checkpoint is of one audit: give a NAME with --checkpoint")
    if delta and (name is None or ":" not in name):
        raise AuditError("registered cases have a delta of their own: --delta is for script.py:function")
    if controls and epsilon is not None:
        raise AuditError("controls have a claim of their own: leave out --epsilon")
    if figure is not None and name is None:
        raise AuditError("a figure shows one audit: give a NAME with --figure")
    script = (name or "").rpartition(":")[0]
    check_out(figure, checkpoint, script)
    check_out(checkpoint, script)
    options: dict[str, Any] = {"confidence": confidence, "seed": seed, "samples": samples}
    results = []
    if name is not None:
        results.append(_one(name, epsilon, delta, checkpoint, options, quiet=as_json))
    else:
        for case in list_cases(control=controls):
            with progress(f"auditing {case.name}", quiet=as_json) as report:
                results.append(case.run(None if controls else epsilon, progress=report, **options))
    if figure is not None:
        from discreet.audit import figure as draw

        draw(results[0], str(figure))
    good = [result.violated == controls for result in results]
    if as_json:
        found: Any = [result.to_dict() for result in results]
        print_json(found[0] if name is not None else found)
    else:
        _show(results, controls)
        if figure is not None:
            note(f"wrote {figure}")
    if not all(good):
        raise typer.Exit(1)


def _one(
    name: str, epsilon: float | None, delta: float, checkpoint: Path | None, options: dict[str, Any], *, quiet: bool
) -> AuditResult:
    from discreet.audit import audit, load_user_function, load_user_pairs, run_case

    place = None if checkpoint is None else str(checkpoint)
    with progress(f"auditing {name}", quiet=quiet) as report:
        if ":" not in name:
            return run_case(name, epsilon, progress=report, checkpoint=place, **options)
        function, pairs = load_user_function(name), load_user_pairs(name)
        own = {key: value for key, value in options.items() if value is not None}
        claim = 1.0 if epsilon is None else epsilon
        return audit(function, pairs, claim, delta, progress=report, checkpoint=place, name=name, **own)


def _list(as_json: bool) -> None:
    from discreet.audit import list_cases

    cases = list_cases()
    if as_json:
        print_json(
            [
                {"name": c.name, "epsilon": c.claim.epsilon, "delta": c.claim.delta, "adjacency": c.adjacency,
                 "control": c.control, "note": c.note}
                for c in cases
            ]
        )  # fmt: skip
        return
    rows = [
        [c.name, c.adjacency, f"{c.claim.delta:g}", "broken on purpose" if c.control else "", c.note] for c in cases
    ]
    console().print(table("what can be audited", ["name", "neighbours", "delta", "", "note"], rows, left=5))


def _show(results: list[AuditResult], controls: bool) -> None:
    rows = [
        [
            r.name,
            f"{r.epsilon:g}",
            f"{r.delta:g}",
            f"{r.lower_bound:.3f}",
            r.verdict,
            f"{r.samples}",
            f"{r.seconds:.1f}",
        ]
        for r in results
    ]
    screen = console()
    title = (
        f"lower bounds on epsilon, each with confidence {results[0].confidence:g}" if results else "nothing to audit"
    )
    screen.print(table(title, ["mechanism", "claimed", "delta", "at least", "verdict", "runs", "s"], rows))
    for result in results:
        if result.violated or len(results) == 1:
            found = "shown by" if result.violated else "strongest event found:"
            screen.print(f"{result.name}: {found} '{result.event}' on '{result.pair}'")
    wrong = [result.name for result in results if result.violated != controls]
    if wrong and controls:
        note(f"these controls escaped, so the audit cannot be trusted: {', '.join(wrong)}")
    elif wrong:
        note(f"these claims are refuted: {', '.join(wrong)}")
