"""Accounts on disk: what they remember and refuse, and that nothing can be changed, lost or overwritten unseen."""

import copy
import hashlib
import json
import os
import pickle
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet import (
    Account,
    AccountError,
    Address,
    Budget,
    BudgetError,
    Categorical,
    DataError,
    Ledger,
    Numeric,
    PrivateClassifier,
    PrivateNB,
    Schema,
    settle_schema,
)
from discreet.errors import ConnectionLostError
from discreet.privacy import Charge, SmoothCharge
from discreet.privacy.chain import TABLES, canonical
from discreet.privacy.composition import amounts
from discreet.privacy.payer import Prepaid, attempt
from discreet.sources import Stream, streams

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
NAMED = Schema([Categorical("a", [0, 1])], "y", [0, 1], id="who")


def release(amount, measure="epsilon"):
    return Charge("noise", "something", "L1", "1", Fraction(1), measure, Fraction(amount))


def spend(payer, amount="1/10", **more):
    return payer.charge(release(amount), Budget(Fraction(amount)), **more)


@pytest.fixture
def account(tmp_path):
    return Account.create(tmp_path / "people.account", Budget(1))


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (200, 1)), rng.integers(0, 2, 200)


# ---- what it remembers


def test_it_remembers_exactly_and_refuses_what_is_not_left(account):
    for _ in range(10):
        spend(account)
    again = Account.open(account.path)
    assert again.spent == 1 and again.remaining == 0 and len(again.entries()) == 10
    with pytest.raises(BudgetError, match=r"the account has 0 of epsilon = 1 left.*would still fit is nothing"):
        spend(again, "1/1000000000000")
    assert len(account.entries()) == 10


def test_equal_charges_are_entered_each(account):
    spend(account), spend(account)
    first, second = account.entries()
    assert (first.grant, first.node) == (second.grant, second.node) and first.hash != second.hash
    assert account.spent == Fraction(1, 5)


@pytest.mark.parametrize(
    ("budget", "rule"),
    [(Budget(2), "basic"), (Budget(2, "1e-6"), "either"), (Budget(2, "1e-6"), "zcdp"), (Budget(rho="1/4"), "zcdp")],
    ids=str,
)
def test_it_decides_as_a_ledger_does(tmp_path, budget, rule):
    """The same charges, one after the other, to a ledger and to an account."""
    account = Account.create(tmp_path / "a.account", budget, composition=rule)
    ledger, decided = Ledger(budget, composition=rule), set()
    charges = [
        (release("1/4"), Budget("1/4")),
        (release("1/50", "rho"), Budget("1/2", "1e-7")),
        (release("1/100", "rho"), Budget(rho="1/100")),
        (SmoothCharge("n", "x", "epsilon", Fraction(1, 4), Fraction(1, 10**7)), Budget("1/4", "1e-7")),
    ]
    for node, grant in [*charges[:3], *charges, *charges[:2] * 8]:
        said = []
        for payer in (ledger, account):
            try:
                payer.afford(grant, node)
                payer.charge(node, grant)
                said.append("yes")
            except BudgetError as error:
                said.append(str(error).replace("an account", "a ledger").replace("account", "ledger"))
        assert said[0] == said[1]
        decided.add(said[0] == "yes")
        assert (account.spent, account.remaining, account.room) == (ledger.spent, ledger.remaining, ledger.room)
    assert decided == {True, False}
    assert account.verify().totals == ledger.totals


def test_whom_costs_are_counted_for_is_fixed(tmp_path, account, rows):
    PrivateNB(0.1, schema=SCHEMA, contributions=2).fit(*rows, account=account)
    with pytest.raises(BudgetError, match="use another account"):
        PrivateNB(0.1, schema=SCHEMA).fit(*rows, account=account)
    told = Account.create(tmp_path / "b.account", Budget(1), adjacency="replace")
    assert told.unit == "replace neighbours with up to 1 row(s) per person"
    with pytest.raises(BudgetError, match="use another account"):
        PrivateNB(0.1, schema=SCHEMA).fit(*rows, account=told)
    PrivateNB(0.1, schema=SCHEMA, adjacency="replace").fit(*rows, account=told)
    assert [len(one.entries()) for one in (account, told)] == [1, 1]


