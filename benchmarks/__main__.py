"""python -m benchmarks [NAME ...]: run, print a table, write results/benchmarks.json."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import warnings
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from discreet.errors import DiscreetError, RepeatedFitWarning

ALL = tuple(sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py") if file.stem != "common"))
LONG = {
    "before",
    "collected",
    "continual",
    "deltas",
    "fuzz",
    "coverage",
    "identical",
    "large",
    "regret",
    "row_rule",
    "spending",
    "table",
    "thresholds",
    "utility",
    "wide",
}  # minutes and hours: run when they are named


def main() -> None:
    """Parse the command line, run the benchmarks, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run (default: all of {', '.join(ALL)})")
    parser.add_argument("--rows", type=int, default=5_000_000, help="rows of the speed benchmark")
    parser.add_argument("--file-rows", type=int, help="rows of the files of 'memory', 'large', 'table' and 'before'")
    parser.add_argument("--compression", default="zstd", help="of the file of 'before' (default: zstd)")
    parser.add_argument("--kinds", help="kinds of models of the benchmarks 'large' (default: auto) and 'wide' (all)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--source", type=Path, help="another version's directory, for the benchmark 'before'")
    parser.add_argument("--data", help="the directory of the reference data sets")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks.json"), help="a file, or a directory")
    parser.add_argument("--json", action="store_true", help="print the results as JSON; the table goes to stderr")
    _add_utility(parser)
    options = parser.parse_args()
    if not options.out.suffix:
        options.out /= "benchmarks.json"
    unknown = set(options.names) - set(ALL)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    settings = {key: value for key, value in vars(options).items() if key not in ("names", "out") and value is not None}
    settings["folder"] = options.out.parent
    results = {}
    warnings.simplefilter("ignore", RepeatedFitWarning)  # reference data are fitted again and again
    table = Table("benchmark", "what", "measured", "unit", "bar", "met", box=None)
    console = Console(width=150, stderr=options.json)
    for name in options.names or sorted(set(ALL) - LONG):
        with nullcontext() if name in LONG else console.status(f"running {name}"):
            try:
                results[name] = importlib.import_module(f"benchmarks.{name}").run(**settings)
            except DiscreetError as error:
                parser.error(str(error))
        for line in results[name]:
            met = "" if line["met"] is None else "yes" if line["met"] else "NO"
            table.add_row(name, line["what"], str(line["measured"]), line["unit"], line["bar"], met)
    console.print(table)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    options.out.write_text(text)
    if options.json:
        print(text, end="")


def _add_utility(parser: argparse.ArgumentParser) -> None:
    """The settings that only the comparison with other libraries has."""
    group = parser.add_argument_group("utility", "the comparison with other libraries, which runs only when named")
    group.add_argument("--datasets", type=_names, help="data sets of the manifest, with commas (default: all)")
    group.add_argument("--epsilons", type=_levels, help="such as .1,1")
    group.add_argument(
        "--seeds", type=_whole, help="splits and noises (default: 10 on small data sets, 5 on large ones)"
    )
    group.add_argument(
        "--methods",
        type=_names,
        help="auto, auto-delta, nb, logistic, sklearn, diffprivlib, dp-ebm, aim (default: all)",
    )
    group.add_argument("--peers", type=Path, help="where their environments are built (default: the user's cache)")
    group.add_argument("--jobs", type=_whole, help="fits at a time (default: 1)")
    group.add_argument("--limit", type=_whole, help="seconds after which a fit is given up (default: 900)")
    group.add_argument("--reuse", action="store_true", help="count results of earlier versions of our estimators")
    group.add_argument("--report", action="store_true", help="measure nothing more, report what there is")
    group.add_argument("--beside", type=Path, help="a former report; keep its figures of methods without fits here")
    group.add_argument("--readme", action="store_true", help="put the tables into docs/")


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _levels(text: str) -> list[float]:
    levels = [float(part) for part in _names(text)]
    if not all(0 < level < math.inf for level in levels):
        raise argparse.ArgumentTypeError(f"privacy levels are numbers above zero, not {text}")
    return levels


def _whole(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"must be a whole number above zero, not {text}")
    return int(text)


if __name__ == "__main__":
    main()
