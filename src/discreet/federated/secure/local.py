"""Secure aggregation within one process: a transport that can lose, change and count messages."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.federated.secure.coordinator import SecureCoordinator
from discreet.federated.secure.errors import AbortError, SecureError
from discreet.federated.secure.keys import Signer
from discreet.federated.secure.node import Draw, SecureNode
from discreet.federated.secure.round import Round

Drops = Mapping[str, Collection[str]]
Tamper = Callable[[str, str, str, bytes], bytes | None]


@dataclass
class Outcome:
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


def run_round(
    nodes: Mapping[str, SecureNode],
    coordinator: SecureCoordinator,
    *,
    drops: Drops | None = None,
    tamper: Tamper | None = None,
) -> Outcome:
    """Drive a round to its end, or raise as the coordinator does.

    A node named in `drops[stage]` is silent from that stage on. `tamper(stage, name, way, message)` may change a
    message on its way "to" or "from" a node, or swallow it by returning None. Whatever a node or the coordinator
    raises at a single message makes that node a dropout.
    """
    outcome = Outcome(coordinator.round, np.zeros(0, np.int64), ())
    gone: set[str] = set()
    change = tamper or (lambda stage, name, way, message: message)
    while not coordinator.done:
        stage = coordinator.stage
        gone |= set((drops or {}).get(stage, ()))
        for name in coordinator.awaiting:
            start = time.perf_counter()
            request = coordinator.message(name)
            outcome.coordinator_seconds += time.perf_counter() - start
            request_ = change(stage, name, "to", request) if name not in gone else None
            if request_ is None:
                continue
            outcome.received[name] += len(request_)
            start = time.perf_counter()
            try:
                reply: bytes | None = nodes[name].answer(request_)
            except SecureError as error:
                outcome.refusals[name] = str(error)
                continue
            finally:
                outcome.seconds[name] += time.perf_counter() - start
            reply = change(stage, name, "from", reply) if reply is not None else None
            if reply is None:
                continue
            outcome.sent[name] += len(reply)
            start = time.perf_counter()
            try:
                coordinator.receive(name, reply)
            except SecureError as error:
                outcome.refusals[name] = str(error)
            outcome.coordinator_seconds += time.perf_counter() - start
        start = time.perf_counter()
        coordinator.close()
        outcome.coordinator_seconds += time.perf_counter() - start
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
) -> Outcome:
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
