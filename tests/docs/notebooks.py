"""Notebooks of the tutorials: the same words and code, cell by cell, by `python -m tests.docs.notebooks --write`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "notebooks"
NAMES = ("central", "local", "federated", "gossip")


def notebook(name: str) -> nbformat.NotebookNode:
    """The notebook of a tutorial: its blocks become cells, its commands lines of a shell."""
    text = (DOCS / "tutorials" / f"{name}.md").read_text("utf-8")
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for part in re.split(r"(^```(?:python|console)\n.*?^```\n)", text, flags=re.DOTALL | re.MULTILINE):
        found = re.fullmatch(r"```(python|console)\n(.*?)```\n", part, re.DOTALL)
        if found is None:
            words = re.sub(r"\]\(\.\./", "](../", part).strip()
            if words:
                made.cells.append(nbformat.v4.new_markdown_cell(words))
        elif found[1] == "python":
            made.cells.append(nbformat.v4.new_code_cell(found[2].rstrip()))
        else:
            lines = [f"!{line.removeprefix('$ ')}" for line in found[2].splitlines() if line]
            made.cells.append(nbformat.v4.new_code_cell("\n".join(lines)))
    for place, cell in enumerate(made.cells):
        cell["id"] = f"{name}-{place}"  # the same each time
    return made


if __name__ == "__main__" and "--write" in sys.argv:
    FOLDER.mkdir(exist_ok=True)
    for one in NAMES:
        nbformat.write(notebook(one), FOLDER / f"{one}.ipynb")
