"""Accounts from the command line: found beside the data, charged before a row is read, refused in one sentence."""

import json
import os
import shutil
import stat
import subprocess
import sys
import warnings
from fractions import Fraction

import pytest

from discreet import Account, Budget, Categorical, Numeric, Schema

pytestmark = pytest.mark.usefixtures("one_engine", "one_tree")

SCHEMA = Schema([Categorical("a", [0, 1]), Numeric("x", 0, 10)], "y", ["no", "yes"])
FIT = ("--schema", "schema.toml", "--out", "model.json")


@pytest.fixture
def place(tmp_path):
    SCHEMA.save(tmp_path / "schema.toml")
    lines = [f"{i % 2},{i % 11},{'yes' if i % 3 else 'no'},{i}" for i in range(300)]
    (tmp_path / "rows.csv").write_text("a,x,y,who\n" + "\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def discreet(monkeypatch, capsys):
    """The console command in this process, which is quicker than one of its own for each step."""
    from discreet.cli import app
    from discreet.cli.running import run

    def command(*arguments, cwd):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        capsys.readouterr()
        try:
            status = run(app)
        except SystemExit as done:
            status = done.code or 0
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    return command


def ok(done):
    assert done.returncode == 0, done.stderr
    return done


def refused(done, words):
    assert done.returncode == 2 and not done.stdout, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(said) == 1 and words in said[0] and "Traceback" not in done.stderr, done.stderr
    return said[0]


def test_an_account_from_beginning_to_end(discreet, place):
    def run(*arguments):
        return discreet(*arguments, cwd=place)

    made = ok(run("account", "create", "rows.account", "--epsilon", 2, "--adjacency", "add-remove"))
    head = made.stdout.split("head ")[1].split()[0]
    assert stat.S_IMODE(os.stat(place / "rows.account").st_mode) == 0o600
    first = ok(run("fit", "rows.csv", *FIT, "--epsilon", 0.5))
    assert "charged to rows.account, which lies beside" in first.stderr and "fit is epsilon = 1.5" in first.stderr
    ok(run("select", "rows.csv", "--schema", "schema.toml", "-k", 1, "--epsilon", 0.25, "--account", "rows.account"))
    ok(
        run(
            "settle", "rows.csv", "--schema", "schema.toml", "--bounds", "private", "--epsilon", 0.25, "--out", "s.toml"
        )
    )
    shown = json.loads(ok(run("account", "show", "rows.account", "--json")).stdout)
    assert (shown["spent"], shown["entries"], shown["room"]["epsilon"]) == ("1", 3, "1")
    log = json.loads(ok(run("account", "log", "rows.account", "--json")).stdout)
    assert [one["label"] for one in log] == ["discreet fit", "discreet select", "discreet bounds"]
    assert [one["epsilon"] for one in log] == ["1/2", "1/4", "1/4"]
    for words in (("show",), ("log",), ("verify",), ("verify", "--head", head)):
        assert ok(run("account", words[0], "rows.account", *words[1:])).stdout
    (place / "model.json").unlink()
    said = refused(run("fit", "rows.csv", *FIT, "--epsilon", 1.5), "has 1 of epsilon = 2 left")
    assert "would still fit is epsilon = 1" in said and not (place / "model.json").exists()
    refused(run("fit", "rows.csv", *FIT, "--epsilon", "inf"), "without privacy")
    ok(run("fit", "rows.csv", *FIT, "--epsilon", 1, "--seed", 1))  # a simulation reads the rows, too
    refused(run("fit", "rows.csv", *FIT, "--epsilon", 0.1), "would still fit is nothing")
    apart = ok(run("fit", "rows.csv", *FIT, "--epsilon", 1, "--no-account"))
    assert "nothing is charged to rows.account" in apart.stderr
    refused(run("fit", "rows.csv", *FIT, "--no-account", "--account", "rows.account"), "contradict")
    assert len(Account(place / "rows.account").verify(head).entries) == 4


def test_missing_foreign_and_existing_files(discreet, place):
    refused(discreet("fit", "rows.csv", *FIT, "--account", "none.account", cwd=place), "there is no account")
    refused(discreet("account", "show", "none.account", cwd=place), "there is no account")
    assert not (place / "none.account").exists() and not (place / "model.json").exists()
    refused(discreet("account", "create", "schema.toml", "--epsilon", 1, cwd=place), "never overwritten")
    refused(discreet("fit", "rows.csv", *FIT, "--account", "schema.toml", cwd=place), "no account")
    refused(discreet("account", "create", "new.account", cwd=place), "--epsilon")
    refused(discreet("account", "create", "new.account", "--rho", 1, "--epsilon", 1, cwd=place), "--epsilon")
    (place / "rows.account").write_text("not an account")
    refused(discreet("fit", "rows.csv", *FIT, cwd=place), "no account")
    assert (place / "rows.account").read_text() == "not an account"


def test_people_and_compositions(discreet, place):
    ok(discreet("account", "create", "rows.account", "--epsilon", 3, "--delta", 1e-6, "--people", "who",
                "--composition", "zcdp", "--contributions", 1, cwd=place))  # fmt: skip
    refused(discreet("fit", "rows.csv", *FIT, "--epsilon", 0.1, cwd=place), "counts people by their 'who'")
    Schema(SCHEMA.features, "y", ["no", "yes"], id="who").save(place / "schema.toml")
    ok(discreet("fit", "rows.csv", *FIT, "--epsilon", 0.1, cwd=place))
    shown = ok(discreet("account", "show", "rows.account", cwd=place)).stdout
    assert "zcdp: rhos add up" in shown and "by the column 'who'" in shown and "rho = " in shown


@pytest.mark.parametrize(
    ("data", "account"),
    [("rows.csv", "rows.account"), ("rows.csv", "rows.csv.account"), ("rows.csv.gz", "rows.account"),
     ("rows.dat", "rows.account"), ("rows", "rows.account"), ("rows.2024.csv.GZ", "rows.2024.account"),
     ("rows.2024.csv.GZ", "rows.account"), ("part-*.parquet", "part-1.account"), ("part-?", "part-3.account"),
     ("*.csv", "rows.account"), ("link.csv", "rows.account"), ("sub/../rows.csv", "rows.account")],
)  # fmt: skip
def test_which_accounts_lie_beside_the_data(place, monkeypatch, data, account):
    from discreet.cli.common import accounts_beside

    monkeypatch.chdir(place)
    (place / "sub").mkdir()
    (place / "link.csv").symlink_to("rows.csv")
    for name in ("rows.csv.gz", "rows.dat", "rows", "rows.2024.csv.GZ", "part-1.parquet", "part-2.parquet", "part-3"):
        shutil.copy(place / "rows.csv", place / name)
    assert accounts_beside(data) == []
    Account.create(place / account, Budget(1))
    Account.create(place / "other.account", Budget(1))
    (found,) = accounts_beside(data)
    assert os.path.samefile(found, place / account)


def test_two_accounts_beside_the_data_ask_for_a_choice(place, monkeypatch, capsys):
    from discreet.cli.paying import account_for
    from discreet.errors import BudgetError

    monkeypatch.chdir(place)
    Account.create("rows.account", Budget(1))
    Account.create("rows.csv.account", Budget(2))
    with pytest.raises(BudgetError, match="several accounts"):
        account_for("rows.csv", None)
    assert account_for("rows.csv", place / "rows.account").budget == Budget(1)
    assert "rows.csv.account lies beside the data, but" in capsys.readouterr().err
    assert account_for("schema.toml", None) is None
    assert account_for("", None) is None
    for name in ("part-1", "part-2"):
        (place / f"{name}.csv").touch()
        Account.create(f"{name}.account", Budget(1))
    with pytest.raises(BudgetError, match=r"part-1.account, part-2.account\): say which"):
        account_for("part-*.csv", None)


def test_files_of_any_name_are_charged_to_the_account_beside_them(discreet, place):
    Account.create(place / "rows.account", Budget(1))
    for name in ("rows.dat", "rows"):
        shutil.copy(place / "rows.csv", place / name)
        done = ok(discreet("fit", name, *FIT, "--epsilon", 0.25, cwd=place))
        assert "will be charged to rows.account" in done.stderr
    assert Account(place / "rows.account").spent == Fraction(1, 2)


def test_what_is_missing_by_name_costs_nothing(discreet, place):
    account = Account.create(place / "rows.account", Budget(1))
    given = ("--account", "rows.account")
    ok(discreet("fit", "rows.csv", *FIT, "--epsilon", 0.25, cwd=place))
    (place / "narrow.csv").write_text("a,y\n0,no\n")
    settling = ("--bounds", "private", "--epsilon", 0.25, "--out", "s.toml")
    commands = (
        ("fit", "{}", *FIT),
        ("select", "{}", "--schema", "schema.toml", "-k", 1),
        ("settle", "{}", "--schema", "schema.toml", *settling),
        ("evaluate", "model.json", "{}", "--epsilon", 0.1),
        ("local", "perturb", "{}", "--schema", "schema.toml", "--out", "reports"),
    )
    for words in commands:
        for name, said in (
            ("typo.csv", "there is no file"),
            ("narrow.csv", "no column 'x'"),
            ("no-*", "no file matches"),
        ):
            refused(discreet(*(str(word).format(name) for word in words), *given, cwd=place), said)
    assert len(account.entries()) == 1


def test_a_bad_byte_among_the_rows_is_not_seen_before_the_charge(discreet, place):
    account = Account.create(place / "rows.account", Budget(1))
    with (place / "rows.csv").open("ab") as file:
        file.write(b"0,1,\xff\xfe,7\n")
    refused(discreet("fit", "rows.csv", *FIT, "--epsilon", 0.25, cwd=place), "")
    assert account.spent == Fraction(1, 4)


def test_local_reports_are_charged_for_all_that_one_person_sends(discreet, place):
    account = Account.create(place / "rows.account", Budget(1))
    words = ("local", "perturb", "rows.csv", "--schema", "schema.toml", "--out", "reports", "--epsilon", 0.75)
    done = ok(discreet(*words, "--json", cwd=place))
    assert "will be charged to rows.account" in done.stderr and "still fit is epsilon = 0.25" in done.stderr
    (entry,) = account.verify().entries
    assert ok(discreet("account", "verify", account.path, cwd=place)).stdout.startswith("1 charge, each")
    assert (entry.label, entry.grant) == ("discreet local perturb", Budget("3/4")) and "replace" in entry.unit
    (place / "reports").unlink()
    refused(discreet(*words, cwd=place), "has 0.25 of epsilon = 1 left")
    assert not (place / "reports").exists()
    ok(discreet(*words, "--no-account", cwd=place))
    assert len(account.entries()) == 1


def test_json_says_what_is_left_and_what_is_not_private(discreet, place):
    Account.create(place / "rows.account", Budget(2))
    left = "rows.account was charged; what would still fit is"
    for words in (
        ("fit", "rows.csv", *FIT, "--epsilon", 0.25),
        ("select", "rows.csv", "--schema", "schema.toml", "-k", 1, "--epsilon", 0.25),
        ("settle", "rows.csv", "--schema", "schema.toml", "--bounds", "private", "--epsilon", 0.25, "--out", "s.toml"),
        ("evaluate", "model.json", "rows.csv", "--epsilon", 0.25),
    ):
        for more in ((), ("--json",)):
            assert ok(discreet(*words, *more, cwd=place)).stderr.count(left) == 1, words
    done = ok(discreet("evaluate", "model.json", "rows.csv", "--json", cwd=place))
    assert json.loads(done.stdout)["private"] is False and "NOT private" in done.stderr
    refused(discreet("account", "verify", "rows.account", "--head", "abc", cwd=place), "'abc' is no hash")


def test_interruptions_say_what_became_of_the_charge(place, monkeypatch, capsys):
    from discreet.cli.paying import account_for
    from discreet.cli.running import run

    monkeypatch.chdir(place)
    Account.create("rows.account", Budget(1))

    def stop(paid):
        if paid:
            account_for("rows.csv", None)
        raise KeyboardInterrupt

    for paid, said in ((True, "what was charged stays charged"), (False, "no file was changed")):
        assert run(lambda paid=paid: stop(paid)) == 130
        assert said in capsys.readouterr().err


def test_a_command_that_fails_after_the_charge_says_that_it_stays(discreet, place):
    ok(discreet("account", "create", "rows.account", "--epsilon", 2, cwd=place))
    (place / "rows.csv").write_text("a,x,y\n7,3,no\n")
    done = discreet("fit", "rows.csv", *FIT, "--epsilon", 0.5, cwd=place)
    refused(done, "'a'")
    assert "was charged before the rows were read, and stays charged" in done.stderr
    assert "fit is epsilon = 1.5" in done.stderr and Account.open(place / "rows.account").spent == Fraction(1, 2)
    done = discreet("fit", "typo.csv", *FIT, "--epsilon", 0.5, "--account", "rows.account", cwd=place)
    refused(done, "there is no file")
    assert "charged" not in done.stderr


def test_the_demonstration_counts_its_own_fits(discreet, place):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = ok(discreet("demo", "--rows", 200, cwd=place))
    assert "together they cost epsilon = 5.6" in done.stdout
