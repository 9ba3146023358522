"""What a likelihood is: how one feature speaks of the class, from released statistics to scores, files and export."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.schema import Feature, Numeric
from discreet.sources import Column

Floats = NDArray[np.float64]


class Evidence(Protocol):
    """What was released about the features, as a likelihood is estimated from it: noisy, denoised, never exact."""

    def table(self, feature: Feature) -> Floats:
        """log P(cell | class) of a feature that is counted by cells, read as the fit was told to read noisy tables."""

    def moments(self, feature: Numeric) -> tuple[Floats, Floats]:
        """The mean and the variance of a number in each class, in its own unit and inside its bounds."""

    def present(self, feature: Numeric) -> Floats | None:
        """log P(present | class) and log P(missing | class) of a number that may be missing, if moments are asked."""


@dataclass(frozen=True)
class Likelihood(ABC):
    """log P(value | class) of one feature, for every class.

    A kind of likelihood is a frozen dataclass of numbers, arrays of them or None: what a model file holds.
    It names the `statistic` that it needs, and the plan knows what that statistic costs.
    """

    numeric: ClassVar[str]  # its name for `numeric=`, in files and in words, as registered
    kind: ClassVar[str]
    words: ClassVar[str]
    statistic: ClassVar[Literal["table", "moments"]]  # counts by cell, or count, sum and sum of squares

    name: str

    @classmethod
    @abstractmethod
    def estimate(cls, evidence: Evidence, feature: Any) -> Self:
        """The likelihood of a feature from what was released about it."""

    @abstractmethod
    def check(self, feature: Feature, classes: int) -> None:
        """Refuse, by a ModelError, parameters that do not belong to the feature: files may come from anyone."""

    @abstractmethod
    def scores(self, column: Column) -> Floats:
        """log P(value | class), a row per value; a value that has none raises the error that names it."""

    @abstractmethod
    def sample(self, feature: Any, groups: NDArray[Any], rng: np.random.Generator) -> list[Any]:
        """Values drawn for rows of the given classes."""

    @property
    def by_cell(self) -> Floats | None:
        """log P(cell | class) if all values of a cell score alike: neighbouring features then share one look-up."""
        return None

    def add_scores(self, feature: Any, values: NDArray[Any], block: Floats) -> None:
        """Add log P(value | class) to a block of scores, NaN for a value that has none; for what is not `by_cell`."""
        raise NotImplementedError

    def moments(self) -> tuple[Floats, Floats] | None:
        """Mean and variance of each class, if it has them."""
        return None

    def widened(self, feature: Any, extra: float) -> Self:
        """The same with `extra`, a sliver of the widest number's variance, added to its own; or as it is."""
        return self

    def least_slope(self, feature: Any) -> float:
        """The lowest power that `tempered` can take it to."""
        return 0.0

    def tempered(self, feature: Any, slope: float, shares: Floats) -> tuple[Self, Floats]:
        """Its power `slope` as a likelihood of this kind, and the logarithm, by class, of what that is to be times."""
        raise ModelError(f"a model of {self.name!r} by a {self.words} cannot be calibrated: use another likelihood")

    def encoder(self, feature: Any, linear: bool) -> Any:
        """A scikit-learn transformer of the column for `linear_form`, or for `native` if not `linear`."""
        raise ModelError(f"a model of {self.name!r} by a {self.words} cannot be exported: keep this model")

    def linear_form(self, feature: Any) -> tuple[Floats, Floats]:
        """Weights (class by column of the encoder) and constants of the score as a linear function of the encoding."""
        raise NotImplementedError

    @classmethod
    def native(cls, model: Any, order: NDArray[Any]) -> Any:
        """Scikit-learn's own classifier for a model of which every feature is of this kind; None if there is none."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file."""
        own = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in own.items()}
        return {"name": self.name, "kind": self.kind, **plain}

    @classmethod
    def parse(cls, given: dict[str, Any]) -> Self:
        """A likelihood out of a model file's plain values; `check` sees to the rest."""
        own = {field.name: given[field.name] for field in fields(cls)[1:]}
        arrays = {k: np.array(v, dtype=np.float64) if isinstance(v, list) else v for k, v in own.items()}
        return cls(str(given["name"]), **arrays)
