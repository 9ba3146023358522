"""The kinds of models that the automatic choice can take, each fitted with what is left of the budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from discreet.auto.rule import Choice
from discreet.bayes.counts import ClassCounts
from discreet.models import Model
from discreet.privacy.budget import LEAST, Adjacency
from discreet.schema import Schema


def fit_family(choice: Choice, X: Any, y: Any, **settings: Any) -> Model:
    """Fit the chosen kind of model; its certificate covers what it spent, not the counts."""
    return _FITS[choice.model](X, y, **settings)


def _naive_bayes(
    X: Any, y: Any, *, schema: Schema, counts: ClassCounts, epsilon: Any, bins: str, ledger: Any, progress: Any,
    **settings: Any,
) -> Model:  # fmt: skip
    from discreet.bayes import PrivateNB
    from discreet.bayes.bins import binned
    from discreet.bayes.settings import steps_between
    from discreet.calibration import calibrated, calibration_share

    # As in the rule: a replaced row, and each row of a person, makes the noise that of a smaller ε.
    steps = steps_between(Adjacency.of(settings["adjacency"]), settings["contributions"])
    share = Fraction(0)
    if isinstance(epsilon, Fraction):
        share = epsilon * calibration_share(counts.rows, float(epsilon / steps), len(schema.classes))
    kept = epsilon - share
    public = binned(schema, counts.rows, max(kept / steps, LEAST)) if bins == "auto" else schema
    if share:
        X.held()  # for the calibration too
    model = PrivateNB(kept, schema=public, **settings).fit(X, y, ledger=ledger, progress=progress).model_
    return calibrated(model, X, y, share, rows=counts.rows, keep=True, ledger=ledger, **settings) if share else model


def _additive(pairs: Any) -> Callable[..., Model]:
    def fit(X: Any, y: Any, *, counts: ClassCounts, bins: str, ledger: Any, progress: Any, **settings: Any) -> Model:
        from discreet.additive import PrivateAdditiveClassifier

        numeric = "smooth" if bins == "auto" else "binned"
        estimator = PrivateAdditiveClassifier(pairs=pairs, numeric=numeric, **settings)
        return estimator.fit(X, y, ledger=ledger, progress=progress, counts=counts).model_

    return fit


def _network(name: str) -> Callable[..., Model]:
    def fit(X: Any, y: Any, *, counts: ClassCounts, bins: str, ledger: Any, progress: Any, **settings: Any) -> Model:
        from discreet.dependence import PrivateJointHistogram, PrivateTAN

        kind: Any = PrivateTAN if name == "tan" else PrivateJointHistogram
        estimator = kind(**settings)
        model: Model = estimator.fit(X, y, ledger=ledger, progress=progress, counts=counts).model_
        return model

    return fit


_FITS: dict[str, Callable[..., Model]] = {
    "naive-bayes": _naive_bayes,
    "additive": _additive(0),
    "additive-pairs": _additive("auto"),
    "tan": _network("tan"),
    "joint": _network("joint"),
}
