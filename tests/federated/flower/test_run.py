"""A whole federation by one command: real processes on loopback, under masks and without encryption."""

from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pytest

from discreet import demo
from discreet.bayes.model import NaiveBayesModel
from tests.federated.flower.federation import Federation


@pytest.fixture
def federation(tmp_path):
    made = Federation(tmp_path, ("a", "b"))  # two: each node is two processes more
    model = demo.adult()
    made.write_shards(pa.table(model.sample(3000, rng=np.random.default_rng(3))), model.schema)
    yield made
    made.close()


slow = pytest.mark.skipif("DISCREET_SLOW" not in os.environ, reason="slow: run it by 'make deployment'")


@pytest.mark.parametrize("options", [["--secure"], pytest.param(["--insecure"], marks=slow)])
def test_run(federation, options):
    child = federation.start(
        "run", "--shards", "[ab].parquet", "--schema", "schema.toml", "--epsilon", 1, "--out", "model.json", "--state",
        "trial", "--json", *options, log="run.log",
    )  # fmt: skip
    assert federation.finish(child, 400) == 0, federation.logs()
    text = federation.log("run")
    result = json.loads(text[text.index("{\n") : text.rindex("}\n") + 2])
    assert [row["node"] for row in sorted(result["nodes"], key=lambda row: row["node"])] == ["a", "b"]
    assert result["secure"] == ("--secure" in options)
    certificate = NaiveBayesModel.load(federation.place / "model.json").certificate
    assert certificate.epsilon == "1"
    if result["secure"]:
        assert "honest nodes are in the sum" in " ".join(certificate.assumptions)
    assert set(federation.guard.read_text().splitlines()) == {"guarded"}
    assert list((federation.place / "home").iterdir()) == []  # no directory of Flower's: all started from nothing
