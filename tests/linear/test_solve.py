"""The solver's certificate: what it promises holds in exact arithmetic, and nothing is released without it."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import (
    Budget,
    Categorical,
    DiscreetError,
    Ledger,
    Numeric,
    PrivateLogisticRegression,
    PrivateSVC,
    Schema,
    SolverError,
)
from discreet.linear import encode, solve
from discreet.linear import release as releasing
from discreet.linear.losses import Huber, Logistic
from discreet.linear.solve import Objective, certify_minimum, minimise
from discreet.mechanisms.vectors import Drawn
from tests.linear.designs import read_design


def objective(schema, frame, loss, numeric="binned", ridge=2.0, seed=0):
    plan = PrivateSVC(schema=schema, numeric=numeric).plan()
    design = read_design(frame, None, plan.encoding)
    tilt = np.random.default_rng(seed).laplace(size=design.columns) * 3
    return Objective(design, np.where(design.labels == 1, 1.0, -1.0), loss, ridge, tilt)


@pytest.mark.parametrize("numeric", ["binned", "scaled"])
@pytest.mark.parametrize("loss", [Logistic(), Huber(0.05), Huber(0.5)])
def test_agrees_with_scipy(schema, frame, loss, numeric):
    one = objective(schema, frame, loss, numeric)
    found = minimise(one, 1e-7)
    rough = minimize(
        lambda w: one.value(w, one.at(w)), np.zeros(one.design.columns), jac=lambda w: one.gradient(w, one.at(w)),
        method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-8},
    )  # fmt: skip
    assert found.bound <= 1e-7
    assert np.abs(found.weights - rough.x).max() < 1e-4
    assert one.value(found.weights, one.at(found.weights)) <= rough.fun + 1e-9


def test_conjugate_gradients_agree(schema, frame, monkeypatch):
    one = objective(schema, frame, Logistic())
    dense = minimise(one, 1e-8).weights
    monkeypatch.setattr(encode, "DENSE", 0)
    assert np.abs(minimise(one, 1e-8).weights - dense).max() < 1e-7


def exact_gradient(one, weights):
    """∇J of logistic loss in as many digits as are set, from the same doubles."""
    design = one.design
    exact = [mpmath.mpf(float(one.ridge)) * mpmath.mpf(float(w)) + mpmath.mpf(float(b))
             for w, b in zip(weights, one.tilt, strict=True)]  # fmt: skip
    for i in range(len(design)):
        cols = [int(c) for c in design.codes[i]] + [design.columns - 1]
        sizes = [1] * len(cols) if design.values is None else [int(v) for v in design.values[i]]
        unit, sign = mpmath.mpf(float(design.unit)), int(one.signs[i])
        x = {c: unit * v for c, v in zip(cols, sizes, strict=True)}
        t = sign * sum(mpmath.mpf(float(weights[c])) * v for c, v in x.items())
        rate = -sign / (1 + mpmath.exp(t))
        for c, v in x.items():
            exact[c] += rate * v
    return exact


def check_bound(one, weights):
    """The gradient at 60 digits is within the stated rounding of the computed one."""
    with mpmath.workdps(60):
        exact, computed = exact_gradient(one, weights), one.gradient(weights, one.at(weights))
        off = mpmath.sqrt(sum((e - mpmath.mpf(float(g))) ** 2 for e, g in zip(exact, computed, strict=True)))
        assert off <= one.rounding(weights, one.at(weights))
        assert mpmath.sqrt(sum(e**2 for e in exact)) <= one.certified(weights)
        return float(off)


@pytest.mark.parametrize("numeric", ["binned", "scaled"])
def test_bound_holds_in_exact_arithmetic(schema, frame, numeric):
    one = objective(schema, frame.head(80), Logistic(), numeric)
    for weights in (minimise(one, 1e-7).weights, np.random.default_rng(1).normal(size=one.design.columns) * 50):
        check_bound(one, weights)


@pytest.mark.parametrize(("ridge", "size"), [(2.0, 1e12), (1e12, 1.0)])
def test_bound_holds_where_noise_or_penalty_outweighs_the_rows(schema, frame, ridge, size):
    """Few rows beside a tilt or a ridge whose own last digits are larger than all that the rows add."""
    one = objective(schema, frame.head(3), Logistic(), ridge=ridge)
    tilted = Objective(one.design, one.signs, one.loss, one.ridge, one.tilt * size)
    assert check_bound(tilted, np.random.default_rng(2).normal(size=one.design.columns)) > 1e-6


def test_refuses_without_certificate(schema, frame):
    one = objective(schema, frame, Logistic())
    good = minimise(one, 1e-6)
    with pytest.raises(SolverError, match="nothing is released"):
        certify_minimum(one, good.weights + 1e-3, 1e-6)
    with pytest.raises(SolverError):  # what the noise vector may be off by counts as well
        certify_minimum(one, good.weights, 1e-6, spare=2e-6)
    with pytest.raises(SolverError):
        certify_minimum(one, good.weights * np.nan, 1e-6)
    with pytest.raises(SolverError):  # finer than doubles can certify
        minimise(one, 1e-15)
    assert issubclass(SolverError, DiscreetError)


@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_fit_that_stops_early_releases_nothing(schema, frame, method, monkeypatch):
    monkeypatch.setattr(solve, "MOST_STEPS", 1)
    estimator = PrivateLogisticRegression(1.0, schema, method=method, random_state=0, regularisation=0.5)
    with pytest.raises(SolverError, match="nothing is released"):
        estimator.fit(frame)
    assert not hasattr(estimator, "model_")


def test_a_noise_vector_that_is_too_far_off_releases_nothing(schema, frame, monkeypatch):
    def coarse(law, size, scale, bits):
        return Drawn(np.ones(size), 1.0)

    monkeypatch.setattr(releasing, "noise_vector", coarse)
    for method in ("objective", "output"):
        with pytest.raises(SolverError):
            PrivateLogisticRegression(1.0, schema, method=method, random_state=0).fit(frame)


def test_final_noise_covers_two_tolerances_and_the_rounding(schema):
    """Any two answers within tolerance/ridge of one point, rounded, differ by at most `steps` in L1."""
    rng = np.random.default_rng(3)
    for estimator in (PrivateSVC(0.5, schema), PrivateLogisticRegression(3.0, schema, numeric="scaled")):
        plan = estimator.plan()
        columns = plan.encoding.columns
        reach = float(plan.tolerance / plan.ridge)
        for _ in range(200):
            way = rng.choice([-1.0, 1.0], columns) / np.sqrt(columns)
            middle = rng.normal(size=columns)
            one, two = (np.rint(np.ldexp(middle + s * reach * way, plan.lattice)) for s in (-1, 1))
            assert np.abs(one - two).sum() <= plan.steps
        assert plan.steps <= 4 * columns + 1
        assert plan.node.parts[0].parts[1].spread == Fraction(plan.steps) / plan.epsilons[1]


@pytest.mark.parametrize("epsilon", [100.0, float("inf")])
def test_a_matrix_without_a_root_is_a_refusal(epsilon):
    """So little regularisation beside so sharp a bend is lost in rounding: no error of the solver's library escapes."""
    rng = np.random.default_rng(0)
    schema = Schema([Categorical(f"f{j}", [0, 1, 2]) for j in range(4)], "y", [0, 1])
    X, y = rng.integers(0, 3, (400, 4)), rng.integers(0, 2, 400)
    for seed in range(3):
        try:
            PrivateSVC(epsilon, schema, h=1e-6, regularisation=1e-9, random_state=seed).fit(X, y)
        except SolverError as error:
            assert "nothing is released" in str(error)


