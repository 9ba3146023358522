"""Share plans: N nodes and secure aggregation give the release, the model and the guarantee of one trusted curator."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet import PrivateNB
from discreet.bayes.plan import make_plan
from discreet.errors import BudgetError, StatisticsError
from discreet.federated.secure import KeySigner, RefusedError
from discreet.federated.secure.local import aggregate
from discreet.federated.shares import share_plan
from discreet.mechanisms.shares import ExactShares, SimulationShares
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Ledger, cost
from discreet.sources import collect

SETTINGS = [("histogram", 0), ("gaussian", 0), ("histogram", 1e-6), ("gaussian", 1e-6)]


def parts(frame, schema, plan, count):
    """The statistics of `count` nodes, rows dealt out in turn."""
    return [collect(frame.iloc[i::count], schema, detail=plan.detail) for i in range(count)]


def summed(shared, statistics, sampler=None, **options):
    signers = {f"n{i}": KeySigner.generate() for i in range(shared.nodes)}
    draws = {name: lambda s=s: shared.vector(s, sampler) for name, s in zip(signers, statistics, strict=True)}
    dropouts = shared.nodes - shared.colluding - shared.least_honest
    return aggregate(
        signers, draws, shared.length, colluding=shared.colluding, dropouts=dropouts, purpose=shared.purpose, **options
    )


@pytest.mark.parametrize("numeric", ["histogram", "gaussian"])
def test_without_noise_the_model_is_the_central_one(frame, schema, numeric):
    plan = make_plan(schema, Budget(math.inf), numeric=numeric)
    shared = share_plan(plan, 4)
    outcome = summed(shared, parts(frame, schema, plan, 4))
    model = shared.model(outcome.total, len(outcome.survivors))
    central = PrivateNB(math.inf, schema=schema, numeric=numeric).fit(frame).model_
    assert model.log_prior.tolist() == central.log_prior.tolist()
    assert [vars(one).keys() for one in model.likelihoods] == [vars(one).keys() for one in central.likelihoods]
    X = frame.drop(columns="ill")
    assert model.predict_joint_log_proba(X).tolist() == central.predict_joint_log_proba(X).tolist()
    assert not model.certificate.private


@pytest.mark.parametrize(("numeric", "delta"), SETTINGS)
def test_the_noise_of_the_sum_is_that_of_the_plan(frame, schema, numeric, delta):
    """Sum minus exact values over the standard deviation; the mean square is off by six sigmas with odds below 1e-8."""
    plan = make_plan(schema, Budget(1, delta), numeric=numeric)
    shared = share_plan(plan, 5)
    statistics = parts(frame, schema, plan, 5)
    silent, sampler = Silent(), SimulationShares(7)
    squares = []
    for _ in range(80):
        noise = sum(shared.vector(s, sampler) for s in statistics)
        noise = noise - sum(shared.vector(s, silent) for s in statistics)
        at = 0
        for item in shared.plan.items:
            size = 2 * item.cells
            squares += ((noise[at : at + size] / math.sqrt(item.variance)) ** 2).tolist()
            at += size
        assert at == shared.length
    # Fourth moments are at most 6 for Laplace noise, so the variance of a square is at most about 5.5.
    slack = 6 * math.sqrt(5.5 / len(squares))
    assert slack < 0.3 and abs(np.mean(squares) - 1) < slack


class Silent:
    name, simulation = "none", True

    def laplace(self, values, scale, part):
        return values

    skellam = laplace


def test_the_release_of_an_opened_sum(frame, schema):
    plan = make_plan(schema, Budget(2))
    shared = share_plan(plan, 5, colluding=1, dropouts=1)
    assert (shared.least_honest, shared.part) == (3, Fraction(1, 3))
    outcome = summed(shared, parts(frame, schema, plan, 5), drops=[{"share list": ["n2"]}])
    released = shared.release(outcome.total, len(outcome.survivors))
    assert released.surplus == Fraction(4, 3) and not released.simulation
    assert released.variance(plan.items[0]) == pytest.approx(plan.items[0].variance * 4 / 3)
    assert set(released.values) == {item.key for item in plan.items}
    model = shared.model(outcome.total, 4)
    assert model.certificate.epsilon == "2" and model.certificate.private and not model.certificate.simulation
    assert any("at most 1 of 5 nodes" in text for text in model.certificate.assumptions)
    assert any("every node that sees the sum or the model counts" in text for text in model.certificate.assumptions)
    with pytest.raises(BudgetError, match="fewer nodes"):
        shared.release(outcome.total, 3)
    with pytest.raises(StatisticsError):
        shared.release(outcome.total[1:], 5)


def test_skellam_shares_are_charged_epsilon_and_delta(frame, schema):
    plan = make_plan(schema, Budget(1, 1e-6))
    shared = share_plan(plan, 3)
    assert shared.law == "skellam" and plan.mechanism == "gaussian"
    ratios = {float(s.charge.spread / g.charge.spread) for s, g in zip(shared.plan.items, plan.items, strict=True)}
    assert len(ratios) == 1 and 1 < ratios.pop() < 1.5
    assert (cost(shared.node, "epsilon"), cost(shared.node, "delta"), cost(shared.node, "rho")) == (
        1,
        Fraction(1, 10**6),
        0,
    )
    outcome = summed(shared, parts(frame, schema, plan, 3))
    certificate = shared.model(outcome.total, 3).certificate
    assert (certificate.epsilon, certificate.delta, certificate.rho) == ("1", "1/1000000", None)
    assert "Renyi" in certificate.accounting
    ledger = Ledger(Budget(1, 1e-6), composition="basic")
    ledger.charge(shared.node, shared.plan.budget)
    with pytest.raises(BudgetError):
        ledger.charge(shared.node, shared.plan.budget)


def test_accuracy_is_the_central_one_and_not_that_of_single_noisy_nodes(frame, schema):
    """The noise of 40 nodes' shares is one curator's; 40 nodes that each noise their own tables have √40 times it."""
    plan = make_plan(schema, Budget(1))
    shared = share_plan(plan, 40)
    one = parts(frame, schema, plan, 1)[0]
    exact = shared.noised(one, Fraction(1), Silent())
    scale = [float(item.charge.spread) for item in plan.items for _ in range(2 * item.cells)]
    rng = np.random.default_rng(8)
    spread = {
        part: np.sqrt(
            np.mean([((shared.noised(one, part, SimulationShares(rng)) - exact) / scale) ** 2 for _ in range(300)])
        )
        for part in (Fraction(1), Fraction(40))
    }
    assert spread[Fraction(1)] == pytest.approx(math.sqrt(2), rel=0.1)
    assert spread[Fraction(40)] == pytest.approx(math.sqrt(80), rel=0.1)


def test_a_round_is_bound_to_the_plan(schema):
    signers = {f"n{i}": KeySigner.generate() for i in range(3)}
    registry = {name: signer.public for name, signer in signers.items()}
    plan = make_plan(schema, Budget(1))
    shared = share_plan(plan, 3)
    invitation = shared.open_round(registry).to_bytes()
    assert shared.accept(invitation, registry).purpose == shared.purpose
    others = [
        share_plan(make_plan(schema, Budget(2)), 3),
        share_plan(plan, 3, dropouts=1),
        share_plan(make_plan(schema, Budget(1), adjacency=Adjacency.REPLACE), 3),
        share_plan(make_plan(schema, Budget(1), split="equal"), 3),
    ]
    for other in others:
        with pytest.raises(RefusedError):
            other.accept(invitation, registry)
    with pytest.raises(BudgetError, match="3 nodes"):
        shared.open_round(dict(list(registry.items())[:2]))


def test_plans_that_cannot_be_shared_are_refused(schema):
    for settings in ({"colluding": 3}, {"dropouts": -1}, {"colluding": 2, "dropouts": 1}, {"most_rows": 0}):
        with pytest.raises(BudgetError):
            share_plan(make_plan(schema, Budget(1)), 3, **settings)
    with pytest.raises(BudgetError, match="no rho"):
        share_plan(make_plan(schema, Budget(rho=1)), 3)
    with pytest.raises(BudgetError, match="follows the data"):
        share_plan(make_plan(schema, Budget(1), numeric="gaussian", sensitivity="smooth"), 3)
    with pytest.raises(BudgetError, match="64-bit"):
        share_plan(make_plan(schema, Budget(1), numeric="gaussian"), 3, most_rows=2**40)
    with pytest.raises(BudgetError, match="64-bit"):
        share_plan(make_plan(schema, Budget(1e-9), numeric="gaussian"), 3)


def test_a_sum_that_wraps_on_its_way_still_comes_out_right(schema):
    """Single shares may leave the range of 64 bits: the sum modulo 2^64 is what counts."""
    plan = make_plan(schema, Budget(1))
    shared = share_plan(plan, 2)
    first, second = np.full(shared.length, 2**63 - 5, np.int64), np.full(shared.length, -(2**63) + 8, np.int64)
    with np.errstate(over="ignore"):
        assert shared.release(first + second, 2).values[plan.items[0].key].ravel()[0] == 3


def test_other_schemas_are_refused(frame, schema):
    plan = make_plan(schema, Budget(1))
    other = schema.__class__(features=schema.features[:1], target="ill", classes=["no", "yes"])
    with pytest.raises(StatisticsError, match="another schema"):
        share_plan(plan, 2).vector(collect(frame[["colour", "ill"]], other, detail=plan.detail), ExactShares())


def test_the_example_of_the_guide_runs(frame, schema):
    guide = Path(__file__).parents[2] / "docs" / "secure-aggregation.md"
    code = guide.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    plan = make_plan(schema, Budget(1))
    statistics = {f"n{i:02d}": rows for i, rows in enumerate(parts(frame, schema, plan, 20))}
    space = {"plan": plan, "statistics": statistics, "signers": {name: KeySigner.generate() for name in statistics}}
    exec(code, space)
    assert space["model"].certificate.epsilon == "1" and len(space["outcome"].survivors) == 20
