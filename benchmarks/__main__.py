"""python -m benchmarks [NAME ...]: run, print a table, write results/benchmarks.json."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

ALL = (
    "startup", "sampler", "accuracy", "speed", "memory", "smooth_cost", "sensitivity_map", "robust", "secure", "gossip",
)  # fmt: skip


def main() -> None:
    """Parse the command line, run the benchmarks, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run (default: all of {', '.join(ALL)})")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the speed benchmark")
    parser.add_argument("--file-rows", type=int, default=50_000_000, help="rows of the memory benchmark")
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--data", help="the directory of the reference data sets")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks.json"))
    options = parser.parse_args()
    unknown = set(options.names) - set(ALL)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    settings = {key: getattr(options, key) for key in ("rows", "file_rows", "repeats", "data")}
    settings["folder"] = options.out.parent
    results = {}
    table = Table("benchmark", "what", "measured", "unit", "bar", "met", box=None)
    console = Console(width=150)
    for name in options.names or ALL:
        with console.status(f"running {name}"):
            results[name] = importlib.import_module(f"benchmarks.{name}").run(**settings)
        for line in results[name]:
            met = "" if line["met"] is None else "yes" if line["met"] else "NO"
            table.add_row(name, line["what"], str(line["measured"]), line["unit"], line["bar"], met)
    console.print(table)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
