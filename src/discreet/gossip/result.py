"""The result of a gossip node: the model and the status that follow from its state on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.federated.update import Settings
from discreet.gossip.membership import LEFT, SETTLED, read_member
from discreet.gossip.model import gossip_model
from discreet.gossip.store import Store, find_state
from discreet.gossip.vector import BITS, sum_of
from discreet.schema import Schema

PHASES = ("running", "settled", "content", "left")


def write_model(
    state: Path,
    schema: Schema,
    settings: Settings,
    out: Path,
    *,
    name: str | None = None,
    smoothing: float = 1.0,
    overlap: bool = False,
) -> dict[str, Any]:
    """Write the model of what a node holds in the round of that name; entries were verified when they came in."""
    store = Store(find_state(state, name))
    try:
        machine, entries = store.machine(), store.entries()
    finally:
        store.close()
    if machine is None or not entries:
        raise DiscreetError(f"the node in {state} holds nothing yet to make a model of")
    members = [read_member(entry, store.identity["network"], schema, settings) for entry in entries]
    sums = sum_of(machine.own, len(members))
    model = gossip_model(schema, settings, members, sums, smoothing=smoothing, overlap=overlap)
    model.save(out)
    settled = sum(entry.phase >= SETTLED for entry in entries)
    return {"model": str(out), "members": len(members), "settled": settled}


def stored_status(state: Path, name: str | None = None) -> dict[str, Any]:
    """What a node's state on disk says of a round, whether or not the node runs."""
    store = Store(find_state(state, name))
    try:
        machine, entries, facts = store.machine(), store.entries(), store.facts()
    finally:
        store.close()
    own = {entry.node: entry for entry in entries}.get(store.identity["node"])
    return {
        "node": store.identity["node"],
        "network": store.identity["network"],
        "round": store.identity["round"],
        "beats": facts.get("beats", 0),
        "members": len(entries),
        "settled": sum(entry.phase >= SETTLED for entry in entries),
        "left": sum(entry.phase == LEFT for entry in entries),
        "phase": "running" if own is None else PHASES[own.phase],
        "weight": None if machine is None else machine.own.weight / 2**BITS,
        "unacknowledged": {} if machine is None else {
            name: len(link.pending) for name, link in machine.outgoing.items() if link.pending
        },
    }  # fmt: skip
