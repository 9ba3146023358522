"""Calibrated models: the posterior they stand for, what they cost, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from discreet import PrivateLogisticRegression, PrivateNB, Schema, sources
from discreet.bayes.model import NaiveBayesModel, normalised
from discreet.bayes.score import whole_scores
from discreet.calibration import Calibration, calibrated, make_plan
from discreet.calibration import calibrate as calibrating
from discreet.calibration.audits import audit_cases
from discreet.calibration.calibrate import UNIT, applied, calibration, objective, read_scores, score_reach
from discreet.calibration.solve import Objective, minimise
from discreet.errors import BudgetError, DataError, ModelError, SolverError
from discreet.features import Categorical, Numeric
from discreet.mechanisms.noise import sampler_for
from discreet.mechanisms.vectors import Drawn
from discreet.privacy.budget import Budget
from discreet.privacy.ledger import Ledger
from discreet.sources import read_rows
from discreet.sources.files import open_files

CASES = audit_cases()


def data(size: int, seed: int = 0, classes: int = 2) -> tuple[Schema, Any, Any]:
    """Rows of five features of which four say the same: scores of Naive Bayes are far too sure."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    hidden = np.where(rng.random(size) < 0.75, y, rng.integers(0, classes, size))
    copies = [np.where(rng.random(size) < 0.98, hidden, rng.integers(0, classes, size)) for _ in range(4)]
    number = np.clip(y + rng.normal(size=size), -2, 4)
    number[rng.random(size) < 0.1] = np.nan
    X = np.column_stack([*copies, number]).astype(object)
    features = [Categorical(f"c{j}", list(range(classes))) for j in range(4)]
    return Schema([*features, Numeric("x", -2, 4, bins=4, missing="bin")], "y", list(range(classes))), X, y


@pytest.mark.parametrize("numeric", ["histogram", "gaussian", "truncated-gaussian"])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_posterior_is_that_of_calibrated_scores(numeric: str, classes: int) -> None:
    schema, X, y = data(500, classes=classes)
    model = PrivateNB(5.0, schema=schema, numeric=numeric, random_state=0).fit(X, y).model_
    biases = np.linspace(-1, 2, classes)
    for slope in (0.3, 1.0, 1.7):
        found = applied(model, Calibration(slope, biases), model.certificate)
        expected = normalised(slope * model.predict_joint_log_proba(X) + biases)
        assert found.predict_log_proba(X) == pytest.approx(expected, abs=1e-9)
        again = NaiveBayesModel.from_dict(found.to_dict())
        assert again.predict_log_proba(X[:5]) == pytest.approx(expected[:5], abs=1e-9)
        assert np.exp(found.log_prior).sum() == pytest.approx(1)
    same = applied(model, Calibration(1.0, np.zeros(classes)), model.certificate)
    for before, after in zip(model.likelihoods, same.likelihoods, strict=True):
        for key, value in before.to_dict().items():
            if isinstance(value, list):
                assert np.allclose(after.to_dict()[key], value, atol=1e-9)


def test_scores_come_out_sober_and_in_the_same_order() -> None:
    schema, X, y = data(20_000)
    model = PrivateNB(1.0, schema=schema, random_state=1).fit(X, y).model_
    found = calibrated(model, X, y, 0.2, random_state=2)
    _, fresh, truth = data(5000, seed=9)
    losses = [-m.predict_log_proba(fresh)[np.arange(5000), truth].mean() for m in (model, found)]
    assert losses[1] < 0.8 * losses[0]
    areas = [roc_auc_score(truth, np.diff(m.predict_joint_log_proba(fresh))[:, 0].round(9)) for m in (model, found)]
    assert areas[0] == pytest.approx(areas[1], abs=1e-6)


