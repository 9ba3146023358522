"""The row rule at length: tables of mixed values in every container and source, counted as one and row by row."""

from __future__ import annotations

import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from tests.sources.tables_of import HELD, KINDS, MEMORY, NAMES, PAIRS, SCHEMAS, SOURCES, pools_of, same_arrays

from benchmarks.common import line
from discreet.sources import collect
from discreet.sources.contract import by_the_rule, row_rule_violation


def run(trials: int = 10_000, seed: int = 0, **_: Any) -> list[dict[str, Any]]:
    """One line per container: tables that were built and read, and violations among them."""
    rng, done, wrong = random.Random(seed), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while done.total() < trials:
            _round(rng, Path(folder), done, wrong)
    rows = [line(f"{name}: violations in {count} tables", wrong[name], "", "0", not wrong[name])
            for name, count in sorted(done.items())]  # fmt: skip
    return [*rows, line(f"all: violations in {done.total()} tables", wrong.total(), "", "0", not wrong.total())]


def _round(rng: random.Random, folder: Path, done: Counter[str], wrong: Counter[str]) -> None:
    """One draw of rows, in every container."""
    schema, kind = rng.choice(SCHEMAS), rng.choice(KINDS)
    pools = {name: rng.choice(pools_of(name, kind)) for name in [*NAMES, "c"]}
    records = [{name: rng.choice(pool) for name, pool in pools.items()} for _ in range(rng.randint(1, 4))]

    def note(name: str, held: bool, violation: Any) -> None:
        done[name] += held
        if violation:
            wrong[name] += 1
            print(f"{name}: {violation}")

    for name, make in MEMORY.items():
        note(name, make(records) is not None, row_rule_violation(make, schema, records))
    for name, pair in PAIRS.items():
        note(name, True, row_rule_violation(pair, schema, records, read=lambda data: collect(data[0], schema, data[1])))
        try:
            found = collect(*_ordered(pair(records), schema), detail=("bins", "moments", "lattice"))
        except ValueError:
            found = None
        if found != by_the_rule(schema, records):
            note(name, False, f"not by the rule: {records!r}")
    for name, source in SOURCES.items():
        make = lambda rows, source=source: source(rows, folder)  # noqa: E731
        note(name, make(records) is not None, row_rule_violation(make, schema, records))
    reader = rng.choice(list(HELD))
    read, join = HELD[reader]
    for name, make in {
        "pandas": MEMORY["pandas inferred"],
        "database": lambda rows: SOURCES["database"](rows, folder),
    }.items():
        violation = row_rule_violation(
            make, schema, records, read=lambda data: read(data, schema), join=join, same=same_arrays
        )
        note(f"{reader} from {name}", make(records) is not None, violation)
    for file in folder.iterdir():
        file.unlink()


def _ordered(pair: Any, schema: Any) -> tuple[Any, Any, Any]:
    return pair[0], schema, pair[1]
