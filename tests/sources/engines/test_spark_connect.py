"""Spark Connect: a server on loopback and a client in a process of its own, since a process has one kind of session."""

import subprocess
import sys

import pytest

CLIENT = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from discreet import Categorical, Numeric, PrivateClassifier, PrivateHoldout, PrivateNB, Schema, collect, sources

builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
for name in ("spark.driver.bindAddress", "spark.driver.host"):
    builder = builder.config(name, "127.0.0.1")
session = builder.config("spark.driver.memory", "512m").getOrCreate()
rng = np.random.default_rng(0)
rows = pd.DataFrame({"a": rng.choice(["u", "v"], 500), "x": rng.random(500), "y": rng.choice(["n", "p"], 500)})
rows["who"] = [f"id {i // 2}" for i in range(500)]
schema = Schema([Categorical("a", ["u", "v"]), Numeric("x", 0, 1)], "y", ["n", "p"], id="who")
frame = session.createDataFrame(rows)
assert type(frame).__module__.startswith("pyspark.sql.connect")
assert collect(frame, schema, contributions=2) == collect(rows, schema, contributions=2)
assert sources.open(frame, schema).held().counts.tolist() == sources.open(rows, schema).held().counts.tolist()
for kind in (PrivateNB, PrivateClassifier):
    assert kind(1.0, schema=schema, contributions=2).fit(frame).certificate_.epsilon == "1"
assert PrivateHoldout(PrivateNB(1.0, schema=schema, contributions=2)).fit(frame).certificate_.epsilon == "1"
print("all is well")
session.stop()
"""


@pytest.mark.slow
def test_a_frame_of_spark_connect_is_counted_fitted_and_held_out(need_spark, tmp_path):
    try:
        import pyspark.sql.connect.session  # noqa: F401 - it asks for grpcio-status and others
    except ImportError as error:
        pytest.skip(f"Spark Connect needs pyspark[connect] ({error})")
    done = subprocess.run(
        [sys.executable, "-c", CLIENT], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0 and "all is well" in done.stdout, done.stderr[-2000:]
