"""Start-up: importing the package against importing scikit-learn's Naive Bayes, the help page, and first fits."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import best_of, line

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
    ]


def _first(rows: int, folder: Path) -> float:
    """The seconds of the first of two fits in a process, with what the compiler keeps in a folder."""
    code = [sys.executable, "-W", "ignore", "-c", FIRST, str(rows)]
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return float(subprocess.run(code, env=kept, capture_output=True, text=True, check=True).stdout)
