"""Tables at addresses on the command line: the same results as from files, no passwords, and one charge."""

import io
import os
import shlex
import subprocess
import sys
import time
from functools import partial

import duckdb
import pytest

from discreet import Account, Address, Budget, DataError, collect
from discreet.cli import app
from discreet.cli.running import run
from tests.pages import blocks

pytestmark = pytest.mark.usefixtures("one_tree")


@pytest.fixture(scope="module")
def place(postgres, frame, schema, tmp_path_factory):
    """The same rows as a file, in DuckDB and in PostgreSQL, and their schema."""
    folder = tmp_path_factory.mktemp("databases")
    frame.to_csv(folder / "people.csv", index=False)
    schema.save(folder / "schema.toml")
    with duckdb.connect(str(folder / "people.db")) as duck:
        duck.execute("CREATE TABLE people AS SELECT * FROM frame")
    with postgres.connect() as connection:
        columns = "colour text, size int, age int, weight float8, dose float8, ill text"
        connection.execute(f"DROP TABLE IF EXISTS people; CREATE TABLE people ({columns})")
        with connection.cursor().copy("COPY people FROM STDIN") as copy:
            for row in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
                copy.write_row(list(row))
        connection.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'a secret of the tests'")
        connection.execute("GRANT SELECT ON people TO guest")
    yield folder
    with postgres.connect() as connection:
        connection.execute("DROP TABLE people; DROP ROLE guest")


@pytest.fixture
def sources(place, postgres):
    return {
        "file": ["people.csv"],
        "duckdb": ["duckdb:people.db", "--table", "people"],
        "postgresql": [postgres.address("guest"), "--table", "public.people"],
    }


@pytest.fixture
def asked(place, postgres, monkeypatch, capsys):
    """The command in this process: its code, and what it says."""
    monkeypatch.chdir(place)
    for name, value in {**postgres.environment, "COLUMNS": "200", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), write_through=True))

    def ask(*words):
        sys.stdout.buffer.seek(0)
        sys.stdout.buffer.truncate()
        code = run(partial(app, [str(word) for word in words], standalone_mode=False))
        return code, sys.stdout.buffer.getvalue().decode(), capsys.readouterr().err

    return ask


def answered(discreet, place, postgres, *arguments, **more):
    return discreet(*arguments, cwd=place, env={**postgres.environment, **more})


def test_every_command_reads_a_table_as_it_reads_a_file(sources, asked):
    told = {}
    for name, rows in sources.items():
        seen = []
        for before, after in (
            (["schema"], ["--target", "ill", "--json"]),
            (["settle"], ["-s", "schema.toml", "--epsilon", "1", "--bounds", "private", "--seed", "1", "-o", "s.toml",
                          "--json"]),
            (["select"], ["-s", "schema.toml", "-k", "2", "--seed", "1", "-o", "chosen.toml", "--json"]),
            (["fit"], ["-s", "schema.toml", "--seed", "1", "-o", "m.json", "--json"]),
            (["evaluate", "m.json"], ["--json"]),
            (["evaluate", "m.json"], ["--epsilon", "1", "--seed", "1", "--json"]),
            (["predict", "m.json"], ["--proba"]),
            (["check"], ["-s", "schema.toml", "--json"]),
            (["compare"], ["-s", "schema.toml", "--models", "nb", "--repeats", "1", "--public", "--json"]),
            (["stats"], ["-s", "schema.toml", "-o", "c.stats", "--json"]),
        ):  # fmt: skip
            code, out, err = asked(*before, *rows, *after)
            assert code == 0 or before == ["check"], err
            assert "secret" not in out + err
            seen.append(sorted(out.splitlines()))  # a database has no order of rows
        told[name] = seen
        code, out, err = asked("explain", "m.json", *rows)
        assert code == 0 and "in all" in out, err
        code, out, err = asked("schema", *rows, "--target", "ill", "-o", f"{name}.toml")
        assert code == 0 and f"try 'discreet check {' '.join(rows)} --schema {name}.toml'" in err
    expected = told.pop("file")
    for found in told.values():
        assert found[1:] == expected[1:]
        assert [line for line in found[0] if '"name"' in line] == [line for line in expected[0] if '"name"' in line]


def test_the_page_is_followed(place, postgres, asked, monkeypatch):
    """docs/databases.md, with the address of the server that is here."""
    (block,) = (one for one in blocks("databases.md", "console") if "postgresql://" in one)
    password, fit = (shlex.split(line[2:], comments=True) for line in block.splitlines())
    assert password[0] == "export" and password[1].startswith("PGPASSWORD=")
    monkeypatch.setenv("PGPASSWORD", "a secret of the tests")
    here = {"postgresql://reader@db.example/clinic": postgres.address("guest"), "public.visits": "public.people"}
    code, _, err = asked(*[here.get(word, word) for word in fit[1:]])
    assert code == 0 and (place / "model.json").stat().st_size, err


