"""The coordinator: a SuperLink with the nodes' keys, one run of the ServerApp, and the model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.federated.flower import keep_quiet
from discreet.federated.flower.task import RoundTask


@contextmanager
def alone(state: Path) -> Iterator[None]:
    """Keep a second coordinator off the same state; the lock goes with the process, however it ends."""
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(state / "lock", "w") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such locks on this system
            pass
        except OSError:
            raise DiscreetError(f"another coordinator runs on the state in {state}") from None
        yield


def coordinate(
    task: RoundTask,
    *,
    state: Path,
    keys: Path | None,
    host: str,
    port: int,
    report: Any = lambda event, node: None,
    watch: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Listen, let in the nodes that have keys, run the round, and return what each node gave.

    Without `keys` there is neither encryption nor authentication. `watch` is called while answers are awaited, and may
    raise to end the round.
    """
    with alone(state):
        keep_quiet(state / "flower")
        from flwr.supercore.constant import TaskType

        from discreet.federated.flower.gate import SecretInterceptor
        from discreet.federated.flower.keys import FederationKeys
        from discreet.federated.flower.server import make_app
        from discreet.federated.flower.superlink import SuperLink
        from discreet.federated.flower.worker import Worker

        ring = None if keys is None else FederationKeys(keys)
        if ring is not None:
            ring.need(ring.authority, ring.certificate, ring.private)
            if len(ring.names) < task.nodes:
                raise DiscreetError(f"{task.nodes} nodes are expected, but {keys} has keys of {len(ring.names)}")
        task.check(task.nodes if ring is None else len(ring.names))
        results: list[dict[str, Any]] = []
        app = make_app(task, report, results, watch)
        with SuperLink(state, ring, host, port) as link:
            if ring is not None:
                link.register(ring)
            report("listening", f"{host}:{port}")
            run = link.start()
            worker = Worker(link.address, link.root, link.executor, interceptors=(SecretInterceptor(link.secret),))
            end = time.monotonic() + 60
            while (taken := worker.take(TaskType.SERVER_APP)) is None or taken[0] != run:
                if taken is not None:
                    worker.drop(taken[1])
                if time.monotonic() > end:
                    raise DiscreetError("Flower did not hand out the run: see its log with DISCREET_FLOWER_LOG=INFO")
                time.sleep(0.1)
            worker.serve(taken[1], app)
            worker.close()
        return results[0]
