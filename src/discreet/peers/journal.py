"""The journal of a long hearing: what is done is not heard again, whatever it said; what is no result is left out."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from discreet.errors import AuditError
from discreet.peers.cases import PeerCase
from discreet.peers.environments import pinned


class Journal:
    """Results by the case, versions, runs and confidence they are of, one line each as soon as it is there."""

    def __init__(self, path: Path) -> None:
        """Read what an interrupted hearing left."""
        self.path = path
        self._found: dict[str, dict[str, Any]] = {}
        try:
            read = path.read_bytes() if path.exists() else b""
            *lines, torn = read.split(b"\n")  # the last was cut off while it was written, unless it is empty
            if torn:
                os.truncate(path, len(read) - len(torn))
        except OSError as error:
            raise AuditError(f"cannot use the journal {path}: {error.strerror or error}; move it away") from None
        self._found.update(entry for line in lines for entry in _entries(line))

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
        try:
            with self.path.open("a", encoding="ascii", newline="\n") as file:
                file.write(json.dumps({"of": key, "result": result}) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise AuditError(f"cannot write the journal {self.path}: {error.strerror or error}") from None


def _entries(line: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The result of a line, unless it is none."""
    try:
        entry = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return []
    of, result = (entry.get("of"), entry.get("result")) if isinstance(entry, dict) else (None, None)
    return [(of, result)] if isinstance(of, str) and isinstance(result, dict) else []


def _key(case: PeerCase, samples: int | None, confidence: float) -> str:
    pins = pinned(case.family)
    versions = pins.read_text(encoding="utf-8") if pins.exists() else ""
    what = [asdict(case), versions, samples or case.samples, confidence]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:24]
