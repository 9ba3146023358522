"""The ledger adds up exactly, refuses overspending, and cannot be copied away."""

import copy
import math
import pickle
from fractions import Fraction

import pytest

from discreet import Budget, BudgetError, Categorical, Ledger, Schema
from discreet.privacy import Adjacency, Charge, Parallel, Response, Sequential
from discreet.privacy.certificate import Certificate, record
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import SmoothCharge, concentrated, cost
from discreet.privacy.plan import Paid


def charge(amount, measure="epsilon"):
    return Charge("noise", "something", "L1", "1", Fraction(1) / amount, measure, Fraction(amount))


def test_sequential_adds_and_parallel_takes_the_dearest():
    node = Sequential(
        "all",
        (charge(Fraction(1, 3)), Parallel("parts", "disjoint", (charge(Fraction(1, 6)), charge(Fraction(1, 7))))),
    )
    assert cost(node, "epsilon") == Fraction(1, 2)
    assert cost(node, "rho") == 0
    assert concentrated(node) == Fraction(1, 18) + Fraction(1, 72)


def test_tenths_add_up_to_one_and_not_a_tenth_more():
    ledger = Ledger(Budget(1))
    for _ in range(10):
        ledger.charge(charge(Fraction(1, 10)), Budget(0.1))
    assert ledger.spent == 1 and ledger.remaining == 0
    with pytest.raises(BudgetError, match="left"):
        ledger.charge(charge(Fraction(1, 10**12)), Budget("1e-12"))
    assert ledger.spent == 1


def test_zcdp_ledger_reads_pure_charges_as_half_their_square():
    ledger = Ledger(Budget(rho=1))
    ledger.charge(charge(1), Budget(1))
    ledger.charge(charge(Fraction(1, 2), "rho"), Budget(rho=0.5))
    assert ledger.spent == 1
    with pytest.raises(BudgetError):
        ledger.charge(charge(Fraction(1, 100), "rho"), Budget(rho=0.01))


def test_approximate_ledger_uses_the_tighter_composition():
    ledger = Ledger(Budget(1, 1e-6))
    for _ in range(150):  # 150 · 0.01 = 1.5 by adding up, about half as one zCDP composition
        ledger.charge(charge(Fraction(1, 100)), Budget(0.01))
    assert Fraction(1, 2) < ledger.spent < Fraction(3, 4)
    with pytest.raises(BudgetError):
        for _ in range(400):
            ledger.charge(charge(Fraction(1, 100)), Budget(0.01))
    assert ledger.spent <= 1


def test_a_rho_is_not_free_on_a_ledger_of_epsilon_and_delta():
    ledger = Ledger(Budget(1, 1e-5))
    with pytest.raises(BudgetError, match="left"):
        ledger.charge(charge(5, "rho"), Budget(rho=5))
    ledger.charge(charge(Fraction(1, 1000), "rho"), Budget(rho="0.001"))
    assert Fraction(1, 10) < ledger.spent < 1


def test_kinds_that_do_not_fit():
    with pytest.raises(BudgetError, match="pure epsilon"):
        Ledger(Budget(1)).charge(charge(Fraction(1, 100), "rho"), Budget(1, 1e-6))
    with pytest.raises(BudgetError, match="without privacy"):
        Ledger(Budget(1)).charge(Sequential("none", ()), Budget(math.inf))
    Ledger(Budget(math.inf)).charge(charge(100), Budget(100))


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_cannot_be_copied(copying):
    with pytest.raises(BudgetError, match="copied"):
        copying(Ledger(Budget(1)))


def test_records_keep_exact_numbers_and_the_json_schema_names_them():
    node = Parallel("batches", "disjoint", (Sequential("one", (charge(Fraction(1, 7)),)),))
    saved = record(node)
    assert saved.node == "parallel" and saved.parts[0].parts[0].cost == "1/7"
    schema = Certificate.model_json_schema()
    assert {"epsilon", "delta", "ledger", "adjacency", "simulation"} <= set(schema["properties"])


def test_reports_of_different_people_cost_what_the_dearest_pays():
    cheap, dear = Response("grr", "a", Fraction(1, 2)), Response("oue", "b", Fraction(2), (("d", "6"),))
    node = Parallel("reports", "one report per person", (cheap, dear))
    assert cost(node, "epsilon") == 2
    assert cost(node, "rho") == cost(node, "delta") == 0
    assert concentrated(node) == 2  # 2²/2
    assert cost(Sequential("both", (cheap, dear)), "epsilon") == Fraction(5, 2)
    ledger = Ledger(Budget(2))
    ledger.charge(node, Budget(2))
    assert ledger.remaining == 0


SCHEMA = Schema([Categorical("a", ["x", "y"])], "y", [0, 1])


def certificate(node, rho):
    plan = Paid(SCHEMA, Budget(2, "1e-6"), Adjacency.ADD_REMOVE, 1, node)
    rho = None if rho is None else Fraction(rho)
    return certify(plan, sampler="s", simulation=False, rho=rho)


def test_a_certificates_rho_pays_for_pure_charges_too():
    """ε-DP is ε²/2-zCDP: a tenth of ρ and ε = 1/2 are 9/40 together, and the dearer of the two in parallel."""
    parts = (charge(Fraction(1, 10), "rho"), charge(Fraction(1, 2)))
    for node, whole in ((Sequential("both", parts), "9/40"), (Parallel("either", "disjoint", parts), "1/8")):
        assert certificate(node, whole).rho == whole
        with pytest.raises(ValueError, match="more rho"):
            certificate(node, str(Fraction(whole) - Fraction(1, 10**9)))
    assert certificate(parts[1], None).rho is None
    with pytest.raises(ValueError, match="more rho"):
        certificate(parts[1], "1/10")
    with pytest.raises(ValueError, match="has no rho"):
        certificate(SmoothCharge("noise", "a", "epsilon", Fraction(1), Fraction(1, 10**7)), "10")
