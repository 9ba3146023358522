"""Spared imports: what scikit-learn imports and hardly uses, half of a short command's time, is left for its use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

PACKAGE, SPARED = "sklearn", ("scipy.stats", "pandas")


class Sparing(MetaPathFinder):
    """Finds a package that names modules and has no need of them until they are used, when it is imported.

    It is for processes of our own alone: an import of such a module in another thread meanwhile would find a stand-in.
    """

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The package as it is, but for how it is loaded; everything else is for others to find."""
        if name != PACKAGE:
            return None
        found = PathFinder.find_spec(name, path)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader)
        return found


class _StandIn(ModuleType):
    """A module that is imported when something in it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or sys.modules.get(self.__name__) is self:  # it is not to be used yet
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(self.__name__), name)


class _Loader(Loader):
    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Load the package beside stand-ins; a version that does use one at once is loaded again without."""
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own
        missing = [name for name in SPARED if name not in sys.modules and find_spec(name) is not None]
        stands = {name: _StandIn(name) for name in missing}
        sys.modules.update(stands)
        try:
            self._own.exec_module(module)
        except (ImportError, AttributeError):
            for name in [name for name in sys.modules if name.startswith(f"{PACKAGE}.")]:
                del sys.modules[name]
            _remove(stands)
            self._own.exec_module(module)
        finally:
            _remove(stands)


def _remove(stands: dict[str, _StandIn]) -> None:
    for name, stand in stands.items():
        if sys.modules.get(name) is stand:
            del sys.modules[name]


def spare() -> None:
    """From now on scikit-learn is imported without what it hardly uses."""
    if not any(isinstance(one, Sparing) for one in sys.meta_path):
        sys.meta_path.insert(0, Sparing())
