"""The result of gossip: the model of an estimated sum, as of a federated one, and what a node's state on disk says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet.bayes.estimate import estimate
from discreet.bayes.model import NaiveBayesModel
from discreet.dashboard import Board
from discreet.errors import BudgetError, DiscreetError
from discreet.gossip.membership import PHASES, RUNNING, holding, progress, read_member
from discreet.gossip.store import StateFile, find_state
from discreet.gossip.vector import Layout, sum_of
from discreet.nodes.certificate import aggregate_certificate
from discreet.nodes.members import Member, summed_release
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.update import Integers
from discreet.schema import Schema


def gossip_model(
    schema: Schema,
    settings: Settings,
    members: Sequence[Member],
    sums: Integers,
    *,
    smoothing: float = 1.0,
    overlap: bool = False,
) -> NaiveBayesModel:
    """The model that follows from the sum of all members' updates, with the noise of all of them."""
    if not members:
        raise BudgetError("there is nothing to make a model of: no member is known")
    layout = Layout.of(node_plan(schema, settings, members[0].budget, members[0].mechanism))
    prior, likelihoods = estimate(summed_release(schema, settings, members, layout.tables(sums)), smoothing)
    by_name = sorted(members, key=lambda member: member.node)
    certificate = aggregate_certificate(schema, settings, by_name, overlap, seen="its peers may have seen it")
    return NaiveBayesModel(schema, prior, likelihoods, certificate)


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
    with closing(StateFile(find_state(state, name))) as store:
        machine, entries = store.machine(), store.entries()
    if machine is None or not entries:
        raise DiscreetError(f"the node in {state} holds nothing yet to make a model of")
    members = [read_member(entry, store.identity["network"], schema, settings) for entry in entries]
    sums = sum_of(machine.own, len(members))
    model = gossip_model(schema, settings, members, sums, smoothing=smoothing, overlap=overlap)
    model.save(out)
    return {"model": str(out), "members": len(members), "settled": progress(entries)["settled"]}


def stored_status(state: Path, name: str | None = None) -> dict[str, Any]:
    """What a node's state on disk says of a round, whether or not the node runs."""
    with closing(StateFile(find_state(state, name))) as store:
        machine, entries, facts = store.machine(), store.entries(), store.facts()
    own = {entry.node: entry for entry in entries}.get(store.identity["node"])
    known = {name: store.identity[name] for name in ("node", "network", "round")}
    held = {"weight": None, "unacknowledged": {}} if machine is None else holding(machine)
    phase = PHASES[RUNNING if own is None else own.phase]
    kept = {"beats": facts.get("beats", 0), "expected_error": facts.get("error")}
    return {**known, **kept, "members": len(entries), **progress(entries), "phase": phase, **held}


def status_board(found: dict[str, Any]) -> Board:
    """What a node says of itself and the members, as facts and a table."""
    error, spread, weight = (found.get(key) for key in ("expected_error", "spread", "weight"))
    facts = [
        ("network", str(found["network"])[:16]),
        ("members", f"{found['members']}" + (f" of {found['expected']}" if "expected" in found else "")),
        ("mass that this node holds", "none yet" if weight is None else f"{weight:.6f}"),
        ("gap to what was heard of late", "not known" if spread is None else f"{spread:.2g}"),
        ("expected error of a count", "not known yet" if error is None else f"± {error:.3g} rows"),
        ("beats", str(found["beats"])),
    ]  # fmt: skip
    waiting = found["unacknowledged"]
    rows = [[node, phase, str(waiting.get(node, 0))] for node, phase in found["phases"].items()]
    line = f"{found['phase']}; {found['settled']} of {found['members']} members have settled"
    return Board(f"Gossip node {found['node']}", line, facts, ("member", "phase", "messages under way"), rows, found)
