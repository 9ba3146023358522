"""Threads, forks, processes and kills: nothing is overspent, nothing that was released is forgotten."""

import os
import shutil
import signal
import sys
from fractions import Fraction

import pytest
from benchmarks.account_races import (
    BUDGETS,
    charge_of,
    fair,
    kill_at_random,
    processes,
    race_accounts,
    race_forks,
    race_ledgers,
    race_threads,
)

from discreet import Account, Budget, BudgetError, Ledger
from discreet.privacy import account as account_module
from discreet.privacy import chain as chain_module


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
    assert race_accounts(tmp_path, 10, race_threads, "t") == 0
    assert race_accounts(tmp_path, 10, race_forks, "f") == 0
    with processes() as race:
        assert race_accounts(tmp_path, 5, race, "p") == 0


def test_a_check_outside_the_transaction_would_be_noticed(tmp_path, monkeypatch):
    """The races can fail: with a check that is not in the same transaction as the entry, they do."""

    def careless(self, node, grant, unit=None, owner=None, *, schema=None):
        self.composition.check(self.totals, node, grant, self.noun)
        with self._chain(write=True) as chain:
            receipt = chain.append(self._entry(node, grant, unit, owner, schema, self._read(chain)))
        return account_module.Tab(self, node, owner, receipt)

    monkeypatch.setattr(Account, "charge", careless)
    assert race_accounts(tmp_path, 10, race_forks, "f") > 0


def test_unlocked_threads_would_be_noticed(monkeypatch):
    class Open:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    ledgers = [Ledger(BUDGETS[i % 3]) for i in range(60)]
    for ledger in ledgers:
        ledger._lock = Open()
    assert any(not fair(ledger, race_threads(ledger)) for ledger in ledgers)


def test_kills_at_random_forget_nothing(tmp_path):
    account = Account.create(tmp_path / "a.account", Budget(1000))
    assert kill_at_random(account, tmp_path, 15, seed=1) == 0
    assert account.entries()


def charge_and_die(account, log, line):
    """In a child: charge and release, but be killed at the given line of the account's code."""
    files, left = {account_module.__file__, chain_module.__file__}, line

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        left -= event == "line"
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    status = 1
    try:
        sys.settrace(trace)
        account.charge(charge_of(Fraction(1)), Budget(1))
        sys.settrace(None)
        log.write_bytes(b"released")
        status = 0
    finally:
        os._exit(status)


def test_kills_at_every_line_forget_nothing(tmp_path):
    """A child is killed at the first, second, third, … line that a charge runs through, until one gets to its end."""
    seen, new = [], Account.create(tmp_path / "new.account", Budget(2))
    for line in range(1, 400):
        account, log = Account(shutil.copy(new.path, tmp_path / f"{line}.account")), tmp_path / f"{line}.log"
        child = os.fork()
        if not child:
            charge_and_die(account, log, line)
        finished = os.waitpid(child, 0)[1] == 0
        entered, released = len(account.verify().entries), log.exists()
        assert entered >= released
        seen.append((entered, released))
        if finished:
            break
    assert finished and line > 50
    assert set(seen) == {(0, False), (1, False), (1, True)}  # before the entry, between the two, and after both


def test_a_charge_that_is_not_written_would_be_noticed(tmp_path, monkeypatch):
    """The kills can fail: with charges that are entered after the release, they do."""
    honest = Account.charge

    def forgetful(self, *given, **more):
        self._late = getattr(self, "_late", [])
        self._late.append(given)
        if len(self._late) > 3:
            honest(self, *self._late.pop(0), **more)

    account = Account.create(tmp_path / "a.account", Budget(1000))
    monkeypatch.setattr(Account, "charge", forgetful)
    assert kill_at_random(account, tmp_path, 6, seed=2) > 0
