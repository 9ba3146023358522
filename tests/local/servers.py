"""The HTTP collector as a process of its own, for tests that speak with it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BYTES = {"content-type": "application/octet-stream"}
ONE = ("--campaign", "c.json", "--store", "s.db")


class Server:
    """`discreet local serve` on a free port of the loopback."""

    def __init__(self, folder: Path, *options: str, what: tuple[str, ...] = ONE) -> None:
        script = Path(sys.executable).with_name("discreet")
        if not script.exists():
            pytest.skip("the console script is not installed beside this Python")
        arguments = ["local", "serve", *what, "--port", "0", "--json", *options]
        self.process = subprocess.Popen(
            [str(script), *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.told = json.loads(line)
        self.address = self.told["address"]
        self.port = int(self.address.rsplit(":", 1)[1])

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def post(self, body: bytes) -> dict[str, int]:
        with contextlib.closing(self.connect()) as connection:
            connection.request("POST", "/reports", body, BYTES)
            return json.loads(connection.getresponse().read())

    def end(self, number: int) -> tuple[int, str]:
        self.process.send_signal(number)
        errors = self.process.communicate(timeout=300)[1]
        return self.process.returncode, errors

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        with contextlib.closing(self.connect()) as connection:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read().decode()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.communicate(timeout=300)
