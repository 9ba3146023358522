"""One round over a grid: ask every node, ask again where an answer is lost, and add up what comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from discreet.errors import DiscreetError, UpdateError
from discreet.federated.aggregate import Aggregate
from discreet.federated.flower.records import BusyError, RefusedError, Request, read_update

Watch = Callable[[], None]  # called at every turn of waiting; it may raise to end the round
Report = Callable[[str, str], None]  # what happened (joined, answered, refused, lost, asked), and to which node


def ignore() -> None:
    """Watch nothing."""


@dataclass(frozen=True)
class Patience:
    """How long a round waits: for all nodes in all, and for one answer before the node is asked again (seconds)."""

    wait: float = 600.0
    resend: float = 30.0
    poll: float = 0.5


USUAL = Patience()


@dataclass
class Post:
    """Messages to many nodes, each sent again until it is answered; what comes twice is dropped."""

    grid: Grid
    patience: Patience
    kind: str = "train"
    sent: dict[str, int] = field(default_factory=dict)  # message -> node
    due: dict[int, float] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)

    def ask(self, node: int, content: RecordDict, ttl: float) -> bool:
        """Send to a node unless its answer is still awaited; true if something was sent."""
        now = time.monotonic()
        if now < self.due.get(node, 0.0):
            return False
        message = Message(content, dst_node_id=node, message_type=self.kind, ttl=max(ttl, 1.0))
        for identity in self.grid.push_messages([message]):
            if identity:
                self.sent[identity] = node
        self.tries[node] = self.tries.get(node, 0) + 1
        # Each next wait is twice as long, so that a slow node is not buried under questions.
        self.due[node] = now + self.patience.resend * 2 ** (self.tries[node] - 1)
        return True

    def replies(self) -> Iterable[tuple[int, Message]]:
        """What has come in since."""
        if not self.sent:
            return []
        found = []
        for message in self.grid.pull_messages(list(self.sent)):
            node = self.sent.pop(message.metadata.reply_to_message_id, None)
            if node is not None:
                found.append((node, message))
        return found

    def lost(self, node: int) -> None:
        """A node is gone or its answer is: ask again soon."""
        self.due[node] = time.monotonic() + 2 * self.patience.poll


def names(grid: Grid) -> dict[int, str]:
    """The nodes that are connected, by the names under which the coordinator has registered their keys."""
    if hasattr(grid, "get_nodes"):
        return {info.node_id: info.name for info in grid.get_nodes()}
    return dict.fromkeys(grid.get_node_ids(), "")


@dataclass
class Outcome:
    """What a round came to."""

    aggregate: Aggregate
    refused: dict[str, str] = field(default_factory=dict)

    def table(self) -> list[dict[str, Any]]:
        """A record for each node that counts."""
        return self.aggregate.table()


def gather(
    grid: Grid,
    request: Request,
    aggregate: Aggregate,
    *,
    expected: int,
    at_least: int | None = None,
    known: int | None = None,
    named: bool = False,
    patience: Patience = USUAL,
    report: Report = lambda event, node: None,
    keep: Callable[[Aggregate], None] = lambda aggregate: None,
    watch: Watch = ignore,
) -> Outcome:
    """Ask nodes until `expected` of them are in the aggregate, or go on with `at_least` when the time is up.

    `named` says that every node has a name which its key stands for: an answer without one is refused.
    """
    least = expected if at_least is None else at_least
    outcome, post, content = Outcome(aggregate), Post(grid, patience), request.record()
    done: set[int] = set()
    called: dict[int, str] = {}  # kept for the whole round: a node that goes offline keeps its name
    end = time.monotonic() + patience.wait
    while len(aggregate) < expected:
        left = end - time.monotonic()
        here = names(grid) if left > 0 else {}
        for node, name in here.items():
            label = name or f"{node:x}"
            if node not in called:
                called[node] = name
                report("joined", label)
            if name and name in aggregate.members:
                done.add(node)
            elif node not in done and post.ask(node, content, left):
                report("asked" if post.tries[node] == 1 else "asked again", label)
        for node, message in post.replies():
            label = called[node] or f"{node:x}"
            if node in done:
                continue
            if message.has_error():
                report("lost", label)
                post.lost(node)
                continue
            done.add(node)
            try:
                _take(aggregate, message, request, called[node], named)
            except BusyError:
                done.discard(node)
                report("busy", label)
                post.lost(node)
                continue
            except (RefusedError, UpdateError) as error:
                outcome.refused[label] = str(error)
                report("refused", f"{label}: {error}")
                continue
            keep(aggregate)
            report("answered", label)
        if len(aggregate) >= expected or (known is not None and len(aggregate) + len(outcome.refused) >= known):
            break
        if left <= 0:
            break
        watch()
        time.sleep(patience.poll)
    if len(aggregate) < max(least, 1):
        raise DiscreetError(
            f"{len(aggregate)} of {expected} nodes have answered and {len(outcome.refused)} have refused"
            f"{_reasons(outcome)}: no model was written"
        )
    return outcome


def _reasons(outcome: Outcome) -> str:
    return "".join(f"; {node}: {sentence}" for node, sentence in sorted(outcome.refused.items()))


def _take(aggregate: Aggregate, message: Message, request: Request, name: str, named: bool) -> None:
    from discreet.federated.refusal import Refusal, refuse

    update = read_update(message.content)
    if named and not name:
        refuse(Refusal.UNKNOWN_NODE, "the update came with a key that is not registered")
    if name and update.node != name:
        refuse(Refusal.UNKNOWN_NODE, "the update bears another name than the key it came with")
    if update.round_id != request.round_id:
        refuse(Refusal.MALFORMED, "the update is of another round")
    aggregate.add(update)
