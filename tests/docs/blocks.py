"""Blocks of code on pages: which there are, what a page says of those that are not run, and the extras it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?: *<!-- (?P<mark>not run|run by): (?P<why>[^\n]*?) -->\n\n?)?"
    r"^(?P<indent> *)```(?P<kind>[^\n]*)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block; `mark` is "not run" or "run by", with a reason or a file of tests, where the page has it."""

    page: str
    kind: str
    text: str
    mark: str
    why: str

    @property
    def first(self) -> str:
        """Its first line, by which it is known in a list."""
        return self.text.strip().partition("\n")[0]


def pages() -> dict[str, Path]:
    """All pages: the README and those of docs/ by their names there."""
    docs = ROOT / "docs"
    found = {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))}
    return {"README.md": ROOT / "README.md", **found}


def blocks(page: str) -> Iterator[Block]:
    """The blocks of a page in order."""
    text = pages()[page].read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        lines = "".join(line.removeprefix(found["indent"]) for line in found["text"].splitlines(keepends=True))
        yield Block(page, found["kind"].strip(), lines, found["mark"] or "", found["why"] or "")


def indented(page: str) -> list[str]:
    """Commands that are set apart by four spaces instead of a fence, which would escape the tests."""
    text = re.sub(r"^ *```.*?^ *```$", "", pages()[page].read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^    +(?:\$ )?((?:discreet|python|pip|make|from|import) .*)$", text, re.MULTILINE)


def extras(page: str) -> tuple[str, ...]:
    """The extras that a page tells its reader to have."""
    text = pages()[page].read_text(encoding="utf-8")
    named = re.findall(r"(?:discreet\[|the extras? `)([a-z]+)", text)
    return tuple(sorted(set(named) - {"all"}))
