"""Slow stories: a whole federation under masks in processes, and a node that has forgotten its session."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pyarrow as pa
import pytest

from discreet import demo
from discreet.bayes.model import NaiveBayesModel
from discreet.federated.flower.keys import make_keys
from tests.federated.flower.federation import Federation

pytestmark = pytest.mark.skipif("DISCREET_SLOW" not in os.environ, reason="slow: run it by 'make deployment'")


@pytest.fixture
def federation(tmp_path):
    made = Federation(tmp_path)
    model = demo.adult()
    made.write_shards(pa.table(model.sample(3000, rng=np.random.default_rng(3))), model.schema)
    yield made
    made.close()


@pytest.mark.parametrize("options", [["--secure"], ["--insecure"]])
def test_run(federation, options):
    child = federation.start(
        "run", "--shards", "[abc].parquet", "--schema", "schema.toml", "--epsilon", 1, "--out", "model.json", "--state",
        "trial", "--json", *options, log="run.log",
    )  # fmt: skip
    assert federation.finish(child, 200) == 0, federation.logs()
    text = federation.log("run")
    result = json.loads(text[text.index("{\n") : text.rindex("}\n") + 2])
    assert [row["node"] for row in sorted(result["nodes"], key=lambda row: row["node"])] == ["a", "b", "c"]
    assert result["secure"] == ("--secure" in options)
    certificate = NaiveBayesModel.load(federation.place / "model.json").certificate
    assert certificate.epsilon == "1"
    if result["secure"]:
        assert "honest nodes are in the sum" in " ".join(certificate.assumptions)
    assert set(federation.guard.read_text().splitlines()) == {"guarded"}


def test_a_node_without_memory_of_its_session_waits_until_flower_forgets_it(federation):
    make_keys(federation.place / "keys", ["a", "b", "c"])
    first = federation.coordinator("model.json", "--wait", 280)
    node = federation.node("a")
    federation.until(lambda: federation.entries("a"), pause=0.01)
    federation.kill(node)
    shutil.rmtree(federation.place / ".a.ledger.flower")
    for name in "abc":
        federation.node(name)
    assert federation.finish(first, 300) == 0, federation.logs()
    assert all(len(federation.entries(name)) == 1 for name in "abc")
