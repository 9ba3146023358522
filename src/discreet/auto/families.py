"""How the automatic choice fits a kind of model with what is left of the budget."""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import Any

from discreet.estimators.counts import WHAT, ClassCounts
from discreet.kinds import Kind, find, resolve
from discreet.models import ReleasedModel
from discreet.privacy.budget import LEAST, Adjacency, Budget
from discreet.privacy.plan import moved_rows
from discreet.schema import Schema


def fit_family(name: str, X: Any, y: Any, **settings: Any) -> ReleasedModel:
    """Fit the chosen kind of model; its certificate covers what it spent, not the counts."""
    kind = find(name)
    found: ReleasedModel = resolve(kind.automatic)(kind, X, y, **settings)
    return found


def fit_estimator(
    kind: Kind, X: Any, y: Any, *, counts: ClassCounts, bins: str, ledger: Any, progress: Any, delta: Any = 0,
    levels: Any = (), **settings: Any,
) -> ReleasedModel:  # fmt: skip
    """Fit a kind by its own estimator, which is told counts and levels if it asks for them, and δ if it knows one."""
    estimator = kind.make(**(kind.as_declared if bins == "schema" else {}), **settings)
    if delta and "delta" in estimator.get_params(deep=False):
        estimator.set_params(delta=delta)
    given = {"ledger": ledger, "progress": progress, "counts": counts, "levels": levels}
    asked = inspect.signature(estimator.fit).parameters
    model: ReleasedModel = estimator.fit(X, y, **{key: one for key, one in given.items() if key in asked}).model_
    return model


def fit_additive(
    kind: Kind, X: Any, y: Any, *, schema: Schema, counts: ClassCounts, epsilon: Any, **settings: Any
) -> ReleasedModel:
    """Weights of numbers with knots where their rows lie, and levels for spikes, where looking for them pays."""
    from discreet.auto.rule import known_facts
    from discreet.auto.shapes import shaped

    near = Adjacency.of(settings["adjacency"])
    if settings.get("delta") and settings["bins"] == "auto" and isinstance(epsilon, Fraction):
        facts = known_facts(schema, counts, epsilon, near, settings["contributions"], settings["delta"])
        if facts.shapes:
            return _fit_shapes(X, y, schema=schema, counts=counts, epsilon=epsilon, **settings | {"adjacency": near})
    found = shaped(X, y, schema, counts, epsilon, weights=True, **settings)
    told = {"schema": found.schema, "epsilon": found.epsilon, "levels": found.levels, "counts": counts}
    return found.covering(fit_estimator(kind, X, y, **told, **settings))


def _fit_shapes(
    X: Any, y: Any, *, schema: Schema, counts: ClassCounts, epsilon: Fraction, delta: Any, adjacency: Adjacency,
    contributions: int, unexpected: str, random_state: Any, progress: Any = None, **_: Any,
) -> ReleasedModel:  # fmt: skip
    """Shapes of Naive Bayes with fitted weights, by Gaussian noise."""
    from discreet import sources
    from discreet.additive.newton import fit_newton, plan_newton
    from discreet.bayes.bins import binned
    from discreet.mechanisms.noise import bytes_of, sampler_for

    steps = moved_rows(adjacency, contributions)
    public = _stating(binned(schema, counts.rows, max(epsilon / steps, LEAST)), schema, counts)
    people: dict[str, Any] = {"contributions": contributions, "unexpected": unexpected}
    plan, sampler = (
        plan_newton(public, Budget(epsilon, delta), adjacency=adjacency, **people),
        sampler_for(random_state),
    )
    rows = sources.open(X, public, y, draw=bytes_of(sampler), progress=progress, **people).held()
    return fit_newton(rows, plan, counts, sampler)


def fit_naive_bayes(
    kind: Kind, X: Any, y: Any, *, schema: Schema, counts: ClassCounts, epsilon: Any, bins: str, ledger: Any,
    progress: Any, delta: Any = 0, **settings: Any,
) -> ReleasedModel:  # fmt: skip
    """Naive Bayes with as many bins as the counts can feed, calibrated where there is enough for it."""
    from discreet.auto.shapes import shaped
    from discreet.bayes import PrivateNB
    from discreet.bayes.bins import binned
    from discreet.calibration import calibrated, calibration_share

    shape = shaped(X, y, schema, counts, epsilon, bins=bins, weights=False, progress=progress, **settings)
    schema, epsilon = shape.schema, shape.epsilon
    # As in the rule: a replaced row, and each row of a person, makes the noise that of a smaller ε.
    steps = moved_rows(Adjacency.of(settings["adjacency"]), settings["contributions"])
    share = Fraction(0)
    if isinstance(epsilon, Fraction):
        share = epsilon * calibration_share(counts.rows, float(epsilon / steps), len(schema.classes))
    kept = epsilon - share
    each = max(kept / steps, LEAST)
    public = binned(schema, counts.rows, each, classes=counts.apart) if bins == "auto" else schema
    public = _stating(public, schema, counts)
    if share:
        X.held()  # for the calibration too
    model = PrivateNB(kept, delta, public, **settings).fit(X, y, ledger=ledger, progress=progress).model_
    if share:
        model = calibrated(model, X, y, share, rows=counts.rows, keep=True, ledger=ledger, **settings)
    return shape.covering(model)


def fit_selective(
    kind: Kind, X: Any, y: Any, *, schema: Schema, counts: ClassCounts, epsilon: Any, bins: str, **settings: Any
) -> ReleasedModel:
    """Naive Bayes on chosen features, numbers in as many bins as a table of each of those can feed."""
    from discreet.auto.shapes import features_for, shaped
    from discreet.bayes.bins import binned

    look = shaped(X, y, schema, counts, epsilon, bins=bins, weights=False, selected=True, **settings)
    public, epsilon = look.schema, look.epsilon
    if bins == "auto" and isinstance(epsilon, Fraction):
        steps = moved_rows(Adjacency.of(settings["adjacency"]), settings["contributions"])
        half = max(epsilon / 2 / steps, LEAST)
        public = binned(public, counts.rows, half, features_for(counts, half, len(schema.features)), counts.apart)
    public = _stating(public, look.schema, counts)
    return look.covering(
        fit_estimator(kind, X, y, schema=public, counts=counts, epsilon=epsilon, bins=bins, **settings)
    )


def _stating(public: Schema, schema: Schema, counts: ClassCounts) -> Schema:
    """The schema whose bins follow from bought counts, saying so; one that is as it was says no more than before."""
    if public == schema or counts.certificate is None or not counts.certificate.private:
        return public
    return public.having(provenance=(*public.provenance, counts.certificate.provenance(WHAT)))