def test_people_are_told_apart_by_the_id_that_the_account_names(tmp_path, rows):
    import pandas as pd

    account = Account.create(tmp_path / "p.account", Budget(1), people="who")
    assert account.people == "who"
    frame = pd.DataFrame({"a": rows[0][:, 0], "y": rows[1], "who": np.arange(200)})
    with pytest.raises(BudgetError, match="counts people by their 'who'"):
        PrivateNB(0.1, schema=SCHEMA).fit(frame, account=account)
    assert not account.entries()
    PrivateNB(0.1, schema=NAMED).fit(frame, account=account)
    (entry,) = account.entries()
    assert (entry.schema, entry.label, entry.grant) == (NAMED.hash, "PrivateNB", Budget("1/10"))


def test_no_privacy_and_no_limit_are_refused(tmp_path, account, rows):
    with pytest.raises(BudgetError, match="without a limit"):
        Account.create(tmp_path / "c.account", Budget(float("inf")))
    with pytest.raises(BudgetError, match="without privacy"):
        PrivateNB(float("inf"), schema=SCHEMA).fit(*rows, account=account)
    for wrong in ({"people": ""}, {"people": 3}, {"contributions": 0}, {"adjacency": "none"}, {"composition": "min"}):
        with pytest.raises(BudgetError):
            Account.create(tmp_path / "c.account", Budget(1), **wrong)
    assert sorted(os.listdir(tmp_path)) == ["people.account"]


