"""A slow story: a node that has forgotten its session waits until Flower has, too."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pyarrow as pa
import pytest

from discreet import demo
from discreet.federated.flower.keys import make_keys
from tests.federated.flower.federation import Federation

pytestmark = pytest.mark.skipif("DISCREET_SLOW" not in os.environ, reason="slow: run it by 'make deployment'")


@pytest.fixture
def federation(tmp_path):
    made = Federation(tmp_path, warm=True)
    model = demo.adult()
    made.write_shards(pa.table(model.sample(3000, rng=np.random.default_rng(3))), model.schema)
    yield made
    made.close()


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
