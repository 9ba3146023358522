"""A PostgreSQL of the tests' own: started as an ordinary user in a folder of its own, reached by a socket there."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECRET = "a secret of the tests"


def missing(what: str) -> None:
    """Skip where an engine is not installed, except in CI, where it must be."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and CI tests every engine")
    pytest.skip(what)


class Server:
    """A running server: how to reach it, and what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        self.environment = {"PGPASSWORD": SECRET}

    def address(self, user: str = "admin") -> str:
        return f"postgresql://{user}@/postgres?host={self.folder}"

    def connect(self, user: str = "admin", **settings: Any) -> Any:
        import psycopg

        return psycopg.connect(self.address(user), password=SECRET, **{"autocommit": True, **settings})

    @contextmanager
    def asked(self) -> Iterator[list[str]]:
        """The statements that the server is sent inside this block, whoever sends them."""
        start, found = self.log.stat().st_size, []
        yield found
        with open(self.log, encoding="utf-8") as file:
            file.seek(start)
            found += [line for line in file.read().splitlines() if "statement: " in line or "execute " in line]


@contextmanager
def running() -> Iterator[Server]:
    """A server for as long as the block lasts."""
    places = [*glob.glob("/usr/lib/postgresql/*/bin"), *glob.glob("/usr/pgsql-*/bin"), *glob.glob("/opt/*/bin")]
    found = shutil.which("initdb") or next((f"{one}/initdb" for one in places if os.path.exists(f"{one}/initdb")), None)
    if found is None:
        missing("PostgreSQL is not installed (Debian: postgresql)")
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing("psycopg is not installed: install discreet[postgres]")
    tools = Path(str(found)).parent
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    who: dict[str, Any] = {}
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}
    (folder / "password").write_text(SECRET)
    (folder / "password").chmod(0o644)

    def run(tool: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(tools / tool), "-D", str(folder / "data"), *arguments], **who, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr

    try:
        run("initdb", "-A", "scram-sha-256", "-U", "admin", f"--pwfile={folder / 'password'}", "-E", "UTF8",
            "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        settings = ["listen_addresses=''", "fsync=off", "log_statement=all", "shared_buffers=32MB", "jit=off"]
        options = " ".join([f"-k {folder}", *(f"-c {one}" for one in settings)])
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield Server(folder)
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
