"""The package where it is no folder of files, and engines that fail before they hand anything over."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import discreet
from discreet import Categorical, DataError, Schema, collect

SWEPT = """
import sys
import numpy as np
from discreet import Categorical, Numeric, Schema, collect
from discreet.sources import sweep

assert sweep.__file__.startswith(sys.argv[1]), sweep.__file__
schema = Schema([Categorical("a", range(4)), Numeric("x", 0, 1)], "y", [0, 1])
values = np.column_stack([np.arange(40_000) % 4, np.linspace(0, 1, 40_000)])
labels = np.arange(40_000) % 2
assert not sweep.kept_on_disk()
plain = collect(values, schema, labels)
sweep.worthwhile = lambda _: True
import discreet.sources.count as count
count.worthwhile, count.SMALL = sweep.worthwhile, 0
assert collect(values, schema, labels) == plain and sweep.compiled_sweep() is sweep.compiled_sweep()
"""


@pytest.mark.slow  # it compiles
def test_the_compiled_sweep_runs_from_an_archive(tmp_path):
    """Executors may import the package from a zip file, beside which no cache of the compiler lies."""
    home, packed = Path(discreet.__file__).parent, tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in home.rglob("*.py"):
            archive.write(file, Path("discreet") / file.relative_to(home))
    env = {**os.environ, "PYTHONPATH": str(packed), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SWEPT, str(packed)], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_a_dask_frame_that_cannot_be_parted_is_one_sentence(monkeypatch):
    dd = pytest.importorskip("dask.dataframe")
    data = dd.from_pandas(pd.DataFrame({"a": [0, 1], "y": [0, 1]}), npartitions=2)

    def fails(self, *_, **__):
        raise RuntimeError("the scheduler is gone\nand more")

    monkeypatch.setattr(type(data), "to_delayed", fails)
    with pytest.raises(DataError, match=r"^[^\n]*the scheduler is gone$"):
        collect(data, Schema([Categorical("a", [0, 1])], "y", [0, 1]))
