"""From nothing to a model under masks by the commands on the page: one invites, one coordinates, one at each node."""

from __future__ import annotations

import json
import shlex

import pyarrow as pa
import pytest

from tests.federated.flower.federation import Federation
from tests.pages import DOCS


def documented(page: str, first: str = "invite") -> list[list[str]]:
    """The commands of the page's block that begins with this one, as words."""
    fences = (DOCS / page).read_text(encoding="utf-8").split("\n```")
    (block,) = (one for one in fences[1::2] if one.split()[2:3] == [first])
    return [shlex.split(line, comments=True)[2:] for line in block.strip().splitlines()]


@pytest.fixture
def federation(tmp_path, schema, frame):
    made = Federation(tmp_path, warm=True)
    made.write_shards(pa.Table.from_pandas(frame), schema)
    yield made
    made.close()


def test_three_nodes_in_five_commands(federation):
    here = f"127.0.0.1:{federation.port}"
    invite, coordinator, join = documented("federated-deployment.md")
    invite[invite.index("--address") + 1] = here
    assert "--secure" in invite and "--trust-coordinator-keys" in join
    assert federation.finish(federation.start(*invite, log="invite.log")) == 0, federation.logs()
    running = federation.start(*coordinator, log="coordinator.log")
    for name in federation.names:  # each partner finds the one line in its mail
        (federation.place / f"{name}.invite").write_text((federation.place / f"federation/{name}.invite").read_text())
        words = [{"a.invite": f"{name}.invite", "rows.parquet": f"{name}.parquet"}.get(word, word) for word in join]
        federation.start(*words, log=f"{name}.log")
    assert federation.finish(running) == 0, federation.logs()
    model = json.loads((federation.place / "federation" / "model.json").read_text())
    assert model["certificate"]["epsilon"] == "1"
    codes = {federation.log(name).split("by another way: ")[1].split()[0] for name in federation.names}
    assert len(codes) == 1  # all nodes add up with the same keys
    assert "secret=" not in "".join(federation.log(name) for name in (*federation.names, "coordinator", "invite"))
    assert not list((federation.place / "federation").rglob("node.key"))  # keys are where they are used
    for name in federation.names:
        assert len(list((federation.place / name).rglob("*.key"))) == 1
        assert len(federation.entries(f"{name}/{name}")) == 1
    status = federation.start("status", "--state", "federation/state", "--json", log="status.log")
    assert federation.finish(status) == 0, federation.logs()
    shown = json.loads(federation.log("status"))
    assert shown["phase"] == "finished" and [one["node"] for one in shown["nodes"]] == ["a", "b", "c"]
