"""Races and kills that fork often: each in a fresh process, since a fork of one that holds all the tests takes long."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from benchmarks.account_races import (
    charge_of,
    kill_at_random,
    processes,
    race_accounts,
    race_forks,
    race_threads,
    spend,
)

from discreet import Account, Budget
from discreet.privacy import account as account_module
from discreet.privacy import chain as chain_module


def alone(function, folder):
    """What one of the functions below finds, in a process of its own."""
    code = f"from tests.privacy import racing; racing.tell(racing.{function.__name__}, {str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def tell(function, folder):
    """Print it."""
    print(json.dumps(function(Path(folder))))


def _warm(folder):
    """Charge until nothing is left: what that imports, each fork would have to import by itself."""
    race_accounts(folder, 2, lambda account: spend(account, 9), "first")


def races(folder):
    """How many races of threads, of forks and of processes were unfair."""
    _warm(folder)
    with processes() as race:
        return [
            race_accounts(folder, 10, race_threads, "t"),
            race_accounts(folder, 10, race_forks, "f"),
            race_accounts(folder, 5, race, "p"),
        ]


def careless_races(folder):
    """How many were unfair where the check is not in the same transaction as the entry."""

    def careless(self, node, grant, unit=None, owner=None, *, schema=None):
        self.composition.check(self.totals, node, grant, self.noun)
        with self._chain(write=True) as chain:
            receipt = chain.append(self._entry(node, grant, unit, owner, schema, self._read(chain)))
        return account_module.Tab(self, node, owner, receipt)

    _warm(folder)
    Account.charge = careless
    return race_accounts(folder, 10, race_forks, "f")


def kills(folder):
    """How often a kill at random made an account forget, and how much is entered in it."""
    account = Account.create(folder / "a.account", Budget(1000))
    return [kill_at_random(account, folder, 15, seed=1), len(account.entries())]


def late_charges(folder):
    """How often, where charges are entered after the release."""
    honest = Account.charge

    def forgetful(self, *given, **more):
        self._late = getattr(self, "_late", [])
        self._late.append(given)
        if len(self._late) > 3:
            honest(self, *self._late.pop(0), **more)

    account = Account.create(folder / "a.account", Budget(1000))
    Account.charge = forgetful
    return kill_at_random(account, folder, 6, seed=2)


def kills_at_every_line(folder):
    """What was entered and what released when a child was killed at the first, second, … line, until one has ended."""
    seen, new = [], Account.create(folder / "new.account", Budget(2))
    for line in range(1, 400):
        account, log = Account(shutil.copy(new.path, folder / f"{line}.account")), folder / f"{line}.log"
        child = os.fork()
        if not child:
            _charge_and_die(account, log, line)
        finished = os.waitpid(child, 0)[1] == 0
        seen.append([len(account.verify().entries), log.exists()])
        if finished:
            return seen
    return []


def _charge_and_die(account, log, line):
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
