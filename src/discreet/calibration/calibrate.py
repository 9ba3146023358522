"""Calibrating: a released Naive Bayes model and the private rows again become a model with sober probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import sources
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.score import whole_scores
from discreet.calibration.histogram import fit_histogram, histogram
from discreet.calibration.plan import CalibrationPlan, make_plan
from discreet.calibration.solve import Objective, minimise
from discreet.errors import BudgetError, ModelError, SolverError
from discreet.linear.classifier import REFUSALS
from discreet.linear.release import finish
from discreet.mechanisms.kvectors import slope_vector
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.mechanisms.vectors import bits_of
from discreet.privacy.budget import Adjacency
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.payer import Payer, attempt, paying
from discreet.privacy.plan import Paid
from discreet.privacy.unexpected import ABSORB, FIXED, REFUSE
from discreet.sources import Progress, Rows, Source, cells_of, charge, check_lasting, check_shape

Floats = NDArray[np.float64]
UNIT = 1 << 20  # log-probabilities are whole multiples of 1/UNIT: sums of them are exact in any order
SLOPES = (0.02, 20.0)
SYNTHETIC = 2000
GAPS, REACHES = 1.5, (3, 40)
MACHINE = "logarithm and exponential of this machine are exact to two units in the last place"

REFUSED = "the calibration was refused by its solver: its cost is counted, and the model is the one without it"


@dataclass(frozen=True)
class Calibration:
    """Log-scores times a slope above zero, plus a bias for each class."""

    slope: float
    biases: Floats


def calibrated(
    model: NaiveBayesModel, X: Any, y: Any = None, epsilon: Any = 0.1, *, adjacency: Any = None,
    contributions: int | None = None, rows: float | None = None, keep: bool = False, unexpected: str = REFUSE,
    random_state: Any = None, ledger: Payer | None = None, account: Any = None, progress: Progress | None = None,
) -> NaiveBayesModel:  # fmt: skip
    """The model with its scores calibrated on private rows, which costs `epsilon` on top of what the model cost.

    `adjacency` and `contributions` are those of the model's certificate. The cost is charged before a row is read.
    `rows` is a public or bought number of rows; a calibration of several classes needs it past two million. If its
    solver refuses all the same, `keep` gives the model as it was, with a certificate that pays and says so. With
    `unexpected="absorb"` nothing is refused: rows that do not fit are left out, and the usual slope stands in for an
    answer that the solver cannot certify.
    """
    if not isinstance(model, NaiveBayesModel):
        raise ModelError(f"only Naive Bayes models can be calibrated, not a {type(model).__name__}")
    own = model.certificate
    kind = own.adjacency if adjacency is None else Adjacency.of(adjacency)
    times = own.contributions if contributions is None else contributions
    plan = make_plan(
        len(model.log_prior), epsilon, adjacency=kind, contributions=times, rows=rows, unexpected=unexpected
    )
    if own.private != plan.budget.private:
        raise BudgetError("calibrate a private model at a finite epsilon, and one without privacy at infinity")
    if own.private and own.epsilon is None:
        raise BudgetError("a calibration spends epsilon, which does not add up with the rho of this model")
    if own.private and plan.unit != own.unit:
        raise BudgetError(f"the model's guarantee is for {own.unit}: calibrate it for the same")
    check_lasting(X)
    check_shape(X, y, model.schema, who="a calibration")
    sampler = sampler_for(random_state)
    reach = score_reach(model)
    with attempt():
        charge(paying(ledger, account), _paid(model, plan), X, schema=model.schema)
        given = sources.open(
            X, model.schema, y, contributions=times, unexpected=unexpected, draw=bytes_of(sampler), progress=progress
        )
        scores, labels = read_scores(model, given, reach)
    try:
        found = calibration(scores, labels, plan, reach, sampler)
    except SolverError:
        if not keep:
            raise
        return model.with_certificate(_certificate(model, plan, sampler, refused=True))
    return applied(model, found, _certificate(model, plan, sampler))


def score_reach(model: NaiveBayesModel) -> int:
    """How far below the best class of a row a score still counts: some times the gap that the model itself expects.

    The released model alone decides, by synthetic rows. A wide reach weakens what each row says about the slope, a
    narrow one cuts off scores that say more.
    """
    drawn = model.sample(SYNTHETIC, rng=np.random.default_rng(0))
    rows = np.empty((SYNTHETIC, len(model.schema.names)), object)
    for j, name in enumerate(model.schema.names):
        rows[:, j] = drawn[name]
    ordered = np.sort(model.predict_joint_log_proba(rows), axis=1)
    return int(np.clip(np.ceil(GAPS * float((ordered[:, -1] - ordered[:, -2]).mean())), *REACHES))


def read_scores(model: NaiveBayesModel, rows: Source, reach: int) -> tuple[Floats, NDArray[np.int64]]:
    """How far each class is below a row's best one, as −1 to 0 of the reach, and the labels."""

    def read(rows: Rows) -> tuple[Floats, NDArray[np.int64]]:
        assert rows.label is not None
        whole = whole_scores(rows, model.log_prior, model.likelihoods, UNIT)
        return lowered(whole, reach), cells_of(rows.label).astype(np.int64)

    parts = list(rows.map(read, shared=True, coded=model.by_codes))
    return np.concatenate([scores for scores, _ in parts]), np.concatenate([labels for _, labels in parts])


