"""The same vectors summed by an independent implementation of multi-party computation, parties on loopback."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from discreet.federated.secure.local import aggregate
from tests.federated.secure.helpers import signers, vectors
from tests.ports import free_ports

pytestmark = pytest.mark.skipif(find_spec("mpyc") is None, reason="MPyC is not installed")


@pytest.mark.parametrize("count", [3, 5])
def test_mpyc_gets_the_same_sum(count, tmp_path):
    held = vectors(count, 6, reach=2**58, seed=count)
    (tmp_path / "vectors.json").write_text(json.dumps([vector.tolist() for vector in held.values()]), encoding="utf-8")
    script = str(Path(__file__).with_name("mpyc_sum.py"))
    parties = [f"-P127.0.0.1:{port}" for port in free_ports(count)]
    running = [
        subprocess.Popen(
            [sys.executable, script, *parties, f"-I{i}", "--no-log", str(tmp_path / "vectors.json")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]
    try:
        written = [process.communicate(timeout=300) for process in running]
    finally:
        for process in running:
            process.kill()
    lines = [line for line in written[0][0].splitlines() if line.startswith("SUM ")]
    assert lines, written[0][1]
    ours = aggregate(signers(count), {name: lambda v=v: v for name, v in held.items()}, 6)
    assert json.loads(lines[0][4:]) == ours.total.tolist()
