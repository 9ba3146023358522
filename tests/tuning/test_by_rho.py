"""Searches whose fits are paid for in ρ: where that is promised to err less, and what they spend."""

from fractions import Fraction

import numpy as np
import pytest

from discreet import Budget, BudgetError, Categorical, Ledger, PrivateGridSearch, PrivateNB, PrivateTAN, Schema
from discreet.mechanisms.deal import FINE
from discreet.privacy.budget import Adjacency
from discreet.privacy.calibrate import zcdp_rho
from discreet.privacy.ledger import concentrated, cost
from discreet.privacy.repeated import repeated_rho
from discreet.tuning.candidates import require_certificate
from discreet.tuning.grants import Terms
from tests.recorder import replayed, with_rows

WIDE = Schema([Categorical(f"f{j}", [0, 1]) for j in range(80)], "y", ["n", "p"])
NARROW = Schema([Categorical(f"f{j}", [0, 1]) for j in range(5)], "y", ["n", "p"])
GRID = {"smoothing": [0.5, 1.0, 2.0]}
EPSILON, DELTA = Fraction(2), Fraction(1, 10**6)
WHOLE = zcdp_rho(EPSILON, DELTA)
RUN = repeated_rho(EPSILON, DELTA, Fraction(0), Fraction(1, 30))
HELD, TRAINED = 0, FINE - 1  # what a row draws that is for validation, and one that is for training
METHODS = ["holdout", "random-stopping"]


def search(method, schema=WIDE, estimator=None, **settings):
    made = PrivateNB(schema=schema) if estimator is None else estimator
    return PrivateGridSearch(made, GRID if estimator is None else None, epsilon=2.0, method=method, **settings)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (60, 80))
    return X, np.where(X[:, 0] ^ (rng.random(60) < 0.1), "p", "n")


def neighbour(rows, adjacency):
    if adjacency == "add-remove":
        return with_rows(rows, [np.tile([1, 0], 40)], ["p"]), (0,)
    X, y = rows[0].copy(), rows[1].copy()
    X[0], y[0] = 1 - X[0], "n" if y[0] == "p" else "p"
    return (X, y), ()


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("method", METHODS)
def test_a_wide_search_is_paid_in_rho_and_adds_up_exactly(method, adjacency):
    plan = search(method, delta=1e-6, adjacency=adjacency).plan()
    assert plan.budget == Budget(2, 1e-6) and len(plan.fits) == 3
    if method == "holdout":
        assert plan.rho == WHOLE
        assert WHOLE * (1 - Fraction(1, 10**7)) < cost(plan.node, "rho") == concentrated(plan.node) <= WHOLE
        assert [grant.rho for grant in plan.fits] == [WHOLE / 6] * 3 and plan.refits[0].rho == WHOLE / 2
        assert plan.choice**2 / 8 <= WHOLE / 2
    else:
        assert plan.rho == RUN == plan.fits[0].rho
        assert (cost(plan.node, "epsilon"), cost(plan.node, "delta")) == (EPSILON, DELTA)
        assert dict(plan.node.parameters)["rho of a run"] == str(RUN)
    Ledger(Budget(2, 1e-6), "basic").charge(plan.node, plan.budget)


