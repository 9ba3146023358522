"""A node: its house and a SuperNode, which joins a coordinator, answers, and joins again after every cut."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.federated.flower import keep_quiet
from discreet.federated.flower.answers import AnsweringSite, FederatedTerms
from discreet.federated.flower.keys import read_private
from discreet.nodes.keys import write_closed

log = logging.getLogger("discreet.node")
Report = Callable[[str, str], None]


@dataclass(frozen=True)
class Connection:
    """How a node reaches its coordinator; without keys the wire is open and anybody may pose as either."""

    coordinator: str
    authority: Path | None = None
    private: Path | None = None
    patience: float = 90.0  # a session that was cut off takes Flower 60 seconds to forget

    @property
    def insecure(self) -> bool:
        """Whether there is neither encryption nor authentication."""
        return self.authority is None


def free_port() -> int:
    """A port of this machine that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def private_directory(ledger: Path) -> Path:
    """Where a node keeps what is neither its rows nor its ledger."""
    place = ledger.parent / f".{ledger.name}.flower"
    place.mkdir(mode=0o700, exist_ok=True)
    return place


class _Told(logging.Handler):
    """Passes what a node's site says of its refusals on to whoever started the node."""

    def __init__(self, report: Report) -> None:
        super().__init__(logging.WARNING)
        self.report = report

    def emit(self, record: logging.LogRecord) -> None:
        event, _, sentence = record.getMessage().partition(": ")
        self.report(event, sentence)


class FlowerNode:
    """One node from its start to its end; `run` returns only by an error or an interruption."""

    def __init__(self, terms: FederatedTerms, connection: Connection, report: Report) -> None:
        self.terms, self.connection, self.report = terms, connection, report
        self.place = private_directory(terms.ledger)
        keep_quiet(self.place)
        self.site = AnsweringSite(terms)
        try:
            self.site.count()
            self.site.sweep()
        except BaseException:
            self.site.close()
            raise
        self.executor = secrets.token_bytes(32)
        self.secret = self.place / "executor.secret"
        self.secret.unlink(missing_ok=True)
        write_closed(self.secret, self.executor)

    def run(self) -> None:
        """Join, answer, and join again whenever the SuperNode ends."""
        from discreet.federated.flower.client import make_app

        app = make_app(self.site)
        told = _Told(self.report)
        log.addHandler(told)  # why this node refuses is for its owner to see, and for nobody else
        try:
            while True:
                self.join()
                port = free_port()
                child = self._start(port)
                try:
                    self._work(child, port, app)
                finally:
                    _end(child)
                self.report("cut off", "joining again")
        finally:
            log.removeHandler(told)
            self.site.close()

    # ---- joining

    def join(self) -> None:
        """Wait for the coordinator and make sure that it takes this node, ending a session that was cut off."""
        import httpx

        end = time.monotonic() + self.connection.patience
        told = False
        while True:
            try:
                if self._knock():
                    return
                if time.monotonic() > end:
                    raise DiscreetError(
                        f"the coordinator does not accept the key of node {self.terms.node!r}: "
                        "it is not registered there, or another process runs with it"
                    )
            except httpx.TransportError as error:
                if "certificate" in str(error).lower():
                    raise DiscreetError(
                        f"{self.connection.coordinator} shows a certificate that is not of this federation"
                    ) from None
                if not told:
                    self.report("waiting", f"for the coordinator at {self.connection.coordinator}")
                told = True
                end = time.monotonic() + self.connection.patience
            time.sleep(1)

    def _knock(self) -> bool:
        """Activate this node and free it again for the SuperNode; false if the coordinator does not take it now."""
        import httpx
        from flwr.common.constant import HEARTBEAT_DEFAULT_INTERVAL
        from flwr.proto.fleet_pb2 import ActivateNodeRequest, DeactivateNodeRequest
        from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
        from flwr.supercore.primitives.asymmetric import public_key_to_bytes
        from flwr.supernode.fleet_http_client import FleetHttpClient
        from flwr.supernode.node_auth_http_interceptor import NodeAuthHttpInterceptor

        if self.connection.authority is None or self.connection.private is None:  # no keys: it is there, or it is not
            host, _, port = self.connection.coordinator.rpartition(":")
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
            except OSError as error:
                raise httpx.ConnectError(str(error)) from None
            return True
        key = read_private(self.connection.private)
        kept = self.place / "node-id"
        signed = NodeAuthHttpInterceptor(key, key.public_key())
        chain: list[Any] = [RuntimeVersionHttpInterceptor(component_name="SuperNode"), signed]
        root = self.connection.authority.read_bytes()
        with FleetHttpClient.from_server_address(self.connection.coordinator, False, root, chain) as client:
            try:
                raw = public_key_to_bytes(key.public_key())
                asked = ActivateNodeRequest(public_key=raw, heartbeat_interval=HEARTBEAT_DEFAULT_INTERVAL)
                answer = client.ActivateNode(asked)
            except httpx.HTTPStatusError:
                if kept.is_file():  # our own session of before may still stand: end it
                    with suppress(httpx.HTTPStatusError, ValueError):
                        client.DeactivateNode(DeactivateNodeRequest(node_id=int(kept.read_text())))
                return False
            kept.write_text(str(answer.node_id))
            client.DeactivateNode(DeactivateNodeRequest(node_id=answer.node_id))
        return True

    # ---- working

    def _start(self, port: int) -> subprocess.Popen[bytes]:
        if self.connection.insecure:
            wire = ["--insecure"]
        else:
            wire = ["--root-certificates", str(self.connection.authority)]
            wire += ["--auth-supernode-private-key", str(self.connection.private)]
        command = [sys.executable, "-P", str(Path(__file__).with_name("supernode.py"))]
        command += ["--superlink", self.connection.coordinator, *wire]
        command += ["--isolation", "process", "--superexec-auth-secret-file", str(self.secret)]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        quiet = None if os.environ.get("DISCREET_FLOWER_LOG") else subprocess.DEVNULL
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)

    def _work(self, child: subprocess.Popen[bytes], port: int, app: Any) -> None:
        import httpx
        from flwr.supercore.constant import TaskType

        from discreet.federated.flower.worker import Worker

        worker = Worker(f"127.0.0.1:{port}", None, self.executor)
        ready = False
        try:
            while child.poll() is None:
                try:
                    taken = worker.take(TaskType.CLIENT_APP)
                    if not ready:
                        self.report("connected", f"to {self.connection.coordinator} as {self.terms.node}")
                    ready = True
                    if taken is not None:
                        worker.answer(taken[1], app)
                        self.report("answered", "a request")
                except httpx.ConnectError:
                    pass  # it is starting or ending
                except Exception as error:  # a SuperNode that waits for an answer we could not give must start anew
                    self.report("failed", f"to talk to its SuperNode: {type(error).__name__}")
                    return
                time.sleep(0.2)
        finally:
            worker.close()


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the SuperNode: by closing its input, then by force."""
    with suppress(OSError):
        assert child.stdin is not None
        child.stdin.close()
    end_within(child, 6)


def end_within(child: subprocess.Popen[Any], seconds: float) -> None:
    """Wait for a process that was asked to end, and end it by force if it does not."""
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
