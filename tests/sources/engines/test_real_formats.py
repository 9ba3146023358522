"""Tables of Delta and Iceberg as their own writers lay them down, read by DuckDB's real extensions.

The extensions come as packages for DuckDB 1.5 alone, so all of it happens in a folder of packages of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
DUCKDB = "1.5.5"
ENGINE = [f"duckdb=={DUCKDB}", *(f"duckdb-extension-{name}=={DUCKDB}" for name in ("delta", "iceberg", "avro"))]
WRITERS = ["deltalake==1.6.6", "pyiceberg==0.12.0", "sqlalchemy>=2"]
WRITE = """
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as parquet
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

folder, rng = sys.argv[1], np.random.default_rng(0)
def rows(n):
    y = rng.integers(0, 2, n)
    words = np.array(["u", "v", "w"])[rng.integers(0, 3, n)]
    return pa.table({"a": words.tolist(), "x": rng.normal(size=n) + y, "y": np.array(["no", "yes"])[y].tolist()})
write_deltalake(folder + "/delta", rows(3000))
write_deltalake(folder + "/delta", rows(2000), mode="append")
DeltaTable(folder + "/delta").delete("x > 2.5")  # rows that still lie in the files and are no rows of the table
table = pa.table(DeltaTable(folder + "/delta").to_pyarrow_table())
parquet.write_table(table, folder + "/rows.parquet")
catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
catalog.create_namespace("n")
iceberg = catalog.create_table("n.t", schema=table.schema)
iceberg.append(table.slice(0, 3000))
iceberg.append(table.slice(3000))
print(iceberg.metadata_location.removeprefix("file://"))
"""
READ = """
import json, sys
import duckdb
folder, extensions, metadata = sys.argv[1:]
for name in ("avro", "delta", "iceberg"):
    place = f"{extensions}/duckdb_extension_{name}/extensions/v{duckdb.__version__}/{name}.duckdb_extension"
    duckdb.execute(f"INSTALL '{place}'")
from discreet import Address, Categorical, DataError, Numeric, Schema, collect
schema = Schema([Categorical("a", ["u", "v", "w"]), Numeric("x", -3, 4)], "y", ["no", "yes"])
told = [{name: values.tolist() for name, values in collect(data, schema).arrays().items()} for data in (
    folder + "/rows.parquet", Address("duckdb:", f"delta:{folder}/delta"), Address("duckdb:", f"iceberg:{metadata}"))]
try:
    collect(Address("duckdb:", f"delta:{folder}/n"), schema)
except DataError as error:
    told.append(str(error))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Two folders of packages: the engine with its extensions, and the writers."""
    places = []
    for name, wanted in (("engine", ENGINE), ("writers", WRITERS)):
        place = tmp_path_factory.mktemp(name)
        alone = ["--no-deps"] if name == "engine" else []
        command = [sys.executable, "-m", "pip", "install", "-q", *alone, "--target", str(place), *wanted]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"the packages cannot be had: {done.stderr.splitlines()[-1]}")
        places.append(place)
    return places


def ran(code: str, *arguments: object, path: Path, home: Path) -> str:
    source = str(Path(__file__).parents[3] / "src")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(path), source)), "HOME": str(home)}
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1]


def test_real_extensions_give_the_integers_of_the_same_rows(packages, tmp_path):
    engine, writers = packages
    metadata = ran(WRITE, tmp_path, path=writers, home=tmp_path)
    rows, delta, iceberg, refused = json.loads(ran(READ, tmp_path, engine, metadata, path=engine, home=tmp_path))
    assert sum(rows["counts:"]) == 4805
    assert delta == rows
    assert iceberg == rows
    assert refused.count("\n") == 0 and "delta" in refused.lower()  # a folder that is no such table: one sentence