def test_a_failed_factorisation_ends_in_the_certificate(schema, frame, monkeypatch):
    def fail(*_, **__):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(solve, "cho_factor", fail)
    with pytest.raises(SolverError, match="nothing is released"):
        minimise(objective(schema, frame, Logistic()), 1e-7)


# Parts of the tolerance that the certified gradient and the noise vector's distance from an exact draw take.
SHARES = [(0.99, 0.0, True), (1.01, 0.0, False), (0.7, 0.29, True), (0.7, 0.31, False), (0.0, 1.01, False)]


@pytest.mark.parametrize(("gradient", "noise", "fine"), SHARES)
@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_fit_releases_up_to_the_tolerance_and_nothing_beyond(
    schema, frame, method, gradient, noise, fine, monkeypatch
):
    estimator = PrivateLogisticRegression(1.0, schema, method=method)
    plan = estimator.plan()
    tolerance, ridge = float(plan.tolerance), float(plan.ridge)
    # Output perturbation adds the vector to the answer, which the ridge turns into a gradient, with room to spare.
    error = noise * tolerance if method == "objective" else noise * tolerance / (2 * ridge)
    monkeypatch.setattr(releasing, "noise_vector", lambda law, size, scale, bits: Drawn(np.zeros(size), error))
    monkeypatch.setattr(Objective, "certified", lambda self, weights: gradient * tolerance)
    if fine:
        estimator.fit(frame)
        assert estimator.model_.weights.shape[-1] == plan.encoding.columns
    else:
        with pytest.raises(SolverError, match="nothing is released"):
            estimator.fit(frame)
        assert not hasattr(estimator, "model_")


