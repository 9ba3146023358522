"""A δ that is allowed: every kind takes one, and what has no Gaussian mechanism leaves it whole and says so."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import (
    Budget,
    BudgetError,
    Categorical,
    FederatedNB,
    Ledger,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateGridSearch,
    PrivateNB,
    PrivateSelectKBest,
    Schema,
    SelectiveNB,
    settle_schema,
)
from discreet.bayes.bundling import error_of
from discreet.bayes.plan import make_plan
from discreet.cli.plan import described
from discreet.evaluation.plan import evaluation_charges
from discreet.kinds import names
from discreet.privacy.certificate import WHICHEVER
from discreet.privacy.ledger import cost
from discreet.tuning.compare import compare_models

SCHEMA = Schema([Categorical(name, [0, 1, 2]) for name in "abc"], "t", [0, 1])
X = np.random.default_rng(0).integers(0, 3, (200, 3))
Y = (X[:, 0] > 0).astype(int)
UNSPENT = "nothing is spent of the delta of 1e-06"
DELTA = Fraction(1, 10**6)
PURE = {"svm", "logistic", "tree", "forest", "tan", "joint"}


def pure_ledger(estimator, *data):
    """What a fit with δ costs a ledger that has none to give."""
    ledger = Ledger(Budget(1))
    estimator.fit(*data, ledger=ledger)
    return ledger


@pytest.mark.parametrize("name", [*sorted(PURE), "select", "selective"])
def test_what_has_no_gaussian_mechanism_is_pure_and_says_that_the_delta_stays_whole(name):
    from discreet.kinds import find

    settings = {"epsilon": 1.0, "schema": SCHEMA, "delta": 1e-6, "random_state": 0}
    made = {"select": lambda **s: PrivateSelectKBest(2, **s), "selective": SelectiveNB}
    estimator = made[name](**settings) if name in made else find(name).make(**settings)
    ledger = pure_ledger(estimator, X, Y)
    found = estimator.certificate_
    assert ledger.spent == 1 and cost(ledger.nodes[0], "delta") == 0
    assert (found.epsilon, found.delta) == ("1", "0") and UNSPENT in found.accounting


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_every_kind_plans_within_epsilon_and_delta(name, adjacency):
    from discreet.kinds import find

    plan = find(name).make(epsilon=1.0, schema=SCHEMA, delta=1e-6, adjacency=adjacency)._plan(SCHEMA)
    ledger = Ledger(Budget(1, 1e-6), "basic")
    ledger.charge(plan.node, plan.budget)
    assert ledger.totals.epsilon == 1 and ledger.totals.delta <= DELTA
    assert plan.budget.delta in {0, DELTA}
    assert name == "selective" or described(plan)["delta"] in {0.0, 1e-6}


def test_bounds_are_bought_with_pure_epsilon():
    schema = Schema([Numeric("x", -1000, 1000, bounds="private", bins=4)], "t", [0, 1])
    found = settle_schema(schema, np.arange(50.0)[:, None], 1.0, delta=1e-6, random_state=0).certificate
    assert (found.epsilon, found.delta) == ("1", "0") and UNSPENT in found.accounting


def test_a_budget_without_its_delta_is_that_of_pure_epsilon():
    found = Budget(1, 1e-6).pure
    assert found == Budget(1) and found.pure.unspent == found.unspent == DELTA and hash(found) == hash(Budget(1))
    assert not Budget(1).pure.unspent
    assert evaluation_charges(found, 2, adjacency="add-remove") == evaluation_charges(
        Budget(1), 2, adjacency="add-remove"
    )
    with pytest.raises(BudgetError, match="budget of rho"):
        _ = Budget(rho=1).pure


@pytest.mark.parametrize("features", [2, 200])
def test_naive_bayes_takes_the_noise_that_errs_less(features):
    """Two tables err least by pure ε, two hundred by Gaussian noise in a residual basis."""
    schema = Schema([Categorical(str(j), [0, 1]) for j in range(features)], "t", [0, 1])
    both = [make_plan(schema, budget, together=True) for budget in (Budget(1), Budget(1, 1e-6))]
    others = [make_plan(schema, Budget(1, 1e-6), mechanism=name) for name in ("gaussian", "residual")]
    assert error_of(both[1]) == min(error_of(plan) for plan in (both[0], *others))
    assert (both[1].mechanism == "residual") == (features == 200)
    assert both[1].budget.delta == (DELTA if features == 200 else 0)


def test_a_search_shares_delta_as_it_shares_epsilon():
    candidates = [PrivateNB(schema=SCHEMA, mechanism="gaussian"), PrivateNB(schema=SCHEMA, mechanism="laplace")]
    search = PrivateGridSearch(candidates, epsilon=1.0, delta=1e-6, schema=SCHEMA, random_state=0)
    node = search.plan().node
    assert cost(node, "epsilon") == 1 and cost(node, "delta") == DELTA
    found = search.fit(X, Y).certificate_
    assert (found.epsilon, found.delta) == ("1", "1/1000000") and "epsilon and delta" in found.accounting
    drawn = PrivateGridSearch(candidates[1:], epsilon=1.0, delta=1e-6, method="random-stopping", random_state=0)
    assert UNSPENT in drawn.set_params(schema=SCHEMA).fit(X, Y).certificate_.accounting


def test_a_fit_of_a_search_that_spends_more_delta_than_its_part_is_refused():
    from discreet.tuning.candidates import require_certificate

    fitted = PrivateNB(1.0, 1e-6, SCHEMA, mechanism="gaussian", random_state=0).fit(X, Y)
    people = (SCHEMA, fitted.certificate_.adjacency)
    require_certificate(fitted, Fraction(1), *people, DELTA)
    for less in (DELTA / 2, Fraction(0)):
        with pytest.raises(BudgetError, match="did not keep"):
            require_certificate(fitted, Fraction(1), *people, less)


def test_the_automatic_choice_adds_up_to_epsilon_and_delta():
    """Naive Bayes on many columns spends the δ; the counts before it are pure."""
    schema = Schema([Categorical(str(j), [0, 1]) for j in range(200)], "t", [0, 1])
    data = np.random.default_rng(1).integers(0, 2, (120, 200))
    model = PrivateClassifier(1.0, schema, "naive-bayes", delta=1e-6, random_state=0)
    ledger = Ledger(Budget(1, 1e-6), "basic")
    found = model.fit(data, data[:, 0], ledger=ledger).certificate_
    assert ledger.totals.epsilon == 1 and ledger.totals.delta == cost(model.plan().node, "delta") == DELTA
    assert (found.epsilon, found.delta) == ("1", "1/1000000") and found.rho is not None
    assert model.choice_.model == "naive-bayes" and model.plan().to_dict()["delta"] == 1e-6


def test_a_comparison_is_made_at_that_delta():
    figures = compare_models(X, SCHEMA, Y, models=["naive-bayes"], epsilons=[1.0], repeats=1, delta=1e-6)
    assert {one.epsilon for one in figures} == {1.0, float("inf")}


def test_a_way_that_noisy_counts_decide_for_has_the_delta_of_all_of_them():
    """Few features take K-norm noise: the output spends no δ, and the procedure may."""
    settings = {"schema": SCHEMA, "delta": 1e-6, "random_state": 0}
    for estimator in (PrivateAdditiveClassifier(1.0, **settings), PrivateClassifier(1.0, **settings)):
        found = estimator.fit(X, Y).certificate_
        assert found.delta == "1/1000000" and WHICHEVER in found.assumptions
    assert PrivateNB(1.0, 1e-6, SCHEMA).fit(X, Y).certificate_.delta == "0"  # by what is public


def test_k_norm_noise_and_budgets_beyond_all_steps_leave_delta_whole():
    assert PrivateNB(1.0, 1e-6, SCHEMA, mechanism="knorm").fit(X, Y).certificate_.delta == "0"
    many = PrivateAdditiveClassifier(1600, SCHEMA, "replace", delta=1e-6, random_state=0).fit(X, Y)
    assert many.certificate_.epsilon == "1600"


def test_nodes_that_spend_delta_are_refused_before_their_rows_are_looked_at():
    class Rows:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise AssertionError("looked at")

    with pytest.raises(BudgetError):
        FederatedNB(1.0, delta=1e-6, schema="infer", n_nodes=2).fit(Rows(), Y, ledger=Ledger(Budget(1)))
