"""Engines that read rows where they are: one of each, started once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import duckdb
import narwhals as nw
import polars as pl
import pytest

from tests.ports import free_ports


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
    """A session of two cores that tries tasks twice and refuses rows: 400 kB is what the driver takes of a job.

    It is started as a command starts one for an address: the rest is said by spark-defaults.conf.
    """
    from discreet.sources.spark import session_at

    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.maxResultSize": "400k",
        "spark.driver.memory": "512m",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.adaptive.enabled": "false",  # plans of few rows are not worth a second thought, nor a compiler
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
    }
    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(folder))
        session = session_at("spark:local[2,2]")  # of two cores, and a second try
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


@pytest.fixture
def cluster(need_spark, tmp_path):
    """A master and two workers of one core each, on loopback: the address, and the workers' processes."""
    import pyspark

    (port,) = free_ports(1)
    home = Path(pyspark.__file__).parent
    surroundings = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",  # spark-class, another Java to start, would find it out
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
        "PYSPARK_PYTHON": sys.executable,
    }
    deploy, master = "org.apache.spark.deploy", f"spark://127.0.0.1:{port}"
    started = []

    def start(*arguments):
        quick = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+IgnoreUnrecognizedVMOptions")
        command = ["java", *quick, "-cp", str(home / "jars" / "*"), *arguments]
        with open(tmp_path / f"{len(started)}.log", "wb") as log:
            started.append(subprocess.Popen(command, env=surroundings, stdout=log, stderr=log, start_new_session=True))

    try:
        start(f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        for _ in range(2):
            start(f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1",
                  "--memory", "768m", master)  # fmt: skip
        yield master, started[1:], surroundings
    finally:
        for process in started:
            kill(process)


def kill(process):
    """End a process and all that it started, at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
