"""Races for the last of a budget and kills in the middle of a charge: nothing is overspent, nothing is forgotten."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.common import line
from discreet import Account, Budget, BudgetError, Ledger
from discreet.privacy import Charge

PART = Fraction(1, 4)
RACERS = 4
BUDGETS = (Budget(1), Budget(1, "1e-6"), Budget(rho="1/8"))  # four parts of ε = 1/4 fit into each of them


def charge_of(amount: Fraction) -> Charge:
    """A release of pure ε."""
    return Charge("noise", "something", "L1", "1", 1 / amount, "epsilon", amount)


def spend(payer: Any, tries: int = 3) -> int:
    """Charge parts as often as they are granted, a few times at most."""
    granted = 0
    for _ in range(tries):
        try:
            payer.charge(charge_of(PART), Budget(PART))
            granted += 1
        except BudgetError:
            break
    return granted


@contextmanager
def _eager_threads() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads change as often as the interpreter lets them
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def race_threads(payer: Any) -> int:
    """How many parts four threads were granted together."""
    start, granted = threading.Barrier(RACERS), []

    def racer() -> None:
        start.wait()
        granted.append(spend(payer))

    with _eager_threads():
        threads = [threading.Thread(target=racer) for _ in range(RACERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum(granted)


def race_forks(payer: Any) -> int:
    """How many parts four forked children were granted together."""
    gate, opener = os.pipe()
    children = []
    for _ in range(RACERS):
        child = os.fork()
        if not child:
            status = 99
            try:
                os.close(opener)
                os.read(gate, 1)  # until the parent opens the gate for all
                status = spend(payer)
            finally:
                os._exit(status)
        children.append(child)
    os.close(gate)
    os.close(opener)
    return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def _work(requests: Any, start: Any, answers: Any) -> None:
    for path in iter(requests.get, None):
        start.wait()
        answers.put(spend(Account(path)))


@contextmanager
def processes() -> Iterator[Callable[[Any], int]]:
    """Four fresh processes that race for one account after another."""
    context = multiprocessing.get_context("spawn")
    requests = [context.Queue() for _ in range(RACERS)]
    start, answers = context.Barrier(RACERS), context.Queue()
    workers = [context.Process(target=_work, args=(one, start, answers), daemon=True) for one in requests]
    for worker in workers:
        worker.start()

    def race(account: Account) -> int:
        for one in requests:
            one.put(account.path)
        return sum(answers.get(timeout=300) for _ in range(RACERS))

    try:
        yield race
    finally:
        for one in requests:
            one.put(None)
        for worker in workers:
            worker.join()


def fair(payer: Any, granted: int) -> bool:
    """Whether exactly the four parts that fit were granted, and all of them are entered."""
    entered = len(payer.entries()) if isinstance(payer, Account) else len(payer.nodes)
    return granted == 4 and entered == 4 and payer.composition.admits(payer.totals)


def race_accounts(folder: Path, times: int, race: Callable[[Any], int], name: str) -> int:
    """How many of so many races for new accounts were unfair."""
    unfair = 0
    for i in range(times):
        account = Account.create(folder / f"{name}-{i}.account", BUDGETS[i % 2])
        unfair += not fair(account, race(account))
        os.unlink(account.path)
    return unfair


def race_ledgers(times: int) -> int:
    """How many of so many races of threads for new ledgers were unfair."""
    ledgers = [Ledger(BUDGETS[i % len(BUDGETS)]) for i in range(times)]
    return sum(not fair(ledger, race_threads(ledger)) for ledger in ledgers)


def _release_until_killed(path: str, log: str) -> None:
    """Charge, then release by adding a line to a file, again and again."""
    account, amount = Account(path), Fraction(1, 1000)
    with open(log, "ab", buffering=0) as out:
        while True:
            account.charge(charge_of(amount), Budget(amount))
            out.write(b"released\n")


def kill_at_random(account: Account, folder: Path, times: int, seed: int = 0) -> int:
    """Kill children at random moments of their charges: how often the account then showed less than was released.

    A damaged account raises; half of the time a second child goes on charging meanwhile.
    """
    rng, forgotten, log = random.Random(seed), 0, str(folder / "released")
    for i in range(times):
        children = []
        for _ in range(1 + i % 2):
            child = os.fork()
            if not child:
                try:
                    _release_until_killed(account.path, log)
                finally:
                    os._exit(1)
            children.append(child)
        time.sleep(rng.uniform(0, 0.04))
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        released = os.path.getsize(log) // len(b"released\n") if os.path.exists(log) else 0
        forgotten += len(account.verify().entries) < released
    return forgotten


def run(races: int = 1000, kills: int = 200, **_: Any) -> list[dict[str, Any]]:
    """A thousand races of threads for ledgers, a thousand for accounts, and two hundred kills."""
    with tempfile.TemporaryDirectory() as name:
        folder, part = Path(name), races // 3
        results = [line("threads that race for a ledger", race_ledgers(races), f"overspent of {races}", "0")]
        results.append(
            line("threads that race for an account", race_accounts(folder, part, race_threads, "t"),
                 f"unfair of {part}", "0")
        )  # fmt: skip
        results.append(
            line("forks that race for an account", race_accounts(folder, part, race_forks, "f"), f"unfair of {part}",
                 "0")
        )  # fmt: skip
        rest = races - 2 * part
        with processes() as race:
            results.append(
                line("processes that race for an account", race_accounts(folder, rest, race, "p"), f"unfair of {rest}",
                     "0")
            )  # fmt: skip
        account = Account.create(folder / "killed.account", Budget(1000))
        forgotten = kill_at_random(account, folder, kills)
        results.append(line("kills in the middle of a charge", forgotten, f"forgotten releases of {kills} kills", "0"))
        results.append(line("charges that the killed account holds", len(account.entries()), "entries"))
    for result in results[:-1]:
        result["met"] = result["measured"] == 0
    return results