def test_the_rounding_of_the_last_sum_counts(schema, frame, monkeypatch):
    """A noise vector so long that adding it to the answer is off by more than the tolerance allows."""
    estimator = PrivateLogisticRegression(1.0, schema, method="output")
    plan = estimator.plan()
    long = 2.0**50 * float(plan.tolerance / plan.ridge)
    for share, fine in ((0.5, True), (1.01, False)):

        def drawn(law, size, scale, bits, share=share):
            return Drawn(np.full(size, share * long / np.sqrt(size)), 0.0)

        monkeypatch.setattr(releasing, "noise_vector", drawn)
        if fine:
            estimator.fit(frame)
        else:
            with pytest.raises(SolverError):
                estimator.fit(frame)


@pytest.mark.parametrize("loss", [Huber(0.05), Huber(0.5), Logistic()])
def test_a_slope_that_is_not_counted_as_bent_is_the_exact_one(loss):
    """Of margins about the corner, on its ends and a little beyond, with several errors."""
    for off in (1e-15, 1e-9, 0.01):
        ends = [1 + side * (getattr(loss, "h", 1.0) + k * off) for side in (-1, 1) for k in np.linspace(-3, 3, 49)]
        margins = np.concatenate([ends, np.linspace(-1, 3, 101)])
        straight = np.array([loss.bent(np.array([t]), off) == 0 for t in margins])
        assert loss.bent(margins, off) == np.count_nonzero(~straight)
        for t in margins[straight]:
            near = loss.slope(t + off * np.linspace(-1, 1, 21))
            assert (near == loss.slope(np.array([t]))).all() and near[0] in (0.0, -1.0)
        assert straight.any() == isinstance(loss, Huber)


def test_rows_beyond_the_corner_need_no_room_for_rounding(monkeypatch):
    """A wide fit is certified, and not refused when it is paid for, because most of its slopes cannot be off."""
    rng = np.random.default_rng(0)
    X, y = rng.random((2000, 300), dtype=np.float32), rng.integers(0, 2, 2000)
    schema = Schema([Numeric(f"x{j}", 0, 2) for j in range(300)], "y", [0, 1])
    estimator, ledger = PrivateSVC(0.5, schema, tolerance=2e-7, random_state=0), Ledger(Budget(1.0))
    fitted = estimator.fit(X, y, ledger=ledger)
    assert fitted.coef_.shape == (1, 300 * 16) and ledger.spent == Budget(0.5).epsilon
    monkeypatch.setattr(Huber, "bent", lambda self, t, off: len(t))
    with pytest.raises(SolverError, match="could not be certified"):
        estimator.fit(X, y)
