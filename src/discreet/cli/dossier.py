"""discreet dossier: documents of a released model for an officer, a public registry and everybody."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options
from discreet.cli.terminal import console, note, print_json
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.dossier import Answers, Question


def command(
    model: options.Model,
    answers: Annotated[
        Path | None,
        typer.Option(help="Answers to what no certificate knows, a TOML file; see --questions.", show_default=False),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder to write to.", show_default=False)] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Print the questions as a TOML file to fill in, and stop.")
    ] = False,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask here for what is missing, and keep it in the file of --answers.")
    ] = False,
    registry_schema: Annotated[
        Path | None,
        typer.Option(help="A copy of the registry's own schema, for an entry of that edition.", show_default=False),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write the dossier that an officer signs, an entry for the public registry of deployments, and a label."""
    from discreet.dossier import Answers, make_dossier, read_edition, template
    from discreet.models import load

    loaded = load(model)
    if ask and answers is None:
        raise DiscreetError("--ask keeps what you answer: say where by --answers FILE")
    given = Answers() if answers is None or (ask and not answers.exists()) else Answers.load(answers)
    if questions:
        print(template(given), end="")
        return
    if out is None:
        raise DiscreetError("where to? pass --out DIR, or --questions to see what will be asked")
    if out.exists() and not out.is_dir():
        raise DiscreetError(f"{out} is a file: --out needs a folder")
    if (
        answers is not None
        and out.is_dir()
        and (out / "questions.toml").exists()
        and answers.exists()
        and (answers.samefile(out / "questions.toml"))
    ):
        raise DiscreetError(f"{answers} would be written over: give your answers another name, such as answers.toml")
    edition = None if registry_schema is None else read_edition(registry_schema)
    made = make_dossier(loaded, given, edition)
    if ask and made.missing:
        assert answers is not None
        given = _ask(made.missing, given, answers)
        made = make_dossier(loaded, given, edition)
    try:
        written = made.write(out)
    except OSError as error:
        raise DiscreetError(f"{out} cannot be written: {error.strerror or error}") from None
    if as_json:
        print_json({
            "files": [str(path) for path in written], "tier": made.entry.tier,
            "missing": [{"key": one.key, "question": one.words, "tier": one.tier} for one in made.missing],
        })  # fmt: skip
        return
    screen = console()
    for path in written:
        screen.print(f"wrote {path}")
    screen.print(f"the registry's entry is of tier {made.entry.tier} (of 3), a draft until its board has approved it")
    if made.missing:
        screen.print(f"{len(made.missing)} question(s) are open, and stand open in the documents:")
        for one in made.missing:
            screen.print(f"  {one.key}: {one.words}", highlight=False)
        name = answers or "answers.toml"
        screen.print(
            f"fill in {out / 'questions.toml'} as {name}, then: discreet dossier {model} --answers {name} --out {out}"
        )


def _ask(missing: tuple[Question, ...], given: Answers, path: Path) -> Answers:
    """Ask for each missing answer on the terminal; an empty line leaves it open. Kept after every answer."""
    from discreet.dossier import Answers, template
    from discreet.files import write_text

    if not sys.stdin.isatty():
        note("note: an empty line leaves a question open")
    sections: dict[str, dict[str, object]] = {}
    for key, held in given.given.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, {})[name] = held
    found = given
    for one in missing:
        takes = f" ({', '.join(one.choices)})" if one.choices else ""
        while True:
            said = typer.prompt(one.words + takes, default="", show_default=False, err=True)
            value: object = said
            if said and one.kind is int:
                value = int(said) if said.strip().isdigit() else said
            elif said and one.kind is bool:
                value = {"true": True, "yes": True, "false": False, "no": False}.get(said.strip().lower(), said)
            try:
                tried = {name: dict(kept) for name, kept in sections.items()}
                tried.setdefault(one.section, {})[one.name] = value
                if said:
                    found, sections = Answers(tried), tried
                break
            except DiscreetError as error:
                note(str(error))
        write_text(path, template(found))
    return found