@pytest.mark.parametrize("method", METHODS)
def test_no_candidate_is_promised_larger_errors(method):
    """Each grant spends nearly its ρ and no more; where pure ε promises less, it stays."""
    with_delta, pure = search(method, delta=1e-6).plan(), search(method).plan()
    terms, nb = Terms(WIDE, Adjacency.ADD_REMOVE, "refuse"), PrivateNB(schema=WIDE)
    for grants, others in ((with_delta.fits, pure.fits), (with_delta.refits, pure.refits)):
        for one, other in zip(grants, others, strict=True):
            assert terms.ratio(nb, one, other) < 0.9
            assert 0.97 * one.rho < concentrated(terms.plan(nb, one).node) <= one.rho
    assert search(method, NARROW, delta=1e-6).plan().rho is None
    kinds = [PrivateNB(schema=WIDE), PrivateTAN(schema=WIDE)]
    mixed = PrivateGridSearch(kinds, epsilon=2.0, method=method, delta=1e-6).plan()
    ratios = [terms.ratio(one, *pair) for one, *pair in zip(kinds, mixed.fits, pure.fits, strict=False)]
    assert method == "holdout" or mixed.rho is None or max(ratios) <= 1


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("fresh", [HELD, TRAINED])
def test_a_hold_out_spends_its_rho_whichever_way_a_row_is_dealt(monkeypatch, rows, fresh, adjacency):
    other, inserted = neighbour(rows, adjacency)

    def call(data):
        ledger = Ledger(Budget(2, DELTA), "zcdp")
        made = search("holdout", delta=1e-6, refit=0.25, adjacency=adjacency).fit(*data, ledger=ledger)
        assert ledger.totals.rho <= WHOLE
        found = made.certificate_
        assert (found.epsilon, found.delta, found.rho) == ("2", "1/1000000", str(WHOLE))
        return made.best_index_, made.model_.to_dict()

    seen = set()
    for seed in range(4):  # a changed row is trained on in some of these deals and scored on in others
        tape = replayed(monkeypatch, call, rows, other, inserted=inserted, fresh=fresh, seed=seed)
        (choice,) = tape.of("exponential")
        spot = tape.events.index(choice)
        fits, final = (sum(event.loss for event in part) for part in (tape.events[:spot], tape.events[spot + 1 :]))
        held = choice.given != choice.other
        trained = fits > 0
        seen |= {held, trained}
        width = choice.public[0] * (1 if inserted else 2)  # of the range of losses
        assert not (held and trained) and width**2 / 8 <= WHOLE * 3 / 4
        assert all(abs(a - b) <= 1 for a, b in zip(choice.given, choice.other, strict=True))
        assert fits <= WHOLE * 3 / 4 * (1 + 1e-9) and final <= WHOLE / 4 * (1 + 1e-9)
        assert final > 0.9 * WHOLE / 4 and (not trained or fits > 0.9 * WHOLE * 3 / 4)
    assert True in seen


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("fresh", [HELD, TRAINED])
def test_a_run_spends_its_rho_whichever_way_a_row_is_dealt(monkeypatch, rows, fresh, adjacency):
    other, inserted = neighbour(rows, adjacency)

    def call(data):
        ledger = Ledger(Budget(2, DELTA), "basic")
        made = search("random-stopping", delta=1e-6, adjacency=adjacency).fit(*data, ledger=ledger)
        assert (ledger.totals.epsilon, ledger.totals.delta) == (EPSILON, DELTA)
        found = made.certificate_
        assert (found.epsilon, found.delta, found.rho) == ("2", "1/1000000", None)
        return made.best_index_, made.model_.to_dict()

    for seed in range(4):
        tape = replayed(monkeypatch, call, rows, other, inserted=inserted, fresh=fresh, runs=1, seed=seed)
        score = tape.of("gaussian")[-1]
        assert score.public == (1 / (2 * RUN), (1,))
        assert tape.loss() <= RUN * (1 + 1e-9)
        assert (score.loss > 0) + (tape.loss() - score.loss > 0) <= 1  # trained on or scored on
        assert score.loss == 0 or tape.loss() == pytest.approx(float(RUN))


def test_a_fit_that_spends_more_rho_than_its_part_is_refused(rows):
    fitted = PrivateNB(2.0, 1e-6, WIDE, mechanism="gaussian", random_state=0).fit(*rows)
    terms = (Fraction(2), WIDE, fitted.certificate_.adjacency, DELTA)
    own = Fraction(fitted.certificate_.rho)
    require_certificate(fitted, *terms, own)
    with pytest.raises(BudgetError, match="did not keep"):
        require_certificate(fitted, *terms, own * Fraction(4, 5))
    pure = PrivateNB(2.0, 0, WIDE, random_state=0).fit(*rows)
    require_certificate(pure, *terms, Fraction(2))
    with pytest.raises(BudgetError, match="did not keep"):
        require_certificate(pure, *terms, Fraction(19, 10))


@pytest.mark.parametrize("method", METHODS)
def test_a_search_by_rho_works_on_rows(rows, method):
    X = np.random.default_rng(3).integers(0, 2, (4000, 80))
    y = np.where(X[:, :9].sum(axis=1) > 4, "p", "n")
    made = search(method, delta=1e-6, random_state=0).fit(X, y)
    assert made.score(X, y) > 0.9 and "rho of zCDP" in made.certificate_.accounting


@pytest.mark.parametrize(
    ("features", "epsilon", "fits", "last", "stopped"),
    [(36, 1, 0.29, 0.88, 0.89), (60, 1, 0.18, 0.54, 0.55), (100, 1, 0.11, 0.32, 0.33), (100, 4, 0.14, 0.41, 0.38)],
)
def test_how_much_less_candidates_err_than_at_pure_epsilon(features, epsilon, fits, last, stopped):
    """The table of docs/tuning.md, from plans."""
    schema = Schema([Categorical(f"f{j}", [0, 1]) for j in range(features)], "y", ["n", "p"])
    nb, terms = PrivateNB(schema=schema), Terms(schema, Adjacency.ADD_REMOVE, "refuse")
    found = []
    for method in METHODS:
        both, pure = (
            PrivateGridSearch(nb, GRID, epsilon=epsilon, delta=delta, method=method).plan() for delta in (1e-6, 0)
        )
        found.append(
            [
                terms.ratio(nb, a[0], b[0])
                for a, b in zip((both.fits, both.refits), (pure.fits, pure.refits), strict=True)
                if a
            ]
        )
    assert [*found[0], *found[1]] == pytest.approx([fits, last, stopped], abs=0.006)
