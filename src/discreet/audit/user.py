"""Loads a function to audit, and its neighbouring data sets, from a user's own script."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from discreet.audit.result import Pair
from discreet.errors import AuditError


def load_user_function(spec: str) -> Callable[..., Any]:
    """Run `script.py` and return what `script.py:name` calls; it must take a data set."""
    module, name = _load(spec)
    found = getattr(module, name, None)
    if found is None or not (callable(found) or hasattr(found, "sample")):
        raise AuditError(f"{module.__file__} has no function called {name!r}.")
    return found  # type: ignore[no-any-return]


def load_user_pairs(spec: str) -> list[Pair]:
    """Return a script's pairs for `script.py:name`: its `name_pairs` or `pairs`, a list or a function."""
    module, name = _load(spec)
    found = getattr(module, f"{name}_pairs", getattr(module, "pairs", None))
    found = found() if callable(found) else found
    if not isinstance(found, list | tuple) or not found:
        raise AuditError(
            f"{module.__file__} must define `pairs`: a list of discreet.audit.Pair(left, right, note), "
            "or a function that returns one."
        )
    pairs = [item if isinstance(item, Pair) else Pair(*item) for item in found]
    return pairs


def _load(spec: str) -> tuple[ModuleType, str]:
    file, colon, name = spec.rpartition(":")
    if not colon or not name.isidentifier():
        raise AuditError(f"Write the function to audit as script.py:name; got {spec!r}.")
    path = Path(file).resolve()
    if not path.is_file():
        raise AuditError(f"There is no script {file!r}.")
    # A name made from the path keeps two scripts called fit.py apart and lets workers find the module.
    key = f"discreet_audited_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()}"
    if key in sys.modules:
        return sys.modules[key], name
    described = importlib.util.spec_from_file_location(key, path)
    if described is None or described.loader is None:
        raise AuditError(f"{file!r} is no Python script.")
    module = importlib.util.module_from_spec(described)
    sys.modules[key] = module
    try:
        described.loader.exec_module(module)
    except BaseException:
        del sys.modules[key]
        raise
    return module, name
