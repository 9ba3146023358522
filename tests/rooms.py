"""The map of the rooms, drawn from the code; `python -m tests.rooms --write` puts it and the walk of a fit on the page.

A room is a package of discreet or a module beside them. What it holds is the first sentence of its docstring, what it
imports is read off the import graph, and rooms are listed in the order of the import contract: each may import those
below it.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

import grimp

from tests.walks import Walk, walks

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
MEASURED = "PrivateNB, CSV file"


def layers() -> list[list[str]]:
    """The rooms as the import contract stacks them, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one["type"] == "layers"]
    return [[name.strip().removeprefix("discreet.") for name in layer.split("|")] for layer in contract["layers"]]


def sentence(room: str) -> str:
    """What a room says of itself in one sentence."""
    package = ROOT / "src" / "discreet" / room
    file = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    found = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return found.split("\n\n")[0].replace("\n", " ")


def rooms() -> list[str]:
    """Every room there is in the source."""
    source = ROOT / "src" / "discreet"
    packages = [path.parent.name for path in source.glob("*/__init__.py")]
    return sorted(packages + [path.stem for path in source.glob("*.py") if not path.stem.startswith("__")])


def imports() -> dict[str, list[str]]:
    """Which rooms each room imports, directly."""
    graph = grimp.build_graph("discreet", cache_dir=None, exclude_type_checking_imports=True)
    found: dict[str, set[str]] = {room: set() for room in rooms()}
    for module in graph.modules:
        room = _room(module)
        if room in found:  # `__main__` is no room
            found[room] |= {_room(other) for other in graph.find_modules_directly_imported_by(module)} - {room, ""}
    return {room: sorted(others) for room, others in found.items()}


def _room(module: str) -> str:
    name = module.split(".")[1] if "." in module else ""
    return "" if name.startswith("__") else name  # __main__ is a door, no room


def rooms_table() -> str:
    """The map as Markdown."""
    known = imports()
    lines = ["| room | what it holds | imports |", "|---|---|---|"]
    for layer in layers():
        lines += [f"| `{room}` | {sentence(room)} | {', '.join(known[room]) or '–'} |" for room in layer]
    return "\n".join(lines)


def walk_table(found: dict[str, Walk]) -> str:
    """The measured walks as Markdown."""
    lines = ["| fit | hops | files | rows are read |", "|---|---|---|---|"]
    for name, walk in found.items():
        times = {1: "once", 2: "twice"}.get(walk.readings // walk.sites, f"{walk.readings} times")
        times += " at each site" if walk.sites > 1 else ""
        lines.append(f"| {name} | {len(walk.hops)} | {len(walk.files)} | {times} |")
    mark = "<!-- run by: tests/test_architecture.py -->"
    block = ["```text", "fit", found[MEASURED].table(), "```"]
    return "\n".join([*lines, "", f"Hop by hop, {MEASURED}:", "", mark, "", *block])


def drawn(text: str) -> str:
    """The page with its drawn parts as the code is now."""
    for name, part in (("rooms", rooms_table()), ("walk", walk_table(walks()))):
        begin, end = f"<!-- {name}:begin -->\n", f"\n<!-- {name}:end -->"
        before, rest = text.split(begin)
        text = before + begin + part + end + rest.split(end)[1]
    return text


def main() -> None:
    """Print the map, or write the page anew."""
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(rooms_table())


if __name__ == "__main__":
    main()
