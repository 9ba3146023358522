"""Rows that do not fit: an automatic fit and Naive Bayes on many rows of Parquet, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import line, made_up_schema
from benchmarks.memory import write_file

PARTS = 10
CODE = """
import re, sys, time
from discreet import PrivateClassifier, PrivateNB, Schema
kind, path, schema = sys.argv[1], sys.argv[2], Schema.load(sys.argv[3])
start, told = time.perf_counter(), []
made = PrivateNB(1.0, schema=schema) if kind == "counted" else PrivateClassifier(1.0, schema=schema, model=kind)
made.fit(path, progress=lambda done, total: told.append(time.perf_counter() - start))
told.append(time.perf_counter() - start)
# The kernel's own high-water mark of this program; getrusage would also count the parent's memory at the fork.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
silence = max(after - before for before, after in zip([0.0, *told], told))
print(int(peak[1]) / 2**20, told[-1], told[0], silence, getattr(getattr(made, "choice_", None), "model", kind))
"""


def measured(kind: str, path: str, schema: Path) -> tuple[float, float, float, float, str]:
    """GiB resident, seconds, seconds to the first word of progress and of the longest silence, and the kind chosen."""
    command = [sys.executable, "-c", CODE, kind, path, str(schema)]
    *figures, chosen = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    peak, seconds, first, silence = map(float, figures)
    return peak, seconds, first, silence, chosen


def run(file_rows: int = 50_000_000, kinds: str = "auto", **_: Any) -> list[dict[str, Any]]:
    """Memory, speed and progress on `file_rows` rows, and of Naive Bayes on a fifth and on twice as many."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        schema, first = Path(folder) / "schema.json", Path(folder) / "part-00.parquet"
        made_up_schema().save(schema)
        for part in range(PARTS):
            write_file(Path(folder) / f"part-{part:02}.parquet", file_rows // PARTS, seed=part * file_rows)
        many = f"{file_rows / 1e6:g} M rows of Parquet"
        for kind in kinds.split(","):
            peak, seconds, told, silence, chosen = measured(kind, str(Path(folder) / "part-0*.parquet"), schema)
            what = f"PrivateClassifier ({chosen}), {many}, {seconds:.0f} s"
            found.append(line(what, peak, "GiB resident", "< 4", peak < 4))
            found.append(line(f"{what}: first word of progress", told, "s", "< 1", told < 1))
            found.append(line(f"{what}: longest silence", silence, "s"))
        few = measured("counted", str(Path(folder) / "part-0[01].parquet"), schema)
        for part in range(PARTS):  # the same rows once more cost no disk
            os.link(first.with_name(f"part-{part:02}.parquet"), first.with_name(f"part-{part + PARTS}.parquet"))
        peak, seconds, *_ = measured("counted", str(Path(folder) / "part-*.parquet"), schema)
        rate, before = 2 * file_rows / seconds / 1e6, file_rows / 5 / few[1] / 1e6
        what = f"Naive Bayes, {2 * file_rows / 1e6:g} M rows of Parquet"
        found.append(line(what, peak, "GiB resident", "< 2", peak < 2))
        found.append(line(what, rate, "million rows/s"))
        bar = ">= 0.8: linear in rows"
        found.append(
            line(f"{what}: rate beside {file_rows / 5e6:g} M rows", rate / before, "times", bar, rate >= 0.8 * before)
        )
    return found
