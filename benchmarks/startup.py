"""Start-up: importing the package against importing scikit-learn's Naive Bayes, the help page, first fits and commands.

Commands are measured in processor time, for the wall clock of a busy machine says little.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import best_of, line
from discreet import Categorical, Numeric, Schema

KINDS = (
    "auto", "naive-bayes", "additive", "additive-pairs", "tan", "joint", "selective", "logistic", "svm", "tree",
    "forest",
)  # fmt: skip
ROWS = 10_000

FIRST = """
import sys, time
import numpy as np
from benchmarks.common import made_up_rows, made_up_schema
from discreet import PrivateNB
codes, numbers, y = made_up_rows(int(sys.argv[1]), seed=0)
rows = np.hstack([codes, numbers])
start = time.perf_counter()
PrivateNB(1.0, schema=made_up_schema()).fit(rows, y)
print(time.perf_counter() - start)
PrivateNB(1.0, schema=made_up_schema()).fit(rows, y)
"""


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """One line per start-up time."""

    def python(code: str) -> float:
        return best_of(repeats, lambda: subprocess.run([sys.executable, "-c", code], check=True))

    empty = python("pass")
    ratio = (python("import discreet") - empty) / (python("import sklearn.naive_bayes") - empty)
    full = (python("from discreet import PrivateNB") - empty) / (python("import sklearn.naive_bayes") - empty)
    script = Path(sys.executable).parent / "discreet"
    seconds = best_of(repeats, lambda: subprocess.run([script, "--help"], check=True, stdout=subprocess.DEVNULL))
    firsts = []
    with tempfile.TemporaryDirectory() as folder:
        for what, bar in (("an installation", 2), ("a process", 0.5)):
            for rows in (200_000, 5_000_000):  # the second fit of so many calls the compiler, which keeps its work
                first = _first(rows, Path(folder))
                name = f"first fit of {what}, {rows / 1e6:g} M rows x 14"
                firsts.append(line(name, first, "s", f"< {bar:g}", first < bar))
    unit = "of importing sklearn.naive_bayes"
    return [
        line("import discreet", ratio, unit, "<= 1.5", ratio <= 1.5),
        line("from discreet import PrivateNB", full, unit, "<= 1.5", full <= 1.5),
        line("discreet --help", seconds, "s", "< 1", seconds < 1),
        *firsts,
        *_commands(repeats),
    ]


def _first(rows: int, folder: Path) -> float:
    """The seconds of the first of two fits in a process, with what the compiler keeps in a folder."""
    code = [sys.executable, "-W", "ignore", "-c", FIRST, str(rows)]
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return float(subprocess.run(code, env=kept, capture_output=True, text=True, check=True).stdout)


def _commands(repeats: int) -> list[dict[str, Any]]:
    """`discreet fit` on a small file by every kind: with the compiler's work kept, and without, as when installed."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for kind in KINDS:
            data, schema = _table(place, 4 if kind == "joint" else 14)  # one joint table holds few features
            kept = place / f"kept-{kind}"
            command = [sys.executable, "-W", "ignore", "-m", "discreet", "fit", str(data), "--schema", str(schema),
                       "--model", kind, "--out", str(place / "model.json")]  # fmt: skip
            first = _processor(command, kept)
            warm = min(_processor(command, kept) for _ in range(max(1, repeats // 2)))
            for what, seconds, bar in (("warm", warm, 1.5), ("first of an installation", first, 5.0)):
                name = f"discreet fit, {ROWS} rows, {kind}, {what}"
                lines.append(line(name, seconds, "s of processor", f"<= {bar:g}", seconds <= bar))
    return lines


def _processor(command: list[str], kept: Path) -> float:
    """The processor seconds of a command, with what the compiler keeps in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env={**os.environ, "NUMBA_CACHE_DIR": str(kept)}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _table(folder: Path, features: int) -> tuple[Path, Path]:
    """A made-up table as a CSV file, half of it categories and half numbers, and its schema."""
    rng, half = np.random.default_rng(0), features // 2
    y = rng.integers(0, 2, ROWS)
    columns: dict[str, Any] = {f"c{j}": (rng.integers(0, 5, ROWS) + y * (j % 3)) % 5 for j in range(half)}
    columns |= {f"x{j}": np.clip(rng.normal(y * 0.3 * (j % 3), 1, ROWS), -6, 6).round(4) for j in range(half)}
    known = [Categorical(f"c{j}", range(5)) for j in range(half)], [Numeric(f"x{j}", -6, 6) for j in range(half)]
    data, schema = folder / f"rows-{features}.csv", folder / f"schema-{features}.toml"
    rows = zip(*(one.tolist() for one in (*columns.values(), y)), strict=True)
    data.write_text("\n".join([",".join([*columns, "y"]), *(",".join(map(str, row)) for row in rows)]) + "\n")
    Schema([*known[0], *known[1]], "y", [0, 1]).save(schema)
    return data, schema
