"""Model files of every kind: which class reads a file is told by its format."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Protocol, cast

from discreet.errors import ModelError
from discreet.files import parse_json
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation
from discreet.schema import Schema

# The "format" of a model file, and the module and class that read it.
FORMATS = {
    "discreet/naive-bayes": ("discreet.bayes.model", "NaiveBayesModel"),
    "discreet/linear": ("discreet.linear.model", "LinearModel"),
    "discreet/trees": ("discreet.trees.model", "TreeModel"),
    "discreet/additive": ("discreet.additive.model", "AdditiveModel"),
    "discreet/joint": ("discreet.dependence.joint_model", "JointModel"),
    "discreet/tan": ("discreet.dependence.tan_model", "TANModel"),
}


class Model(Protocol):
    """What the commands need of a released model of any kind."""

    schema: Schema
    certificate: Certificate
    evaluation: PrivateEvaluation | None

    @property
    def probabilistic(self) -> bool:
        """Whether its scores are log-probabilities."""
        ...

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""
        ...

    def score_rows(self, rows: Any) -> Any:
        """One score per row and class, the best class highest."""
        ...

    def most_frequent(self) -> int | None:
        """The class it holds to be the most frequent, if it knows."""
        ...

    def twin(self, data: Any, y: Any = None, progress: Any = None) -> Model:
        """The same kind of model fitted without noise: for comparison, never for release."""
        ...


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model file of any kind. Nothing in it is executed: files from strangers are safe to load."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the model {path}: {error.strerror or error}") from None
    try:
        fields = parse_json(raw)
        kind = fields.get("format") if isinstance(fields, dict) else None
        if not isinstance(kind, str) or kind not in FORMATS:
            raise ModelError("this is not a model of discreet")
        module, name = FORMATS[kind]
        return cast(Model, getattr(importlib.import_module(module), name).from_dict(fields))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except ValueError as error:
        raise ModelError(f"{path} is damaged or no model file: {error}") from None
