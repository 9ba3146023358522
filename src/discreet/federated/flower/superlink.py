"""A SuperLink inside this process: TLS, node authentication, SQLite state, and a gate before it."""

from __future__ import annotations

import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Any, Self

import httpx
import uvicorn
from flwr.common.constant import ISOLATION_MODE_PROCESS, TRANSPORT_TYPE_GRPC_RERE
from flwr.common.serde import fab_to_proto, user_config_to_proto
from flwr.proto.control_pb2 import ListNodesRequest, RegisterNodeRequest, StartRunRequest, UnregisterNodeRequest
from flwr.supercore.control import ControlHttpClient
from flwr.supercore.fab import Fab
from flwr.supercore.interceptors import RuntimeVersionHttpInterceptor
from flwr.supercore.primitives.asymmetric import public_key_to_bytes
from flwr.superlink.cli.flower_superlink import SuperLinkLifespan
from flwr.superlink.config_loader import SuperLinkLifespanConfig, load_control_authn_plugin
from flwr.superlink.main import create_app

from discreet.errors import DiscreetError
from discreet.federated.flower.bundle import bundle
from discreet.federated.flower.gate import Gate, SecretInterceptor
from discreet.federated.flower.keys import FederationKeys, read_public
from discreet.guard import Limits, guarded

LIMITS = Limits(head=20, body=300, all=1024)  # nodes ask often, and what they send may be large


class SuperLink:
    """The coordinator's end of the wire, from `with` to the end of the block."""

    def __init__(self, state: Path, keys: FederationKeys | None, host: str, port: int, front: Any = None) -> None:
        self.keys, self.host, self.port = keys, host, port
        self.secret, self.executor = secrets.token_hex(32), secrets.token_bytes(32)
        paths = () if keys is None else (keys.authority, keys.certificate, keys.private)
        authority, certificate, private = (str(path) for path in paths) if paths else (None, None, None)
        contents = tuple(path.read_bytes() for path in paths) or None
        self.root = None if contents is None else contents[0]
        config = SuperLinkLifespanConfig(
            control_address=f"{host}:{port}", health_server_address=None, host=host, port=port, insecure=keys is None,
            certificates=contents,  # type: ignore[arg-type]
            superexec_auth_secret=self.executor, authn_plugin=load_control_authn_plugin(), event_log_plugin=None,
            fleet_event_log_plugin=None, enable_event_log=False, artifact_provider=None,
            enable_supernode_auth=keys is not None, fleet_api_type=TRANSPORT_TYPE_GRPC_RERE, fleet_api_address=None,
            simulation=False, ssl_ca_certfile=authority, ssl_certfile=certificate, ssl_keyfile=private,
            database=str(state / "superlink.sqlite"), isolation=ISOLATION_MODE_PROCESS,
            runtime_dependency_install=False,
        )  # fmt: skip
        gate = Gate(create_app(config, SuperLinkLifespan), self.secret, front)
        guard, _ = guarded(LIMITS)
        self.server = uvicorn.Server(
            uvicorn.Config(
                gate, host=host, port=port, log_level="error", access_log=False, ssl_certfile=certificate,
                ssl_keyfile=private, http=guard, ws="none",
            )
        )  # fmt: skip
        self.thread = threading.Thread(target=self._serve, name="superlink", daemon=True)
        self.failure: BaseException | None = None

    def _serve(self) -> None:
        try:
            self.server.run()
        except BaseException as error:
            self.failure = error

    @property
    def address(self) -> str:
        """Where this process reaches it."""
        own = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        return f"{own}:{self.port}"

    def __enter__(self) -> Self:
        with socket.socket() as probe:  # uvicorn would end the whole process on a port that is taken
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                raise DiscreetError(f"cannot listen on {self.host}:{self.port}: {error.strerror}") from None
        self.thread.start()
        end = time.monotonic() + 60
        while not self.server.started:
            if not self.thread.is_alive() or time.monotonic() > end:
                raise DiscreetError(f"the coordinator could not start on {self.host}:{self.port}: {self.failure}")
            time.sleep(0.05)
        self.control = ControlHttpClient.from_server_address(
            self.address,
            self.keys is None,
            self.root,
            [RuntimeVersionHttpInterceptor(component_name="flwr"), SecretInterceptor(self.secret)],
        )
        return self

    def __exit__(self, *_: Any) -> None:
        self.control.close()
        self.server.should_exit = True
        self.thread.join(timeout=3)
        if self.thread.is_alive():
            self.server.force_exit = True
            self.thread.join(timeout=3)

    def register(self, keys: FederationKeys) -> None:
        """Let in exactly the nodes whose public keys are in the directory."""
        wanted = {public_key_to_bytes(read_public(keys.public(name))): name for name in keys.names}
        known: set[bytes] = set()
        for info in self.control.ListNodes(ListNodesRequest()).nodes_info:
            if info.status == "unregistered":
                continue
            if wanted.get(info.public_key) == info.name:
                known.add(info.public_key)
            else:
                self.control.UnregisterNode(UnregisterNodeRequest(node_id=info.node_id))
        for raw, name in wanted.items():
            if raw not in known:
                try:
                    self.control.RegisterNode(RegisterNodeRequest(public_key=raw, name=name))
                except httpx.HTTPStatusError as error:
                    raise DiscreetError(
                        f"the key of node {name!r} cannot be registered ({error.response.status_code}): "
                        "a key that was taken out once needs a new pair"
                    ) from None

    def start(self) -> int:
        """Start a run of the app and return its number."""
        content, digest = bundle()
        answer = self.control.StartRun(
            StartRunRequest(fab=fab_to_proto(Fab(digest, content, {})), override_config=user_config_to_proto({}))
        )
        if not answer.HasField("run_id"):
            raise DiscreetError("Flower did not start the run: see its log with DISCREET_FLOWER_LOG=INFO")
        return int(answer.run_id)
