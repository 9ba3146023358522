"""Measured figures: what noisy counts say about a model, with intervals, as it stands in model and result files."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.errors import ModelError
from discreet.files import parse_json, write_text
from discreet.privacy.certificate import Certificate
from discreet.privacy.coverage import SetCounts

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Figure(_Record):
    """An estimate with two intervals.

    `noise_low` … `noise_high` is where the exact figure of these rows lies; `low` … `high` also holds the error of
    drawing the rows, so it is where the figure of the population lies that they are a sample of.
    """

    value: Finite
    low: Finite
    high: Finite
    noise_low: Finite
    noise_high: Finite

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.noise_low <= self.value <= self.noise_high <= self.high:
            raise ValueError("an interval does not hold its estimate")
        return self


class Share(Figure):
    """A figure between 0 and 1."""

    @model_validator(mode="after")
    def _within(self) -> Self:
        if not (self.low >= 0 and self.high <= 1):
            raise ValueError("a share lies outside 0 to 1")
        return self


class CurveBin(_Record):
    """The rows whose score is above `above` and not above `upto`: how many, and which part is of the class."""

    above: Finite | None
    upto: Finite | None
    rows: Figure
    share: Share


class Curve(_Record):
    """Which part of the rows is of a class, by the model's score for it: a probability, or a margin."""

    of: str
    score: Literal["probability", "margin"]
    bins: tuple[CurveBin, ...]


class PrivateEvaluation(_Record):
    """Accuracy, balanced accuracy, AUC, confusion table and calibration of a model from noisy counts.

    `sets` are the counts that prediction sets rest on, of rows held out.
    `certificate` says what it cost; it is None inside a model file, whose own certificate then covers both.
    """

    format: Literal["discreet/evaluation"] = "discreet/evaluation"
    version: Literal[1] = 1
    confidence: Annotated[float, Field(gt=0, lt=1)]
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = None
    classes: tuple[str, ...]
    rows: Figure
    accuracy: Share
    balanced_accuracy: Share
    auc: Share
    recall: tuple[Share, ...]
    confusion: tuple[tuple[Figure, ...], ...]
    calibration: tuple[Curve, ...]
    sets: SetCounts | None = None
    certificate: Certificate | None = None

    @model_validator(mode="after")
    def _square(self) -> Self:
        size = len(self.classes)
        curves = 1 if size == 2 else size
        shape = len(self.recall) == len(self.confusion) == size and all(len(row) == size for row in self.confusion)
        if size < 2 or not shape or len(self.calibration) != curves:
            raise ValueError("the figures do not fit the classes")
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a file."""
        found = self.model_dump(mode="json", exclude_none=False)
        return found if self.sets is not None else {key: value for key, value in found.items() if key != "sets"}

    @classmethod
    def from_dict(cls, fields: Any) -> PrivateEvaluation:
        """Validate plain values, as they come out of a file."""
        try:
            return cls.model_validate_json(json.dumps(fields))
        except ValidationError as error:
            raise ModelError(f"the measured figures are damaged: {error.errors()[0]['msg']}") from None
        except (TypeError, ValueError) as error:
            raise ModelError(f"the measured figures are damaged: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figures and their certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PrivateEvaluation:
        """Read a file of measured figures."""
        try:
            return cls.from_dict(parse_json(Path(path).read_bytes()))
        except OSError as error:
            raise ModelError(f"cannot read {path}: {error.strerror or error}") from None
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        except ValueError as error:
            raise ModelError(f"{path} is damaged: {error}") from None

    def lines(self) -> list[tuple[str, Figure]]:
        """The headline figures by name."""
        return [
            ("accuracy", self.accuracy),
            ("balanced accuracy", self.balanced_accuracy),
            ("AUC", self.auc),
            *((f"recall of {name}", one) for name, one in zip(self.classes, self.recall, strict=True)),
        ]

    def __str__(self) -> str:
        title = f"{'':<20}  value   {self.confidence:.0%} interval    of these rows"
        body = [
            f"{name[:20]:<20}  {one.value:.4f}  {one.low:.4f} - {one.high:.4f}  "
            f"{one.noise_low:.4f} - {one.noise_high:.4f}"
            for name, one in self.lines()
        ]
        rows = f"about {round(self.rows.value)} rows ({math.floor(self.rows.low)} - {math.ceil(self.rows.high)})"
        return "\n".join([rows, title, *body])
