"""Released models: what all kinds have in common, from their files to their predictions; none saw an exact count."""

from __future__ import annotations

import copy
import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.domain import text
from discreet.errors import ModelError, SchemaError
from discreet.files import parse_json, write_text
from discreet.kinds import REGISTRY
from discreet.privacy.certificate import Certificate
from discreet.privacy.measured import PrivateEvaluation
from discreet.schema import Numeric, Schema
from discreet.sources import Progress, Rows, read_rows

if TYPE_CHECKING:
    from discreet.explanation import Explanation

Floats = NDArray[np.float64]
T = TypeVar("T")
VERSION = 1  # of the header that all model files share


class ReleasedModel(ABC):
    """A schema, a certificate, and scores of rows for each class; classes stand in the schema's order.

    A kind of model says how rows are scored (`joint_rows`), what its file holds besides the header (`_fields`, and
    `_build`, which makes a model of them), how it sees each feature (`kinds`), and how a non-private baseline of it is
    fitted (`twin`).
    """

    FORMAT: ClassVar[str]  # of its files
    NAME: ClassVar[str]  # in words, with an article
    probabilistic: bool = True  # whether its scores are log-probabilities
    by_codes: bool = False  # whether a row's scores follow from its cells and lattice points alone
    log_prior: Floats | None = None
    evaluation: PrivateEvaluation | None = None  # figures measured on rows held out, if any
    _bound = True  # whether its certificate names its parameters: files of earlier versions stay as they are

    def __init__(self, schema: Schema, certificate: Certificate) -> None:
        self.schema, self.certificate = schema, certificate
        if certificate.schema_hash != schema.hash:
            raise ModelError("the certificate belongs to another schema")

    def with_certificate(self, certificate: Certificate, evaluation: PrivateEvaluation | None = None) -> Self:
        """A copy with another certificate, and with measured figures if any are given; this model stays as it is."""
        if certificate.schema_hash != self.schema.hash:
            raise ModelError("the certificate belongs to another schema")
        found = copy.copy(self)
        found.certificate = certificate
        found.evaluation = self.evaluation if evaluation is None else evaluation
        return found

    # ---- what a kind of model says of itself

    @abstractmethod
    def joint_rows(self, rows: Rows) -> Floats:
        """Scores of rows as a source delivers them, one column per class: log-probabilities up to a constant."""

    @property
    @abstractmethod
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""

    @abstractmethod
    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> Self:
        """The same kind of model fitted without noise: for comparison, never for release."""

    def baseline(self, data: Any, y: Any = None, progress: Progress | None = None) -> Self:
        """The non-private baseline: the same kind of model fitted without noise, for comparison, never for release."""
        return self.twin(data, y, progress)

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """What its file holds besides the header, as plain values."""

    @classmethod
    @abstractmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> Self:
        """A model out of plain values."""

    def most_frequent(self) -> int | None:
        """The class that it holds to be the most frequent, if it knows."""
        return None if self.log_prior is None else int(self.log_prior.argmax())

    def describe(self) -> dict[str, Any]:
        """What anybody may know about it, as plain values: its guarantee, its schema and how it sees each feature."""
        return {
            "model": self.NAME,
            "certificate": self.certificate.model_dump(mode="json"),
            "epsilon": self.certificate.epsilon_value,
            "delta": self.certificate.delta_value,
            "schema": self.schema.to_dict(),
            "features": self.kinds,
            "evaluation": None if self.evaluation is None else self.evaluation.to_dict(),
        }

    def _repr_html_(self) -> str:
        from discreet.html import page

        measured = [] if self.evaluation is None else self.evaluation.lines()
        facts = [("target", self.schema.target), *self.certificate.facts()]
        facts += [(name, f"{one.value:.4f} ({one.low:.4f} to {one.high:.4f})") for name, one in measured]
        rows = [[one["name"], one.get("words", one["kind"])] for one in self.kinds]
        return page(f"Released model: {self.NAME}", facts, ["feature", "modelled by"], rows)

    # ---- explanation

    separable: bool = False  # whether a score is a sum of one part for each feature

    def explain(self, row: Any = None) -> Explanation:
        """What it makes of each feature, by importance, with the error of the noise; or of one row, a mapping.

        It asks the released model alone, so it costs nothing.
        """
        from discreet.explanation import explain

        return explain(self, row)

    def effects(self, rows: Rows) -> Floats:
        """Log-odds, or margins of a model without probabilities: of the second of two classes, or one per class."""
        scores = self.joint_rows(rows)
        if scores.shape[1] > 2:
            return np.asarray(scores - scores.mean(axis=1, keepdims=True))
        return leads(scores, self.probabilistic)[:, 1:]

    bands: str = "one standard error of the noise"  # what the errors of its shapes are

    def error_of(self, name: str) -> Floats | None:
        """The standard error, by the noise, of what each cell of a feature adds to `effects`, if it is known."""
        return None

    def parts(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The parameters that the scores of each row add up, by their places, and how much of each.

        Only models say so whose parameters are noisy by themselves, as `spread` knows.
        """
        return None

    def spread(self, mixes: Any) -> Floats:
        """The variance, by the noise, that mixes of parameters (a sparse row each) have in each column of `effects`."""
        raise NotImplementedError

    # ---- synthetic rows

    generative: bool = False  # whether `_draw` draws rows

    def sample(
        self, size: int, seed: int | None = None, *, rng: np.random.Generator | None = None
    ) -> dict[str, list[Any]]:
        """Synthetic rows drawn from the model, target included, as columns: at no cost, as private as the model itself.

        A seed repeats them; without one the system's dice are thrown.
        """
        if not self.generative:
            raise ModelError(
                f"{self.NAME} says which class a row has, not which rows there are: have rows designed, spread evenly "
                "and labelled by it, by 'discreet synthesize --design' or model.design(), or fit a kind that knows "
                "rows by 'discreet fit --generative' or PrivateClassifier(generative=True)"
            )
        return self._draw(_size(size), np.random.default_rng(seed) if rng is None else rng)

    def design(
        self, size: int, seed: int | None = None, *, rng: np.random.Generator | None = None
    ) -> dict[str, list[Any]]:
        """Designed rows as columns, at no cost: values spread evenly over what is public, the target by the model.

        Another model can be trained on them; how often a value or a class occurs in the data, they do not say.
        """
        from discreet.explanation import designed

        self._probabilities()
        return designed(self, _size(size), np.random.default_rng(seed) if rng is None else rng)

    def parts_of(self, feature: Numeric) -> Sequence[int]:
        """The lattice points between which parts of a number lie that count alike in designed rows: its bins."""
        return (-feature.lattice.half, *feature.cuts, feature.lattice.half)

    def _draw(self, size: int, rng: np.random.Generator) -> dict[str, list[Any]]:
        raise NotImplementedError

    def _draw_classes(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The places of drawn classes."""
        assert self.log_prior is not None
        chances = np.exp(normalised(self.log_prior[None, :]))[0]
        return np.asarray(rng.choice(len(chances), size=size, p=chances))

    # ---- prediction

    @property
    def classes(self) -> NDArray[Any]:
        """The classes in the order of every score's columns."""
        return self.schema.class_array()

    def score_rows(self, rows: Rows) -> Floats:
        """One score per row and class, the best class highest: log P(class | row) if it has probabilities."""
        return normalised(self.joint_rows(rows))

    def best_rows(self, rows: Rows) -> NDArray[np.int64]:
        """The place of the best class of each row."""
        return np.asarray(self.joint_rows(rows).argmax(axis=1))

    def _each(self, score: Callable[[Rows], Any], X: Any, progress: Progress | None, *shape: int) -> Any:
        parts = [score(rows) for rows in read_rows(X, self.schema, labelled=False, progress=progress)]
        return np.concatenate(parts) if parts else np.empty((0, *shape), np.float64 if shape else np.int64)

    def _probabilities(self) -> int:
        if not self.probabilistic:
            raise ModelError(f"{self.NAME} has scores, not probabilities: use decision_function")
        return len(self.schema.classes)

    def predict_joint_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class, features), up to a constant of the row, for an array, a data frame, a file or a table."""
        return cast(Floats, self._each(self.joint_rows, X, progress, self._probabilities()))

    def predict_log_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """log P(class | features) for each row."""
        return cast(Floats, self._each(self.score_rows, X, progress, self._probabilities()))

    def predict_proba(self, X: Any, progress: Progress | None = None) -> Floats:
        """P(class | features) for each row."""
        return np.exp(self.predict_log_proba(X, progress))

    def predict(self, X: Any, progress: Progress | None = None) -> NDArray[Any]:
        """The best class of each row."""
        return np.asarray(self.classes[self._each(self.best_rows, X, progress)])

    def set_rule(self, coverage: Any) -> Callable[[Rows], NDArray[np.bool_]]:
        """Which classes are in the prediction set of each row, for sets that hold the true class with this chance."""
        counts = None if self.evaluation is None else self.evaluation.sets
        if counts is None:
            raise ModelError(
                "this model has no counts of rows held out, which prediction sets rest on: fit it with a hold-out, by "
                "PrivateHoldout(estimator) or 'discreet fit --holdout 0.2'"
            )
        first = counts.first_bin(coverage)
        return lambda rows: set_bins(self.score_rows(rows), counts.edges, self.probabilistic) >= first

    def predict_set(self, X: Any, coverage: Any = 0.9, progress: Progress | None = None) -> NDArray[np.bool_]:
        """For each row which classes are in its set; it holds the true one with at least the chance `coverage`.

        That is proved for rows that are exchangeable with those held out, noise included. No set is empty.
        """
        rule = self.set_rule(coverage)
        return np.asarray(self._each(rule, X, progress, len(self.schema.classes)), bool)

    def answers(
        self, rows: Rows, proba: bool = False, *, threshold: tuple[int, float] | None = None
    ) -> dict[str, NDArray[Any]]:
        """The best class of each row as text and its probability or score; with `proba` those of every class too.

        With a `threshold`, the place of a class and a number, that class is answered where its probability is not
        below the number, and nowhere else.
        """
        scores = self.score_rows(rows)
        scores = np.exp(scores) if self.probabilistic else scores
        labels = np.array([text(label) for label in self.schema.classes], dtype=object)
        best = scores.argmax(axis=1)
        if threshold is not None:
            place, least = threshold
            others = scores.copy()
            others[:, place] = -np.inf
            best = np.where(scores[:, place] >= least, place, others.argmax(axis=1))
        every = list(scores.T) if proba else []
        found = [labels[best], scores[np.arange(len(best)), best], *every]
        return dict(zip(self.answer_names(proba), found, strict=True))

    def answer_names(self, proba: bool = False) -> list[str]:
        """What the columns of `answers` are called."""
        every = [f"P({text(label)})" for label in self.schema.classes] if proba else []
        return ["prediction", "probability" if self.probabilistic else "score", *every]

    # ---- files

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they go into a model file; the certificate there names the parameters that it is about."""
        parameters = {
            "format": self.FORMAT,
            "version": VERSION,
            "schema": self.schema.to_dict(),
            **({} if self.log_prior is None else {"log_prior": self.log_prior.tolist()}),
            **self._fields(),
        }
        measured = {} if self.evaluation is None else {"evaluation": self.evaluation.to_dict()}
        return {
            **parameters,
            "certificate": self.certificate.model_dump(mode="json")
            | ({"parameters": _digest(parameters)} if self._bound else {})
            | ({"evaluation": _digest(measured["evaluation"])} if self._bound and measured else {}),
            **measured,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its certificate as JSON, whole or not at all."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, fields: Any) -> Self:
        """Validate plain values, as they come out of a file."""
        if not isinstance(fields, dict) or fields.get("format") != cls.FORMAT:
            raise ModelError(f"this is not {cls.NAME} of discreet")
        if fields.get("version") != VERSION:
            raise ModelError(f"the model is of version {fields.get('version')!r}; this library reads {VERSION}")
        try:
            schema = Schema.from_dict(fields["schema"])
            certificate = Certificate.model_validate_json(json.dumps(fields["certificate"]))
            named, figures = certificate.parameters, certificate.evaluation
            certificate = certificate.model_copy(update={"parameters": "", "evaluation": ""})
            found = cls._build(schema, fields, certificate)
            if named and named != _digest(fields):  # files of earlier versions name none
                raise ModelError("the certificate belongs to another model, or the model was changed after its release")
            found._bound = bool(named)
            found.evaluation = _measured(schema, fields.get("evaluation"))
            if figures and (found.evaluation is None or figures != _digest(fields["evaluation"])):
                raise ModelError("the measured figures belong to another model, or were changed after its release")
            return found
        except ModelError:
            raise
        except SchemaError as error:
            raise ModelError(f"the model's schema is damaged: {error}") from None
        except ValidationError as error:
            raise ModelError(f"the model's certificate is damaged: {error.errors()[0]['msg']}") from None
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ModelError(f"the model is damaged: {type(error).__name__} {error}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model file. Nothing in it is executed: files from strangers are safe to load."""
        return _read(path, cls.from_dict)


def _size(size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ModelError(f"the number of rows must be a whole number from 0 on, not {size!r}")
    return int(size)


def load(path: str | os.PathLike[str]) -> ReleasedModel:
    """Read a model file of any kind. Nothing in it is executed: files from strangers are safe to load."""
    return _read(path, _of_any_kind)


load_model = load  # its name in version 0.1


def from_json(raw: str | bytes) -> ReleasedModel:
    """The model in the text of a model file."""
    return _of_any_kind(parse_json(raw))


def _of_any_kind(fields: Any) -> ReleasedModel:
    named = fields.get("format") if isinstance(fields, dict) else None
    kind = REGISTRY.of_format(named) if isinstance(named, str) else None
    if kind is None:
        raise ModelError("this is not a model of discreet: pass a file that model.save(...) or 'discreet fit' wrote")
    found: ReleasedModel = kind.model_class().from_dict(fields)
    return found


def _read(path: str | os.PathLike[str], build: Callable[[Any], T]) -> T:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the model {path}: {error.strerror or error}") from None
    try:
        return build(parse_json(raw))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    except ValueError as error:
        if raw.lstrip()[:1] not in (b"{", b"["):
            raise ModelError(f"{path} is damaged or no model file: are two arguments swapped?") from None
        raise ModelError(f"{path} is damaged or no model file: {error}") from None


def _digest(fields: dict[str, Any]) -> str:
    """A fingerprint of measured figures, or of all that a model file says besides them and its certificate."""
    parameters = {name: value for name, value in fields.items() if name not in {"certificate", "evaluation"}}
    canonical = json.dumps(parameters, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _measured(schema: Schema, fields: Any) -> PrivateEvaluation | None:
    """The figures that a model file carries, if any."""
    if fields is None:
        return None
    found = PrivateEvaluation.from_dict(fields)
    if found.classes != tuple(text(label) for label in schema.classes):
        raise ModelError("the measured figures do not fit the model's classes")
    if found.held_out is None or found.certificate is not None:
        raise ModelError(
            "the measured figures in a model must be of rows held out, with no certificate beside the model's"
        )
    return found


def class_probabilities(schema: Schema, log_prior: Any) -> Floats:
    """log P(class), one finite number for each class of a schema."""
    found = np.asarray(log_prior, dtype=np.float64)
    if found.shape != (len(schema.classes),) or not np.isfinite(found).all():
        raise ModelError("the class probabilities do not fit the schema")
    return found


def pick(weights: Floats, spots: Floats) -> NDArray[np.int64]:
    """The cell that each number from 0 to 1 falls to, by the weights in its row."""
    levels = np.cumsum(weights, axis=1)
    return np.asarray((spots[:, None] * levels[:, -1:] >= levels).sum(axis=1).clip(0, weights.shape[1] - 1))


def leads(scores: Floats, probabilistic: bool) -> Floats:
    """The lead of each class over the other or others: log-odds, or the margin to the best score."""
    if scores.shape[1] == 2:
        found = scores - scores[:, ::-1]
    elif not probabilistic:
        found = scores - scores.max(axis=1, keepdims=True)
    else:
        with np.errstate(divide="ignore"):
            found = scores - np.log(-np.expm1(np.minimum(scores, -1e-300)))
    return np.nan_to_num(found, nan=0.0, posinf=1e300, neginf=-1e300)


def beside(variances: Floats) -> Floats:
    """The variances of scores less their mean over the classes, of those of scores that err on their own."""
    classes = variances.shape[1]
    if classes == 1:
        return variances
    return np.asarray(variances * (1 - 2 / classes) + variances.sum(axis=1, keepdims=True) / classes**2)


def set_bins(scores: Floats, edges: Any, probabilistic: bool) -> NDArray[np.int64]:
    """The bin of the lead of every class of each row; the best class is past all bins."""
    found = np.searchsorted(edges, np.minimum(leads(scores, probabilistic), 0.0), side="left")
    found[np.arange(len(scores)), scores.argmax(axis=1)] = len(edges)
    return np.asarray(found, np.int64)


def normalised(scores: Floats) -> Floats:
    """Joint log-probabilities less their log-sum: no underflow however many features there are."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))
