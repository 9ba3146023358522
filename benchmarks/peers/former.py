"""A former report beside new fits: what it says of methods that were not measured again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import environments
from benchmarks.peers.tasks import FAMILY
from discreet.errors import DataError

Key = tuple[str, str, float | None]
NEEDED = ("editions", "datasets", "cells", "contests")


@dataclass(frozen=True)
class Former:
    """The figures that `benchmarks utility` wrote before, of which it may keep some."""

    results: Mapping[str, Any]

    @classmethod
    def none(cls) -> Former:
        """No report at all."""
        return cls({"editions": [], "datasets": {}, "cells": [], "contests": []})

    @classmethod
    def read(cls, path: Path) -> Former:
        """The report in a file."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(
                f"{path} cannot be read: pass a report that 'benchmarks utility' wrote ({error})"
            ) from error
        if not isinstance(found, dict) or any(key not in found for key in NEEDED):
            raise DataError(f"{path} is no report of 'benchmarks utility': pass its utility.json")
        return cls(found)

    def kept(self, fresh: Set[tuple[str, str]], sets: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The cells, on these data sets, of methods that were not measured again on them."""
        found = [one for one in self.results["cells"] if one["data"] in sets and one["method"] in FAMILY]
        found = [cell for cell in found if (cell["data"], cell["method"]) not in fresh]
        for name in dict.fromkeys(cell["data"] for cell in found):
            if self.results["datasets"].get(name) != dict(sets[name]):
                raise DataError(
                    f"the former report is about other rows of {name!r}: leave out --beside, or measure all"
                )
        return [dict(cell) for cell in found]

    def editions(self, methods: Iterable[str]) -> dict[str, list[str]]:
        """With which editions the figures of each of these methods were measured."""
        before: Mapping[str, list[str]] = self.results.get("kept", {})
        aged = {edition for some in before.values() for edition in some}
        told = {}
        for method in (name for name in FAMILY if name in set(methods)):
            library = _library(environments.edition(FAMILY[method]))
            every = [edition for edition in self.results["editions"] if _library(edition) == library]
            told[method] = before.get(method) or [one for one in every if one not in aged] or every
        return told

    def contest(self, one: Key, other: Key, against: str) -> dict[str, Any] | None:
        """What it says of two cells that are both kept."""
        names = one[0], one[2], against, other[1]
        for found in self.results["contests"]:
            if (found["data"], found["epsilon"], found["against"], found["method"]) == names:
                return dict(found)
        return None


def _library(edition: str) -> str:
    """The name in an edition, such as "dpmm" of "dpmm==0.1.9"."""
    return re.split("==| ", edition)[0]
