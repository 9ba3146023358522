"""A grid within one process: nodes are ClientApps, and messages can be lost, delayed or forged on their way."""

from __future__ import annotations

from types import SimpleNamespace

from flwr.app import Context, Error, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity


class LocalGrid:
    """What `gather` needs of a grid. `spoil(name, count, reply)` may change the reply to a node's n-th message."""

    def __init__(self, apps, spoil=lambda name, count, reply: reply, configs=None) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
        self.apps, self.spoil, self.configs = dict(apps), spoil, configs or {}
        self.ids = {100 + i: name for i, name in enumerate(self.apps)}
        self.waiting: dict[str, Message] = {}
        self.counts: dict[str, int] = dict.fromkeys(self.apps, 0)
        self.contents: list[tuple[str, RecordDict]] = []

    def get_nodes(self):
        return [SimpleNamespace(node_id=number, name=name) for number, name in self.ids.items()]

    def push_messages(self, messages):
        found = []
        for message in messages:
            name = self.ids[message.metadata.dst_node_id]
            identity = f"{name}-{self.counts[name]}"
            message.metadata.__dict__["_message_id"] = identity
            context = Context(1, message.metadata.dst_node_id, self.configs.get(name, {}), RecordDict(), {})
            app = self.apps[name]
            reply = app(message, context) if app is not None else None
            if reply is not None and reply.has_content():
                self.contents.append((name, reply.content))
            reply = self.spoil(name, self.counts[name], reply)
            self.counts[name] += 1
            if reply == "unavailable":
                reply = Message(Error(5, "node unavailable"), reply_to=message)
            if reply is not None:
                self.waiting[identity] = reply
            found.append(identity)
        return found

    def pull_messages(self, identities):
        return [self.waiting.pop(identity) for identity in identities if identity in self.waiting]
