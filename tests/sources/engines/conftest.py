"""Engines that read rows where they are: one of each, started once."""

from __future__ import annotations

import os
import shutil
import sys

import duckdb
import narwhals as nw
import polars as pl
import pytest


def absent(reason):
    """Skip, but not where the engines are promised to be."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI has to have it (.ci/system)")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def need_spark():
    if shutil.which("java") is None:
        absent("there is no Java for Spark")
    try:
        import pyspark  # noqa: F401
    except ImportError:
        absent("pyspark is not installed")


@pytest.fixture(scope="session")
def spark(need_spark, tmp_path_factory):
    """A session of two cores that refuses results of rows: 400 kB is what the driver takes of a job."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.maxResultSize": "400k",
        "spark.driver.memory": "512m",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.adaptive.enabled": "false",  # plans of few rows are not worth a second thought, nor a compiler
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


# Each makes its own kind of data of a Parquet file.
ENGINES = {
    "polars lazy": lambda path, request: pl.scan_parquet(path),
    "narwhals": lambda path, request: nw.from_native(pl.scan_parquet(path)),
    "DuckDB relation": lambda path, request: duckdb.connect().read_parquet(str(path)),
    "dask": lambda path, request: _dask(path),
    "Spark": lambda path, request: request.getfixturevalue("spark").read.parquet(str(path)).repartition(3),
}


def _dask(path):
    try:
        import dask.dataframe as dd
    except ImportError:
        absent("dask is not installed")
    import pandas as pd

    return dd.from_pandas(pd.read_parquet(path, dtype_backend="pyarrow"), npartitions=3)


@pytest.fixture(params=ENGINES, ids=lambda name: name.replace(" ", "-"))
def engine(request):
    """A function that hands a Parquet file to an engine."""
    make = ENGINES[request.param]
    return lambda path: make(path, request)
