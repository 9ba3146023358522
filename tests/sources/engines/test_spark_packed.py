"""The package sent along with a job: executors whose Python lacks it get it from an archive that Spark unpacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

import discreet
from discreet import collect

DRIVER = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pyspark.sql import SparkSession
from discreet import DataError, Schema, collect

master, rows, schema, archive = sys.argv[1:]
builder = SparkSession.builder.master(master).config("spark.executorEnv.PYTHONPATH", "./packed")
for key, value in {
    "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.driver.memory": "512m",
    "spark.executor.memory": "512m", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "false", "spark.log.level": "OFF",
    **({"spark.archives": archive + "#packed"} if archive else {}),
}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
where = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
try:
    found = collect(spark.read.parquet(rows).repartition(3), Schema.load(schema))
    told = {name: values.tolist() for name, values in found.arrays().items()}
except DataError as error:
    told = str(error)
print(json.dumps([where, told]))
"""


@pytest.fixture
def bare(tmp_path):
    """A Python that has all that the package needs, and not the package."""
    place, needed = tmp_path / "bare", tmp_path / "needed"
    venv.create(place, symlinks=True)
    needed.mkdir()
    for one in {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}:
        for entry in one.iterdir():
            if "discreet" not in entry.name and entry.suffix != ".pth" and not (needed / entry.name).exists():
                (needed / entry.name).symlink_to(entry)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(f"{needed}\n")
    return place / "bin" / "python"


def packed(path, version):
    """The package and what says its version, as an archive."""
    home = Path(discreet.__file__).parent
    metadata = distribution("discreet").read_text("METADATA")
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(home.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, Path("discreet") / file.relative_to(home))
        own = distribution("discreet").version
        archive.writestr(
            f"discreet-{version}.dist-info/METADATA", metadata.replace(f"\nVersion: {own}\n", f"\nVersion: {version}\n")
        )
    return str(path)


@pytest.mark.slow
def test_an_archive_brings_the_package_and_another_version_is_refused(cluster, bare, schema, frame, tmp_path):
    master, _, surroundings = cluster
    frame.to_parquet(tmp_path / "rows.parquet")
    schema.save(tmp_path / "schema.toml")
    env = {**surroundings, "PYSPARK_PYTHON": str(bare), "PYSPARK_DRIVER_PYTHON": sys.executable}

    def told(archive):
        command = [sys.executable, "-c", DRIVER, master, str(tmp_path / "rows.parquet"), str(tmp_path / "schema.toml")]
        done = subprocess.run([*command, archive], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        where, found = json.loads(done.stdout)
        assert os.path.samefile(where[0], bare) and str(tmp_path) in where[0]
        return found

    own = distribution("discreet").version
    expected = {name: values.tolist() for name, values in collect(frame, schema).arrays().items()}
    assert "the workers cannot import discreet" in told("")
    assert told(packed(tmp_path / "same.zip", own)) == expected
    assert f"the workers have discreet 9.9.9 and this process has {own}" in told(
        packed(tmp_path / "other.zip", "9.9.9")
    )