def test_it_is_no_more_than_a_path(account, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = Account.open("people.account")
    monkeypatch.chdir("/")
    for twin in (relative, copy.copy(account), copy.deepcopy(account), pickle.loads(pickle.dumps(account))):
        spend(twin)
        assert twin == account
    assert len(account.entries()) == 4


def test_no_connection_stays_open(account):
    """A connection that outlives its transaction would be carried over a fork, with locks that are not the child's."""

    def open_files():
        links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
        return [one for one in links if os.path.exists(one) and os.readlink(one).startswith(account.path)]

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("this system does not list open files")
    spend(account)
    account.verify()
    account.afford(Budget("1/2"), release("1/2"))
    assert account.spent == Fraction(1, 10)
    assert open_files() == []
    with pytest.raises(BudgetError):
        spend(account, 2)
    assert open_files() == []


def test_a_fork_waits_for_the_charges_of_other_threads(account):
    """Children that are forked while threads charge can charge at once: no half-open state is carried over."""
    stop = threading.Event()

    def charge():
        while not stop.wait(0.001):
            spend(account, "1/100000")

    thread = threading.Thread(target=charge)
    thread.start()
    statuses = []
    for _ in range(8):
        child = os.fork()
        if not child:
            status = 1
            try:
                signal.alarm(30)
                spend(account, "1/100000")
                status = 0
            finally:
                os._exit(status)
        statuses.append(os.waitpid(child, 0)[1])
    stop.set()
    thread.join()
    assert statuses == [0] * 8
    account.verify()


# ---- files


def test_it_is_private_from_the_first_moment(tmp_path):
    before = os.umask(0)
    try:
        account = Account.create(tmp_path / "open.account", Budget(1))
        assert stat.S_IMODE(os.stat(account.path).st_mode) == 0o600
        connection = sqlite3.connect(account.path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO entries VALUES (1, x'00', 'x')")
        seen = {(name, stat.S_IMODE(os.stat(tmp_path / name).st_mode)) for name in os.listdir(tmp_path)}
        connection.execute("ROLLBACK")
        connection.close()
        assert {mode for _, mode in seen} == {0o600} and len(seen) == 2  # the journal, too
    finally:
        os.umask(before)


def test_creating_never_overwrites(tmp_path, account):
    spend(account)
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "link.account").symlink_to(tmp_path / "gone")
    for name in ("people.account", "notes.txt", "link.account"):
        with pytest.raises(AccountError, match="never overwritten"):
            Account.create(tmp_path / name, Budget(5))
    assert len(account.entries()) == 1 and (tmp_path / "notes.txt").read_text() == "notes"
    with pytest.raises(AccountError, match="no directory"):
        Account.create(tmp_path / "nowhere" / "a.account", Budget(1))
    with pytest.raises(AccountError, match="there is no account"):
        Account.open(tmp_path / "none.account")
    assert not (tmp_path / "none.account").exists()
    assert sorted(os.listdir(tmp_path)) == ["link.account", "notes.txt", "people.account"]


def _foreign(path, kind):
    if kind == "text":
        path.write_text("epsilon = 3\n" * 500)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "sqlite":
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE entries (number INTEGER)")
        db.commit()
        db.close()
    elif kind == "journal":
        from discreet.nodes.journal import Journal

        Journal(path, total=Budget(1)).close()


@pytest.mark.parametrize("kind", ["text", "empty", "sqlite", "journal"])
def test_foreign_files_get_one_sentence_and_stay_as_they_are(tmp_path, kind):
    path = tmp_path / "x.account"
    _foreign(path, kind)
    before = path.read_bytes()
    for use in (Account.open, lambda p: spend(Account(p)), lambda p: Account(p).verify()):
        with pytest.raises(AccountError, match="no account") as caught:
            use(path)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.account"]


def test_a_journal_that_cannot_be_made_charges_nothing(account, rows):
    os.mkdir(account.path + "-journal")
    with pytest.raises(AccountError, match="nothing was charged and no row was read"):
        PrivateNB(0.1, schema=SCHEMA).fit(Unread(), Unread(), account=account)
    os.rmdir(account.path + "-journal")
    assert not account.verify().entries


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is writable for root")
def test_a_read_only_directory_gets_one_sentence(account, tmp_path):
    os.chmod(tmp_path, 0o500)
    try:
        with pytest.raises(AccountError, match="cannot be"):
            spend(account)
        with pytest.raises(AccountError, match="cannot be made"):
            Account.create(tmp_path / "b.account", Budget(1))
    finally:
        os.chmod(tmp_path, 0o700)
    assert not account.entries()


FULL = """
import resource, signal, sys
from fractions import Fraction
from discreet import Account, AccountError, Budget
from discreet.privacy import Charge
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
account, said = Account(sys.argv[1]), "nothing"
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    for _ in range(200):
        account.charge(Charge("n" * 2000, "s", "L1", "1", Fraction(1), "epsilon", Fraction(1, 999)), Budget("1/999"))
except AccountError as error:
    said = str(error)
print(len(account.entries()), said)
"""


def test_a_full_disk_charges_nothing_and_breaks_nothing(account):
    spend(account)
    limit = os.path.getsize(account.path) + 40_000
    done = subprocess.run(
        [sys.executable, "-c", FULL, account.path, str(limit)], capture_output=True, text=True, check=True
    )
    count, said = done.stdout.split(" ", 1)
    assert "nothing was charged and no row was read" in said and said.count("\n") == 1
    assert len(account.verify().entries) == int(count) > 1
    spend(account)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


# ---- changes from outside


def outside(account, *statements):
    """Change the file as someone who knows SQLite would: the triggers are taken away and put back."""
    db = sqlite3.connect(account.path, isolation_level=None)
    triggers = [sql for sql in TABLES if sql.startswith("CREATE TRIGGER")]
    for sql in triggers:
        db.execute(f"DROP TRIGGER {sql.split()[2]}")
    for statement in statements:
        db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
    for sql in triggers:
        db.execute(sql)
    db.close()


@pytest.fixture
def filled(account):
    for amount in ("1/10", "1/5", "1/10", "1/7"):
        spend(account, amount, schema=SCHEMA, unit="rows")
    return account


def test_sqlite_itself_refuses_changes(filled):
    db = sqlite3.connect(filled.path, isolation_level=None)
    for statement in (
        "UPDATE entries SET hash = 'x'",
        "DELETE FROM entries WHERE number = 4",
        "UPDATE about SET header = x'00'",
        "DELETE FROM about",
        "DELETE FROM head",
        "UPDATE head SET count = 3",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append only"):
            db.execute(statement)
    db.close()
    filled.verify()


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM entries WHERE number = 4"],
        ["DELETE FROM entries WHERE number = 2"],
        ["DELETE FROM entries WHERE number = 2", "UPDATE entries SET number = number - 1 WHERE number > 2"],
        ["DELETE FROM entries"],
        ["UPDATE entries SET number = 9 WHERE number = 1", "UPDATE entries SET number = 1 WHERE number = 3",
         "UPDATE entries SET number = 3 WHERE number = 9"],
        ["INSERT INTO entries SELECT 5, entry, hash FROM entries WHERE number = 4"],
        ["UPDATE head SET count = 3"],
        ["UPDATE head SET hash = (SELECT hash FROM entries WHERE number = 3), count = 3"],
        ["DELETE FROM head"],
        ["INSERT INTO head SELECT count, hash FROM head"],
        ["UPDATE about SET header = CAST(replace(CAST(header AS TEXT), '\"basic\"', '\"zcdp\"') AS BLOB)"],
        ["CREATE TRIGGER forget AFTER INSERT ON entries BEGIN DELETE FROM entries; END"],
    ],
)  # fmt: skip
def test_removed_reordered_and_doubled_entries_show(filled, statements):
    outside(filled, *statements)
    for use in (filled.verify, lambda: spend(filled), lambda: filled.spent):
        with pytest.raises(AccountError, match=r"changed from outside|no account"):
            use()


