"""Devices with the JavaScript client post to a running server, which counts each of them once."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import Categorical, Numeric, Schema
from discreet.local.campaign import Campaign

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
NODE = shutil.which("node")
SCHEMA = Schema(
    [Categorical("sex", ["f", "m"]), Numeric("warmth", 30, 45)],
    target="ill",
    classes=["no", "yes"],
)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_devices_are_counted_once(tmp_path: Path) -> None:
    Campaign(SCHEMA, 2, oracle="she", numeric="hybrid", reports=3).save(tmp_path / "campaign.json")
    command = ["local", "serve", "--campaign", "campaign.json", "--store", "reports.db", "--port", "0", "--json"]
    server = subprocess.Popen(
        [sys.executable, "-c", "from discreet.cli import main; main()", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        program = [str(NODE), str(Path(__file__).with_name("devices.mjs")), address, "40"]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"accepted": 40, "replayed": 40}
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(120)
