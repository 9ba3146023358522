"""The release: how much noise of which law is asked for, and that just what came back is what was added."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Categorical, Numeric, PrivateLogisticRegression, PrivateSVC, Schema
from discreet.linear import release as releasing
from discreet.linear.encode import UNIT
from discreet.linear.plan import objective_cost
from discreet.linear.solve import Objective
from discreet.mechanisms.vectors import Drawn
from discreet.privacy.calibrate import float_up
from tests.linear.designs import read_design

FEATURES = [Categorical("a", [0, 1, 2]), Numeric("x", -1, 1, bins=2)]
EPSILON = Fraction(3, 2)


class Recorder:
    """A sampler that writes down what it is asked for and adds whole numbers that are known."""

    name, simulation = "recorded", False

    def __init__(self):
        self.asked, self.given = [], []

    def laplace(self, values, scale):
        self.asked.append((values.size, scale))
        self.given.append(values + 3 + np.arange(values.size).reshape(values.shape))
        return self.given[-1]


@pytest.fixture
def vectors(monkeypatch):
    """Noise vectors are known too; (law, size, scale) of each is written down."""
    asked = []

    def noise_vector(law, size, scale, bits):
        asked.append((law, size, scale))
        return Drawn(np.linspace(-2, 5, size), 0.0)

    monkeypatch.setattr(releasing, "noise_vector", noise_vector)
    return asked


def rows_of(classes):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 40), rng.choice([-1.0, 0.5, 1.0], 40)])
    return X, rng.integers(0, classes, 40), Schema(FEATURES, "y", list(range(classes)))


CASES = [
    (PrivateSVC, {"noise": "laplace"}),
    (PrivateSVC, {"noise": "spherical"}),
    (PrivateLogisticRegression, {"noise": "laplace"}),
    (PrivateLogisticRegression, {"noise": "spherical", "numeric": "scaled"}),
    (PrivateLogisticRegression, {"method": "output"}),
]


@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("kind", "settings"), CASES)
def test_noise_vector_and_final_noise(vectors, kind, settings, classes, adjacency, contributions):
    X, y, schema = rows_of(classes)
    plan = kind(EPSILON, schema, adjacency=adjacency, contributions=contributions, **settings).plan()
    design, sampler = read_design(X, y, plan.encoding), Recorder()
    released = releasing.release(design, plan, sampler)
    problems, width, moved = (1 if classes == 2 else classes), design.columns, 1 + (adjacency == "replace")
    share = EPSILON / (problems * contributions)
    assert sum(plan.epsilons) == share
    assert vectors == [(settings.get("noise", "spherical"), width, float_up(1 / plan.rate))] * problems
    assert sampler.asked == [(width, plan.steps / plan.epsilons[1])] * problems
    # Two answers as far apart as their certificates allow, each rounded: this many steps of the lattice in L1.
    apart = 2 * float(plan.tolerance / plan.ridge) * math.sqrt(width) * 2.0**plan.lattice
    assert apart + width <= plan.steps <= apart + width + 2
    if plan.method == "output":
        assert plan.rate == plan.epsilons[0] * plan.ridge / moved
    else:
        reach = float(plan.encoding.one_norm) if plan.law == "laplace" else 1.0
        cost = objective_cost(plan.loss, float(plan.rate), reach, float(plan.ridge), moved)
        assert 0.999 * plan.epsilons[0] < cost <= plan.epsilons[0]
    vector, last = np.linspace(-2, 5, width), 3 + np.arange(width)
    for k, weights, given in zip(plan.problems, released.weights, sampler.given, strict=True):
        assert np.array_equal(weights, np.ldexp(given.astype(float), -plan.lattice))  # all of the final noise
        answer = np.ldexp((given - last).astype(float), -plan.lattice)
        plain = Objective(design, np.where(design.labels == k, 1.0, -1.0), plan.loss, float(plan.ridge), vector * 0)
        if plan.method == "output":
            slack = plain.gradient(answer - vector, plain.at(answer - vector))
        else:
            slack = plain.gradient(answer, plain.at(answer)) + vector
        rounded = (float(plan.ridge) + len(design) * plan.loss.bend) * math.sqrt(width) * 2.0**-plan.lattice
        assert np.linalg.norm(slack) <= float(plan.tolerance) + rounded < 0.1  # and all of the vector


@pytest.mark.parametrize("contributions", [1, 3])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("numeric", ["binned", "scaled"])
def test_noise_of_the_functional_mechanism(monkeypatch, numeric, classes, adjacency, contributions):
    X, y, schema = rows_of(classes)
    plan = PrivateLogisticRegression(
        EPSILON, schema, "functional", adjacency, numeric, contributions=contributions
    ).plan()
    design, sampler, used = read_design(X, y, plan.encoding), Recorder(), []

    def minimum(linear, upper, noise, unit, ridge):
        used.extend([linear, upper[pairs]])
        return np.zeros(len(linear))

    monkeypatch.setattr(releasing, "minimum_of_polynomial", minimum)
    pairs = releasing.possible_pairs(plan)
    releasing.release(design, plan, sampler)
    problems, moved = (1 if classes == 2 else classes), 1 + (adjacency == "replace")
    whole = UNIT if numeric == "scaled" else 1
    assert sum(plan.epsilons) == EPSILON / (problems * contributions)
    first = (design.columns, 3 * moved * whole / plan.epsilons[0])  # two features and the constant
    second = (int(pairs.sum()), 6 * moved * whole**2 / plan.epsilons[1])
    assert sampler.asked == [first, second] * problems
    assert all(np.array_equal(one, two) for one, two in zip(used, sampler.given, strict=True))