def test_every_single_byte_of_every_entry_shows(filled):
    """Each byte of each entry, its hash and the header, changed by one bit in the middle of the alphabet."""
    original = Path(filled.path).read_bytes()
    db = sqlite3.connect(filled.path)
    texts = [bytes(raw) for row in db.execute("SELECT entry, CAST(hash AS BLOB) FROM entries") for raw in row]
    texts.append(db.execute("SELECT header FROM about").fetchone()[0])
    db.close()
    tried = 0
    with open(filled.path, "r+b") as file:
        for text in texts:
            start = original.index(text)
            for place in range(start, start + len(text), 3 if len(text) > 64 else 1):
                for bit in (1, 0x20):
                    file.seek(place)
                    file.write(bytes([original[place] ^ bit]))
                    file.flush()
                    with pytest.raises(AccountError):
                        filled.verify()
                    tried += 1
                file.seek(place)
                file.write(original[place : place + 1])
                file.flush()
    assert tried > 1000
    filled.verify()


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_entry_that_is_rewritten_with_its_hash_does_not_fit_the_next(filled, number):
    db = sqlite3.connect(filled.path)
    raw = db.execute("SELECT entry FROM entries WHERE number = ?", (number,)).fetchone()[0]
    db.close()
    fresh = canonical(json.loads(raw) | {"label": "nobody"})
    made = hashlib.sha256(fresh).hexdigest()
    outside(filled, ("UPDATE entries SET entry = ?, hash = ? WHERE number = ?", (fresh, made, number)))
    for use in (filled.verify, lambda: spend(filled), lambda: filled.spent):
        with pytest.raises(AccountError, match=f"changed from outside .entry {number + 1}"):
            use()