def test_without_privacy_it_is_the_plain_fit() -> None:
    schema, X, y = data(3000)
    model = PrivateNB(math.inf, schema=schema).fit(X, y).model_
    found = calibrated(model, X, y, math.inf)
    assert not found.certificate.private
    scores, labels = read_scores(model, sources.open(X, model.schema, y), 10)
    gap = scores[:, 1] - scores[:, 0]
    signs = 2.0 * labels - 1
    fitted = minimize(lambda w: np.logaddexp(0, -signs * (w[0] * gap + w[1])).sum(), [5.0, 0.0], tol=1e-10).x
    result = calibration(scores, labels, make_plan(2, math.inf), 10, sampler_for(None))
    assert 10 * result.slope == pytest.approx(fitted[0], rel=1e-3)
    assert result.biases[1] - result.biases[0] == pytest.approx(fitted[1], abs=1e-3)


def test_the_slope_stays_above_zero() -> None:
    """Labels turned round ask for a negative slope; the order of scores must not turn round with them."""
    schema, X, y = data(5000)
    model = PrivateNB(5.0, schema=schema, random_state=0).fit(X, y).model_
    scores, labels = read_scores(model, sources.open(X, model.schema, 1 - y), 10)
    for method in ("histogram", "objective"):
        assert calibration(scores, labels, make_plan(2, 1, method=method), 10, sampler_for(0)).slope == 0.02
    assert calibrated(model, X, 1 - y, 1.0, random_state=0).predict_proba(X).min() > 0


def test_the_reach_is_read_off_the_model_alone() -> None:
    schema, X, y = data(2000)
    model = PrivateNB(5.0, schema=schema, random_state=0).fit(X, y).model_
    assert score_reach(model) == score_reach(NaiveBayesModel.from_dict(model.to_dict()))
    for slope, least, most in ((1.0, 4, 20), (0.02, 3, 3), (20.0, 40, 40)):
        changed = applied(model, Calibration(slope, np.zeros(2)), model.certificate)
        assert least <= score_reach(changed) <= most


