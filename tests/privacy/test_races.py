"""Threads, forks, processes and kills: nothing is overspent, nothing that was released is forgotten."""

import contextlib
import os
import signal
import threading
from fractions import Fraction

import pytest
from benchmarks.account_races import BUDGETS, PART, RACERS, charge_of, race_ledgers, race_threads

from discreet import Budget, BudgetError, Ledger
from tests.privacy import racing
from tests.privacy.racing import alone


def test_threads_do_not_overspend_a_ledger():
    assert race_ledgers(60) == 0


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_ledger_stays_in_its_process(budget):
    """Three children would each have the whole budget, and the parent would not know."""
    ledger = Ledger(budget)
    child = os.fork()
    if not child:
        refused = 0
        for use in (
            lambda: ledger.charge(charge_of(budget.epsilon or Fraction(1)), budget),
            lambda: ledger.afford(budget, charge_of(Fraction(1))),
            lambda: ledger.spent,
            lambda: ledger.remaining,
        ):
            try:
                use()
            except BudgetError as error:
                refused += "Account" in str(error)
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
    assert ledger.spent == 0


def test_a_fork_while_threads_hold_the_ledger_does_not_hang():
    ledger = Ledger(Budget(1))
    ledger._lock.acquire()
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            ledger.charge(charge_of(Fraction(1)), Budget(1))
        except BudgetError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_threads_forks_and_processes_do_not_overspend_an_account(tmp_path):
    assert alone(racing.races, tmp_path) == [0, 0, 0]


def test_a_check_outside_the_transaction_would_be_noticed(tmp_path):
    """The races can fail: with a check that is not in the same transaction as the entry, they do."""
    assert alone(racing.careless_races, tmp_path) > 0


class Meeting:
    """The rules of a ledger, whose first checks wait until every thread has made its own: a race that always happens.

    Under a lock the others cannot come, so one waits for them for a while and then no longer; without one they will,
    however busy the machine is.
    """

    def __init__(self, rules, threads, patience):
        self.rules, self.checked, self.patience = rules, threading.Barrier(threads), patience

    def __getattr__(self, name):
        return getattr(self.rules, name)

    def check(self, *given):
        found = self.rules.check(*given)
        with contextlib.suppress(threading.BrokenBarrierError):  # a lock keeps the others out
            self.checked.wait(self.patience)
        return found


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("locked", [True, False])
def test_unlocked_threads_would_be_noticed(budget, locked):
    ledger = Ledger(budget)
    for _ in range(3):
        ledger.charge(charge_of(PART), Budget(PART))  # one part more fits, and every thread is told so
    ledger._composition = Meeting(ledger._composition, RACERS, 0.5 if locked else 120)
    if not locked:
        ledger._lock = contextlib.nullcontext()
    assert 3 + race_threads(ledger) == (4 if locked else 3 + RACERS)


def test_kills_at_random_forget_nothing(tmp_path):
    forgotten, entered = alone(racing.kills, tmp_path)
    assert forgotten == 0 and entered


def test_kills_at_every_line_forget_nothing(tmp_path):
    """A child is killed at the first, second, third, … line that a charge runs through, until one gets to its end."""
    seen = alone(racing.kills_at_every_line, tmp_path)
    assert len(seen) > 50 and seen[-1] == [1, True]
    # Before the entry, between the two, and after both: never a release that is not entered.
    assert {tuple(one) for one in seen} == {(0, False), (1, False), (1, True)}


def test_a_charge_that_is_not_written_would_be_noticed(tmp_path):
    """The kills can fail: with charges that are entered after the release, they do."""
    assert alone(racing.late_charges, tmp_path) > 0
