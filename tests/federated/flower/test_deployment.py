"""A coordinator and three nodes as processes on loopback: keys, crashes, restarts, refusals, and the same model."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from discreet import Schema, demo
from discreet.bayes.model import NaiveBayesModel
from discreet.federated import Aggregate
from discreet.federated.flower.keys import make_keys
from tests.federated.flower.federation import Federation


@pytest.fixture
def federation(tmp_path, request):
    """Adult in three shards, or rows drawn from the released model of it where the data are absent."""
    made = Federation(tmp_path, warm=True)
    try:
        directory = request.getfixturevalue("data_dir")
        schema = Schema.from_manifest(directory / "datasets.json", "adult")
        rows = parquet.read_table(directory / "adult.parquet")
    except pytest.skip.Exception:
        model = demo.adult()
        schema, rows = model.schema, pa.table(model.sample(3000, rng=np.random.default_rng(3)))
    made.write_shards(rows, schema)
    yield made
    made.close()


def kept(federation):
    """The round under way and the nodes whose updates the coordinator has on disk."""
    for path in federation.place.glob("state/aggregate-*.json"):
        return path.stem.removeprefix("aggregate-"), sorted(Aggregate.load(path).members)
    return "", []


def same_model(federation, round_id, path):
    """The model equals the in-process one on the very noise that the nodes' ledgers keep, bit for bit."""
    schema = Schema.load(federation.place / "schema.toml")
    updates = dict(zip(federation.names, federation.updates(round_id), strict=True))
    twin = Aggregate(schema)
    for name in Aggregate.load(federation.place / "state" / f"aggregate-{round_id}.json").members:
        twin.add(updates.pop(name))
    assert not updates
    twin.model().save(federation.place / "twin.json")
    assert (federation.place / path).read_bytes() == (federation.place / "twin.json").read_bytes()
    certificate = NaiveBayesModel.load(federation.place / path).certificate
    assert (certificate.epsilon, certificate.simulation) == ("1", False)


def closed(federation):
    """Whoever merely reaches the port can neither register a node nor start an app nor take the coordinator's work."""
    context = ssl.create_default_context(cafile=str(federation.place / "keys/public/ca.pem"))
    paths = ("control/register-node", "control/start-run", "control/list-nodes", "runtime/acquire-task")
    codes = {}
    for path in (*paths, "fleet/register-node", "fleet/activate-node"):
        ask = urllib.request.Request(
            f"https://127.0.0.1:{federation.port}/v1/{path}", b"", {"content-type": "application/x-protobuf"}
        )
        try:
            codes[path] = urllib.request.urlopen(ask, context=context, timeout=120).status
        except urllib.error.HTTPError as error:
            codes[path] = error.code
    assert {codes[path] for path in paths} == {404}, codes
    assert {code for path, code in codes.items() if path.startswith("fleet")} <= {400, 401, 412, 415, 422}, codes
    with pytest.raises(OSError):  # and without encryption nothing is said at all
        urllib.request.urlopen(f"http://127.0.0.1:{federation.port}/docs", timeout=120)


def test_story(federation):
    make_keys(federation.place / "keys", ["a", "b", "c"])
    make_keys(federation.place / "strangers", ["c"])
    modes = {path.stat().st_mode & 0o777 for path in federation.place.glob("keys/**/*") if path.is_file()}
    assert modes == {0o600}

    # Two of three nodes are there; the third is a stranger: the right authority, a name that exists, another key.
    nodes = {name: federation.node(name) for name in "ab"}
    first = federation.coordinator("one.json")
    federation.until(lambda: "listening" in federation.log("coordinator"))
    closed(federation)
    (federation.place / "mixed" / "public").mkdir(parents=True)
    (federation.place / "mixed" / "nodes").mkdir()
    (federation.place / "mixed/public/ca.pem").write_bytes((federation.place / "keys/public/ca.pem").read_bytes())
    (federation.place / "strangers/nodes/c").rename(federation.place / "mixed/nodes/c")
    stranger = federation.node("c", "--patience", 3, "--ledger", "stranger.ledger", keys="mixed")
    federation.until(lambda: len(kept(federation)[1]) == 2)
    round_id, _ = kept(federation)

    # The coordinator is killed mid-round and started again on its state.
    federation.kill(first)
    assert not (federation.place / "one.json").exists()
    second = federation.coordinator("one.json")
    assert federation.finish(stranger) == 2
    assert "does not accept the key" in federation.log("c")
    assert federation.entries("c") == []

    # The third node is killed as soon as it has paid, before its answer is out, and started again.
    nodes["c"] = federation.node("c", DISCREET_PAUSE="after paying")
    federation.until(lambda: federation.entries("c"))
    federation.kill(nodes["c"])
    assert federation.entries("c") == [(round_id, None)]
    assert "c" not in kept(federation)[1]
    assert second.poll() is None
    nodes["c"] = federation.node("c")
    assert federation.finish(second) == 0, federation.logs()

    assert all([entry[0] for entry in federation.entries(name)] == [round_id] for name in "abc")  # nobody paid twice
    same_model(federation, round_id, "one.json")
    assert "rows as reported" in federation.log("coordinator")

    # A new run on the same state is a new round.
    third = federation.coordinator("two.json", "--json")
    assert federation.finish(third) == 0, federation.logs()
    rounds = [[entry[0] for entry in federation.entries(name)] for name in "abc"]
    assert all(len(names) == 2 and names == rounds[0] and names[0] == round_id for names in rounds)
    same_model(federation, rounds[0][1], "two.json")

    # Nothing but loopback was tried, in any of the processes, and no directory of Flower's was made at home.
    guarded = federation.guard.read_text().splitlines()
    assert set(guarded) == {"guarded"} and len(guarded) > 10
    assert list((federation.place / "home").iterdir()) == []
    assert (federation.place / "state" / "superlink.sqlite").stat().st_size > 0
