"""The hands of a SuperLink or SuperNode: they run the apps that are installed here, never code out of a message.

Flower ships an app's code with each run and would install and run whatever a coordinator sends. These workers take
the task, but the app is our own: a coordinator can only ask what this package answers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
from flwr.clientapp import ClientApp
from flwr.common.constant import SubStatus
from flwr.common.serde import context_from_proto, run_from_proto
from flwr.proto.runtime_pb2 import (
    AcquireTaskRequest,
    PullTaskInputRequest,
    PushTaskOutputRequest,
    SendTaskHeartbeatRequest,
)
from flwr.serverapp import ServerApp
from flwr.supercore.constant import TaskType
from flwr.supercore.heartbeat import HeartbeatSender
from flwr.supercore.interceptors import (
    RuntimeTokenHttpInterceptor,
    RuntimeVersionHttpInterceptor,
    SuperExecAuthHttpInterceptor,
)
from flwr.supercore.runtime import RuntimeHttpClient
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.grid.http_grid import HttpGrid
from flwr.supernode.runtime.run_clientapp import pull_task_input, push_message, push_task_output

log = logging.getLogger("discreet.node")
ACQUIRE = frozenset({"/flwr.proto.Runtime/AcquireTask"})


class Worker:
    """Takes tasks from one Runtime API and runs them in this process."""

    def __init__(
        self, address: str, root: bytes | None, executor: bytes, *, interceptors: tuple[object, ...] = ()
    ) -> None:
        self.address, self.root, self.insecure = address, root, root is None
        self.queue = self._client(
            SuperExecAuthHttpInterceptor(master_secret=executor, protected_methods=ACQUIRE), *interceptors
        )

    def _client(self, *interceptors: object) -> RuntimeHttpClient:
        version = RuntimeVersionHttpInterceptor(component_name="SuperExec")
        chain: list[Any] = [version, *interceptors]
        return RuntimeHttpClient.from_server_address(self.address, self.insecure, self.root, chain)

    def take(self, kind: TaskType) -> tuple[int, str] | None:
        """The run and the token of a task that waits, if any."""
        answer = self.queue.AcquireTask(AcquireTaskRequest(supported_task_types=[kind], agentapp_fab_hashes=[]))
        return (answer.task.run_id, answer.token) if answer.HasField("task") and answer.token else None

    @contextmanager
    def _task(self, token: str) -> Iterator[RuntimeHttpClient]:
        client = self._client(RuntimeTokenHttpInterceptor(token))

        def alive() -> bool:
            with suppress(httpx.HTTPError):  # Flower's own would interrupt the whole process
                client.SendTaskHeartbeat(SendTaskHeartbeatRequest())
            return True

        beat = HeartbeatSender(alive)
        beat.start()
        try:
            yield client
        finally:
            if beat.is_running:
                beat.stop()
            client.close()

    def answer(self, token: str, app: ClientApp) -> None:
        """Run the ClientApp on one message."""
        with self._task(token) as client:
            message, context, _, _ = pull_task_input(client)
            reply = app(message=message, context=context)
            push_message(client, reply, context)
            push_task_output(client, context, SubStatus.COMPLETED, "")

    def serve(self, token: str, app: ServerApp) -> None:
        """Run the ServerApp to its end."""
        with self._task(token) as client:
            status, details = SubStatus.FAILED, "the round failed"
            try:
                given = client.PullTaskInput(PullTaskInputRequest())
                TaskIdentity.task_id, TaskIdentity.run_id = given.task_id, given.run.run_id
                TaskIdentity.node_id = given.context.node_id
                context = context_from_proto(given.context)
                grid = HttpGrid(self.address, self.insecure, self.root, token=token)
                grid.set_run(run_from_proto(given.run))
                try:
                    app(grid=grid, context=context)
                finally:
                    grid.close()
                status, details = SubStatus.COMPLETED, ""
            finally:
                self._end(client, status, details)

    def drop(self, token: str) -> None:
        """End a task that a run of before has left behind."""
        with self._task(token) as client:
            self._end(client, SubStatus.FAILED, "the coordinator was restarted")

    def _end(self, client: RuntimeHttpClient, status: str, details: str) -> None:
        with suppress(httpx.HTTPError):
            client.PushTaskOutput(PushTaskOutputRequest(sub_status=status, details=details))

    def close(self) -> None:
        """Close the connection."""
        self.queue.close()