def test_rows_have_the_same_scores_among_whatever_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum of rounded parts is exact in any order: one row at a time, and a block that goes through threads."""
    monkeypatch.setattr("discreet.bayes.score.SMALL", 1000)
    schema, X, y = data(6000)
    for numeric in ("histogram", "gaussian"):
        model = PrivateNB(5.0, schema=schema, numeric=numeric, random_state=0).fit(X[:500], y[:500]).model_
        parts = [whole_scores(rows, model.log_prior, model.likelihoods, UNIT) for rows in read_rows(X, schema, y)]
        many = np.concatenate(parts)
        for k in range(0, 6000, 97):
            (alone,) = read_rows(X[k : k + 1], schema, y[k : k + 1])
            assert np.array_equal(whole_scores(alone, model.log_prior, model.likelihoods, UNIT)[0], many[k])
        assert np.array_equal(many, np.rint(many))
        assert many / UNIT == pytest.approx(model.predict_joint_log_proba(X), abs=1e-5)


def test_certified_gradients_hold_in_exact_arithmetic() -> None:
    rng = np.random.default_rng(4)
    for classes in (2, 4):
        plan = make_plan(classes, 0.5, method="objective")
        scores, labels = -rng.random((25, classes)), rng.integers(0, classes, 25)
        form = objective(scores, labels, plan, 10, rng.normal(size=classes + 1) * 3)
        for weights in (form.centre, minimise(form, 1e-6), rng.normal(size=classes + 1) * 50):
            with mpmath.workdps(50):
                w = [mpmath.mpf(float(v)) for v in weights]
                pairs = zip(form.ridges, form.centre, form.tilt, w, strict=True)
                total = [mpmath.mpf(float(r)) * (v - float(c)) + float(b) for r, c, b, v in pairs]
                for row, label in zip(scores, labels, strict=True):
                    powers = [mpmath.exp(w[0] * mpmath.mpf(float(q)) + w[c + 1]) for c, q in enumerate(row)]
                    for c, q in enumerate(row):
                        residual = powers[c] / mpmath.fsum(powers) - (c == label)
                        total[0] += residual * mpmath.mpf(float(q))
                        total[c + 1] += residual
                size = mpmath.sqrt(mpmath.fsum(v**2 for v in total))
                assert size <= form.certified(weights)
                assert form.certified(weights) <= size * (1 + 1e-9) + 1e-9


def test_no_certificate_no_release() -> None:
    form = objective(-np.ones((3, 2)), np.array([0, 1, 1]), make_plan(2, 1, method="objective"), 10, np.zeros(3))
    with pytest.raises(SolverError, match="nothing is released"):
        minimise(form, 1e-30)
    with pytest.raises(SolverError):
        minimise(form, 1e-6, spare=1e-5)


COARSE = 2.0**-46  # as if every row were 64


def test_a_large_table_has_room_if_its_rows_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding that is 64 times as coarse makes 200,000 rows as hard to certify as 12.8 million."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 200_000)
    scores = -rng.random((200_000, 3)) / 16  # so that the slope is some tens, as that of a reach of 40 is
    scores[np.arange(200_000), labels] /= 2
    monkeypatch.setattr("discreet.calibration.solve._U", COARSE)
    with pytest.raises(SolverError, match="rows="):
        calibration(scores, labels, make_plan(3, 20), 40, sampler_for(0))
    found = calibration(scores, labels, make_plan(3, 20, rows=12.8e6), 40, sampler_for(0))
    plain = calibration(scores, labels, make_plan(3, math.inf), 40, sampler_for(0))
    assert found.slope == pytest.approx(plain.slope, rel=0.02) and found.biases == pytest.approx(plain.biases, abs=0.02)


@pytest.mark.parametrize("classes", [3, 100, 1000])
@pytest.mark.parametrize("rows", [1e3, 1e6, 1e7, 1e9])
def test_the_rounding_of_all_rows_fits_into_the_tolerance(classes: int, rows: float) -> None:
    """Weights of 60 together: more than the scores within a reach of 40 need."""
    plan, usual = make_plan(classes, 0.1, rows=rows), make_plan(classes, 0.1)
    rounding = 2 * 2.0**-52 * rows * (2 * (16 * 60 + classes + 20) + 8 * (classes + 1))
    assert rounding < 0.6 * float(plan.tolerance)
    assert max(plan.ridges) <= max(usual.ridges) + 1e-3 * rows
    growth = math.sqrt(float(plan.tolerance / usual.tolerance))
    noises = [float(p.steps / p.epsilons[1]) * 2.0**-p.lattice for p in (plan, usual)]
    assert noises[0] <= 2.01 * growth * noises[1]  # a lattice is a power of two
    if classes == 3:
        assert noises[0] < 0.1 and (rows > 1e6 or plan == usual)


@pytest.mark.parametrize("rows", [True, math.nan, math.inf, "many"])
def test_a_number_of_rows_is_a_number(rows: Any) -> None:
    with pytest.raises(BudgetError, match="number of rows"):
        make_plan(3, 1, rows=rows)


def test_a_refused_calibration_is_paid_for_and_leaves_the_model() -> None:
    schema, X, y = data(300, classes=3)
    model = PrivateNB(1.0, schema=schema, random_state=0).fit(X, y).model_
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("discreet.calibration.solve._U", 1.0)
        with pytest.raises(SolverError):
            calibrated(model, X, y, 0.5, random_state=0)
        ledger = Ledger(Budget(1))
        kept = calibrated(model, X, y, 0.5, keep=True, random_state=0, ledger=ledger)
    assert ledger.spent == Fraction(1, 2) and kept.certificate.epsilon == "3/2"
    assert sum(Fraction(charge.cost) for charge in kept.certificate.charges()) == Fraction(3, 2)
    assert any("refused by its solver" in line for line in kept.certificate.assumptions)
    assert np.array_equal(kept.predict_log_proba(X), model.predict_log_proba(X))
    assert NaiveBayesModel.from_dict(kept.to_dict()).certificate == kept.certificate


# ---- what it costs and refuses


def test_the_certificate_and_the_ledger_add_up() -> None:
    schema, X, y = data(300)
    ledger = Ledger(Budget(1))
    model = PrivateNB(Fraction(9, 10), schema=schema, random_state=0).fit(X, y, ledger=ledger).model_
    found = calibrated(model, X, y, Fraction(1, 10), random_state=0, ledger=ledger)
    assert ledger.remaining == 0
    assert found.certificate.epsilon == "1" and found.certificate.simulation
    assert sum(Fraction(charge.cost) for charge in found.certificate.charges()[-1:]) == Fraction(1, 10)
    with pytest.raises(BudgetError):
        calibrated(model, [["?"]], [0], Fraction(1, 10), random_state=0, ledger=ledger)  # before any row is read


@pytest.mark.parametrize("classes", [2, 3])
def test_a_stated_rho_grows_with_the_calibration(classes: int) -> None:
    """A pure ε of one half is an eighth of ρ."""
    schema, X, y = data(300, classes=classes)
    model = PrivateNB(1, delta=1e-6, schema=schema, mechanism="gaussian", random_state=0).fit(X, y).model_
    found = calibrated(model, X, y, 0.5, random_state=0).certificate
    assert model.certificate.rho is not None and found.rho is not None and found.epsilon == "3/2"
    assert Fraction(found.rho) == Fraction(model.certificate.rho) + Fraction(1, 8)
    assert found.accounting.startswith(model.certificate.accounting) and "(epsilon 1/2)" in found.accounting
    twice = calibrated(NaiveBayesModel.from_dict(calibrated(model, X, y, 0.5).to_dict()), X, y, 1).certificate
    assert twice.rho is not None and Fraction(twice.rho) == Fraction(model.certificate.rho) + Fraction(5, 8)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_release_says_where_its_noise_comes_from(classes: int) -> None:
    """Whole counts need no solver, and their certificate speaks of none."""
    schema, X, y = data(300, classes=classes)
    model = PrivateNB(1.0, schema=schema).fit(X, y).model_
    certificate = calibrated(model, X, y, 0.1).certificate
    assert not certificate.simulation and certificate.epsilon_value == 1.1
    assert ("noise vector from bits of the operating system" in certificate.sampler) == (classes > 2)
    assert any("refusal" in line for line in certificate.assumptions) == (classes > 2)
    mixed = calibrated(model, X, y, 0.1, random_state=0).certificate
    assert mixed.simulation and mixed.covers.startswith("nothing")


@pytest.mark.parametrize(("adjacency", "times"), [("add-remove", 1), ("replace", 1), ("add-remove", 4)])
def test_neighbours_and_rows_per_person_are_those_of_the_model(adjacency: str, times: int) -> None:
    schema, X, y = data(300)
    model = PrivateNB(1.0, schema=schema, adjacency=adjacency, contributions=times, random_state=0).fit(X, y).model_
    found = calibrated(model, X, y, 0.5, random_state=0)
    assert (str(found.certificate.adjacency), found.certificate.contributions) == (adjacency, times)
    for wrong in ({"adjacency": "replace" if adjacency == "add-remove" else "add-remove"}, {"contributions": 9}):
        with pytest.raises(BudgetError, match="for the same"):
            calibrated(model, X, y, 0.5, random_state=0, **wrong)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert make_plan(3, 1, contributions=np.int64(2)) == make_plan(3, 1, contributions=2)
    for wrong in (True, np.bool_(True), 2.0, np.int64(0)):
        with pytest.raises(BudgetError, match="contributions"):
            make_plan(3, 1, contributions=wrong)  # type: ignore[arg-type]


def test_a_stream_that_can_be_read_once_is_refused_before_it_costs(tmp_path: Path) -> None:
    rows = "".join(f"{'pq'[k % 2]},{k % 2}\n" for k in range(40))
    (tmp_path / "d.csv").write_text("a,y\n" + rows)
    schema, ledger = Schema([Categorical("a", ["p", "q"])], "y", [0, 1]), Ledger(Budget(2))
    stream = open_files(tmp_path / "d.csv")
    model = PrivateNB(1, schema=schema).fit(stream, ledger=ledger).model_
    with pytest.raises(DataError, match="pass the path"):
        calibrated(model, stream, epsilon=1, ledger=ledger)
    assert ledger.spent == 1
    assert calibrated(model, tmp_path / "d.csv", epsilon=1, ledger=ledger).certificate.epsilon == "2"


def test_refusals() -> None:
    schema, X, y = data(200)
    model = PrivateNB(1.0, schema=schema, random_state=0).fit(X, y).model_
    with pytest.raises(BudgetError, match="finite"):
        calibrated(model, X, y, math.inf)
    with pytest.raises(BudgetError):
        calibrated(model, X, y, -1)
    with pytest.raises(DataError):
        calibrated(model, X[:0], y[:0], 1.0, random_state=0)
    with pytest.raises(ModelError, match="only Naive Bayes"):
        calibrated(PrivateLogisticRegression(1.0, schema=schema, random_state=0).fit(X, y).model_, X, y, 1.0)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit(case: Any) -> None:
    """Honest claims are refuted with a chance of 1e-7; the controls show an ε above 3 where 1 is claimed."""
    result = case.run(samples=1000, seed=7, confidence=1 - 1e-7)
    assert (result.verdict == "violated") == case.control


class Taken:
    """A sampler that keeps what it is handed and adds nothing."""

    name, simulation = "taken", False

    def __init__(self) -> None:
        self.points: list[Any] = []
        self.scales: list[Fraction] = []

    def laplace(self, values: Any, scale: Fraction) -> Any:
        self.points.append(values)
        self.scales.append(scale)
        return values


def released(classes: int, sampler: Any) -> Any:
    """Some scores through the road of a release by the objective."""
    rng = np.random.default_rng(6)
    plan = make_plan(classes, 0.5, method="objective")
    scores, labels = -rng.random((40, classes)), rng.integers(0, classes, 40)
    return calibrating.released_weights(scores, labels, plan, 10, sampler)


@pytest.mark.parametrize(
    ("gradient", "noise", "fine"), [(0.99, 0.0, True), (1.01, 0.0, False), (0.7, 0.29, True), (0.7, 0.31, False)]
)
def test_a_calibration_is_released_up_to_the_tolerance_and_not_beyond(
    gradient: float, noise: float, fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tolerance, sampler = float(make_plan(3, 0.5, method="objective").tolerance), Taken()
    monkeypatch.setattr(calibrating, "slope_vector", lambda *_: Drawn(np.zeros(4), noise * tolerance))
    monkeypatch.setattr(Objective, "certified", lambda self, weights: gradient * tolerance)
    if fine:
        assert released(3, sampler).shape == (4,)
    else:
        with pytest.raises(SolverError, match="nothing is released"):
            released(3, sampler)
    assert len(sampler.points) == fine


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_the_last_noise_pays_for_the_distance_of_answers_and_for_every_rounding(
    classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two answers as far apart in L1 as certificates allow, placed so that rounding drives nearly each number on."""
    plan, size = make_plan(classes, 0.5, method="objective"), classes + 1
    apart = 2 * float(plan.tolerance) / min(plan.ridges) * math.sqrt(size) * 2.0**plan.lattice
    gaps = np.full(size, math.floor(apart / size - 0.001) + 0.001)
    gaps[-1] = apart - gaps[:-1].sum()
    answers = iter([np.full(size, 0.4995) * 2.0**-plan.lattice, (0.4995 + gaps) * 2.0**-plan.lattice])
    monkeypatch.setattr(calibrating, "minimise", lambda *_, **__: next(answers))
    sampler = Taken()
    released(classes, sampler)
    released(classes, sampler)
    moved = int(np.abs(sampler.points[0] - sampler.points[1]).sum())
    assert moved > apart + 0.9 * size - 2  # the rounding is all there
    assert all(moved / scale <= plan.epsilons[1] for scale in sampler.scales)