def test_an_anchor_shows_what_a_chain_alone_cannot(filled, tmp_path):
    anchor = filled.head
    spend(filled)
    assert filled.verify(anchor).head != anchor
    forged = Account.create(tmp_path / "forged.account", Budget(1))
    spend(forged)
    forged.verify()  # whole in itself
    with pytest.raises(AccountError, match="does not pass through"):
        forged.verify(anchor)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"concentrated": "1/1000"}, "another rho"),
        ({"epsilon": "1/11"}, "less than its charges cost"),
        ({"epsilon": None, "rho": "1/1000"}, "less than its charges cost"),
        ({"node": {"node": "charge"}}, "no valid charge"),
    ],
)
def test_amounts_that_contradict_the_recorded_charge_show(account, changed, words):
    """Even someone who recomputes the chain cannot state other amounts than the recorded charges have."""
    import hashlib

    from discreet.privacy.chain import canonical

    spend(account)
    db = sqlite3.connect(account.path)
    entry = json.loads(db.execute("SELECT entry FROM entries").fetchone()[0])
    db.close()
    raw = canonical({**entry, **changed})
    made = hashlib.sha256(raw).hexdigest()
    outside(account, ("UPDATE entries SET entry = ?, hash = ?", (raw, made)), ("UPDATE head SET hash = ?", (made,)))
    with pytest.raises(AccountError, match=words):
        account.verify()


def test_names_and_hashes_that_are_none_get_one_sentence(account):
    with pytest.raises(AccountError, match="no file can have the name"):
        Account.create("a\0b", Budget(1))
    for typo in ("abc", "", account.head.upper(), account.head[:-1]):
        with pytest.raises(AccountError, match="is no hash"):
            account.verify(typo)


# ---- before a row is read


class Unread:
    """Rows that must not be looked at, but for what kind of thing they are."""

    def __getattribute__(self, name):
        if name in {"__class__", "__weakref__"}:
            return object.__getattribute__(self, name)
        raise AssertionError("a row was read")


# ---- charges for which nothing was released


def lost(account, *amounts, **more):
    """The error of a fit that made these charges and lost its connection."""
    with pytest.raises(ConnectionLostError) as caught, attempt():
        for amount in amounts:
            spend(account, amount, **more)
        raise ConnectionLostError("gone")
    return caught.value


def given_up(account, *amounts, **more):
    return account.give_up(lost(account, *amounts, **more))


def test_a_charge_that_was_given_up_is_resumed_once(account):
    charge = given_up(account, "1", schema=SCHEMA)
    again = Account.open(account.path)
    with pytest.raises(BudgetError, match="has 0 of epsilon = 1 left"):
        spend(again, "1", schema=SCHEMA)
    again.resume(charge)
    again.afford(Budget(1), release(1))
    tab = spend(again, "1", schema=SCHEMA)
    assert again.spent == 1 and len(again.entries()) == 1 and again.holds(tab)
    third = Account.open(account.path)
    with pytest.raises(BudgetError, match="that was left unused"):
        third.resume(charge)
    state = third.verify()
    assert len(state.entries) == 1 and len(state.hashes) == 3
    third.verify(state.hashes[1])
    third = Account.open(account.path)


def test_a_charge_that_was_resumed_may_be_given_up_again(account):
    charge = given_up(account, "1", schema=SCHEMA)
    for _ in range(2):
        again = Account.open(account.path)
        again.resume(charge)
        assert given_up(again, "1", schema=SCHEMA) == charge  # its connection was lost as well
    again.resume(charge)
    spend(again, "1", schema=SCHEMA)
    assert again.spent == 1
    with pytest.raises(BudgetError, match="left unused"):
        again.resume(charge)


def test_two_that_resume_one_charge_do_not_both_use_it(account):
    charge = given_up(account, "1/2")
    first, second = Account.open(account.path), Account.open(account.path)
    first.resume(charge)
    second.resume(charge)
    spend(first, "1/2")
    with pytest.raises(BudgetError, match="was resumed already"):
        spend(second, "1/2")
    assert account.spent == Fraction(1, 2)


