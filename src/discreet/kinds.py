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
BINARY, SEVERAL = 20.0, 30.0  # rows times ε for each free weight that an additive model asks for; of more classes
BINARY_NUMBERS, SEVERAL_NUMBERS = 4.0, 20.0  # and where at least half of the features are numbers
# Features between which shapes get weights (noise for more takes long to draw), how clear their cells are there at
# least, and from where on weights of cells are better if they have support.
SHAPES_FEW, SHAPES_MANY, SHAPES_LEAN, SHAPES_RICH = 24, 120, 15.0, 70.0


@dataclass(frozen=True)
class Facts:
    """What a choice among kinds may go by: the schema, ε for one row, and the noisy number of rows.

    `weights` are those that an additive model would have to find for each class, and `support` is rows times ε for
    each weight of all classes, less for two classes of unequal size. `largest` is the share of the largest class, less
    what noise may have added. `clear` says, with a δ, how many times its noise a mean cell is under Gaussian noise, and
    `table` the ε for one row at which pure noise is as loud as what one table over all features gets; without a δ both
    are zero.
    """

    schema: Any
    rows: float
    epsilon: float
    weights: int
    support: float
    largest: float = 0.5
    clear: float = 0.0
    table: float = 0.0

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

    @property
    def shapes(self) -> bool:
        """Whether, with a δ, one weight for each feature's shape is surer to be found than weights of all cells."""
        wide = SHAPES_FEW <= self.features <= SHAPES_MANY
        able = self.clear > 0 and self.classes == 2 and self.rows < 1e8  # larger sums might leave 64 bits
        scarce = self.support < self.needed or self.clear < SHAPES_RICH
        return able and wide and scarce and self.clear >= SHAPES_LEAN

    @property
    def needed(self) -> float:
        """Rows times ε for each free weight, below which weights are not worth fitting.

        More with several classes, whose residuals get half the rate each. Fewer where most features are numbers: the
        weights of a line through knots are alike, so that each of them leans on its neighbours.
        """
        numbers = 2 * len(self.schema.numeric) >= self.features
        two, several = (BINARY_NUMBERS, SEVERAL_NUMBERS) if numbers else (BINARY, SEVERAL)
        return two if self.classes == 2 else several

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

    The merits here: 1 counting features one by one, 1.5 counting a few that are chosen first, 2 weights fitted
    together, 3 a tree of pairs, 4 weights of pairs, 5 all features together. A kind promises what it can express only
    where the budget carries it.
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

    def __init__(self, package: str | None = None) -> None:
        """Start empty, or find the kinds of a package's rooms on first use, and those of plug-ins when it matters."""
        self._names: dict[str, Kind] = {}
        self._rooms = package
        self._plugged = package is None

    def register(self, kind: Kind) -> Kind:
        """Add a kind; a name that stands for another one is refused."""
        named = dict.fromkeys((kind.name, *kind.aliases), kind)
        for name in named:
            if self._own().get(name, kind) != kind:
                raise BudgetError(f"two kinds of models are called {name!r}: rename that of {kind.home}")
        self._names.update(named)
        return kind

    def declare(self, found: Any) -> None:
        """Take a kind, several of them, or those of a module."""
        found = getattr(found, DECLARED, found)
        for kind in found if isinstance(found, Iterable) else (found,):
            self.register(kind)

    def _own(self) -> dict[str, Kind]:
        package, self._rooms = self._rooms, None
        for module in declarations(package) if package else ():
            self.declare(module)
        return self._names

    def _all(self) -> dict[str, Kind]:
        found, entries = self._own(), () if self._plugged else entry_points(group=ENTRY_POINTS)
        self._plugged = True
        for entry in entries:
            try:
                self.declare(entry.load())
            except Exception as error:  # a stranger's code may fail in any way, and the library's own kinds do not
                warnings.warn(f"the kinds of {entry.value} are left out: {error}", stacklevel=3)
        return found

    def kinds(self) -> list[Kind]:
        """Every kind, those of plug-ins last."""
        return [kind for name, kind in self._all().items() if name == kind.name]

    def find(self, name: Any) -> Kind:
        """The kind of that name or alias, or an error that names all kinds."""
        found = self._all().get(name) if isinstance(name, str) else None
        if found is None:
            raise BudgetError(f"there is no model {name!r}: choose among {', '.join(one.name for one in self.kinds())}")
        return found

    def names(self, *, usual: bool = False) -> list[str]:
        """The names of registered kinds, or of those that a comparison shows; plug-ins are not loaded for it."""
        return [name for name, kind in self._own().items() if name == kind.name and (kind.usual or not usual)]

    def of_format(self, name: str) -> Kind | None:
        """A kind whose model files have that format."""
        return next((kind for kind in self.kinds() if kind.format == name and kind.model), None)


def of_a_kind(estimator: Any) -> bool:
    """Whether an estimator comes from where registered kinds do."""
    room = type(estimator).__module__.split(".")
    homes = (kind.home.split(".") for kind in kinds())
    return any(room[: len(home)] == home for home in homes)


def resolve(place: str) -> Any:
    """What stands at a place "module:name"."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def declarations(package: str) -> Iterable[Any]:
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


REGISTRY = Kinds("discreet")
register, find, kinds, names = REGISTRY.register, REGISTRY.find, REGISTRY.kinds, REGISTRY.names
