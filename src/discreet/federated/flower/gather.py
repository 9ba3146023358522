"""One round over a grid: ask every node, ask again where an answer is lost, and add up what comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

from discreet.errors import DiscreetError, UpdateError
from discreet.federated.aggregate import Aggregate
from discreet.federated.flower.records import Request, read_update
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError, Refusal, SecureError, refuse

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
    report: Report
    kind: str = "train"
    called: dict[int, str] = field(default_factory=dict)  # a node that goes offline keeps its name
    sent: dict[str, int] = field(default_factory=dict)  # message -> node
    due: dict[int, float] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)

    def ask(self, node: int, content: RecordDict, ttl: float) -> None:
        """Send to a node unless its answer is still awaited."""
        now = time.monotonic()
        if now < self.due.get(node, 0.0):
            return
        message = Message(content, dst_node_id=node, message_type=self.kind, ttl=max(ttl, 1.0))
        for identity in self.grid.push_messages([message]):
            if identity:
                self.sent[identity] = node
        self.tries[node] = self.tries.get(node, 0) + 1
        # Each next wait is twice as long, so that a slow node is not buried under questions.
        self.due[node] = now + self.patience.resend * 2 ** (self.tries[node] - 1)
        self.report("asked" if self.tries[node] == 1 else "asked again", self.label(node))

    def label(self, node: int) -> str:
        """What people call a node."""
        return self.called[node] or f"{node:x}"

    def replies(self) -> Iterator[tuple[int, RecordDict]]:
        """What has come in since; where an answer was lost its node is asked again."""
        for message in self.grid.pull_messages(list(self.sent)) if self.sent else ():
            node = self.sent.pop(message.metadata.reply_to_message_id, None)
            if node is None:
                continue
            if message.has_error():
                self.again("lost", node)
            else:
                yield node, message.content

    def again(self, why: str, node: int) -> None:
        """Ask a node again soon."""
        self.report(why, self.label(node))
        self.due[node] = time.monotonic() + 2 * self.patience.poll

    def hear(self, take: Callable[[str, RecordDict], None], done: set[int], refused: dict[str, Any]) -> None:
        """Give what has come in to `take`, under the name of its node; whoever was heard or has refused is done."""
        for node, reply in self.replies():
            if node in done:
                continue
            try:
                take(self.called[node], reply)
            except (NodeRefusedError, UpdateError, SecureError) as error:
                if getattr(error, "reason", None) == NodeRefusal.BUSY:
                    self.again("busy", node)
                    continue
                refused[self.label(node)] = error
                self.report("refused", f"{self.label(node)}: {error}")
            else:
                self.report("answered", self.label(node))
            done.add(node)


def names(grid: Grid) -> dict[int, str]:
    """The nodes that are connected, by the names under which the coordinator has registered their keys."""
    if hasattr(grid, "get_nodes"):
        return {info.node_id: info.name for info in grid.get_nodes()}
    return dict.fromkeys(grid.get_node_ids(), "")


@dataclass
class Gathered:
    """What a round came to."""

    aggregate: Aggregate
    refused: dict[str, str]

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
) -> Gathered:
    """Ask nodes until `expected` of them are in the aggregate, or go on with `at_least` when the time is up.

    `named` says that every node has a name which its key stands for: an answer without one is refused.
    """
    least = expected if at_least is None else at_least
    post, content = Post(grid, patience, report), request.record()
    done: set[int] = set()
    refused: dict[str, Exception] = {}

    def take(name: str, reply: RecordDict) -> None:
        update = read_update(reply)
        if named and not name:
            refuse(Refusal.UNKNOWN_NODE, "the update came with a key that is not registered")
        if name and update.node != name:
            refuse(Refusal.UNKNOWN_NODE, "the update bears another name than the key it came with")
        if update.round_id != request.round_id:
            refuse(Refusal.MALFORMED, "the update is of another round")
        if update.stream != request.stream:
            refuse(Refusal.MALFORMED, "the update is of another step than was asked for")
        aggregate.add(update)
        keep(aggregate)

    end = time.monotonic() + patience.wait
    while len(aggregate) < expected:
        left = end - time.monotonic()
        for node, name in names(grid).items() if left > 0 else ():
            if node not in post.called:
                post.called[node] = name
                report("joined", post.label(node))
            if name and name in aggregate.members:
                done.add(node)
            elif node not in done:
                post.ask(node, content, left)
        post.hear(take, done, refused)
        if left <= 0 or len(aggregate) >= expected or (known is not None and len(aggregate) + len(refused) >= known):
            break
        watch()
        time.sleep(patience.poll)
    if len(aggregate) < max(least, 1):
        raise DiscreetError(
            f"{len(aggregate)} of {expected} nodes have answered and {len(refused)} have refused"
            f"{reasons(refused)}: no model was written"
        )
    return Gathered(aggregate, {node: str(why) for node, why in refused.items()})


def reasons(refused: Mapping[str, object]) -> str:
    """Who has refused and why, to be added to a sentence."""
    return "".join(f"; {node}: {why}" for node, why in sorted(refused.items()))