def lowered(whole: Floats, reach: int) -> Floats:
    """Whole scores in units of 1/UNIT below the best of their row, clipped and scaled to −1 … 0."""
    return np.asarray(np.maximum(whole - whole.max(axis=1, keepdims=True), -reach * UNIT) / (reach * UNIT))


def calibration(
    scores: Floats, labels: NDArray[np.int64], plan: CalibrationPlan, reach: int, sampler: Sampler
) -> Calibration:
    """Release slope and biases. The caller has charged the plan before reading any rows."""
    if plan.spread is not None:
        noisy = sampler.laplace(histogram(scores, labels), plan.spread).astype(np.float64)
        slope, bias = fit_histogram(noisy, plan.ridges[0], plan.usual * reach)
        return Calibration(float(np.clip(slope / reach, *SLOPES)), np.array([-bias / 2, bias / 2]))
    weights = released_weights(scores, labels, plan, reach, sampler)
    return Calibration(float(np.clip(weights[0] / reach, *SLOPES)), weights[1:] - weights[1:].mean())


def released_weights(
    scores: Floats, labels: NDArray[np.int64], plan: CalibrationPlan, reach: int, sampler: Sampler
) -> Floats:
    """The minimum of the tilted objective, certified and covered; without noise at ε = ∞."""
    drawn = None if plan.rate is None else slope_vector(plan.classes, plan.rate, bits_of(sampler))
    tilted = objective(scores, labels, plan, reach, np.zeros(plan.classes + 1) if drawn is None else drawn.vector)
    tolerance = 1e-3 * min(plan.ridges) + 1e-9 * len(labels) if drawn is None else float(plan.tolerance)
    try:
        found = minimise(tilted, tolerance, spare=0.0 if drawn is None else drawn.error)
    except SolverError:
        if plan.unexpected != ABSORB:
            raise
        found = tilted.centre  # public: the usual slope and no biases
    return found if drawn is None else finish(found, plan, sampler)


def objective(scores: Floats, labels: NDArray[np.int64], plan: CalibrationPlan, reach: int, tilt: Floats) -> Objective:
    """What is minimised: logistic losses, and a pull to the usual slope and no biases."""
    centre = np.array([plan.usual * reach, *[0.0] * plan.classes])
    ridges = np.array([plan.ridges[0], *[plan.ridges[1]] * plan.classes])
    return Objective(np.ascontiguousarray(scores.T), labels, ridges, centre, tilt)


# ---- the calibrated model


def applied(model: NaiveBayesModel, found: Calibration, certificate: Certificate) -> NaiveBayesModel:
    """A model whose scores are slope·score + bias, up to what all classes share: the posterior is that of these."""
    pairs = list(zip(model.schema.features, model.likelihoods, strict=True))
    slope = max(found.slope, (1 + 1e-9) * max(one.least_slope(feature) for feature, one in pairs))
    shares = np.exp(model.log_prior - model.log_prior.max())
    powers = [one.tempered(feature, slope, shares / shares.sum()) for feature, one in pairs]
    prior = slope * model.log_prior + found.biases
    for _, extra in powers:
        prior = prior + extra
    top = prior.max()
    prior = prior - top - np.log(np.exp(prior - top).sum())
    noise = None if model.noise is None else replace(model.noise, slope=model.noise.slope * slope)
    return NaiveBayesModel(model.schema, prior, [likelihood for likelihood, _ in powers], certificate, noise)


def _paid(model: NaiveBayesModel, plan: CalibrationPlan) -> Paid:
    return Paid(model.schema, plan.budget, plan.adjacency, plan.contributions, plan.node, unexpected=plan.unexpected)


def _certificate(
    model: NaiveBayesModel, plan: CalibrationPlan, sampler: Sampler, *, refused: bool = False
) -> Certificate:
    """One certificate for the model and its calibration together, or the attempt at one."""
    own = model.certificate
    if not own.private:
        return own
    names, stated = [sampler.name], []
    if plan.method == "objective":
        names.insert(0, f"noise vector from {bits_of(sampler).name}, within the solver's tolerance of an exact draw")
        stated += [MACHINE, FIXED if plan.unexpected == ABSORB else REFUSALS]
    made = certify(
        _paid(model, plan),
        sampler=names,
        simulation=sampler.simulation,
        assumptions=[*stated, REFUSED] if refused else stated,
    )
    return own.then(made, "the model, then its calibration")
