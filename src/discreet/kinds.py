"""The registry of model kinds: each room declares its own in `<room>/kinds.py`, and plug-ins by an entry point."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from importlib.util import module_from_spec
from typing import Any

from discreet.errors import BudgetError

ENTRY_POINTS = "discreet.kinds"  # the group of entry points: each names a Kind, a list of them, or a module
DECLARED = "KINDS"


@dataclass(frozen=True)
class Facts:
    """What a choice among kinds may go by: the schema, ε for one row, and the noisy number of rows.

    `weights` are those that an additive model would have to find for each class, and `support` is rows times ε for
    each weight of all classes.
    """

    schema: Any
    rows: float
    epsilon: float
    weights: int
    support: float

    @property
    def features(self) -> int:
        """The number of features."""
        return len(self.schema.features)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.schema.classes)

    @property
    def all_weights(self) -> int:
        """Weights of all classes together; two classes share theirs."""
        return self.weights * (1 if self.classes == 2 else self.classes)

    def supported(self, needed: float) -> str:
        """Why weights can be found, in words."""
        return f"{self._support()}, and {needed:g} suffice"

    def unsupported(self, needed: float) -> str:
        """Why weights had better not be looked for, in words."""
        return f"{self._support()}; below {needed:g} counting is surer than fitting weights"

    def _support(self) -> str:
        return (
            f"about {self.rows:.0f} rows give each of {self.all_weights:.0f} weights a support of {self.support:.3g} "
            "rows times epsilon"
        )


@dataclass(frozen=True)
class Promise:
    """How much a kind of model promises, and why; the kind of the highest merit is taken, and none has no merit.

    The merits here: 1 counting features one by one, 2 weights fitted together, 3 a tree of pairs, 4 weights of pairs,
    5 all features together. A kind promises what it can express only where the budget carries it.
    """

    merit: float | None
    reason: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A kind of model by name. Places are written "module:name", so that declaring a kind imports nothing."""

    name: str
    words: str  # for people
    estimator: str
    format: str = ""  # of its files, and
    model: str = ""  # the class that reads them
    aliases: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the estimator, that make it this kind
    as_declared: Mapping[str, Any] = field(default_factory=dict)  # and those that keep the bins of the schema
    promise: Callable[[Facts], Promise] | None = None  # what it promises to the automatic choice, if it stands for it
    automatic: str = "discreet.auto.families:fit_estimator"  # how it is fitted once rows per class are bought
    counted: bool = False  # `fit` buys the number of rows first, as the automatic choice does
    usual: bool = False  # whether a comparison shows it unless told which to show

    @property
    def home(self) -> str:
        """The module that its estimator comes from."""
        return self.estimator.partition(":")[0]

    def make(self, **settings: Any) -> Any:
        """An unfitted estimator."""
        return resolve(self.estimator)(**{**self.settings, **settings})

    def model_class(self) -> Any:
        """The class of its released models."""
        return resolve(self.model)


class Kinds:
    """Kinds by name, in the order in which they were declared."""

    def __init__(self) -> None:
        """Start empty."""
        self._kinds: dict[str, Kind] = {}
        self._names: dict[str, Kind] = {}

    def register(self, kind: Kind) -> Kind:
        """Add a kind; a name that stands for another one is refused."""
        for name in (kind.name, *kind.aliases):
            known = self._names.get(name, kind)
            if known != kind:
                raise BudgetError(f"two kinds of models are called {name!r}: rename that of {kind.home}")
        self._kinds[kind.name] = kind
        self._names.update(dict.fromkeys((kind.name, *kind.aliases), kind))
        return kind

    def declare(self, found: Any) -> None:
        """Take a kind, several of them, or those of a module."""
        found = getattr(found, DECLARED, found)
        for kind in found if isinstance(found, Iterable) else (found,):
            self.register(kind)

    def all(self) -> tuple[Kind, ...]:
        """Every kind."""
        return tuple(self._kinds.values())

    def find(self, name: Any) -> Kind:
        """The kind of that name or alias."""
        found = self._names.get(name) if isinstance(name, str) else None
        if found is None:
            raise BudgetError(f"there is no model {name!r}: choose among {', '.join(self._kinds)}")
        return found


def resolve(place: str) -> Any:
    """What stands at a place "module:name"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def declarations(package: str = "discreet") -> Iterable[Any]:
    """The modules `kinds` of all rooms of a package.

    They are run without their rooms, whose own modules load engines: a command that only lists kinds stays quick.
    """
    for room in pkgutil.iter_modules(importlib.import_module(package).__path__):
        place = room.module_finder.find_spec(room.name, None) if room.ispkg else None
        inside = place and PathFinder.find_spec(f"{package}.{room.name}.kinds", place.submodule_search_locations)
        if inside and inside.loader:
            module = module_from_spec(inside)
            inside.loader.exec_module(module)
            yield module


_rooms: Kinds | None = None
_plugged = False


def _own() -> Kinds:
    global _rooms
    if _rooms is None:
        _rooms = Kinds()
        for module in declarations():
            _rooms.declare(module)
    return _rooms


def _all() -> Kinds:
    """The kinds of this package and of installed plug-ins, found on first use."""
    global _plugged
    found = _own()
    if not _plugged:
        _plugged = True
        for entry in entry_points(group=ENTRY_POINTS):
            try:
                found.declare(entry.load())
            except Exception as error:  # a stranger's code may fail in any way, and the library's own kinds do not
                warnings.warn(f"the kinds of {entry.value} are left out: {error}", stacklevel=3)
    return found


def register(kind: Kind) -> Kind:
    """Add a kind by hand."""
    return _own().register(kind)


def find(name: Any) -> Kind:
    """The kind of that name or alias, or an error that names all kinds."""
    return _all().find(name)


def kinds() -> tuple[Kind, ...]:
    """Every kind, those of plug-ins last."""
    return _all().all()


def names() -> list[str]:
    """The names that this package and registered kinds brought, without loading plug-ins."""
    return [kind.name for kind in _own().all()]


def usual() -> list[str]:
    """The names of the kinds that a comparison shows unless told which."""
    return [kind.name for kind in _own().all() if kind.usual]


def kind_of_format(name: str) -> Kind | None:
    """A kind whose model files have that format."""
    return next((kind for kind in kinds() if kind.format == name and kind.model), None)
