"""What the site is made of besides its pages: the reference of commands and of Python, changes, and mathematics."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def on_config(config: Any) -> Any:
    """Fill in what the tree knows better than a list: proof notes, and pages that the navigation forgot."""
    proofs = sorted(path.name for path in (ROOT / "docs" / "proofs").glob("*.md"))
    papers = sorted(path.name for path in (ROOT / "docs" / "papers").glob("*.md"))
    listed = [f"proofs/{name}" for name in proofs]
    found = _filled(config["nav"], listed)
    named = set(_pages(found))
    rest = [
        path.relative_to(ROOT / "docs").as_posix()
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if "_site" not in path.parts
    ]
    more = [name for name in rest if name not in named and not name.startswith("papers/")]
    extra: list[Any] = [{"Papers": [f"papers/{name}" for name in papers]}] if papers else []
    extra += [{"More": more}] if more else []
    config["nav"] = [*found, *extra]
    return config


def _filled(nav: Any, proofs: list[str]) -> Any:
    if isinstance(nav, list):
        return [_filled(one, proofs) for one in nav]
    if isinstance(nav, dict):
        return {name: (proofs if one == "*proofs" else _filled(one, proofs)) for name, one in nav.items()}
    return nav


def _pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    inside = nav.values() if isinstance(nav, dict) else nav
    return [page for one in inside for page in _pages(one)]


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are written by the code itself."""
    from mkdocs.structure.files import File

    made = {
        "reference/commands.md": commands(),
        "reference/python.md": python(),
        "reference/changes.md": (ROOT / "CHANGELOG.md").read_text("utf-8"),
    }
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links to files beside the documentation become their names; proof notes get their indices and exponents."""
    text = re.sub(r"\[([^\]]+)\]\((?:\.\./)+(?:README|CONTRIBUTING|LICENSE|CHANGELOG)[^)]*\)", r"\1", markdown)
    text = text.replace("](docs/", "](../") if page.file.src_uri == "reference/changes.md" else text
    return mathematics(text) if page.file.src_uri.startswith("proofs/") else text


def mathematics(text: str) -> str:
    """Indices and exponents as they are meant, outside of code: x_{i}, x_i and e^{−ε}."""
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else _marked(part) for part in parts)


def _marked(text: str) -> str:
    for _ in range(3):  # the innermost first
        text = re.sub(r"_\{([^{}]*)\}", r"<sub>\1</sub>", text)
        text = re.sub(r"\^\{([^{}]*)\}", r"<sup>\1</sup>", text)
    text = re.sub(r"(?<=[\w‖)′])_([A-Za-z0-9∞*])(?![\w])", r"<sub>\1</sub>", text)
    return re.sub(r"(?<=[\w‖)′])\^([A-Za-z0-9ε])(?![\w])", r"<sup>\1</sup>", text)


def commands() -> str:
    """Every command with its arguments and options, from the command line itself."""
    import click
    import typer.main

    from discreet.cli import app

    lines = ["# Commands", "", "Made from the commands themselves; every one has `--help` and most have `--json`.", ""]

    def told(command: Any, name: str, depth: int) -> None:
        if getattr(command, "hidden", False):
            return
        lines.extend([f"{'#' * min(depth, 4)} `{name}`", "", (command.help or "").split("\f")[0].strip(), ""])
        if isinstance(command, click.Group):
            for child, inside in sorted(command.commands.items()):
                told(inside, f"{name} {child}", depth + 1)
            return
        rows = []
        for one in command.params:
            if getattr(one, "hidden", False):
                continue
            flags = ", ".join(f"`{flag}`" for flag in [*one.opts, *one.secondary_opts])
            flags = flags if isinstance(one, click.Option) else f"`{one.make_metavar(click.Context(command))}`"
            help_text = (getattr(one, "help", "") or "").replace("|", "\\|").replace("\n", " ")
            default = one.default if not callable(one.default) and one.default not in (None, False, ()) else ""
            shown = "" if default == "" or "UNSET" in repr(default).upper() else f"`{default}`"
            rows.append(f"| {flags} | {help_text} | {shown} |")
        lines.extend(["| | what it is for | unless told |", "|---|---|---|", *rows, ""])

    whole = typer.main.get_command(app)
    for name, command in sorted(whole.commands.items()):
        told(command, f"discreet {name}", 2)
    return "\n".join(lines)


def python() -> str:
    """The public names of the package and of its rooms for users, from their docstrings."""
    import discreet

    lines = ["# Python", "", "What `from discreet import …` offers, and the rooms that users import from.", ""]
    for name in sorted(discreet.__all__):
        found = getattr(discreet, name)
        lines += [f"::: {found.__module__}.{getattr(found, '__qualname__', name)}", ""]
    return "\n".join(lines)