@pytest.mark.parametrize(
    "amount, more", [("2/5", {"schema": SCHEMA}), ("1/5", {"schema": NAMED}), ("1/5", {"schema": SCHEMA, "unit": "u"})]
)
def test_only_the_same_plan_resumes_a_charge(account, amount, more):
    charge = given_up(account, "1/5", schema=SCHEMA)
    again = Account.open(account.path)
    again.resume(charge)
    with pytest.raises(BudgetError, match="made for another plan or schema"):
        spend(again, amount, **more)
    assert account.spent == Fraction(1, 5) and len(account.entries()) == 1


def test_a_charge_that_was_used_is_not_resumed(account):
    tab = spend(account)
    for charge in (tab.receipt[0], tab.receipt[0][:12], "", "0" * 12):
        with pytest.raises(BudgetError, match="no charge"):
            account.resume(charge)
    assert account.give_up(ConnectionLostError("of a reading that nobody was charged for")) is None


def test_only_the_charge_of_the_fit_that_was_lost_is_given_up(account):
    with attempt():
        used = spend(account, "1/5").receipt
    error = lost(account, "1/4")
    charge = account.give_up(error)
    assert charge and not used[0].startswith(charge)
    assert account.give_up(error) is None  # once
    assert account.state().unused == {account.entries()[1].hash}
    other = lost(account)  # a later reading of the same fit, for which nothing was charged
    assert other.charge is None and account.give_up(other) is None


def test_a_charge_that_was_given_up_pays_for_no_later_batch(account, rows):
    classifier = PrivateNB(1.0, schema=SCHEMA).fit(*rows)  # so that there is something to go on with
    with pytest.raises(ConnectionLostError) as caught, pytest.MonkeyPatch.context() as patch, attempt():
        patch.setattr(PrivateNB, "_release", lambda *_: _lost())
        classifier.fit(*rows, account=account)
    charge = account.give_up(caught.value)
    again = Account.open(account.path)
    again.resume(charge)
    PrivateNB(1.0, schema=SCHEMA).fit(*rows, account=again)
    with pytest.raises(BudgetError, match="left"):
        classifier.partial_fit(*rows, account=account)
    assert account.spent == 1


def _lost():
    raise ConnectionLostError("gone")


def test_a_copy_of_an_error_gives_nothing_up_that_was_used_since(account):
    error = lost(account, "1")
    kept = copy.copy(error)
    kept.charge = error.charge
    charge = account.give_up(error)
    account.resume(charge)
    spend(account, "1")
    assert account.give_up(kept) is None and not account.state().unused


def test_steps_of_which_one_may_follow_from_another_are_not_given_up(account):
    assert given_up(account, "1/5", "3/10") is None
    with pytest.raises(ConnectionLostError) as caught, attempt():
        spend(account, "1/5")
        with attempt():
            spend(account, "1/10")
            raise ConnectionLostError("gone")
    assert caught.value.charge is None
    assert not account.state().unused


def test_charges_of_other_threads_are_theirs(account):
    with pytest.raises(ConnectionLostError) as caught, attempt():
        mine = spend(account, "1/5").receipt
        thread = threading.Thread(target=spend, args=(account, "1/10"))
        thread.start()
        thread.join()
        raise ConnectionLostError("gone")
    assert caught.value.charge == mine


class Dropping(Stream):
    """Rows whose connection is lost in one of the readings."""

    names = ("n", "y")

    def __init__(self, at):
        self.left = at

    def batches(self, wanted):
        self.left -= 1
        if not self.left:
            raise ConnectionLostError("gone")
        rng = np.random.default_rng(0)
        yield {"n": rng.normal(size=500), "y": rng.integers(0, 2, 500)}


