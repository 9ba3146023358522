"""The journal of a long hearing: what is done is not heard again, whatever it said, and what is torn is left out."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.peers.cases import PeerCase
from discreet.peers.environments import pinned


class Journal:
    """Results by the case, versions, runs and confidence they are of, one line each as soon as it is there."""

    def __init__(self, path: Path) -> None:
        """Read what an interrupted hearing left."""
        self.path = path
        self._found: dict[str, dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):  # else it was cut off while it was written
                entry = json.loads(line)
                self._found[entry["of"]] = entry["result"]
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole, encoding="utf-8")

    def __len__(self) -> int:
        """How many results it holds."""
        return len(self._found)

    def get(self, case: PeerCase, samples: int | None, confidence: float) -> dict[str, Any] | None:
        """What this case said, if it was heard with the same versions, runs and confidence."""
        return self._found.get(_key(case, samples, confidence))

    def add(self, case: PeerCase, samples: int | None, confidence: float, result: dict[str, Any]) -> None:
        """Keep a result so that it outlives this process."""
        key = _key(case, samples, confidence)
        self._found[key] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"of": key, "result": result}, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _key(case: PeerCase, samples: int | None, confidence: float) -> str:
    pins = pinned(case.family)
    versions = pins.read_text(encoding="utf-8") if pins.exists() else ""
    what = [asdict(case), versions, samples or case.samples, confidence]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]
