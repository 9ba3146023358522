"""What tests of running nodes share: a schema, rows, and a fleet of node processes."""

import contextlib
import time
from pathlib import Path

import numpy as np

from discreet import Categorical, Numeric, Schema
from discreet.federated import Aggregate, Update
from discreet.gossip.keys import make_keys
from discreet.gossip.store import LEDGER, StateFile, find_state
from discreet.gossip.vector import Layout, share_of
from discreet.nodes.journal import Journal
from tests.nursery import Child, Nursery
from tests.ports import free_ports

SCHEMA = Schema([Categorical("c", ["p", "q", "r"]), Numeric("x", 0, 10, bins=4)], "y", [0, 1])

IMPORTED = (  # grpc is left to the processes: it does not stand a fork
    "asyncio", "discreet.cli.gossip", "discreet.gossip.keys", "discreet.gossip.result", "discreet.gossip.sharing",
    "discreet.mechanisms.noise", "duckdb", "encodings.idna", "encodings.utf_8_sig", "opendp.measurements", "pandas",
    "pyarrow.parquet", "rich._emoji_codes", "rich.progress", "rich.table", "ssl",
)  # fmt: skip


def write_rows(path, size, seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, size)
    lines = [f"{'pqr'[rng.integers(0, 3 - y)]},{rng.uniform(0, 5 + 5 * y):.3f},{y}" for y in label]
    path.write_text("\n".join(["c,x,y", *lines]) + "\n")


def total_of(shares):
    """The sum of some shares."""
    first, *rest = shares
    return sum(rest, start=first)


def audit_states(states):
    """All nodes' machines, the mass they hold, the mass that their updates brought in, and the federated sums."""
    machines, updates = {}, []
    for state in states:
        store = StateFile(find_state(state))
        machine = store.machine()
        store.close()
        machines[machine.node] = machine
        with Journal.open(state / LEDGER) as journal:
            (entry,) = journal.entries()  # one charge, whatever happened
            updates.append(Update.from_bytes(journal.kept(entry.round_id)))
    held = [machine.own for machine in machines.values()]
    for machine in machines.values():
        for peer, other in machines.items():
            ack = other.acknowledgement(machine.node)
            held += [message.share for message in machine.waiting(peer) if not ack.covers(message.number)]
    aggregate = Aggregate(SCHEMA)
    for update in updates:
        aggregate.add(update)
    layout = Layout.of(updates[0].plan(SCHEMA))
    brought = total_of(share_of(layout.flat(update.values)) for update in updates)
    return machines, total_of(held), brought, layout.flat(aggregate.sums), aggregate


class Fleet:
    """Node processes on loopback, forked by a nursery."""

    def __init__(self, root: Path, count: int) -> None:
        self.root = root
        self.names = [f"n{i}" for i in range(count)]
        self.ports = dict(zip(self.names, free_ports(count), strict=True))
        make_keys(root / "keys", self.names)
        SCHEMA.save(root / "schema.toml")
        for i, name in enumerate(self.names):
            write_rows(root / f"{name}.csv", 20 + 15 * i, i)
        self.nursery = Nursery(*IMPORTED)
        self.children: dict[str, Child] = {}

    def state(self, name):
        return self.root / f"state-{name}"

    def start(self, name, *options):
        peers = ",".join(f"{peer}=127.0.0.1:{port}" for peer, port in self.ports.items())
        argv = [
            "gossip", "node", "--name", name, "--listen", f"127.0.0.1:{self.ports[name]}", "--peers", peers,
            "--data", self.root / f"{name}.csv", "--schema", self.root / "schema.toml", "--keys", self.root / "keys",
            "--state", self.state(name), "--out", self.root / f"{name}.json", "--epsilon", "1", *options,
        ]  # fmt: skip
        self.children[name] = self.nursery.start(argv, self.root / f"{name}.log", self.root / f"{name}.code")

    def kill(self, name):
        """kill -9, and wait until the process is gone."""
        self.children[name].kill()

    def beats(self, name):
        """Messages that a node has sent so far, by its state."""
        with contextlib.suppress(Exception):
            store = StateFile(find_state(self.state(name)))
            machine = store.machine()
            store.close()
            return sum(link.last for link in machine.outgoing.values()) if machine else 0
        return 0

    def wait(self, seconds):
        """Exit codes of all nodes; whoever runs longer is killed and the logs are shown."""
        end = time.monotonic() + seconds
        left = set(self.names)
        while left and time.monotonic() < end:
            left = {name for name in left if not (self.root / f"{name}.code").exists()}
            time.sleep(0.1)
        logs = {name: (self.root / f"{name}.log").read_text() for name in sorted(left)}
        assert not left, f"nodes still run after {seconds} s: {logs}"
        return {name: int((self.root / f"{name}.code").read_text()) for name in self.names}

    def close(self):
        self.nursery.close()
        for child in self.children.values():
            child.kill()