@pytest.fixture
def dropping(monkeypatch):
    monkeypatch.setattr(streams, "_BACKENDS", [*streams._BACKENDS])
    streams.register("dropping rows", lambda data: isinstance(data, list), lambda data, **_: data[0])
    monkeypatch.setattr(streams, "_backend", lambda data, known=streams._backend: (
        next(one for one in streams._BACKENDS if one.name == "dropping rows") if isinstance(data, list) else known(data)
    ))  # fmt: skip
    return lambda at: [Dropping(at)]


FITS = {
    "counted": lambda: PrivateNB(0.5, schema=Schema([Numeric("n", -4, 4, bins=4)], "y", [0, 1])),
    "bounds bought first": lambda: PrivateNB(
        0.5, schema=Schema([Numeric("n", -4, 4, bins=4)], "y", [0, 1]), bounds="private", edges="private"
    ),
    "chosen by counts": lambda: PrivateClassifier(0.5, schema=Schema([Numeric("n", -4, 4, bins=4)], "y", [0, 1])),
}


@pytest.mark.parametrize(("fit", "at"), [("counted", 1), ("bounds bought first", 1), ("bounds bought first", 2),
                                         ("chosen by counts", 1), ("chosen by counts", 2)])  # fmt: skip
def test_a_fit_in_steps_is_charged_once_however_late_its_connection_is_lost(fit, at, account, dropping):
    with pytest.raises(ConnectionLostError) as caught:
        FITS[fit]().fit(dropping(at), account=account)
    assert len(account.entries()) == 1 and account.spent == Fraction(1, 2)
    charge = account.give_up(caught.value)
    again = Account.open(account.path)
    again.resume(charge)
    fitted = FITS[fit]().fit(dropping(9), account=again)
    assert fitted.certificate_.epsilon == "1/2"
    assert len(account.entries()) == 1 and account.spent == Fraction(1, 2) and not account.verify().unused


def test_a_settlement_that_is_lost_is_resumed_too(account, dropping):
    schema = Schema([Numeric("n", -4, 4, bounds="private")], "y", [0, 1])
    with pytest.raises(ConnectionLostError) as caught:
        settle_schema(schema, dropping(1), 0.5, account=account)
    assert account.give_up(caught.value) == account.entries()[0].hash[:12]


def test_a_server_that_is_gone_after_the_charge_is_a_lost_connection(account):
    pytest.importorskip("psycopg")
    address = Address("postgresql://127.0.0.1:1/nowhere?connect_timeout=1", "rows")
    with pytest.raises(DataError, match="cannot be reached") as before:
        address.stream()
    assert not isinstance(before.value, ConnectionLostError)
    with pytest.raises(ConnectionLostError, match="cannot be reached") as after, attempt():
        spend(account)
        address.stream()
    assert account.give_up(after.value)


@pytest.mark.parametrize("entering", ["u:p", "u:se#cret", "u:se?cret", ":p", "u:"])
def test_no_address_brings_a_password(entering):
    with pytest.raises(DataError, match="has a password in it"):
        Address(f"spark:k8s://https://{entering}@host:443", "rows")
    with pytest.raises(DataError, match="has a password in it"):
        Address(f"postgresql://{entering}@host/base", "rows")
    Address("postgresql://u@host:5432/base?application_name=a:b@c", "rows")


def test_a_step_costs_no_more_than_was_paid_for_it():
    ledger = Ledger(Budget(1))
    paid = Prepaid(amounts(release(Fraction(1, 2)), Budget(Fraction(1, 2))), ledger)
    spend(paid, "1/2")
    assert ledger.spent == 0
    spend(paid, "3/5")
    assert ledger.spent == Fraction(3, 5)


def test_a_note_that_does_not_follow_is_damage(account):
    receipt, _ = spend(account).receipt
    with account._chain(write=True) as chain:
        chain.append(account._note("resumed", [receipt], account._read(chain)))
    with pytest.raises(AccountError, match="damaged"):
        account.state()
