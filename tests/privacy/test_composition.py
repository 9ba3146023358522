"""Composition is fixed beforehand: what the rules admit, and an adversary who breaks the one that is not."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet import Adjacency, Budget, BudgetError, Categorical, Ledger, PrivatePredictor, Schema
from discreet.additive.newton import plan_newton
from discreet.privacy import Charge, Sequential, SmoothCharge
from discreet.privacy.calibrate import zcdp_delta, zcdp_epsilon, zcdp_rho
from discreet.privacy.composition import Composition, Totals, amounts, below

TAIL = Fraction(1, 10**6)


def pure(amount):
    return Charge("noise", "something", "L1", "1", Fraction(1), "epsilon", Fraction(amount))


def gauss(rho):
    return Charge("noise", "something", "L2", "1", Fraction(1), "rho", Fraction(rho))


def test_the_rule_follows_from_the_budget_unless_it_is_given():
    assert Composition.of(Budget(1)).rule == "basic"
    assert Composition.of(Budget(rho=1)).rule == "zcdp"
    assert Composition.of(Budget(1, TAIL)).rule == "either"
    assert Composition.of(Budget(1, TAIL), "zcdp").rule == "zcdp"
    for budget, rule in (
        (Budget(1), "zcdp"),
        (Budget(rho=1), "basic"),
        (Budget(1, TAIL), "min"),
        (Budget(1), "either"),
    ):
        with pytest.raises(BudgetError):
            Ledger(budget, composition=rule)


def reference(budget, rule, charges):
    """The rules as they are stated in docs/proofs/composition.md, written down a second time."""
    epsilons, deltas = [grant.epsilon for _, grant in charges], [grant.delta for _, grant in charges]
    shifted = any(isinstance(node, SmoothCharge) for node, _ in charges)
    rhos = [node.cost if node.measure == "rho" else node.cost**2 / 2 for node, _ in charges]

    def basic(tail):
        return None not in epsilons and sum(epsilons) <= budget.epsilon and sum(deltas) <= tail

    def concentrated(tail):
        return not shifted and sum(rhos) <= zcdp_rho(budget.epsilon, tail)

    def outside(tail):
        given = zip(rhos, charges, strict=True)
        there = [grant.epsilon**2 / 2 if isinstance(node, SmoothCharge) else rho for rho, (node, grant) in given]
        return sum(deltas) <= tail and sum(there) <= zcdp_rho(budget.epsilon, tail)

    whole, half = budget.delta, budget.delta / 2
    return {
        "basic": lambda: basic(whole), "zcdp": lambda: concentrated(whole),
        "either": lambda: basic(half) or concentrated(half) or outside(half),
    }[rule]()  # fmt: skip


CHARGES = (
    (pure("1/2"), Budget("1/2")),
    (pure("1/8"), Budget("1/8")),
    (gauss("1/125"), Budget("1/2", TAIL / 2)),
    (gauss("1/60"), Budget(1, TAIL)),
    (gauss("1/125"), Budget(rho="1/125")),
    (SmoothCharge("noise", "x", "epsilon", Fraction(1, 4), TAIL / 2), Budget("1/4", TAIL / 2)),
    (SmoothCharge("noise", "x", "epsilon", Fraction(1, 10), TAIL / 8), Budget("1/9", TAIL / 8)),
)


@pytest.mark.parametrize("rule", ["basic", "zcdp", "either"])
def test_what_is_admitted_is_what_the_proof_allows(rule):
    """All sequences of up to four charges of seven kinds: admitted and refused exactly as stated, charge by charge."""
    budget, seen = Budget(1, TAIL), set()
    for kinds in itertools.product(range(len(CHARGES)), repeat=4):
        ledger, held = Ledger(budget, composition=rule), []
        for kind in kinds:
            allowed = reference(budget, rule, [*held, CHARGES[kind]])
            try:
                ledger.charge(*CHARGES[kind])
                admitted = True
                held.append(CHARGES[kind])
            except BudgetError:
                admitted = False
            assert admitted == allowed, (kinds, held)
            seen.add(admitted)
        assert len(ledger.nodes) == len(held)
    assert seen == {True, False}


def test_neither_filter_borrows_the_delta_of_the_other():
    """What only the least of two readings at the whole delta would admit is refused."""
    budget = Budget(1, TAIL)
    one = gauss(zcdp_rho(Fraction(1), TAIL) * Fraction(999_999, 10**6))
    assert zcdp_epsilon(float(one.cost), float(TAIL)) <= 1  # the old rule admits it
    with pytest.raises(BudgetError, match="half of its delta"):
        Ledger(budget).charge(one, Budget(1, TAIL))
    Ledger(budget, composition="basic").charge(one, Budget(1, TAIL))
    Ledger(budget, composition="zcdp").charge(one, Budget(1, TAIL))


# ---- an adversary who adapts


class Gaussian:
    """The loss of a ρ-zCDP Gaussian release is normal: mean ρ and variance 2ρ on the one table, −ρ on the other."""

    grid = np.linspace(-14, 14, 40_001)

    @staticmethod
    def delta(rho, epsilon):
        """The exact δ(ε) of a Gaussian release."""
        mean, deviation = rho, math.sqrt(2 * rho)
        return norm.sf((epsilon - mean) / deviation) - math.exp(epsilon) * norm.sf((epsilon + mean) / deviation)


def excess(first, then, epsilon):
    """δ(ε) of a Gaussian release of `first`, followed by `then[branch](loss)`: the excess of the rest at ε − loss."""
    losses = first + math.sqrt(2 * first) * Gaussian.grid
    weights = norm.pdf(Gaussian.grid) * (Gaussian.grid[1] - Gaussian.grid[0])
    # Where the first loss is l, the rest exceeds ε − l by so much: E over P of the part of the mass above e^ε.
    return float(sum(weights * then(losses)))


def attack(admits, epsilon, tail):
    """The δ that an adversary reaches at ε, who chooses the second release by the loss of the first.

    `admits(charges)` is the rule. The first release is Gaussian, granted (ε₀, δ) as tightly as it can be. If its loss
    is high, a coin that is ε₁-randomised is asked for, which basic composition allows; else as much Gaussian noise as
    the other rule allows.
    """
    best = 0.0
    for start, share in itertools.product((0.5, 1.0), (Fraction(1), Fraction(1, 2))):
        low, high = 0.0, 20.0
        for _ in range(60):  # the largest ρ whose exact δ(start) is no more than its share of the tail
            middle = (low + high) / 2
            low, high = (middle, high) if Gaussian.delta(middle, start) <= tail * share else (low, middle)
        rho = Fraction(low).limit_denominator(10**9) * Fraction(999_999, 10**6)
        opening = (gauss(rho), Budget(Fraction(start), Fraction(str(tail)) * share))
        if not admits([opening]):
            continue
        coin = Fraction(epsilon) - Fraction(start)
        first = (pure(coin), Budget(coin))
        coin_allowed = admits([opening, first])
        lo, hi = Fraction(0), Fraction(20)
        for _ in range(24):
            middle = (lo + hi) / 2
            lo, hi = (middle, hi) if admits([opening, (gauss(middle), Budget(rho=middle))]) else (lo, middle)
        more = float(lo)

        def by_coin(losses, coin=float(coin)):
            """Mass above e^ε after randomised response: its loss is ±coin."""
            yes, no = math.exp(coin) / (1 + math.exp(coin)), 1 / (1 + math.exp(coin))
            gain = yes * np.maximum(0, 1 - np.exp(epsilon - losses - coin))
            return gain + no * np.maximum(0, 1 - np.exp(epsilon - losses + coin))

        def by_noise(losses, more=more):
            left, deviation = epsilon - losses, math.sqrt(2 * more) if more else 1.0
            if not more:
                return np.maximum(0, 1 - np.exp(left))
            return norm.sf((left - more) / deviation) - np.exp(left) * norm.sf((left + more) / deviation)

        def adapt(losses, allowed=coin_allowed, coin=by_coin, noise=by_noise):
            stop = np.maximum(0, 1 - np.exp(epsilon - losses))
            options = [stop, noise(losses)] + ([coin(losses)] if allowed else [])
            return np.max(options, axis=0)  # the best answer to what was seen

        best = max(best, excess(float(rho), adapt, epsilon))
    return best


def least_of_two(budget, charges):
    """The rule as it was: either reading, with the whole delta each."""
    epsilons = [grant.epsilon for _, grant in charges]
    rho = sum(node.cost if node.measure == "rho" else node.cost**2 / 2 for node, _ in charges)
    fits = None not in epsilons and sum(grant.delta for _, grant in charges) <= budget.delta
    joint = zcdp_delta(float(rho), float(budget.epsilon)) <= float(budget.delta)  # as zcdp_epsilon(ρ, δ) ≤ ε
    return (fits and sum(epsilons) <= budget.epsilon) or joint


@pytest.mark.parametrize("tail", [0.05, 0.01])
def test_an_adversary_who_adapts_breaks_the_least_of_two_and_not_the_filters(tail):
    """The old rule is exceeded by more than a tenth; each of the three rules holds its delta."""
    budget = Budget(4, str(tail))
    assert attack(lambda charges: least_of_two(budget, charges), 4.0, tail) > 1.1 * tail
    for rule in ("either", "basic", "zcdp"):
        composition = Composition.of(budget, rule)

        assert 0 < attack(lambda charges, rule=composition: told(charges, rule), 4.0, tail) <= tail, rule


def told(charges, composition):
    """Whether each of some charges is admitted."""
    totals = Totals()
    for node, grant in charges:
        totals = totals.plus(amounts(node, grant))
        if not composition.admits(totals):
            return False
    return True


@pytest.mark.parametrize("tail", [Fraction(1, 20), Fraction(1, 100)])
@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_a_delta_that_is_spent_leaves_what_is_left_of_the_rho_and_no_more(tail, share):
    """The worst release of (ε₀, δ₀): with chance δ₀ it tells all, else it is randomised response. The adversary then
    takes, by what it said, all the Gaussian noise that is admitted: δ(ε) by integration of exact laws.
    """
    epsilon, start = 4.0, Fraction(1, 2)
    composition = Composition.of(Budget(4, tail))
    opening = (SmoothCharge("n", "x", "epsilon", start, tail * share), Budget(start, tail * share))
    if share > Fraction(1, 2):  # more than the half that such releases have
        assert not told([opening], composition)
        return
    low, high = Fraction(0), Fraction(20)
    for _ in range(30):
        middle = (low + high) / 2
        fits = told([opening, (gauss(middle), Budget(rho=middle))], composition)
        low, high = (middle, high) if fits else (low, middle)
    assert 0 < float(low) == pytest.approx(float(composition.limit_rho - start**2 / 2), rel=1e-6)
    rest = 0.0
    for loss in (start, -start):
        chance = 1 / (1 + math.exp(-loss))
        stop, more = max(0.0, 1 - math.exp(epsilon - loss)), Gaussian.delta(float(low), epsilon - float(loss))
        rest += chance * max(stop, more)
    reached = float(tail * share) + (1 - float(tail * share)) * rest
    assert float(tail * share) < reached <= tail


def test_an_automatic_fit_with_a_delta_leaves_its_account_a_rho():
    """Fits of (1/20, δ₀), then Gaussian noise, for which Σε has no room: all that Σρ leaves, and no more."""
    ledger = Ledger(Budget(1, TAIL))
    node, grant = SmoothCharge("n", "x", "epsilon", Fraction(1, 20), TAIL / 100), Budget("1/20", TAIL / 100)
    for _ in range(13):
        ledger.charge(node, grant)
    assert ledger.totals.rho is None and ledger.totals.outside == Fraction(13, 800)
    assert ledger.spent == Fraction(13, 20)  # the lesser reading
    ledger.charge(gauss(ledger.room.rho), Budget(rho=ledger.room.rho))
    assert ledger.totals.epsilon is None and ledger.totals.outside == ledger.composition.limit_rho
    assert ledger.room.rho is None
    with pytest.raises(BudgetError, match="left"):
        ledger.charge(node, grant)
    with pytest.raises(BudgetError):  # which has no half for such releases
        Ledger(Budget(1, TAIL), composition="zcdp").charge(node, grant)


# ---- what is told


def test_what_would_still_fit_does_fit_and_hardly_more_does():
    for rule in ("basic", "zcdp", "either"):
        ledger = Ledger(Budget(2, TAIL), composition=rule)
        ledger.charge(pure("1/10"), Budget("1/10"))
        room = ledger.room
        for node, grant, more in (
            (pure(room.epsilon), Budget(room.epsilon), lambda x: (pure(x), Budget(x))),
            (gauss(room.rho or 1), Budget(rho=room.rho or 1), lambda x: (gauss(x), Budget(rho=x))),
        ):
            if grant.rho is not None and room.rho is None:
                continue
            ledger.afford(grant, node)
            with pytest.raises(BudgetError):
                ledger.afford(*reversed(more((grant.rho or grant.epsilon) * Fraction(1_000_001, 1_000_000))))
        if room.approximate is not None:
            ledger.afford(room.approximate, SmoothCharge("n", "x", "epsilon", Fraction(1, 9), room.approximate.delta))
    used = Ledger(Budget(1))
    used.charge(pure(1), Budget(1))
    assert str(used.room) == "nothing"
    with pytest.raises(BudgetError, match=r"has 0 of epsilon = 1 left.*would still fit is nothing"):
        used.charge(pure("1/9"), Budget("1/9"))


def test_a_charge_cannot_say_less_than_it_costs():
    for node, grant in (
        (pure(2), Budget(1)),
        (gauss("1/10"), Budget(1)),
        (gauss("1/10"), Budget(rho="1/11")),
        (pure(1), Budget(rho="1/3")),
        (SmoothCharge("n", "x", "epsilon", Fraction(1), Fraction(1, 10)), Budget(1, "1/11")),
        (gauss(100), Budget(1, TAIL)),
        (gauss(zcdp_rho(Fraction(1), TAIL) * Fraction(17, 10)), Budget(1, TAIL)),
        (Sequential("s", (gauss("1/50"), gauss("1/50"))), Budget(1, TAIL)),
        (gauss(1), Budget(1, "1/10")),
    ):
        for budget in (Budget(50), Budget(50, "1/2"), Budget(rho=50)):
            with pytest.raises(BudgetError):
                Ledger(budget).charge(node, grant)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 0.001, 0.01, 0.1, 1, 10, 100])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-5, 1.1e-5, 1e-3, 0.05, 0.5])
def test_normal_noise_is_never_refused_a_grant_that_it_keeps(epsilon, delta):
    """The most noise that a grant may pay for is not below what exact calibration of one normal law would ask."""

    def lost(mu):
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))

    low, high = 1e-9, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) <= delta else (low, middle)
    amounts(gauss(Fraction(low**2 / 2)), Budget(epsilon, delta))
    with pytest.raises(BudgetError, match="cost more than"):
        amounts(gauss(Fraction(low**2 / 2 * 2.5)), Budget(epsilon, delta))


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-4", "1e-5"), ("1e-4", "1e-2"), ("1e-3", "1e-6"), (1, "0.5")])
def test_weights_of_shapes_are_granted_what_they_plan_where_epsilon_is_far_below_delta(epsilon, delta):
    grant = Budget(epsilon, delta)
    schema = Schema([Categorical(f"f{j}", [0, 1, 2]) for j in range(30)], "y", [0, 1])
    for adjacency in Adjacency:
        plan = plan_newton(schema, grant, adjacency=adjacency, contributions=1, unexpected="refuse")
        assert amounts(plan.node, grant).rho > zcdp_rho(grant.epsilon, grant.delta)


def test_releases_that_are_worth_more_rho_than_their_grant_are_refused_by_a_sentence_that_says_so():
    """Answers by their worst losses cost more ρ than (ε, δ) converts to: a budget of ρ cannot pay for them."""
    schema = Schema([Categorical("a", [0, 1])], "y", [0, 1])
    node = PrivatePredictor(1, "1e-6", schema=schema, queries=20).plan().node
    whole, limit = Budget(1, "1e-6"), zcdp_rho(Fraction(1), TAIL)
    assert limit < amounts(node, whole).rho < Fraction(3, 2) * limit
    Ledger(whole, "basic").charge(node, whole)
    for ledger in (Ledger(whole, "zcdp"), Ledger(Budget(rho=limit))):
        with pytest.raises(BudgetError, match=r"more than the .* that a conversion gives for that") as refused:
            ledger.charge(node, whole)
        assert ("composes by 'basic'" in str(refused.value)) == (ledger.budget.epsilon is not None)
    with pytest.raises(BudgetError) as plain:
        Ledger(Budget(rho=limit / 2)).charge(gauss(limit), whole)
    assert "conversion" not in str(plain.value)
    less = Budget("0.8", "1e-6")
    fitting = PrivatePredictor("0.8", "1e-6", schema=schema, queries=20).plan().node
    Ledger(whole, "zcdp").charge(fitting, less)


def test_equal_charges_are_charged_twice():
    ledger = Ledger(Budget(1))
    ledger.charge(Sequential("two", (pure("1/4"), pure("1/4"))), Budget("1/2"))
    ledger.charge(pure("1/4"), Budget("1/4"))
    ledger.charge(pure("1/4"), Budget("1/4"))
    assert ledger.remaining == 0 and len(ledger.nodes) == 3


@pytest.mark.parametrize("value", ["1/3", "2/3", "1/1000003", "123456789/1000", "0.0229374", "9.9999999"])
def test_short_numbers_are_never_above(value):
    exact = Fraction(value)
    assert exact * Fraction(99999, 100000) <= Fraction(below(exact)) <= exact
