"""What a calibration hands to the sampler and to its noise vector, in the call that people make."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, Categorical, Ledger, PrivateNB, Schema
from discreet.calibration import calibrate, calibrated
from tests.recorder import recorded, replayed, with_rows

EPSILON = 0.5


def schema_of(classes):
    return Schema([Categorical(f"f{j}", [0, 1, 2]) for j in range(3)], "y", list(range(classes)))


def rows_of(classes, size=150):
    rng = np.random.default_rng(3)
    y = rng.integers(0, classes, size)
    X = np.where(rng.random((size, 3)) < 0.6, y[:, None] % 3, rng.integers(0, 3, (size, 3)))
    X[:3], y[:3] = [0, 0, 0], 0
    return X, y


def model_of(classes, adjacency="add-remove", contributions=1):
    estimator = PrivateNB(2.0, schema=schema_of(classes), adjacency=adjacency, contributions=contributions)
    return estimator.fit(*rows_of(classes)).model_


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("moved", [1, 3])
def test_two_classes_have_a_noisy_histogram_of_scores(monkeypatch, adjacency, moved):
    model, data = model_of(2, adjacency, moved), rows_of(2)
    other, inserted = with_rows(data, [[2, 2, 2]] * moved, [0] * moved), tuple(range(moved))
    if adjacency == "replace":
        other, inserted = (data[0].copy(), data[1].copy()), ()
        other[0][:moved], other[1][:moved] = 2, 1

    def call(rows):
        ledger = Ledger(Budget(1))
        found = calibrated(model, *rows, EPSILON, ledger=ledger)
        assert ledger.spent == Fraction(1, 2) and Fraction(found.certificate.epsilon) == Fraction(5, 2)
        return found.to_dict()

    tape = replayed(monkeypatch, call, data, other, inserted=inserted)
    assert [event.kind for event in tape.events] == ["laplace"]
    assert tape.loss() == pytest.approx(EPSILON)


def dearest_row(classes, ridges, rate):
    """The cost of one row by a fine grid of how far its own class is from certain: pull and curvature."""
    s = np.linspace(0, 1, 100_001)
    level = s * (1 - s) if classes == 2 else np.where(s < 0.5, s * (1 - s), 0.25)
    trace = level / ridges[0] + (1 - (1 - s) ** 2 - s * s / (classes - 1)) / ridges[1]
    return float((rate * s + (classes - 1) * np.log1p(trace / (classes - 1))).max())


@pytest.mark.parametrize(("adjacency", "moved"), [("add-remove", 1), ("add-remove", 2), ("replace", 1)])
def test_several_classes_have_a_tilted_objective_and_a_covered_answer(monkeypatch, adjacency, moved):
    model, data, seen = model_of(3, adjacency, moved), rows_of(3), {}

    def vector(classes, rate, bits):
        seen.update(rate=rate, drawn=draw(classes, rate, bits), source=bits.name)
        return seen["drawn"]

    def minimum(objective, tolerance, *, spare=0.0):
        seen.update(
            objective=objective, tolerance=tolerance, spare=spare, answer=solve(objective, tolerance, spare=spare)
        )
        return seen["answer"]

    def covered(answer, plan, sampler):
        seen["lattice"] = plan.lattice
        return cover(answer, plan, sampler)

    draw, solve, cover = calibrate.slope_vector, calibrate.minimise, calibrate.finish
    monkeypatch.setattr(calibrate, "slope_vector", vector)
    monkeypatch.setattr(calibrate, "minimise", minimum)
    monkeypatch.setattr(calibrate, "finish", covered)
    tape, found = recorded(monkeypatch, lambda: calibrated(model, *data, EPSILON, rows=150.0))
    objective, (last,) = seen["objective"], tape.of("laplace")
    share = EPSILON / moved
    # The noise vector pays for the dearest row, all but a 128th of the budget.
    ridges, rate = (objective.ridges[0], objective.ridges[1:].min()), float(seen["rate"])
    cost = dearest_row(3, ridges, rate) + (rate if adjacency == "replace" else 0.0)
    assert 0.99 * share * 127 / 128 < cost <= share * 127 / 128
    assert np.array_equal(objective.tilt, seen["drawn"].vector) and "operating system" in seen["source"]
    # Answers whose gradients are certified lie within twice the tolerance over the least curvature of each other.
    assert seen["spare"] == seen["drawn"].error
    apart = math.sqrt(4) * 2 * seen["tolerance"] / objective.ridges.min() * 2.0 ** seen["lattice"] + 4
    assert float(last.public[0]) * share / 128 >= apart
    assert np.array_equal(last.given, np.rint(np.ldexp(seen["answer"], seen["lattice"])).astype(np.int64))
    biases = np.ldexp(last.outcome[1:].astype(float), -seen["lattice"])
    again, released = (
        calibrate.Calibration(
            float(
                np.clip(np.ldexp(float(last.outcome[0]), -seen["lattice"]) / calibrate.score_reach(model), 0.02, 20.0)
            ),
            biases - biases.mean(),
        ),
        found.to_dict(),
    )
    assert calibrate.applied(model, again, found.certificate).to_dict() == released
    assert Fraction(found.certificate.epsilon) == Fraction(5, 2)
