"""Spared imports: scikit-learn's own import of scipy.stats, a third of a short command's time, is left for its use."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

PACKAGE, SPARED = "sklearn", "scipy.stats"


class Sparing(MetaPathFinder):
    """Finds a package that names a module and has no need of it until it is used, when its parent imports it.

    It is for processes of our own alone: an import of that module in another thread meanwhile would find an empty one.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The package as it is, but for how it is loaded; everything else is for others to find."""
        if name != PACKAGE or SPARED in sys.modules:
            return None
        found = PathFinder.find_spec(name, path)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader)
        return found


class _Loader(Loader):
    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Load the package beside an empty module; a version that does use it at once is loaded again with it."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own
        sys.modules[SPARED] = ModuleType(SPARED)
        try:
            self._own.exec_module(module)
        except (ImportError, AttributeError):
            for name in [name for name in sys.modules if name.startswith(f"{PACKAGE}.")]:
                del sys.modules[name]
            del sys.modules[SPARED]
            self._own.exec_module(module)
        finally:
            if not hasattr(sys.modules.get(SPARED), "__file__"):
                sys.modules.pop(SPARED, None)


def spare() -> None:
    """From now on scikit-learn is imported without what it does not use."""
    if not any(isinstance(one, Sparing) for one in sys.meta_path):
        sys.meta_path.insert(0, Sparing())
