"""Secure aggregation within one process: a transport that can lose, change and count messages."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.federated.secure.coordinator import SecureCoordinator
from discreet.federated.secure.node import Draw, SecureNode
from discreet.federated.secure.round import Round
from discreet.nodes.refusals import AbortError, SecureError
from discreet.nodes.signing import Signer

Drops = Mapping[str, Collection[str]]
COORDINATOR = ""  # no name of a node
Tamper = Callable[[str, str, str, bytes], bytes | None]


@dataclass
class RoundOutcome:
    """What became of a round: the sum, who is in it, why others are not, and what it cost each node."""

    round: Round
    total: NDArray[np.int64]
    survivors: tuple[str, ...]
    attempts: int = 1
    charges: int = 1
    refusals: dict[str, str] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    received: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    coordinator_seconds: float = 0.0


@contextmanager
def _timed(seconds: dict[str, float], who: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[who] += time.perf_counter() - start


def run_round(
    nodes: Mapping[str, SecureNode],
    coordinator: SecureCoordinator,
    *,
    drops: Drops | None = None,
    tamper: Tamper | None = None,
) -> RoundOutcome:
    """Drive a round to its end, or raise as the coordinator does.

    A node named in `drops[stage]` is silent from that stage on. `tamper(stage, name, way, message)` may change a
    message on its way "to" or "from" a node, or swallow it by returning None. Whatever a node or the coordinator
    raises at a single message makes that node a dropout.
    """
    outcome = RoundOutcome(coordinator.round, np.zeros(0, np.int64), ())
    gone: set[str] = set()
    change = tamper or (lambda stage, name, way, message: message)
    while not coordinator.done:
        stage = coordinator.stage
        gone |= set((drops or {}).get(stage, ()))
        for name in coordinator.awaiting:
            with _timed(outcome.seconds, COORDINATOR):
                request: bytes | None = coordinator.message(name)
            request = None if name in gone or request is None else change(stage, name, "to", request)
            if request is None:
                continue
            outcome.received[name] += len(request)
            try:
                with _timed(outcome.seconds, name):
                    reply = nodes[name].answer(request)
                changed = change(stage, name, "from", reply)
                if changed is not None:
                    outcome.sent[name] += len(changed)
                    with _timed(outcome.seconds, COORDINATOR):
                        coordinator.receive(name, changed)
            except SecureError as error:
                outcome.refusals[name] = str(error)
        with _timed(outcome.seconds, COORDINATOR):
            coordinator.close()
    outcome.coordinator_seconds = outcome.seconds.pop(COORDINATOR)
    outcome.total, outcome.survivors = coordinator.result, coordinator.survivors
    return outcome


def aggregate(
    signers: Mapping[str, Signer],
    draws: Mapping[str, Draw],
    length: int,
    *,
    colluding: int = 0,
    dropouts: int = 0,
    purpose: bytes = b"",
    drops: Sequence[Drops] = (),
    attempts: int = 3,
) -> RoundOutcome:
    """The sum of the vectors that `draws` give, with as many fresh rounds as it takes.

    `drops[i]` are the dropouts of attempt i. Each attempt has new keys and calls `draws` anew, so noise is fresh;
    an attempt whose sum was opened, even if the coordinator then failed, is one more charge.
    """
    registry = {name: signer.public for name, signer in signers.items()}
    charges = 0
    for attempt in range(1, attempts + 1):
        round_ = Round.open(registry, length, colluding=colluding, dropouts=dropouts, purpose=purpose)
        nodes = {name: SecureNode(round_, name, signers[name], draws[name]) for name in round_.nodes}
        coordinator = SecureCoordinator(round_)
        try:
            outcome = run_round(nodes, coordinator, drops=drops[attempt - 1] if attempt <= len(drops) else None)
        except AbortError:
            charges += coordinator.opened
            if attempt == attempts:
                raise
            continue
        outcome.attempts, outcome.charges = attempt, charges + 1
        return outcome
    raise AbortError("no attempt was made")