@pytest.mark.parametrize(
    "address, table, sentence",
    [
        ("postgresql://me:hush@nowhere/db", "t", "has a password in it"),
        ("postgresql://me@nowhere/db?password=hush", "t", "has a password in it"),
        ("postgresql://me@nowhere/db", None, "name one by --table"),
        ("duckdb:absent.db", "t", "there is no file absent.db"),
        ("duckdb:people.csv", "t", "is no database that DuckDB can open"),
        ("duckdb:people.db", "absent", "people.db has no table 'absent': it has people"),
        ("people.csv", "t", "--table is for addresses"),
        ("postgresql://guest@/postgres?host=/nowhere", "t", "the database cannot be reached"),
        ("postgresql://[half/db", "t", "malformed"),
    ],
)
def test_a_bad_address_is_one_sentence(address, table, sentence, place, asked):
    named = [] if table is None else ["--table", table]
    code, out, err = asked("fit", address, *named, "-s", "schema.toml", "-o", "no.json")
    assert code == 2 and out == "" and sentence in err and err.startswith("error: ") and err.count("\n") == 1
    assert "hush" not in err and not (place / "no.json").exists()


def test_a_table_that_is_not_there_is_told_with_the_next_step(place, postgres, asked):
    code, _, err = asked("check", postgres.address("guest"), "--table", "absent", "-s", "schema.toml")
    assert code == 2 and '"absent" does not exist: name one that does' in err and err.count("\n") == 1


def test_a_wrong_password_and_a_missing_right_are_told(place, postgres, discreet):
    asked = ["fit", postgres.address("guest"), "--table", "pg_authid", "-s", "schema.toml", "-o", "no.json"]
    done = answered(discreet, place, postgres, *asked, PGPASSWORD="not this")
    assert done.returncode == 2 and "password authentication failed" in done.stderr and "not this" not in done.stderr
    done = answered(discreet, place, postgres, *asked)
    assert done.returncode == 2 and "may read none of its columns" in done.stderr


def test_an_account_beside_a_database_file_is_charged(place, postgres, discreet):
    account = Account.create(place / "people.account", Budget(1))
    try:
        done = answered(discreet, place, postgres, "fit", "duckdb:people.db", "--table", "people", "-s", "schema.toml",
                        "--epsilon", "0.5", "-o", "m.json")  # fmt: skip
        assert done.returncode == 0 and float(account.spent) == 0.5
    finally:
        os.unlink(account.path)


def test_an_address_in_python(place, schema, frame, monkeypatch, postgres):
    monkeypatch.setenv("PGPASSWORD", postgres.environment["PGPASSWORD"])
    assert collect(Address(postgres.address("guest"), "people"), schema) == collect(frame, schema)
    assert collect(Address(f"duckdb:{place / 'people.db'}", "people"), schema) == collect(frame, schema)
    with pytest.raises(DataError, match="name one by --table"):
        collect(postgres.address("guest"), schema)


def test_a_lost_connection_is_charged_once(place, postgres, discreet):
    """The command is killed off in the middle of its count; the second try pays with the first one's charge."""
    account = Account.create(place / "lost.account", Budget(1))
    asked = ["fit", postgres.address("guest"), "--table", "slow", "-s", "schema.toml", "--epsilon", "1", "-o", "m.json",
             "--account", "lost.account"]  # fmt: skip
    nap = "ill || pg_sleep(0.05)::text AS ill"
    with postgres.connect() as connection:
        connection.execute(f"CREATE VIEW slow AS SELECT colour, size, age, weight, dose, {nap} FROM people")
        connection.execute("GRANT SELECT ON slow TO guest")
        (place / "m.json").unlink(missing_ok=True)
        first = subprocess.Popen([sys.executable, "-m", "discreet", *asked], cwd=place, text=True,
                                 env={**os.environ, **postgres.environment}, stderr=subprocess.PIPE)  # fmt: skip
        who = "usename = 'guest' AND state = 'active' AND query LIKE 'SELECT l,%'"
        until = time.monotonic() + 120
        while not connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {who}").fetchall():
            assert time.monotonic() < until and first.poll() is None, first.communicate()
            time.sleep(0.02)
        _, told = first.communicate(timeout=60)
        assert first.returncode == 2 and "error: the connection to the database was lost" in told
        charge = told.partition("--resume-charge ")[2].partition(",")[0]
        assert account.spent == 1 and len(account.entries()) == 1 and not (place / "m.json").exists()
        connection.execute("DROP VIEW slow; CREATE VIEW slow AS SELECT * FROM people")
        connection.execute("GRANT SELECT ON slow TO guest")
    for more, sentence in (
        ([], "has 0 of epsilon = 1 left"), (["--resume-charge", "0" * 12], "no charge"),
        (["--resume-charge", charge, "--epsilon", "0.5"], "another plan"), (["--resume-charge", charge], None),
        (["--resume-charge", charge], "no charge"),
    ):  # fmt: skip
        done = answered(discreet, place, postgres, *asked, *more)
        assert done.returncode == (0 if sentence is None else 2) and (sentence or "") in done.stderr, done.stderr
    assert (place / "m.json").exists() and account.spent == 1 and len(account.entries()) == 1
    with postgres.connect() as connection:
        connection.execute("DROP VIEW slow")
