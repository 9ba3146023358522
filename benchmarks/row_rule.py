"""The row rule at length: tables of mixed values in every container and source, counted as one and row by row."""

from __future__ import annotations

import random
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tests import postgres
from tests.sources import typed_tables
from tests.sources.tables_of import HELD, KINDS, MEMORY, NAMES, PAIRS, SCHEMAS, SOURCES, pools_of, same_arrays

from benchmarks.common import line
from benchmarks.engines import spark_session
from discreet.sources import collect
from discreet.sources.contract import by_the_rule, row_rule_violation
from discreet.statistics import DETAILS


def run(trials: int = 10_000, seed: int = 0, **_: Any) -> list[dict[str, Any]]:
    """One line per container: tables that were built and read, and violations among them."""
    rng, done, wrong = random.Random(seed), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), _servers() as servers:
        warnings.simplefilter("ignore")
        while done.total() < trials:
            _round(rng, Path(folder), done, wrong)
            for name, (asked, make) in servers.items():
                if rng.random() < asked:
                    _typed(name, make, rng, Path(folder), done, wrong)
    rows = [line(f"{name}: violations in {count} tables", wrong[name], "", "0", not wrong[name])
            for name, count in sorted(done.items())]  # fmt: skip
    return [*rows, line(f"all: violations in {done.total()} tables", wrong.total(), "", "0", not wrong.total())]


@contextmanager
def _servers() -> Iterator[dict[str, tuple[float, Callable[..., Any]]]]:
    """Engines with typed columns: how often each is asked, since some take seconds, and how it gets its rows."""
    with ExitStack() as open_:
        found: dict[str, tuple[float, Callable[..., Any]]] = {"dask": (0.5, _in_dask)}
        spark = open_.enter_context(spark_session())
        if spark is not None:
            found["Spark"] = 0.03, lambda kinds, rows, folder: _in_spark(spark, kinds, rows, folder)
        try:
            server = open_.enter_context(postgres.running())
        except pytest.skip.Exception:
            server = None
        if server is not None:
            connection = open_.enter_context(server.connect())
            found["PostgreSQL"] = 1.0, lambda kinds, rows, _: typed_tables.in_postgres(connection, kinds, rows)
        yield found


def _typed_file(kinds: dict[str, str], records: Any, folder: Path) -> str:
    made = {"double": pa.float64(), "real": pa.float32(), "integer": pa.int64(), "boolean": pa.bool_(),
            "decimal": pa.decimal128(20, 4), "text": pa.string()}  # fmt: skip
    columns = {name: pa.array([one[name] for one in records], made[kind]) for name, kind in kinds.items()}
    path = str(folder / f"{len(list(folder.iterdir()))}.parquet")
    parquet.write_table(pa.table(columns), path)
    return path


def _in_dask(kinds: dict[str, str], records: Any, folder: Path) -> Any:
    import dask.dataframe as dd

    frame = pd.read_parquet(_typed_file(kinds, records, folder), dtype_backend="pyarrow")
    return dd.from_pandas(frame, npartitions=2)


def _in_spark(session: Any, kinds: dict[str, str], records: Any, folder: Path) -> Any:
    return session.read.parquet(_typed_file(kinds, records, folder)).repartition(2)


def _typed(
    name: str, make: Callable[..., Any], rng: random.Random, folder: Path, done: Counter[str], wrong: Counter[str]
) -> None:  # fmt: skip
    """One draw of rows with typed columns, in an engine: by the rule, and as the sum of its rows."""
    schema, pools = rng.choice(SCHEMAS), typed_tables.POOLS
    known = [one for one in pools if one != "numeric" or name == "PostgreSQL"]
    kinds = {one: rng.choice([kind for kind in known if kind != "text" or one not in "nr"]) for one in NAMES}
    kinds["c"] = rng.choice(["integer", "text", "boolean"])
    values = {one: rng.choice(pools[kind]) for one, kind in kinds.items()}
    records = [{one: rng.choice(pool) for one, pool in values.items()} for _ in range(rng.randint(1, 4))]
    done[name] += 1
    violation = row_rule_violation(lambda rows: make(kinds, rows, folder), schema, records)
    try:
        found = collect(make(kinds, records, folder), schema, detail=DETAILS)
    except ValueError:
        found = None
    if violation or found != by_the_rule(schema, records):
        wrong[name] += 1
        print(f"{name}: {violation or 'not by the rule'}: {kinds} {records!r}")


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
