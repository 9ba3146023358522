"""The coordinator: a SuperLink with the nodes' keys, one run of the ServerApp, and the model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.federated.flower import keep_quiet
from discreet.federated.flower.task import RoundTask

if TYPE_CHECKING:  # it needs keys, which a trial without them does not
    from discreet.nodes.desk import Desk


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
    home: Path | None = None,
    report: Any = lambda event, node: None,
    watch: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Listen, let in the nodes that have keys, run the round, and return what each node gave.

    With a `home`, nodes that were invited there join at the same address first. Without `keys` there is neither
    encryption nor authentication. `watch` is called while answers are awaited, and may raise to end the round.
    """
    with alone(state):
        keep_quiet(state / "flower")
        from flwr.supercore.constant import TaskType

        from discreet.federated.flower.gate import SecretInterceptor
        from discreet.federated.flower.keys import FederationKeys
        from discreet.federated.flower.progress import Progress
        from discreet.federated.flower.server import make_app
        from discreet.federated.flower.superlink import SuperLink
        from discreet.federated.flower.worker import Worker
        from discreet.nodes.front import Front

        ring = None if keys is None else FederationKeys(keys)
        desk = None if home is None else _desk(home, keys)
        if ring is not None:
            ring.need(ring.authority, ring.certificate, ring.private)
        invited = [] if ring is None else ring.names if desk is None else list(desk.terms.members)
        if ring is not None and len(invited) < task.nodes:
            raise DiscreetError(f"{task.nodes} nodes are expected, but {keys} has keys of {len(invited)}")
        task = replace(task, known=len(invited))
        task.check(task.nodes if ring is None else len(invited))
        results: list[dict[str, Any]] = []
        report = Progress(state, task, invited, report)
        app = make_app(task, report, results, watch)
        front = None if desk is None else Front(desk, report)
        with report.ending(), SuperLink(state, ring, host, port, front) as link:
            report("listening", f"{host}:{port}")
            if desk is not None:
                _assembled(desk, task, report, watch)
            if ring is not None:
                link.register(ring)
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


def _desk(home: Path, keys: Path | None) -> Desk:
    from discreet.federated.flower.enrolment import desk_of

    if keys is None or keys.resolve() != (home / "keys").resolve():
        raise DiscreetError(f"--home {home} goes with its own keys: give --keys {home / 'keys'}")
    return desk_of(home)


def _assembled(desk: Desk, task: RoundTask, report: Any, watch: Callable[[], None]) -> None:
    """Wait until all who were invited have joined, or as many as the round can do with when the time is up."""
    end, told = time.monotonic() + task.wait, False
    while not desk.complete:
        if not told:
            report("invited", ", ".join(sorted(set(desk.terms.members) - set(desk.joined))))
        told = True
        if time.monotonic() > end:
            least = len(desk.terms.members) if task.secure else task.at_least or task.nodes
            if len(desk.joined) >= least:
                return
            missing = ", ".join(sorted(set(desk.terms.members) - set(desk.joined)))
            raise DiscreetError(f"these have not joined yet: {missing}; no round was begun")
        watch()
        time.sleep(0.2)
    # Every node must have been told of all the others, and begins only then.
    end = time.monotonic() + 5
    while told and not set(desk.terms.members) <= desk.told and time.monotonic() < end:
        time.sleep(0.1)
