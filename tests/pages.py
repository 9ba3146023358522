"""Pages that are followed literally: their blocks of code, and packages in which such a block is the one new file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str, language: str = "python") -> list[str]:
    """The blocks of code on a page of docs/, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def entry_point(page: str) -> tuple[str, str]:
    """The group and the one line that a page has a package declare in its pyproject.toml."""
    (block,) = blocks(page, "toml")
    head, line = block.strip().splitlines()
    (group,) = re.findall(r'^\[project\.entry-points\."(.+)"\]$', head)
    return group, line


def run(code: list[str], page: str, **names: object) -> dict[str, object]:
    """Run blocks one after the other, as a reader would type them."""
    space: dict[str, object] = {"__name__": "page"} | names
    for block in code:
        exec(compile(block, page, "exec", dont_inherit=True), space)
    return space


def install(folder: Path, files: Mapping[str, str], declared: tuple[str, str] | None = None) -> Path:
    """Put a package with these files into a folder, with an entry point as an installed one has it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if declared is not None:
        about = folder / "added-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: added\nVersion: 1.0\n")
        group, line = declared
        (about / "entry_points.txt").write_text(f"[{group}]\n" + line.replace('"', "") + "\n")
    return folder
