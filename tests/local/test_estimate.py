"""Estimation from tallies: variances by enumeration, exact answers give the plain model, certificates add up."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from discreet import Categorical, NaiveBayesModel, Numeric, Schema, StatisticsError
from discreet.local.estimate import Tally, class_shares, estimate, local_certificate, model_of, table_of
from discreet.local.numbers import make_number
from discreet.local.oracles import GRR, OUE, make_oracle

SCHEMA = Schema([Categorical("a", [0, 1, 2]), Categorical("b", [0, 1]), Numeric("x", -1, 1)], "y", [0, 1])


def by_enumeration(oracle, size, share):
    """The variance of the estimated count of the first `size` values for one report, given who has them."""
    total = 0.0
    for value, weight in ((0, share), (oracle.d - 1, 1 - share)):
        law = oracle.law(value)
        reports = [np.array(one) if oracle.name == "grr" else np.array([one], np.uint8) for one in law]
        counts = [oracle.estimate(oracle.support(one), 1)[:size].sum() for one in reports]
        chances = np.array([float(chance) for chance in law.values()])
        mean = chances @ counts
        assert mean == pytest.approx(float(value < size), abs=1e-9)
        total += weight * float(chances @ (np.array(counts) - mean) ** 2)
    return total


@pytest.mark.parametrize("name", ["grr", "sue", "oue", "subset"])
@pytest.mark.parametrize("d, size", [(4, 2), (6, 3), (6, 2), (6, 1)])
def test_the_variance_of_a_group_of_values_is_the_enumerated_one(name, d, size):
    for epsilon in (0.3, 2):
        oracle = make_oracle(name, d, epsilon)
        assert oracle.group_noise(size, 0.3) == pytest.approx(by_enumeration(oracle, size, 0.3), rel=1e-6)


@pytest.mark.parametrize("name", ["olh", "she", "the", "oue"])
@pytest.mark.parametrize(("value", "share"), [(5, 0.0), (1, 1.0)])
def test_other_oracles_answer_for_each_value_by_itself(name, value, share):
    """Simulated: the share of the variance that covariances could hide is below a tenth."""
    oracle, rng = make_oracle(name, 6, 1.0), np.random.default_rng(2)
    drawn = oracle.perturb(np.full(100_000, value), rng=rng)
    sums = np.array([oracle.aggregate(drawn[i : i + 20])[:3].sum() for i in range(0, 100_000, 20)])
    # 5000 sums of 20: their variance has a relative error of 2 %, and five of those are a chance of 1e-6.
    assert sums.var() == pytest.approx(20 * oracle.group_noise(3, share), rel=0.1)


@pytest.mark.parametrize(("d", "size", "epsilon"), [(6, 3, 1.0), (14, 7, 0.5), (30, 15, 1.0), (12, 4, 4.0)])
def test_sets_of_hadamard_response_overlap(d, size, epsilon):
    """By its exact law: what the estimate assumes is the true variance, and independence would miss it."""
    oracle = make_oracle("hadamard", d, epsilon)
    inside, outside = [], []
    for value in range(d):
        law = oracle.law(value)
        counts = np.array([oracle.aggregate(np.array(one)).reshape(-1, size).sum(axis=1) for one in law])
        chances = np.array([float(p) for p in law.values()])
        spread = chances @ counts**2 - (chances @ counts) ** 2
        for group, variance in enumerate(spread):
            (inside if value // size == group else outside).append(variance)
    assert oracle.group_noise(size, 1.0) == pytest.approx(np.mean(inside))
    assert oracle.group_noise(size, 0.0) == pytest.approx(np.mean(outside))
    alone = oracle.variance(1, 1.0) + (size - 1) * oracle.variance(1, 0.0)
    if oracle.blocks == 1:  # values of one block overlap, and adding up variances would miss that
        assert np.mean(inside) > 1.03 * alone


def test_tallies_of_one_input_are_weighed_by_their_variance():
    good, poor = GRR(4, 5), OUE(4, 0.1)
    true = np.array([400, 300, 200, 100])
    rng = np.random.default_rng(1)
    first = Tally(1, good, 1000, good.simulate(true, rng))
    second = Tally(1, poor, 1000, poor.simulate(true, rng))
    one, both = table_of([first], 2, 2), table_of([first, second], 2, 2)
    assert both.shares == pytest.approx(one.shares, abs=0.02)
    assert both.cell_noise < one.cell_noise + 1e-5
    assert one.rows == 1000
    assert 1000 <= both.rows < 1100
    alike = table_of([first, first], 2, 2)
    assert alike.rows == pytest.approx(2000)
    assert alike.cell_noise == pytest.approx(one.cell_noise / 2)
    with pytest.raises(StatisticsError, match="another domain"):
        table_of([first], 2, 3)


def test_class_shares_come_from_every_table():
    rng = np.random.default_rng(0)
    errors = {1: [], 6: []}
    for _ in range(200):
        tables = []
        for _ in range(6):
            oracle = GRR(6, 1)
            counts = rng.multinomial(300, [0.7 / 3] * 3 + [0.3 / 3] * 3)
            tables.append(table_of([Tally(1, oracle, 300, oracle.simulate(counts, rng))], 2, 3))
        for size, found in errors.items():
            found.append(class_shares(tables[:size], 2)[0] - 0.7)
    # Six tables instead of one: a sixth of the variance, up to the scatter of 200 runs (ratio 4 is 5 sigma away).
    assert np.mean(np.square(errors[1])) / np.mean(np.square(errors[6])) > 3
    assert class_shares([], 4) == pytest.approx(np.full(4, 0.25))


def test_exact_answers_give_the_plain_model_of_those_asked():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 900)
    X = np.column_stack([(rng.integers(0, 2, 900) + y), rng.integers(0, 2, 900) * y])
    schema = Schema(SCHEMA.features[:2], "y", [0, 1])
    who = rng.integers(0, 3, 900)
    tallies, plain = [], []
    for index, cells, place in ((0, 1, 0), (1, 3, 1), (4, 2, 2)):
        asked = who == place
        values = y[asked] if index == 0 else y[asked] * cells + X[asked, place - 1]
        oracle = GRR(2 * cells, 30)
        counts = np.bincount(values, minlength=oracle.d)
        tallies.append(Tally(index, oracle, int(asked.sum()), oracle.simulate(counts, rng)))
        if index:
            fitted = CategoricalNB(min_categories=cells).fit(X[asked, place - 1, None], y[asked])
            plain.append(fitted.feature_log_prob_[0])
    prior, likelihoods = estimate(schema, tallies)
    for likelihood, expected in zip(likelihoods, plain, strict=True):
        assert likelihood.log_prob == pytest.approx(expected, abs=2e-3)
    assert np.exp(prior)[1] == pytest.approx(y.mean(), abs=1e-9)


def test_what_nobody_reported_about_says_nothing():
    oracle = GRR(2, 1)
    prior, likelihoods = estimate(SCHEMA, [Tally(0, oracle, 100, oracle.simulate([90, 10], np.random.default_rng(0)))])
    assert prior[0] > prior[1]
    for likelihood, cells in zip(likelihoods, (3, 2, 16), strict=True):
        assert likelihood.log_prob == pytest.approx(np.full((2, cells), -math.log(cells)))
    with pytest.raises(StatisticsError, match="no reports"):
        model_of(SCHEMA, [Tally(0, oracle, 0, 0)])


@pytest.mark.parametrize("name", ["laplace", "one-bit", "piecewise", "hybrid", "laplace-all"])
def test_numbers_become_bell_curves(name):
    rng = np.random.default_rng(7)
    half = SCHEMA.features[2].lattice.half
    y = rng.integers(0, 2, 400_000)
    points = np.clip(np.rint(rng.normal(np.where(y, 0.5, -0.25), 0.2) * half), -half, half).astype(np.int64)
    together = name == "laplace-all"
    tallies = [Tally(0, GRR(2, 4), 400_000, GRR(2, 4).simulate(np.bincount(y), rng))]
    for index, part, shape in ((8, points, half), (9, 2 * points * points - half * half, half * half)):
        mechanism = make_number(name, 2, (shape,), 4)
        support = mechanism.simulate(y, part[:, None] if together else part, rng)
        tallies.append(Tally(index + 2 if together else index, mechanism, len(y), support))
    _, likelihoods = estimate(SCHEMA, tallies)
    assert likelihoods[2].mean == pytest.approx([-0.25, 0.5], abs=0.03)
    assert np.sqrt(likelihoods[2].variance) == pytest.approx([0.2, 0.2], abs=0.05)


def test_a_drowned_number_says_little():
    rng, half = np.random.default_rng(1), SCHEMA.features[2].lattice.half
    y = rng.integers(0, 2, 60)
    points = np.where(y, half // 2, -half // 2)
    tallies = [Tally(0, GRR(2, 1), 60, GRR(2, 1).simulate(np.bincount(y), rng))]
    for index, part, shape in ((8, points, half), (9, 2 * points * points - half * half, half * half)):
        mechanism = make_number("laplace", 2, (shape,), Fraction(1, 20))
        tallies.append(Tally(index, mechanism, 60, mechanism.simulate(y, part, rng)))
    _, likelihoods = estimate(SCHEMA, tallies)
    curve = likelihoods[2]
    log = -0.5 * np.log(curve.variance)[:, None] - (np.array([-1.0, 0.0, 1.0]) - curve.mean[:, None]) ** 2 / (
        2 * curve.variance[:, None]
    )
    assert np.abs(log[0] - log[1]).max() < 1.0


def test_the_certificate_states_the_dearest_person():
    cheap, dear = GRR(6, Fraction(1, 2)), OUE(6, 1)
    tallies = [
        Tally(0, GRR(2, 1), 10, np.array([5, 5])),
        Tally(1, cheap, 10, np.arange(6)),
        Tally(1, dear, 10, np.arange(6), parts=2),
    ]
    certificate = local_certificate(SCHEMA, tallies)
    assert certificate.epsilon == "2"
    assert certificate.adjacency == "replace"
    assert certificate.private
    assert not certificate.simulation
    assert "whoever collects" in certificate.protects
    assert "at most 2 reports about different inputs, drawn before" in certificate.assumptions[0]
    assert [one.cost for one in certificate.charges()] == ["1", "1/2", "2"]
    assert certificate.charges()[1].parameters["d"] == "6"
    assert Fraction(certificate.charges()[1].parameters["p"]) == cheap.p
    again = type(certificate).model_validate_json(certificate.model_dump_json())
    assert again == certificate
    spoilt = certificate.model_dump_json().replace('"epsilon":"2"', '"epsilon":"1"', 1)
    with pytest.raises(ValueError, match="more epsilon"):
        type(certificate).model_validate_json(spoilt)


def test_the_command_prints_reports(discreet, tmp_path):
    oracle = GRR(2, 1)
    model = model_of(SCHEMA, [Tally(0, oracle, 100, np.array([60, 40]))])
    model.save(tmp_path / "model.json")
    assert NaiveBayesModel.load(tmp_path / "model.json").certificate == model.certificate
    shown = discreet("inspect", tmp_path / "model.json")
    assert shown.returncode == 0, shown.stderr
    assert "differentially private: epsilon = 1" in shown.stdout
    assert "d = 2, p = 0.7311, q = 0.2689" in shown.stdout
    assert "by those who sent the reports" in shown.stdout
