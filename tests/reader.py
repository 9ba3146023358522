"""The environment of a reader with the base package: what other installed packages bring cannot be imported."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions


def required(extras: Sequence[str] = ()) -> set[str]:
    """The distributions that `pip install discreet[extras]` brings, itself included."""
    found: set[str] = set()
    asked = [("discreet", tuple(extras))]
    while asked:
        name, wanted = asked.pop()
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # of another platform
        found.add(_plain(name))
        asked += [one for one in _needs(lines, wanted) if _plain(one[0]) not in found or one[0] == "discreet"]
    return found


def _needs(lines: Sequence[str], extras: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if extra is None or extra[1] in extras:
            named = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", line)
            assert named is not None
            yield named[1], tuple((named[2] or "").split(",")) if named[2] else ()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class _Hidden(MetaPathFinder):
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> None:
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide_the_rest(extras: Sequence[str] = ()) -> set[str]:
    """Let nothing be imported that the base install and these extras do not bring; the hidden names are returned."""
    there = required(extras)
    hidden = {
        module
        for module, homes in packages_distributions().items()
        if not any(_plain(home) in there for home in homes) and module not in sys.modules
    }
    sys.meta_path.insert(0, _Hidden(hidden))
    return hidden
