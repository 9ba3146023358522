"""The solver's certificate: what it promises holds in exact arithmetic, and nothing is released without it."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import Categorical, PrivateAdditiveClassifier, Schema, SolverError, sources
from discreet.additive import release as releasing
from discreet.additive import solve as solving
from discreet.additive.blocks import Blocks, place_knots
from discreet.additive.fit import start_at
from discreet.additive.kernels import compiled
from discreet.additive.plan import plan_fit
from discreet.additive.release import Tilt
from discreet.additive.solve import Objective
from discreet.estimators.counts import ClassCounts
from discreet.linear import encode
from discreet.linear import solve as linear_solving
from discreet.linear.solve import certify_minimum, minimise
from discreet.mechanisms.vectors import Drawn


def labelled(schema, frame, classes):
    """The same rows with two or three classes."""
    if classes == 2:
        return schema, frame
    fields = {**schema.to_dict(), "classes": ["no", "yes", "perhaps"]}
    rng = np.random.default_rng(8)
    return Schema.from_dict(fields), frame.assign(ill=rng.choice(["no", "yes", "perhaps"], len(frame)))


def setting(schema, frame, classes, epsilon=Fraction(1)):
    schema, frame = labelled(schema, frame, classes)
    blocks = place_knots(schema, 3)
    blocks = Blocks(schema, blocks.knots, ((0, 2), (1, 4)))
    counts = ClassCounts(np.full(classes, 100.0), 1.0, None)
    return (
        blocks.design(sources.open(frame, schema).held()),
        plan_fit(blocks, epsilon, counts),
        start_at(blocks, counts),
    )


def objective(schema, frame, classes, seed=0):
    design, plan, centre = setting(schema, frame, classes)
    tilt = np.random.default_rng(seed).laplace(size=centre.shape) * 5
    centre = centre + np.random.default_rng(seed).normal(size=centre.shape)
    return Objective(design, len(plan.blocks.sizes) + 1, plan.chain, centre, tilt)


@pytest.mark.parametrize("dense", [2048, 0])
@pytest.mark.parametrize("classes", [2, 3])
def test_agrees_with_scipy(schema, frame, classes, dense, monkeypatch):
    monkeypatch.setattr(encode, "DENSE", dense)
    one = objective(schema, frame, classes)
    found = minimise(one, 1e-8)
    rough = minimize(
        lambda w: one.value(w, one.at(w)), np.zeros_like(found.weights), jac=lambda w: one.gradient(w, one.at(w)),
        method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-8},
    )  # fmt: skip
    assert found.bound <= 1e-8
    assert np.abs(found.weights - rough.x).max() < 1e-4
    assert one.value(found.weights, one.at(found.weights)) <= rough.fun + 1e-9


@pytest.mark.parametrize("patience", [0, 6, 1e9])
@pytest.mark.parametrize("classes", [2, 3])
def test_many_rows_have_the_same_minimum(schema, frame, classes, patience, monkeypatch):
    """Begun at the minimum over some rows, with curvatures of those or of all, in one part or in many."""
    one = objective(schema, frame, classes)
    found = minimise(one, 1e-8)
    assert one.near(1e-8) is None
    monkeypatch.setattr(solving, "SAMPLE", len(frame) // 4)
    monkeypatch.setattr(solving, "PATIENCE", patience)
    monkeypatch.setattr(encode, "RUN", 8)
    monkeypatch.setattr(encode, "PART", 100)
    begun = one.near(1e-6)
    assert not np.array_equal(begun, one.start())
    assert np.linalg.norm(one.gradient(begun, one.at(begun))) < np.linalg.norm(
        one.gradient(one.start(), one.at(one.start()))
    )
    (slope, norm, bent), t = one._slope(begun), one.at(begun)
    assert slope == pytest.approx(one.gradient(begun, t), abs=1e-9) and norm == np.linalg.norm(slope)
    chances = one.probabilities(t)
    assert bent == pytest.approx(np.sum(chances * (1 - chances)))
    again = minimise(one, 1e-8)
    assert again.bound <= 1e-8 and np.abs(again.weights - found.weights).max() < 1e-8


def test_a_beginning_is_released_only_with_its_certificate(schema, frame, monkeypatch):
    """A solver that begins far away, or at nothing, still ends at the minimum, and counts what a tilt is off by."""
    one = objective(schema, frame, 2)
    found = minimise(one, 1e-8)
    for begun in (found.weights + 1.0, found.weights):
        monkeypatch.setattr(Objective, "near", lambda self, goal, begun=begun: begun)
        again = minimise(one, 1e-7)
        assert again.bound <= 1e-7 and np.abs(again.weights - found.weights).max() < 1e-7
        with pytest.raises(SolverError):
            minimise(one, 1e-6, spare=2e-6)


def test_curvatures_of_drawn_rows_are_those_of_all_on_average(schema, frame):
    """With no least curvature the very sums; rows that stand for others add up to them but for chance."""
    one = objective(schema, frame, 2)
    weights = np.random.default_rng(0).normal(size=one.centre.size) * 0.3
    codes, values = one.design.some(slice(0, len(frame)))
    chances = one.probabilities(one.at(weights))[:, 0]
    exact = one.design.outer(chances * (1 - chances)) * one.design.unit**2
    scaled = weights * one.design.unit

    def drawn(least, first=0):
        out = np.zeros((one.design.columns, one.design.columns))
        compiled().bend(codes, values, scaled, least, first, out)
        return encode.symmetric(out) * one.design.unit**2

    assert drawn(0.0) == pytest.approx(exact, rel=1e-9, abs=1e-9)
    least = float(np.quantile(chances * (1 - chances), 0.8)) * 1.5
    several = [drawn(least, first * 10_007) for first in range(200)]
    assert not np.allclose(several[0], exact, rtol=1e-3)
    assert np.mean(several, axis=0) == pytest.approx(exact, rel=0.05, abs=0.01 * np.abs(exact).max())


@pytest.mark.parametrize("classes", [2, 3])
def test_gradient_is_that_of_the_value(schema, frame, classes):
    one = objective(schema, frame, classes)
    rng = np.random.default_rng(4)
    weights, way = rng.normal(size=one.centre.size), rng.normal(size=one.centre.size)
    up, down = (one.value(weights + s * way, one.at(weights + s * way)) for s in (1e-5, -1e-5))
    assert (up - down) / 2e-5 == pytest.approx(float(one.gradient(weights, one.at(weights)) @ way), rel=1e-7)


def exact_gradient(one, flat):
    """∇J in as many digits as are set, from the same doubles, in the order of the weights."""
    design, chain, vectors, number = one.design, one.chain, one.vectors, mpmath.mpf
    theta = flat.reshape(one.centre.shape)
    exact = [[number(float(b)) for b in row] for row in one.tilt]
    for k in range(vectors):
        gap = [number(float(t)) - number(float(c)) for t, c in zip(theta[k], one.centre[k], strict=True)]
        for c in range(design.columns):
            link, pull = number(float(chain.link[c])), number(float(chain.pull[c]))
            part = pull * (gap[c] - link * (gap[c - 1] if c else 0))
            exact[k][c] += part
            if c:
                exact[k][c - 1] -= link * part
    for i in range(len(design)):
        cols = [int(c) for c in design.codes[i]] + [design.columns - 1]
        sizes = [number(int(v)) / 4096 for v in design.values[i]]
        scores = [sum(number(float(row[c])) * v for c, v in zip(cols, sizes, strict=True)) for row in theta]
        own = int(design.labels[i])
        if vectors == 1:
            rates = [1 / (1 + mpmath.exp(-scores[0])) - own]
        else:
            parts = [mpmath.exp(s) for s in scores]
            rates = [p / sum(parts) - (k == own) for k, p in enumerate(parts)]
        for k, rate in enumerate(rates):
            for c, v in zip(cols, sizes, strict=True):
                exact[k][c] += rate * v
    return [value for row in exact for value in row]


def check_bound(one, flat):
    """The gradient at 60 digits is within the stated rounding of the computed one."""
    with mpmath.workdps(60):
        exact, computed = exact_gradient(one, flat), one.gradient(flat, one.at(flat))
        off = mpmath.sqrt(sum((e - mpmath.mpf(float(g))) ** 2 for e, g in zip(exact, computed, strict=True)))
        assert off <= one.rounding(flat, one.at(flat))
        assert mpmath.sqrt(sum(e**2 for e in exact)) <= one.certified(flat)
        return float(off)


@pytest.mark.parametrize("classes", [2, 3])
def test_bound_holds_in_exact_arithmetic(schema, frame, classes):
    one = objective(schema, frame.head(60), classes)
    for flat in (minimise(one, 1e-7).weights, np.random.default_rng(1).normal(size=one.centre.size) * 30):
        check_bound(one, flat)


@pytest.mark.parametrize("classes", [2, 3])
def test_bound_holds_where_rows_alone_are_rounded(schema, frame, classes):
    """At the centre and without noise neither penalty nor tilt has anything to round."""
    one = objective(schema, frame.head(60), classes)
    bare = Objective(one.design, one.blocks, one.chain, one.centre, np.zeros_like(one.tilt))
    assert check_bound(bare, bare.centre.ravel()) > 0


def test_refuses_without_certificate(schema, frame):
    one = objective(schema, frame, 2)
    good = minimise(one, 1e-6)
    with pytest.raises(SolverError, match="nothing is released"):
        certify_minimum(one, good.weights + 1e-3, 1e-6)
    with pytest.raises(SolverError):  # what the noise vector may be off by counts as well
        certify_minimum(one, good.weights, 1e-6, spare=2e-6)
    with pytest.raises(SolverError):
        certify_minimum(one, good.weights * np.nan, 1e-6)


def test_a_fit_that_stops_early_releases_nothing(schema, frame, monkeypatch):
    monkeypatch.setattr(linear_solving, "MOST_STEPS", 1)
    estimator = PrivateAdditiveClassifier(1.0, schema, random_state=0)
    with pytest.raises(SolverError, match="nothing is released"):
        estimator.fit(frame)
    assert not hasattr(estimator, "model_")


def test_a_noise_vector_that_is_too_far_off_releases_nothing(schema, frame, monkeypatch):
    honest = releasing.draw_tilt
    monkeypatch.setattr(releasing, "draw_tilt", lambda plan, bits: Tilt(honest(plan, bits).vectors, 1.0))
    with pytest.raises(SolverError):
        PrivateAdditiveClassifier(1.0, schema, random_state=0).fit(frame)


@pytest.mark.parametrize("classes", [2, 3])
def test_final_noise_covers_two_tolerances_and_the_rounding(schema, frame, classes):
    """Two answers whose gradients are within the tolerance differ, once rounded, by at most `steps` in L1.

    Without rows the distance is Γ⁻¹·gradient exactly: rows only add curvature. The worst gradients are tried.
    """
    _, plan, centre = setting(schema, frame, classes)
    inverse = np.linalg.inv(plan.chain.matrix())
    rng = np.random.default_rng(3)
    values, ways = np.linalg.eigh(inverse)
    tried = [np.tile(ways[:, values.argmax()], (plan.vectors, 1)), np.ones(centre.shape)]
    tried += [rng.normal(size=centre.shape) for _ in range(100)]
    most = 0.0
    for way in tried:
        gap = (way / np.linalg.norm(way) * plan.tolerance) @ inverse
        middle = rng.normal(size=centre.shape)
        one, two = (np.rint(np.ldexp(middle + s * gap, plan.lattice)) for s in (-1, 1))
        most = max(most, float(np.abs(one - two).sum()))
    assert most <= plan.steps
    assert plan.steps <= 513 * centre.size + 1
    last = plan.charges(1, "weights")[1]
    assert last.spread == Fraction(plan.steps) / plan.epsilons[1]


class Recorder:
    """Bits of a seed, and a sampler that writes down what it is asked for and adds nothing."""

    name, simulation = "recorded", True

    def __init__(self):
        self.rng, self.asked = np.random.default_rng(5), []

    def laplace(self, values, scale):
        self.asked.append((values.size, scale))
        return values


@pytest.mark.parametrize("classes", [2, 3])
def test_the_noise_that_is_drawn_is_the_noise_of_the_plan(schema, frame, classes, monkeypatch):
    design, plan, centre = setting(schema, frame, classes)
    drawn, recorder = [], Recorder()
    for name in ("KVector", "laplace_vector"):
        honest = getattr(releasing, name)
        monkeypatch.setattr(releasing, name, _watched(name, honest, drawn))
    weights = releasing.released_weights(design, plan, centre, recorder)
    assert recorder.asked == [(centre.size, Fraction(plan.steps) / plan.epsilons[1])]
    blocks = sorted(sizes for sizes, _ in drawn)
    expected = [[plan.blocks.sizes[j] for j in bundle.places] for bundle in plan.bundles] * plan.vectors
    assert blocks == sorted(expected)
    spent = sum(rate for _, rate in drawn)
    assert spent <= plan.rate * plan.vectors * (1 + Fraction(1, 2**50))
    assert sum(plan.epsilons) == 1
    assert (np.ldexp(weights, plan.lattice) == np.rint(np.ldexp(weights, plan.lattice))).all()


def _watched(name, honest, drawn):
    if name == "laplace_vector":

        def laplace(size, scale, bits):
            drawn.append(([size], 1 / Fraction(scale)))
            return honest(size, scale, bits)

        return laplace

    class Watched(honest):
        def draw(self, rate, bits):
            drawn.append((list(self.sizes), rate))
            return super().draw(rate, bits)

    return Watched


def test_the_constant_has_the_common_sum(schema, frame):
    _, plan, _ = setting(schema, frame, 3)
    tilt = releasing.draw_tilt(plan, releasing.bits_of(Recorder()))
    starts = plan.blocks.starts
    for row in tilt.vectors:
        for number, bundle in enumerate(plan.bundles):
            sums = [row[starts[j] : starts[j + 1]].sum() for j in bundle.places]
            assert np.ptp(sums) < 1e-6
            if number == plan.anchor:
                assert row[-1] == pytest.approx(sums[0], abs=1e-6)


@pytest.mark.parametrize(
    ("gradient", "noise", "fine"), [(0.99, 0.0, True), (1.01, 0.0, False), (0.7, 0.29, True), (0.7, 0.31, False)]
)
def test_weights_are_released_up_to_the_tolerance_and_not_beyond(schema, frame, gradient, noise, fine, monkeypatch):
    design, plan, centre = setting(schema, frame, 3)
    monkeypatch.setattr(releasing, "draw_tilt", lambda *_: Tilt(np.zeros_like(centre), noise * plan.tolerance))
    monkeypatch.setattr(Objective, "certified", lambda self, weights: gradient * plan.tolerance)
    sampler = Recorder()
    if fine:
        assert releasing.released_weights(design, plan, centre, sampler).shape == centre.shape
    else:
        with pytest.raises(SolverError, match="nothing is released"):
            releasing.released_weights(design, plan, centre, sampler)
    assert len(sampler.asked) == fine


class Taken(Recorder):
    """A sampler that also keeps the whole numbers it was handed."""

    def __init__(self):
        super().__init__()
        self.points = []

    def laplace(self, values, scale):
        self.points.append(values)
        return super().laplace(values, scale)


def farthest(plan):
    """How far apart in L1 the exact answers to two gradients within the tolerance can be, without rows to hold them.

    max ‖Γ⁻¹g‖₁ over gaps of gradients ‖g‖₂ ≤ 2·tolerance is 2·tolerance·‖Γ⁻¹1‖₂, because Γ⁻¹ has no negative entry.
    """
    sums = np.linalg.inv(plan.chain.matrix()).sum(axis=1)
    return 2 * plan.tolerance * float(np.linalg.norm(np.tile(sums, plan.vectors)))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_last_noise_pays_for_the_distance_of_answers_and_for_every_rounding(schema, frame, classes, monkeypatch):
    """Two answers as far apart as the proof allows, placed so that rounding drives nearly every number further."""
    design, plan, centre = setting(schema, frame, classes)
    total, row = plan.chain.reach()
    apart = 2 * np.sqrt(plan.vectors * total * row) * plan.tolerance
    assert farthest(plan) <= apart
    size, unit = centre.size, 2.0**-plan.lattice
    each = np.floor(apart / unit / size - 0.001)  # whole steps, so that a little more is rounded up
    gaps = np.full(size, each + 0.001)
    gaps[-1] = apart / unit - gaps[:-1].sum()
    answers = [np.full(size, 0.4995), 0.4995 + gaps]
    given = iter([(answer * unit).reshape(centre.shape) for answer in answers])
    monkeypatch.setattr(releasing, "approximate", lambda *_: next(given))
    sampler = Taken()
    for _ in answers:
        releasing.released_weights(design, plan, centre, sampler)
    moved = int(np.abs(sampler.points[0] - sampler.points[1]).sum())
    assert moved > apart / unit + 0.9 * size - 2  # the rounding is all there
    for _, scale in sampler.asked:
        assert moved / scale <= plan.epsilons[1]
    assert plan.epsilons[1] > 0


@pytest.mark.parametrize("classes", [2, 3])
def test_the_tilt_is_as_far_off_as_all_its_draws_and_their_sum_together(classes, monkeypatch):
    """Every draw off by all that it says, in the direction that moves the constant most, is within the bound."""
    schema = Schema([Categorical("a", [0, 1])], "y", list(range(classes)))
    plan = plan_fit(place_knots(schema, 2), Fraction(1), ClassCounts(np.full(classes, 100.0), 1.0, None))
    assert [len(bundle.places) for bundle in plan.bundles] == [1]
    tilts = []
    for way in (0.0, 1.0):
        monkeypatch.setattr(
            releasing,
            "laplace_vector",
            lambda size, scale, bits, way=way: Drawn(np.arange(size) + way * 0.5 / np.sqrt(size), 0.5),
        )
        tilts.append(releasing.draw_tilt(plan, releasing.bits_of(Recorder())))
    assert np.linalg.norm(tilts[0].vectors - tilts[1].vectors) <= tilts[0].error
    assert tilts[0].error <= 0.5 * 3 * np.sqrt(plan.vectors)
