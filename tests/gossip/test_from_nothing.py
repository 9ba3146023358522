"""From nothing to the same model at three nodes by the commands on the page: invite, admit, and join three times."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.federated.flower.test_from_nothing import documented
from tests.gossip.common import IMPORTED, SCHEMA, write_rows
from tests.nursery import Nursery
from tests.ports import free_ports

pytest.importorskip("grpc")


def test_three_nodes_in_five_commands(tmp_path):
    desk, *ports = free_ports(4)
    invite, admit, join = documented("gossip.md")
    names = invite[invite.index("--nodes") + 1].split(",")
    assert len(names) == 3
    invite[invite.index("--address") + 1] = f"127.0.0.1:{desk}"
    SCHEMA.save(tmp_path / "schema.toml")
    nursery, children = Nursery(*IMPORTED), []

    def start(words, log):
        child = nursery.start(["gossip", *words], tmp_path / log, tmp_path / f"{log}.code", tmp_path)
        children.append(child)
        return child

    def logs():
        return {path.name: path.read_text()[-2000:] for path in tmp_path.glob("*.log")}

    try:
        assert start(invite, "invite.log").wait(120) == 0, logs()
        office = start(admit, "admit.log")
        nodes = {}
        for i, (name, port) in enumerate(zip(names, ports, strict=True)):
            write_rows(tmp_path / f"{name}.csv", 60 + i, i)
            (tmp_path / f"{name}.invite").write_text((tmp_path / f"network/{name}.invite").read_text())
            told = {"north.invite": f"{name}.invite", "rows.parquet": f"{name}.csv",
                    "0.0.0.0:8701": f"127.0.0.1:{port}", "north.example:8701": f"127.0.0.1:{port}"}  # fmt: skip
            words = [told.get(word, word) for word in join]
            nodes[name] = start([*words, "--beat", "0.05"], f"{name}.log")
        for name, child in nodes.items():
            try:
                assert child.wait(300) == 0, (name, logs())
            except subprocess.TimeoutExpired:
                raise AssertionError(logs()) from None
        os.kill(office.pid, signal.SIGTERM)
        office.wait(60)
        models = {(tmp_path / name / "model.json").read_bytes() for name in names}
        assert len(models) == 1
        assert not list((tmp_path / "network").rglob("node.key"))  # keys are where they are used
        shown = start(["status", "--state", f"{names[0]}/state", "--json"], "status.log")
        assert shown.wait(60) == 0
        found = json.loads((tmp_path / "status.log").read_text())
        for words in documented("gossip.md", "node")[1:]:  # the first goes on after a crash, which there was none of
            assert start(words, f"then-{words[0]}.log").wait(60) == 0, logs()
        assert (tmp_path / "now.json").read_bytes() in models and (tmp_path / "keys").is_dir()
        assert found["phases"] == dict.fromkeys(sorted(names), "content") and found["expected_error"] > 0
    finally:
        nursery.close()
        for child in children:
            child.kill()
