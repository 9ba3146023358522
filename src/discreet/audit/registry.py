"""Where mechanisms declare what an audit of them needs; this room knows none of them by name."""

from __future__ import annotations

import importlib
import importlib.util
import math
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from discreet.audit.engine import DEFAULT_SAMPLES, audit
from discreet.audit.result import AuditResult, Pair
from discreet.errors import AuditError

ENTRY_POINTS = "discreet.audits"
DECLARING = "audit_cases"
_ROOMS = ("audits", "controls")


@dataclass(frozen=True)
class Claim:
    """A guarantee someone makes."""

    epsilon: float = 1.0
    delta: float = 0.0


@dataclass(frozen=True)
class AuditCase:
    """A mechanism with its claim and the neighbouring data sets that would show it false.

    `build(epsilon)` returns the mechanism tuned to that epsilon (a sampler or a function of the data) and
    `pairs(epsilon)` the data sets. `claim` holds the epsilon audited by default, and the delta.
    A `control` is broken on purpose: its audit succeeds when the claim is found violated.
    """

    name: str
    claim: Claim
    build: Callable[[float], Any]
    pairs: Callable[[float], Sequence[Pair]]
    adjacency: str
    control: bool = False
    note: str = ""
    samples: int | None = None

    def run(self, epsilon: float | None = None, samples: int | None = None, **options: Any) -> AuditResult:
        """Audit this case at `epsilon`, or at the claim's own."""
        at = self.claim.epsilon if epsilon is None else epsilon
        if not (math.isfinite(at) and at > 0):
            raise AuditError(f"The claimed epsilon must be a positive number; got {at}.")
        result = audit(
            self.build(at),
            self.pairs(at),
            at,
            self.claim.delta,
            samples=samples or self.samples or DEFAULT_SAMPLES,
            name=self.name,
            **options,
        )
        return replace(result, pair=f"{self.adjacency}: {result.pair}")


def case_at_one(
    name: str,
    build: Callable[[float], Any],
    pairs: Sequence[Pair],
    note: str,
    *,
    adjacency: str = "add-remove",
    samples: int | None = None,
    delta: float = 0.0,
    control: bool = False,
) -> AuditCase:
    """A case claimed at ε = 1 on the same pairs at every ε; a name "control-…" is that of a control."""
    control = control or name.startswith("control-")
    return AuditCase(name, Claim(1.0, delta), build, lambda epsilon: pairs, adjacency, control, note, samples)


class Registry:
    """Cases by name, declared by hand or found in modules that declare themselves."""

    def __init__(self) -> None:
        """Start empty."""
        self._cases: dict[str, AuditCase] = {}
        self._declared: list[Callable[[], Iterable[AuditCase]]] = []
        self.skipped: dict[str, str] = {}

    def register(self, case: AuditCase) -> AuditCase:
        """Add a case; a second one of the same name is refused."""
        known = self._cases.setdefault(case.name, case)
        if known is not case:
            raise AuditError(f"Two audit cases are called {case.name!r}; rename one.")
        return case

    def declares(self, function: Callable[[], Iterable[AuditCase]]) -> Callable[[], Iterable[AuditCase]]:
        """Register all cases a function returns; usable as a decorator."""
        for case in function():
            self.register(case)
        return function

    def discover(self, modules: Iterable[str | ModuleType]) -> None:
        """Take the cases of every module that has a function `audit_cases()`.

        A module that cannot be imported for want of an extra is noted in `skipped`.
        """
        for module in modules:
            if isinstance(module, str):
                try:
                    module = importlib.import_module(module)
                except ImportError as error:
                    self.skipped[str(module)] = str(error)
                    continue
            declaring = getattr(module, DECLARING, None)
            # A package may re-export the function of one of its modules: it is still one declaration.
            if callable(declaring) and declaring not in self._declared:
                self._declared.append(declaring)
                self.declares(declaring)

    def discover_entry_points(self, group: str = ENTRY_POINTS) -> None:
        """Take the cases of installed packages that name a module or function in the entry point group."""
        for entry in entry_points(group=group):
            found = entry.load()
            if isinstance(found, ModuleType):
                self.discover([found])
            else:
                self.declares(found)

    def cases(self, control: bool | None = None) -> list[AuditCase]:
        """Return the cases sorted by name: all, only controls, or only honest claims."""
        return [case for _, case in sorted(self._cases.items()) if control is None or case.control == control]

    def case(self, name: str) -> AuditCase:
        """Return the case of that name."""
        if name not in self._cases:
            known = ", ".join(sorted(self._cases)) or "none is registered"
            raise AuditError(f"No audit case is called {name!r}; choose one of: {known}.")
        return self._cases[name]


def rooms(package: str = "discreet") -> list[str]:
    """Name the modules of a package that may declare cases: each child, and its `audits` or `controls`."""
    parent = importlib.import_module(package)
    found: list[str] = []
    for info in pkgutil.iter_modules(parent.__path__, prefix=f"{package}."):
        if info.name.rsplit(".", 1)[-1].startswith("_"):
            continue
        found.append(info.name)
        if info.ispkg:
            inner = importlib.util.find_spec(info.name)
            places = list(inner.submodule_search_locations or []) if inner else []
            names = {child.name for child in pkgutil.iter_modules(places)}
            found += [f"{info.name}.{room}" for room in _ROOMS if room in names]
    return found


_house: Registry | None = None


def house() -> Registry:
    """Return the registry of this package and of installed plug-ins, filled on first use."""
    global _house
    if _house is None:
        registry = Registry()
        registry.discover(rooms())
        registry.discover_entry_points()
        _house = registry
    return _house


def register(case: AuditCase) -> AuditCase:
    """Add a case to the registry of this package."""
    return house().register(case)


def list_cases(control: bool | None = None) -> list[AuditCase]:
    """Return what can be audited by name: everything, only controls, or only honest claims."""
    return house().cases(control)


def run_case(name: str, epsilon: float | None = None, samples: int | None = None, **options: Any) -> AuditResult:
    """Audit one registered case; `options` are those of `audit`."""
    return house().case(name).run(epsilon, samples, **options)


def run_all(epsilon: float | None = None, samples: int | None = None, **options: Any) -> list[AuditResult]:
    """Audit every honest claim; a sound house has no verdict "violated" beyond the stated error rate."""
    return [case.run(epsilon, samples, **options) for case in list_cases(control=False)]


def run_controls(samples: int | None = None, **options: Any) -> list[AuditResult]:
    """Audit every negative control; an audit that works finds each of them violated."""
    return [case.run(None, samples, **options) for case in list_cases(control=True)]
