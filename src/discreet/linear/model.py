"""The model: released weights of a linear classifier with their certificate; it never saw a training row."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetError, ModelError
from discreet.linear.encode import UNIT, Encoding
from discreet.linear.kernels import loops
from discreet.models import Floats, ReleasedModel, beside, normalised
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema
from discreet.sources import Progress, Rows, hold_rows

KINDS = ("logistic", "svm")
LEAST = "one standard error of the noise at most: that where no row has the value"


class LinearModel(ReleasedModel):
    """Weights of encoded rows: one set for two classes, one per class for more; classes in the schema's order.

    `settings` are those of the estimator, so that a twin without noise can be fitted. `deviation` is how much a weight
    errs by the noise, at most: by so much errs the weight of a column that no row fills.
    """

    FORMAT = "discreet/linear"
    NAME = "a linear model"
    by_codes = True

    def __init__(
        self,
        schema: Schema,
        weights: Any,
        certificate: Certificate,
        *,
        kind: str,
        numeric: str = "binned",
        settings: dict[str, Any] | None = None,
        deviation: float | None = None,
    ) -> None:
        super().__init__(schema, certificate)
        self.kind, self.probabilistic, self.separable = kind, kind == "logistic", len(schema.classes) == 2
        self.settings = dict(settings or {})
        try:
            self.encoding = Encoding(schema, numeric)
        except BudgetError as error:
            raise ModelError(str(error)) from None
        if kind not in KINDS:
            raise ModelError(f"a linear model is of the kind 'logistic' or 'svm', not {kind!r}")
        self.weights = released_weights(schema, weights, self.encoding.columns)
        if deviation is not None and not 0 < deviation < 1e150:
            raise ModelError("what the model says of its noise is damaged")
        self.deviation, self.bands = deviation, LEAST if self.settings.get("method") != "output" else self.bands

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is encoded."""
        scaled = self.encoding.numeric == "scaled"
        return [
            {"name": f.name, "kind": "scaled" if scaled and f.kind == "numeric" else "one-hot"}
            for f in self.schema.features
        ]

    # ---- prediction

    def margins(self, rows: Rows) -> Floats:
        """x·w of rows as a source delivers them, one column per binary problem."""
        codes, values = self.encoding.encode(hold_rows(rows))
        out, unit = np.empty((len(self.weights), rows.size)), self.encoding.scale / (1 if values is None else UNIT)
        for weights, line in zip(self.weights, out, strict=True):
            loops(codes).margins(codes, values, weights * unit, line)
        return np.ascontiguousarray(out.T)

    def joint_rows(self, rows: Rows) -> Floats:
        """Scores of rows: log-probabilities of a logistic model, else margins."""
        margins = self.margins(rows)
        if margins.shape[1] == 1:
            both = np.concatenate([-margins, margins], axis=1)
            return -np.logaddexp(0.0, -both) if self.probabilistic else both
        # One against the rest: each margin is a probability of its own, and they are made to add up to one.
        return normalised(-np.logaddexp(0.0, -margins)) if self.probabilistic else margins

    score_rows = joint_rows

    def parts(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The columns that each row fills, the constant left out, and how much of each."""
        if self.deviation is None:
            return None
        codes, values = self.encoding.encode(hold_rows(rows))
        whole = np.ones(codes.shape) if values is None else values[:, :-1] / UNIT
        return codes, whole * self.encoding.scale

    def spread(self, mixes: Any) -> Floats:
        """The variance of mixes of weights: at most, since a log-probability moves by less than its margin."""
        assert self.deviation is not None
        twice = 2.0 if len(self.weights) == 1 and not self.probabilistic else 1.0  # margins of either side
        own = np.asarray(mixes.multiply(mixes).sum(axis=1)) * (twice * self.deviation) ** 2
        return beside(np.repeat(own[:, None], len(self.weights), axis=1))

    def best_rows(self, rows: Rows) -> NDArray[np.int64]:
        """The place of the highest margin of each row."""
        margins = self.margins(rows)
        return (margins[:, 0] > 0).astype(np.int64) if margins.shape[1] == 1 else margins.argmax(axis=1)

    def decision_function(self, X: Any, progress: Progress | None = None) -> Floats:
        """The margins of rows of any source, one column per binary problem."""
        return cast(Floats, self._each(self.margins, X, progress, len(self.weights)))

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> LinearModel:
        """The same kind of model fitted without noise: for comparison, never for release."""
        from discreet.linear.classifier import twin_of

        return twin_of(self, data, y, progress=progress)

    # ---- files

    def _fields(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "numeric": self.encoding.numeric,
            "settings": self.settings,
            "weights": self.weights.tolist(),
            **({} if self.deviation is None else {"deviation": self.deviation}),
        }

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> LinearModel:
        settings = fields["settings"]
        if not isinstance(settings, dict) or not set(settings) <= {"method", "ridge", "h"}:
            raise ModelError("the model's settings are damaged")
        kind, numeric = fields["kind"], fields["numeric"]
        return cls(
            schema, fields["weights"], certificate, kind=kind, numeric=numeric, settings=settings,
            deviation=None if fields.get("deviation") is None else float(fields["deviation"]),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<LinearModel: {self.kind}, {self.encoding.columns} columns, {len(self.schema.classes)} classes>"


def released_weights(schema: Schema, weights: Any, columns: int) -> Floats:
    """A copy of finite weights of the right shape: one row for two classes, one per class for more."""
    found = np.array(weights, dtype=np.float64)
    problems = 1 if len(schema.classes) == 2 else len(schema.classes)
    if found.shape != (problems, columns) or not np.isfinite(found).all():
        raise ModelError("the weights do not fit the schema")
    if float(np.abs(found).max()) > 1e150:
        raise ModelError("a weight is out of range")
    return found
