"""The registry: every mechanism declares itself, and choices, campaigns, audits, tests and clients ask here for all."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from typing import ClassVar, TypeVar

from discreet.errors import DiscreetError, SchemaError
from discreet.local.mechanism import Mechanism

M = TypeVar("M", bound=Mechanism)
K = TypeVar("K", bound=type[Mechanism])
GROUP = "discreet.local"  # entry points: modules of other distributions that register mechanisms


class Kinds(Mapping[str, type[M]]):
    """Mechanisms by name, in the order of their codes: of every module of a package, of plug-ins, and registered since.

    A campaign and the reports about it must be read with the same mechanisms: `oracle="auto"` asks all there are.
    """

    everyone: ClassVar[list[Kinds[Mechanism]]] = []

    def __init__(self, package: str) -> None:
        self._package, self._walked = package, False
        self._kinds: dict[str, type[M]] = {}
        self.everyone.append(self)  # type: ignore[arg-type]

    def register(self, kind: K) -> K:
        """Add a mechanism; for use as a decorator. A name or a code that another one has is refused."""
        if isinstance(kind.code, bool) or not isinstance(kind.code, int) or not 1 <= kind.code <= 255:
            raise SchemaError(f"the code of {kind.name!r} must be a whole number from 1 to 255, not {kind.code!r}")
        for other in (one for kinds in self.everyone for one in kinds._kinds.values()):
            same = (other.__module__, other.__qualname__) == (kind.__module__, kind.__qualname__)
            if not same and (kind.name == other.name or kind.code == other.code):
                raise SchemaError(
                    f"{kind.name!r} (code {kind.code}) cannot be registered: {other.name!r} has code {other.code}; "
                    "take a name and a code that are free"
                )
        self._kinds[kind.name] = kind  # type: ignore[assignment]
        return kind

    def by_code(self, code: int) -> type[M]:
        """The mechanism with that code on the wire."""
        for kind in self.values():
            if kind.code == code:
                return kind
        raise SchemaError(f"no mechanism of {self._package} has the code {code}")

    def _all(self) -> dict[str, type[M]]:
        if not self._walked:
            self._walked = True  # modules that are being imported may ask, too
            package = importlib.import_module(self._package)
            for info in pkgutil.iter_modules(package.__path__, f"{self._package}."):
                importlib.import_module(info.name)
            for entry in entry_points(group=GROUP):
                try:
                    entry.load()
                except Exception as error:  # a stranger's code may fail in any way
                    self._walked = False
                    raise DiscreetError(f"the plug-in {entry.value} cannot be loaded, so remove it: {error}") from None
        return dict(sorted(self._kinds.items(), key=lambda item: item[1].code))

    def __getitem__(self, name: str) -> type[M]:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
