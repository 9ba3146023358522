"""Environments: a Python that has one library in pinned versions, built on first use and reused afterwards."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parent / "pins"


class BuildError(RuntimeError):
    """An environment that could not be built, in one sentence."""


def pinned(family: str) -> Path:
    """The list of names and versions that makes up a library's environment."""
    return PINS / f"{family}.txt"


def build(pins: Path, folder: Path) -> Path:
    """The Python of the environment that a list of versions describes; other versions get another environment."""
    place = folder / f"{pins.stem}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:12]}"
    python, ready = place / "bin" / "python", place / "ready"
    if not ready.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(place)],
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", str(pins)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no message"]
                raise BuildError(f"the environment of {pins.stem} could not be built: {last[0]}")
        ready.touch()
    return python
