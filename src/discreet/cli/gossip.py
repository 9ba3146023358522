"""discreet gossip: train one model over the rows of many sites, with no coordinator."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options, watching
from discreet.cli.common import check_address, check_data, check_out, kept_in, load_schema
from discreet.cli.config import Configured, ready
from discreet.cli.paying import account_for
from discreet.cli.terminal import console, note, print_json
from discreet.dashboard import Board
from discreet.errors import DiscreetError

app = typer.Typer(no_args_is_help=True, help="Train one model over the rows of many sites, with no coordinator.")

KeysOption = Annotated[Path, typer.Option("--keys", help="The directory of keys.")]
NameOption = Annotated[str, typer.Option("--name", help="The node's name, as its certificate has it.")]
StateOption = Annotated[
    Path, typer.Option("--state", help="The directory of the node's ledger, and of its state in each round.")
]
OverlapOption = Annotated[bool, typer.Option(help="A person may have rows at several nodes: the costs add up.")]
WhichRoundOption = Annotated[str | None, typer.Option("--round", help="The round, if the directory has several.")]


def _need() -> None:
    try:
        import cryptography
        import grpc
    except ImportError:
        raise DiscreetError("gossip needs grpc: install it by pip install 'discreet[gossip]'") from None
    del cryptography, grpc


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def read_peers(text: str) -> dict[str, str]:
    """Peers as NAME=HOST:PORT, separated by commas, or one per line of a file given as @FILE."""
    if text.startswith("@"):
        try:
            text = ",".join(Path(text[1:]).read_text(encoding="utf-8").split())
        except (OSError, UnicodeDecodeError):
            raise DiscreetError(f"cannot read the peers in {text[1:]}") from None
    peers = {}
    for part in _names(text):
        name, equals, address = part.partition("=")
        if not equals or not name:
            raise DiscreetError(f"{part!r} names no peer: write NAME=HOST:PORT")
        peers[name] = check_address(address)
    return peers


@app.command()
def keys(
    nodes: Annotated[str, typer.Option(help="The nodes, names separated by commas.")],
    out: Annotated[Path | None, typer.Option("--out", help="The directory to make.", show_default=False)] = None,
    add_to: Annotated[
        Path | None, typer.Option("--add-to", help="Admit more nodes to the network of this directory.")
    ] = None,
) -> None:
    """For trial: make the keys of a whole network in one place; members of a real one join by an invite."""
    _need()
    from discreet.gossip.keys import add_keys, make_keys

    if (out is None) == (add_to is None):
        raise DiscreetError("give --out DIR for a new network, or --add-to DIR for one that is there")
    made = make_keys(out, _names(nodes)) if out is not None else add_keys(add_to or Path(), _names(nodes))
    console().print(f"wrote {made.directory}: authority/ stays with whoever admits nodes, and nodes do not need it")
    note("warning: these nodes' private keys were made here, so whoever holds this can speak for them: for trial")
    for name in _names(nodes):
        console().print(f"  node {name}: give it public/ and nodes/{name}/, and nobody else its key")


@app.command(cls=Configured)
@options.grouped(terms=options.TERMS, paying=options.PAYING)
def node(
    data: options.NodeData,
    name: NameOption,
    peers: Annotated[str, typer.Option("--peers", help="Peers as NAME=HOST:PORT,… or @FILE with one per line.")],
    listen: Annotated[str, typer.Option("--listen", help="Where to listen, as HOST:PORT.")],
    state: StateOption,
    keys: KeysOption,
    epsilon: Annotated[float, typer.Option("--epsilon", help="What this node spends on its one noised update.")],
    out: options.Out,
    terms: dict[str, Any],
    paying: dict[str, Any],
    schema: options.Schema = None,
    delta: options.Delta = 0.0,
    total: Annotated[float | None, typer.Option(help="What the ledger may pay in all; this round unless told.")] = None,
    total_delta: Annotated[
        float | None, typer.Option(help="The delta that the ledger may pay in all; this round's unless told.")
    ] = None,
    mechanism: options.Mechanism = "auto",
    round_name: Annotated[str, typer.Option("--round", help="The round's name, the same at all nodes.")] = "gossip",
    advertise: Annotated[str | None, typer.Option(help="Where peers reach this node, if not at --listen.")] = None,
    expect: Annotated[
        int, typer.Option(min=0, help="Members to wait for; the named peers and this one unless told.")
    ] = 0,
    beat: Annotated[float, typer.Option(min=0.001, help="Seconds between two messages; the same at all nodes.")] = 0.25,
    tolerance: Annotated[float, typer.Option(min=0, help="The relative gap at which a node is settled.")] = 1e-9,
    wait: Annotated[float, typer.Option(help="Seconds after which to give up.")] = 3600.0,
    linger: Annotated[float, typer.Option(help="Seconds to stay for others once all are settled.")] = 15.0,
    smoothing: options.Smoothing = 1.0,
    overlap: OverlapOption = False,
    chaos: Annotated[
        float, typer.Option(min=0, max=0.9, help="Rehearsal: the share of messages to lose and to double.")
    ] = 0.0,
    as_json: options.Json = False,
) -> None:
    """Gossip with the peers until all agree, and write the model; start it again after a crash to go on."""
    import asyncio

    from discreet.privacy.budget import Budget
    from discreet.privacy.plan import check_smoothing

    public = load_schema(schema)
    check_out(out, data, schema, paying["account"], peers.removeprefix("@"), *kept_in(state, keys))
    known = {peer: address for peer, address in read_peers(peers).items() if peer != name}
    check_address(listen)
    if advertise is not None:
        check_address(advertise)
    elif listen.rpartition(":")[0].strip("[]") in {"0.0.0.0", "::", "*"}:
        raise DiscreetError(f"no peer can reach {listen}: say by --advertise HOST:PORT where this node is")
    check_data(data, public)
    check_smoothing(smoothing)
    if not known:
        raise DiscreetError("name one peer at least: --peers NAME=HOST:PORT")
    _need()
    from discreet.gossip.keys import NetworkKeys
    from discreet.gossip.links import Pace
    from discreet.gossip.node import GossipNode
    from discreet.gossip.result import write_model
    from discreet.gossip.sharing import GossipTerms
    from discreet.nodes.settings import Settings

    settings = Settings.of(**terms)
    spent = Budget(epsilon, delta=delta)
    granted = Budget(epsilon if total is None else total, delta=delta if total_delta is None else total_delta)
    own = GossipTerms(
        name, data, public, spent, state, settings, mechanism, round_name, granted,
        account=account_for(data, **paying, what="gossip node"),
    )  # fmt: skip
    pace = Pace(beat, tolerance, max(expect, 2) if expect else len(known) + 1, wait, linger, chaos=chaos)
    ring = NetworkKeys(keys).ring(name)
    ready()
    state.mkdir(mode=0o700, exist_ok=True)
    member = GossipNode(
        own, ring, listen, known, pace, advertise=advertise, report=lambda text: note(f"{name}: {text}")
    )

    async def live() -> str:
        task = asyncio.current_task()
        assert task is not None
        # Between two steps of the machine, never within one.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await member.run()

    try:
        end = asyncio.run(live())
    except (KeyboardInterrupt, asyncio.CancelledError):
        note(f"{name}: stopped: the same command goes on from here; 'discreet gossip leave' is the way to go for good")
        raise typer.Exit(130) from None
    finally:
        member.close()
    if end == "left":
        console().print(f"{name} has left: its share is in other hands")
        return
    if end == "late":
        raise DiscreetError(
            f"there was no end within {wait:g} seconds ({member.why_late()}): the state is kept, the same command goes "
            "on from here, and 'discreet gossip model' writes what the node holds"
        )
    made = write_model(state, public, settings, out, name=own.network[:16], smoothing=smoothing, overlap=overlap)
    if as_json:
        print_json({**member.status(), **made})
    else:
        console().print(f"wrote {out} after {member.beats} beats: try 'discreet inspect {out}'")


@app.command()
@options.grouped(terms=options.TERMS)
def model(
    state: StateOption,
    out: options.Out,
    terms: dict[str, Any],
    schema: options.Schema = None,
    round_name: WhichRoundOption = None,
    smoothing: options.Smoothing = 1.0,
    overlap: OverlapOption = False,
    as_json: options.Json = False,
) -> None:
    """Write the model of what a node holds now, settled or not, running or not."""
    public = load_schema(schema)
    check_out(out, schema, *kept_in(state))
    from discreet.gossip.result import write_model
    from discreet.nodes.settings import Settings

    settings = Settings.of(**terms)
    made = write_model(state, public, settings, out, name=round_name, smoothing=smoothing, overlap=overlap)
    if as_json:
        print_json(made)
    else:
        console().print(f"wrote {out}, of {made['members']} members: try 'discreet inspect {out}'")


@app.command()
@options.grouped(watched=watching.WATCHED)
def status(
    watched: dict[str, Any],
    state: Annotated[Path | None, typer.Option("--state", help="The state directory of a node here.")] = None,
    address: Annotated[str | None, typer.Option("--address", help="Ask the node at HOST:PORT.")] = None,
    node: Annotated[str | None, typer.Option("--node", help="The name of the node that is asked.")] = None,
    keys: Annotated[Path | None, typer.Option("--keys", help="The directory of keys.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Who asks; the node itself unless told.")] = None,
    round_name: WhichRoundOption = None,
) -> None:
    """Show how far a node is: one that runs, by its address, or one here, by its state directory."""
    import asyncio

    if (state is None) == (address is None):
        raise DiscreetError("give --state DIR, or --address HOST:PORT with --node and --keys")
    if address is not None and (node is None or keys is None):
        raise DiscreetError("to ask a running node give --node NAME and --keys DIR as well")
    _need()
    from discreet.gossip.keys import NetworkKeys
    from discreet.gossip.links import ask
    from discreet.gossip.result import status_board, stored_status

    def look() -> Board:
        if state is not None:
            return status_board(stored_status(state, round_name))
        assert node is not None and keys is not None
        ring = NetworkKeys(keys).ring(name or node)
        return status_board(asyncio.run(ask(ring, node, check_address(address or ""), "Status")))

    watching.watch(look, **watched)


@app.command()
def leave(
    name: NameOption,
    address: Annotated[str, typer.Option("--address", help="Where this node listens, as HOST:PORT.")],
    keys: KeysOption,
) -> None:
    """Make the own running node hand its share to a peer and go; its rows stay in the model."""
    import asyncio

    _need()
    from discreet.gossip.keys import NetworkKeys
    from discreet.gossip.links import ask

    asyncio.run(ask(NetworkKeys(keys).ring(name), name, check_address(address), "Leave"))
    console().print(f"{name} leaves as soon as a peer has taken its share")
