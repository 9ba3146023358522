"""The node's ledger on disk: charged before noise, the same bytes again, through a crash at every step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Account, Categorical, Schema
from discreet.errors import BudgetError
from discreet.nodes.journal import Journal, OverspentError, fits
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.site import SiteTerms
from discreet.privacy.budget import Budget
from discreet.privacy.nodes import Sequential

SCHEMA = Schema([Categorical("c", ["p", "q"])], "y", [0, 1])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


def never():
    raise AssertionError("the noise must not be drawn")


def test_round_asked_for_twice_gets_the_same_bytes_and_one_charge(path):
    with Journal(path, total=Budget(1)) as journal:
        first = journal.answer("r1", "q", Budget(0.6), lambda: os.urandom(32))
        assert journal.answer("r1", "q", Budget(0.6), never) == first
    with Journal(path, total=Budget(1)) as journal:
        assert journal.answer("r1", "q", Budget(0.6), never) == first
        assert [entry.cost for entry in journal.entries()] == [Budget(0.6)]
        assert journal.kept("r1") == first
        assert journal.kept("r2") is None


def test_overspending_is_refused_before_the_noise_is_drawn(path):
    with Journal(path, total=Budget(1)) as journal:
        journal.answer("r1", "q", Budget(0.7), lambda: b"x")
        with pytest.raises(BudgetError, match="does not pay"):
            journal.answer("r2", "q", Budget(0.4), never)
        assert len(journal.entries()) == 1
        journal.answer("r3", "q", Budget("0.3"), lambda: b"y")  # 0.7 + 0.3 is exactly 1


def test_one_round_has_one_question(path):
    with Journal(path, total=Budget(2)) as journal:
        journal.answer("r1", "q", Budget(1), lambda: b"x")
        with pytest.raises(BudgetError, match="another question"):
            journal.answer("r1", "p", Budget(1), never)


def test_charge_stays_if_the_answer_fails_and_is_not_paid_again(path):
    with Journal(path, total=Budget(1)) as journal:
        with pytest.raises(OSError, match="disk"):
            journal.answer("r1", "q", Budget(1), lambda: (_ for _ in ()).throw(OSError("disk")))
        assert [entry.answer for entry in journal.entries()] == [None]
        with pytest.raises(BudgetError):
            journal.answer("r2", "q", Budget(1), never)
        assert journal.answer("r1", "q", Budget(1), lambda: b"late") == b"late"
        assert len(journal.entries()) == 1


def test_charge_is_on_disk_when_the_noise_is_drawn(path):
    """A copy of the file, taken while `make` runs, holds the charge."""
    seen = []

    def make():
        copy = path.with_name("copy.sqlite")
        copy.write_bytes(path.read_bytes())
        with Journal(copy, total=Budget(1)) as twin:
            seen.extend(entry.round_id for entry in twin.entries())
        return b"x"

    with Journal(path, total=Budget(1)) as journal:
        journal.answer("r1", "q", Budget(1), make)
    assert seen == ["r1"]


def test_two_processes_are_locked_out(path):
    with Journal(path, total=Budget(1)):
        code = (
            "import sys; from discreet.nodes.journal import Journal; from discreet.privacy.budget import Budget\n"
            "Journal(sys.argv[1], total=Budget(1))"
        )
        other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=300)
        assert other.returncode and "another process has the ledger" in other.stderr
        with pytest.raises(BudgetError, match="another process"):
            Journal(path, total=Budget(1))
        with pytest.raises(BudgetError, match="another process"):
            Journal.open(path)
    Journal(path, total=Budget(1)).close()


def test_total_and_unit_are_kept(path):
    Journal(path, total=Budget(1), unit="one row").close()
    with pytest.raises(BudgetError, match="not epsilon = 5"):
        Journal(path, total=Budget(5), unit="one row")
    with pytest.raises(BudgetError, match="counts costs for"):
        Journal(path, total=Budget(1), unit="two rows")
    with Journal.open(path) as journal:
        journal.answer("r1", "q", Budget(1), lambda: b"x")
        with pytest.raises(BudgetError, match="spent already"):
            journal.set_total(Budget(0.5))
        journal.set_total(Budget(3))
    with Journal.open(path) as journal:
        assert (journal.total, journal.unit) == (Budget(3), "one row")


def test_foreign_files_are_left_alone(tmp_path):
    foreign = tmp_path / "notes.txt"
    foreign.write_text("these are my notes, and they are longer than the header of a database" * 20)
    before = foreign.read_bytes()
    with pytest.raises(BudgetError, match="no budget ledger"):
        Journal(foreign, total=Budget(1))
    with pytest.raises(BudgetError, match="no budget ledger"):
        Journal.open(foreign)
    assert foreign.read_bytes() == before
    with pytest.raises(BudgetError, match="no directory"):
        Journal(tmp_path / "nowhere" / "ledger", total=Budget(1))
    with pytest.raises(BudgetError, match="there is no ledger"):
        Journal.open(tmp_path / "nothing")


def test_only_the_owner_can_read_it(path):
    Journal(path, total=Budget(1)).close()
    assert path.stat().st_mode & 0o777 == 0o600


# A process of its own forks a child for each try: the child lives through a round and is killed on the way.
# Each SQL statement and each step around it is a place to die: "steps" dies just before the n-th one, "times" after
# some tenths of a millisecond, wherever the child then is.
DYING = textwrap.dedent(
    """
    import os, sqlite3, sys, time
    from discreet.nodes import journal as module
    from discreet.privacy.budget import Budget

    def life(path, log, stop):
        left = [stop]

        def step(_):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), 9)

        def connect(*a, **k):
            db = real(*a, **k)
            db.set_trace_callback(step)
            return db

        def make():
            step(None)
            drawn = os.urandom(16)
            step(None)
            return drawn

        module.sqlite3.connect = connect
        journal = module.Journal(path, total=Budget(1))
        sent = journal.answer("r1", "q", Budget(1), make)
        with open(log, "ab", buffering=0) as out:
            out.write(sent)  # the bytes have left the house
        step(None)
        journal.close()

    real, place, mode = sqlite3.connect, sys.argv[1], sys.argv[2]
    for n in range(60):
        name = str(n) if mode == "steps" else "one"
        child = os.fork()
        if not child:
            life(f"{place}/ledger-{name}", f"{place}/log-{name}", n if mode == "steps" else 10**9)
            os._exit(0)
        if mode == "times":
            time.sleep(n * 2e-4)
            os.kill(child, 9)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(status)
        if mode == "steps" and status == 0:
            break
    """
)


def lives(place, mode):
    command = [sys.executable, "-c", DYING, str(place), mode]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return [int(line) for line in done.stdout.split()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_crash_at_every_step_never_pays_twice_nor_lets_two_answers_out(tmp_path):
    statuses = lives(tmp_path, "steps")
    assert statuses[-1] == 0 and set(statuses[:-1]) == {-signal.SIGKILL}
    assert len(statuses) > 12  # opening, charging, drawing, keeping and sending were all cut short
    drawn_unkept = 0
    for n in range(len(statuses)):
        log = tmp_path / f"log-{n}"
        left_first = log.read_bytes() if log.exists() else b""
        with Journal(tmp_path / f"ledger-{n}", total=Budget(1)) as journal:
            if left_first:
                assert len(journal.entries()) == 1 and journal.kept("r1") == left_first
            drawn_unkept += bool(journal.entries()) and journal.kept("r1") is None
            sent = journal.answer("r1", "q", Budget(1), lambda: os.urandom(16))
            if left_first:
                assert sent == left_first
            assert len(journal.entries()) == 1
            with pytest.raises(BudgetError):
                journal.answer("r2", "q", Budget("1/1000"), never)
    assert drawn_unkept > 1  # some died between the charge and the kept answer


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_killed_at_any_moment(tmp_path):
    """The kill comes from outside at arbitrary times; whatever was sent is what is kept."""
    assert -signal.SIGKILL in lives(tmp_path, "times")
    with Journal(tmp_path / "ledger-one", total=Budget(1)) as journal:
        answer = journal.answer("r1", "q", Budget(1), lambda: b"fresh")
        log = tmp_path / "log-one"
        raw = log.read_bytes() if log.exists() else b""
        assert {raw[i : i + 16] for i in range(0, len(raw), 16)} <= {answer}
        assert len(journal.entries()) == 1


budgets = st.one_of(
    st.builds(lambda e: Budget(Fraction(e, 10)), st.integers(1, 20)),
    st.builds(lambda e, d: Budget(Fraction(e, 10), delta=Fraction(d, 10**6)), st.integers(1, 20), st.integers(1, 9)),
    st.builds(lambda r: Budget(rho=Fraction(r, 10)), st.integers(1, 20)),
)


@given(budgets, st.lists(budgets, max_size=6))
@settings(max_examples=200, deadline=None)
def test_what_fits_is_sound_and_order_does_not_matter(total, costs):
    verdict = fits(total, costs)
    assert verdict == fits(total, costs[::-1])
    if verdict:
        assert all(fits(total, costs[:i]) for i in range(len(costs)))
        if total.rho is None:
            assert all(cost.rho is None for cost in costs)
            assert sum((c.epsilon for c in costs), Fraction(0)) <= total.epsilon
            assert sum((c.delta for c in costs), Fraction(0)) <= total.delta
        else:
            assert all(not cost.delta for cost in costs)


def test_what_fits_in_numbers():
    assert fits(Budget(rho="0.5"), [Budget(1)])
    assert not fits(Budget(rho="0.5"), [Budget(1), Budget("1/1000")])
    assert not fits(Budget(10), [Budget(float("inf"))])
    assert fits(Budget(float("inf")), [Budget(float("inf")), Budget(3)])
    assert not fits(Budget(10), [Budget(1, delta=1e-6)])
    assert not fits(Budget(10), [Budget(rho=1)])


def test_the_account_of_the_rows_pays_first_and_once_for_each_round(path, tmp_path):
    account = Account.create(tmp_path / "rows.account", Budget(1))
    node = Sequential("a round", ())

    def pay():
        account.charge(node, Budget("0.4"))

    def seen():
        assert account.spent == Fraction(len(journal.entries()) * 4, 10)  # both have paid before noise is drawn
        return b"x"

    with Journal(path, total=Budget(9)) as journal:
        for name in ("r1", "r1", "r2", "r2"):
            assert journal.answer(name, "q", Budget("0.4"), seen, pay) == b"x"
        assert account.spent == Fraction(8, 10)
        with pytest.raises(OverspentError, match="account has"):
            journal.answer("r3", "q", Budget("0.4"), never, pay)
        assert len(journal.entries()) == 2 and not journal.paid("r3")
    with Journal(tmp_path / "small", total=Budget("0.1")) as journal:
        with pytest.raises(OverspentError, match="ledger"):
            journal.answer("r1", "q", Budget("0.2"), never, lambda: account.charge(node, Budget("0.2")))
        assert account.spent == Fraction(8, 10)  # what the ledger refuses is not charged to the account


@pytest.mark.parametrize("cost", [Budget("0.4"), Budget("0.4", delta="1/1000000"), Budget(rho="0.1")], ids=str)
def test_an_account_that_is_named_later_pays_for_what_has_left_already(path, tmp_path, cost):
    whole = Budget(rho=1) if cost.rho is not None else Budget(1, delta="1/100000" if cost.delta else 0)
    account = Account.create(tmp_path / "rows.account", whole, composition="basic" if cost.delta else None)
    journal = Journal(path, total=Budget(rho=9) if cost.rho is not None else Budget(9, delta="1/1000"))
    terms = SiteTerms("a", str(tmp_path / "rows.csv"), SCHEMA, cost)
    (tmp_path / "rows.csv").write_text("c,y\np,0\n")
    plan = node_plan(SCHEMA, Settings(), cost, "auto")
    named = replace(terms, account=account)
    with journal:
        terms.answer(journal, "r1", "q", plan, lambda: b"one")
        assert not account.entries()
        for _ in range(2):  # the past is paid for once, whether the same round is asked for or another
            assert named.answer(journal, "r1", "q", plan, never) == b"one"
            assert [entry.grant for entry in account.entries()] == [cost]
        named.answer(journal, "r2", "q", plan, lambda: b"two")
        assert [entry.grant for entry in account.entries()] == [cost, cost]
        named.answer(journal, "r2", "q", plan, never)
        assert len(account.entries()) == 2 and account.verify()
    poor = Account.create(tmp_path / "poor.account", Budget(rho="0.01") if cost.rho is not None else Budget("0.1"))
    with Journal.open(path) as journal, pytest.raises(OverspentError):  # nothing leaves that it has not paid for
        replace(terms, account=poor).answer(journal, "r1", "q", plan, never)
    assert not poor.entries()
