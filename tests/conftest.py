"""Fixtures that every test may use: the reference data, a small mixed table, and the console command."""

from __future__ import annotations

import functools
import gc
import importlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from discreet import Categorical, Numeric, Schema
from tests import browser as browsers
from tests.console import console
from tests.postgres import running

# How long an example takes is a matter of the machine and what else it does, not of the code under test.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# Clients of local campaigns remember what they have spent: not in the home of whoever runs the tests.
_STATES = tempfile.TemporaryDirectory(prefix="discreet-states-")
os.environ["XDG_STATE_HOME"] = _STATES.name

# The longest files go first, so that no worker is left alone with one of them at the end; those of engines stay
# together, so that one worker starts them.
_LONGEST = tuple(
    f"tests/{name}"
    for name in (
        "federated/flower/test_deployment", "federated/flower/test_run", "sources/engines/",
        "gossip/test_deployment", "docs/test_blocks", "audit/test_how_to", "studies/test_gossip", "gossip/test_cli",
        "local/test_serve_process",
        "audit/test_every_case",
    )
)  # fmt: skip


def pytest_sessionstart(session: pytest.Session) -> None:
    """Workers of a whole run begin with different files: each finds translated what the others began with."""
    config = session.config
    if not hasattr(config, "workerinput") or list(config.args) != list(config.getini("testpaths")):
        return
    here, count = int(config.workerinput["workerid"].removeprefix("gw")), config.workerinput["workercount"]
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    first = len(files) * here // count
    for path in (*files[first:], *files[:first]):
        with suppress(Exception, pytest.skip.Exception):  # what is wrong with a file is told where it is collected
            importlib.import_module(".".join(path.relative_to(Path(__file__).parents[1]).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(_LONGEST))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # what was imported and collected stays: not to be gone through again and again
    gc.set_threshold(10_000)


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of the reference data sets; a test that needs it is skipped where there is none."""
    named = os.environ.get("DISCREET_DATA")
    path = Path(named) if named else Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not (path / "datasets.json").is_file():
        pytest.skip("the reference data sets are absent: set DISCREET_DATA to their directory")
    return path


@pytest.fixture(scope="module")
def one_engine():
    """DuckDB starts once, not for every file and every schema that is read off rows: for checks of other things."""
    started: dict[tuple[tuple[str, object], ...], duckdb.DuckDBPyConnection] = {}

    def cursor(**settings):
        key = tuple(sorted(settings.items()))
        if key not in started:
            started[key] = duckdb.connect(config=settings)
        return started[key].cursor(), None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.sources.draft.private_duckdb", lambda: cursor())
        patch.setattr("discreet.sources.files.private_duckdb", cursor)
        yield
    for whole in started.values():
        whole.close()


@pytest.fixture(scope="module")
def one_tree():
    """The tree of commands is built once, not for every command: for modules that add none to it."""
    from typer import main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "get_command", functools.cache(main.get_command))
        yield


@pytest.fixture(scope="session")
def schema() -> Schema:
    """Two categorical and three numeric features, two of which may be missing."""
    return Schema(
        features=[
            Categorical("colour", ["red", "green", "blue"], missing="category"),
            Categorical("size", [1, 2, 3], other="another"),
            Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]),
            Numeric("weight", -2, 2, bins=7, missing="bin"),
            Numeric("dose", 0, 1, step=0.25, bins=4),
        ],
        target="ill",
        classes=["no", "yes"],
    )


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """600 rows of that schema: values outside bounds, an undeclared size, missing colours and weights."""
    rng = np.random.default_rng(5)
    size = 600
    colour = rng.choice(np.array(["red", "green", "blue", None], dtype=object), size)
    weight = rng.integers(-96, 97, size) / 32.0  # multiples of 1/32 are the same in single precision
    weight[rng.random(size) < 0.1] = np.nan
    return pd.DataFrame(
        {
            "colour": colour,
            "size": rng.integers(1, 6, size),
            "age": rng.integers(-5, 120, size),
            "weight": weight,
            "dose": rng.integers(0, 9, size) / 8.0,
            "ill": rng.choice(np.array(["no", "yes"], dtype=object), size, p=[0.7, 0.3]),
        }
    )


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server; a test that needs it is skipped where there is none, except in CI."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def _chromium():
    with browsers.running() as started:
        yield started


@pytest.fixture
def browser(_chromium):
    """A headless Chromium without a past (`tests/browser.py`); where there is none, as with PostgreSQL."""
    _chromium.reset()
    return _chromium


_SURROUNDINGS = {"COLUMNS": "200", "NO_COLOR": "1"}
_PATIENCE = 600  # seconds: a guard against a hang; a busy machine is no fault


@pytest.fixture(scope="session")
def discreet():
    """Run the console command in a process of its own; the answer has returncode, stdout and stderr.

    The process is forked from one that has the imports behind it; `script` starts from nothing.
    """
    run = console(timeout=_PATIENCE)

    def with_surroundings(*arguments, cwd=None, env=None):
        return run(*arguments, cwd=cwd, env={**_SURROUNDINGS, **(env or {})})

    return with_surroundings


@pytest.fixture(scope="session")
def script():
    """Run the installed console script as a stranger does: for what is about its start, and the main commands."""
    place = Path(sys.executable).with_name("discreet")
    if not place.exists():
        pytest.skip("the console script is not installed beside this Python")

    def run(*arguments, cwd=None, env=None):
        return subprocess.run(
            [str(place), *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **_SURROUNDINGS, **(env or {})},
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    return run
