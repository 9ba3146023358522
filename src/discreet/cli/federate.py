"""discreet federate: train one model over the rows of many sites, on Flower."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options, watching
from discreet.cli.common import check_address, check_data, check_out, kept_in, load_schema
from discreet.cli.config import Configured, ready
from discreet.cli.paying import account_for
from discreet.cli.terminal import console, note, print_json, table
from discreet.errors import DiscreetError

app = typer.Typer(no_args_is_help=True, help="Train one model over the rows of many sites, on Flower.")

KeysOption = Annotated[Path | None, typer.Option("--keys", help="The directory of keys.", show_default=False)]
InsecureOption = Annotated[
    bool, typer.Option("--insecure", help="Switch off encryption and authentication: for trial only.")
]
WaitOption = Annotated[float, typer.Option(help="Seconds to wait for the nodes.")]
GRANTED: options.Group = {
    "epsilon": options.option(float, ..., "What one round costs each node."),
    "delta": (options.Delta, 0.0),
    "total": options.option(float | None, None, "What all rounds together may cost; one round unless told."),
    "total_delta": options.option(
        float | None, None, "The delta of all rounds together; for as many as --total pays unless told."
    ),
    "no_privacy": options.flag("--no-privacy", "Allow an infinite epsilon or total: exact counts leave the node."),
}  # to a node, for a round and in all
MASKED: options.Group = {
    "secure": options.flag("--secure", "Add up under masks: nobody sees a single update."),
    "colluding": options.option(
        int, 1, "Secure: how many nodes may see the model or work with the coordinator; the same everywhere.", min=0
    ),
    "dropouts": options.option(int, 0, "Secure: how many nodes may drop out; the same everywhere.", min=0),
}
WEIGHED: options.Group = {
    "weighting": options.option(
        str, "sum", "How nodes count: sum, inverse-variance, cut-off, trimmed, median-of-means."
    ),
    "cutoff": options.option(float, 0.0, "Cut-off: the noise level above which a node is left out."),
    "robust": options.option(float, 0.1, "Trimmed, median-of-means: the share of lying nodes to stand."),
    "overlap": options.flag("--overlap", "People may be at several nodes: their costs add up."),
    "smoothing": (options.Smoothing, 1.0),
}


def _need() -> None:
    from discreet.federated.flower import need_flower

    need_flower()


def _interruptible() -> None:
    """Let a polite end take the same way as Ctrl-C."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


def _exclusive(keys: Path | None, insecure: bool) -> None:
    if insecure == (keys is not None):
        raise DiscreetError("give --keys DIR (see 'discreet federate keys'), or --insecure to do without for a trial")


def _masked(keys: Path | None) -> Path:
    if keys is None:
        raise DiscreetError("--secure needs --keys: nodes know each other by their public keys")
    return keys


@app.command()
def keys(
    out: Annotated[Path, typer.Option("--out", help="The directory to make.")],
    node: Annotated[
        str | None, typer.Option("--node", help="At a node: make its pair of keys.", show_default=False)
    ] = None,
    public: Annotated[
        list[Path] | None,
        typer.Option("--public", help="At the coordinator: a node's NAME.pub; repeat it.", show_default=False),
    ] = None,
    nodes: Annotated[
        str | None,
        typer.Option(help="For trial: make everybody's keys here, names separated by commas.", show_default=False),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name or address of the coordinator, beside loopback; may be repeated.", show_default=False
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--renew", help="At the coordinator: a new certificate by the authority that is in --out.")
    ] = False,
) -> None:
    """Make keys: at each node its own pair (--node), then at the coordinator its certificate (--public)."""
    _need()
    from discreet.federated.flower.keys import make_coordinator_keys, make_keys, make_node_keys, renew

    if sum(option is not None for option in (node, public or None, nodes, again or None)) != 1:
        raise DiscreetError(
            "give one of --node NAME (at a node), --public FILE or --renew (at the coordinator), or --nodes a,b,c"
        )
    say = console().print
    if again:
        say(f"wrote {renew(out, host or []).certificate}: nodes go on with the ca.pem that they have")
        return
    if node is not None:
        if host:
            raise DiscreetError("--host is for the coordinator's certificate: a node has none")
        made = make_node_keys(out, node)
        say(f"wrote {out}: keep {made.node(node)}, and give {made.public(node)} to the coordinator and all other nodes")
    elif public:
        made = make_coordinator_keys(out, public, host or [])
        say(f"wrote {out}: give {made.authority} to every node; coordinator/ stays here, authority/ off the network")
        say(f"  --secure: nodes also need each other's .pub in their public/: {', '.join(made.names)}, from each other")
    else:
        made = make_keys(out, [name.strip() for name in (nodes or "").split(",") if name.strip()], host or [])
        say(f"wrote {out}: public/ is for everybody, coordinator/ stays with the coordinator")
        note("warning: every node's private key was made here, so whoever holds this can sign for all: for trial only")
        for name in made.names:
            say(f"  node {name}: give it {made.node(name)} and {made.authority}, and nobody else its key")
        say(f"  --secure: give every node all of {made.authority.parent}, too")


@app.command("app")
def app_(out: Annotated[Path, typer.Option("--out", help="The directory to make.")]) -> None:
    """Write the app as a directory for people who use Flower by themselves ('flwr run')."""
    _need()
    from discreet.federated.flower.bundle import write_app

    write_app(out)
    console().print(f"wrote {out}: its README says how to run it")


@app.command(cls=Configured)
@options.grouped(terms=options.TERMS, masked=MASKED, weighed=WEIGHED)
def coordinator(
    out: options.Out,
    state: Annotated[Path, typer.Option("--state", help="The directory of the coordinator's own state.")],
    terms: dict[str, Any],
    masked: dict[str, Any],
    weighed: dict[str, Any],
    schema: options.Schema = None,
    keys: KeysOption = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="Where 'federate invite' was run: invited nodes join here first.")
    ] = None,
    insecure: InsecureOption = False,
    expected: Annotated[int, typer.Option("--nodes-expected", min=1, help="How many nodes make a model.")] = 1,
    at_least: Annotated[int, typer.Option(min=0, help="With how many to go on when time is up; all unless told.")] = 0,
    listen: Annotated[str, typer.Option(help="Where to listen, as HOST:PORT.")] = "127.0.0.1:8700",
    name: Annotated[str, typer.Option("--round", help="The round's name; a new one unless told.")] = "",
    most_rows: Annotated[int, typer.Option(min=0, help="The most rows that one node may have; 0 if unknown.")] = 0,
    wait: WaitOption = 600.0,
    resend: Annotated[float, typer.Option(help="Seconds after which a node is asked again.")] = 30.0,
    epsilon: Annotated[float, typer.Option(help="Secure: what the round costs, as the nodes have it.")] = 0.0,
    delta: options.Delta = 0.0,
    mechanism: options.Mechanism = "auto",
    stage: Annotated[float, typer.Option(help="Secure: seconds for each stage.")] = 60.0,
    stream: Annotated[
        int, typer.Option(min=0, help="Of how many steps at most a stream has: this is its next one, in --state.")
    ] = 0,
    step: Annotated[int, typer.Option(min=0, help="Stream: refuse unless this step comes next.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Wait for the nodes, add up what they send, and write the model with its certificate."""
    load_schema(schema)
    check_out(out, schema, *kept_in(state, keys))
    _exclusive(keys, insecure)
    _need()
    _interruptible()
    from discreet.federated.flower.coordinator import coordinate
    from discreet.federated.flower.task import RoundTask

    host, _, port = check_address(listen).rpartition(":")
    task = RoundTask(
        str(schema), str(out), expected, at_least, most_rows=most_rows, round=name, state=str(state),
        wait=wait, resend=resend, keys="" if keys is None else str(keys), epsilon=epsilon, delta=delta,
        mechanism=mechanism, stage=stage, stream=stream, step=step,
        **terms, **masked, **weighed,
    )  # fmt: skip
    if insecure:
        note("warning: neither encryption nor authentication: this is for trial only")
    task.check(expected)
    ready()
    result = coordinate(
        task, state=state, keys=keys, host=host.strip("[]"), port=int(port), home=home, report=_tell(as_json)
    )
    _show(result, as_json)


@app.command(cls=Configured)
@options.grouped(granted=GRANTED, masked=MASKED, paying=options.PAYING)
def node(
    data: options.NodeData,
    name: Annotated[str, typer.Option("--name", help="The node's name, as its key has it.")],
    coordinator: Annotated[str, typer.Option("--coordinator", help="Where the coordinator listens, as HOST:PORT.")],
    ledger: Annotated[Path, typer.Option("--ledger", help="The node's budget ledger; made if it is not there.")],
    granted: dict[str, Any],
    masked: dict[str, Any],
    paying: dict[str, Any],
    schema: options.Schema = None,
    keys: KeysOption = None,
    insecure: InsecureOption = False,
    adjacency: options.Adjacency = "add-remove",
    contributions: options.Contributions = 1,
    mechanism: options.Mechanism = "auto",
    stream: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default=False,
            help="The budget is for a stream of at most so many steps together; {step} in --data is a step's number.",
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(help="Seconds to insist if the coordinator does not take this node; a cut takes 60.")
    ] = 90.0,
) -> None:
    """Answer a coordinator's rounds out of this node's own rows, as far as its ledger and their account pay."""
    from discreet.privacy.budget import Adjacency, Budget

    no_privacy = granted.pop("no_privacy")
    public = load_schema(schema)
    _exclusive(keys, insecure)
    check_address(coordinator)
    if stream is None:
        check_data(data, public)
    _need()
    _interruptible()
    from discreet.federated.flower.answers import FederatedTerms, SecureTerms, total_budget
    from discreet.federated.flower.keys import FederationKeys
    from discreet.federated.flower.node import Connection, FlowerNode
    from discreet.nodes.running import files_of

    spent = total_budget(**granted)
    masks = SecureTerms.of(_masked(keys), name, masked["colluding"], masked["dropouts"]) if masked["secure"] else None
    terms = FederatedTerms(
        name, data, public, Budget(granted["epsilon"], delta=granted["delta"]), spent, ledger, Adjacency(adjacency),
        contributions, mechanism, masks, no_privacy, stream,
        account=account_for(files_of(data, stream), **paying, what="federate node"),
    )  # fmt: skip
    if not (terms.budget.private and spent.private):
        note(f"{name}: warning: {terms.budget} a round, {spent} in all: this protects nobody")
    if keys is None:
        note("warning: neither encryption nor authentication: this is for trial only")
        connection = Connection(coordinator)
    else:
        ring = FederationKeys(keys)
        ring.need(ring.authority, ring.node(name))
        connection = Connection(coordinator, ring.authority, ring.node(name), patience)
    ready()
    worker = FlowerNode(terms, connection, lambda event, what: note(f"{name}: {event} {what}"))
    if worker.site.journal.created:
        note(f"{name}: made a new ledger {ledger} of {spent} in all")
    try:
        worker.run()
    except KeyboardInterrupt:
        note(f"{name}: stopped")


@app.command("run")
@options.grouped(granted=GRANTED, terms=options.TERMS, masked=MASKED, weighed=WEIGHED)
def run_(
    shards: Annotated[str, typer.Option("--shards", help="A pattern of files, one for each node.")],
    out: options.Out,
    granted: dict[str, Any],
    terms: dict[str, Any],
    masked: dict[str, Any],
    weighed: dict[str, Any],
    schema: options.Schema = None,
    mechanism: options.Mechanism = "auto",
    state: Annotated[Path | None, typer.Option("--state", help="Keep keys, ledgers and state here.")] = None,
    insecure: InsecureOption = False,
    wait: WaitOption = 300.0,
    as_json: options.Json = False,
) -> None:
    """Try a whole federation on this machine: a process for each shard, over loopback."""
    load_schema(schema)
    check_out(out, shards, schema, *kept_in(state))
    _need()
    _interruptible()
    from discreet.federated.flower.answers import need_privacy, total_budget
    from discreet.federated.flower.task import RoundTask
    from discreet.federated.flower.trial import shards_of, trial
    from discreet.privacy.budget import Budget

    if masked["secure"] and insecure:
        _masked(None)
    parts, no_privacy = shards_of(shards), granted.pop("no_privacy")
    budget = {name: granted[name] for name in ("epsilon", "delta")}
    task = RoundTask(
        str(schema), str(out), len(parts), wait=wait, keys="here" if masked["secure"] else "", mechanism=mechanism,
        **budget, **terms, **masked, **weighed,
    )  # fmt: skip
    need_privacy(Budget(**budget), total_budget(**granted), no_privacy)
    told = granted | {name: terms[name] for name in ("adjacency", "contributions")} | {"mechanism": mechanism}
    told |= masked | {"no_privacy": no_privacy} if masked["secure"] else {"no_privacy": no_privacy}
    flags = [word for name, value in told.items() for word in _flag(name, value)]
    result = trial(task, parts, flags, state=state, insecure=insecure, report=_tell(as_json))
    _show(result, as_json)


@app.command()
def select(
    model: Annotated[Path, typer.Argument(help="The model of a first round, of tables (numbers in bins).")],
    k: Annotated[int, typer.Option("--k", "-k", help="How many features to keep.", min=1)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the reduced schema (TOML or JSON).")] = Path(
        "selected.toml"
    ),
    as_json: options.Json = False,
) -> None:
    """Choose the features that a first round's model finds most telling, for a second round that counts them alone."""
    from discreet.bayes.model import NaiveBayesModel
    from discreet.models import load
    from discreet.selection.released import choose_from_model

    check_out(out, model)
    found = load(model)
    if not isinstance(found, NaiveBayesModel):
        raise DiscreetError(f"{model} is no Naive Bayes model: features are chosen by the tables of one")
    choice = choose_from_model(found, k)
    choice.schema.save(
        out, comment=f"{k} of {len(found.schema.features)} features, chosen by 'discreet federate select'"
    )
    bits = sorted(choice.bits.items(), key=lambda pair: -pair[1])
    if as_json:
        print_json({"features": list(choice.names), "bits": choice.bits, "schema": str(out)})
        return
    rows = [[name, f"{value:.4f}", "yes" if name in choice.names else ""] for name, value in bits]
    console().print(table("", ["feature", "bits by the model", "kept"], rows))
    note(f"this cost nothing beyond {model}; a second round is a charge of its own, and both costs add up")
    note(f"wrote {out}: give it to the coordinator and every node as --schema of the second round")


@app.command()
def ledger(
    file: Annotated[Path, typer.Argument(help="A node's budget ledger.")],
    total: Annotated[float | None, typer.Option(help="Grant another total: the data owner's decision.")] = None,
    total_delta: Annotated[
        float | None, typer.Option(help="The delta of that total; the one granted before unless told.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show what a node's rounds have cost, or grant another total."""
    from discreet.nodes.journal import Journal
    from discreet.privacy.budget import Budget

    with Journal.open(file) as journal:
        if total is not None:
            journal.set_total(Budget(total, delta=journal.total.delta if total_delta is None else total_delta))
        entries, granted, unit = journal.entries(), journal.total, journal.unit
    if as_json:
        rounds = [{"round": e.round_id, "cost": str(e.cost), "when": e.when, "answer": e.answer} for e in entries]
        print_json({"total": str(granted), "unit": unit, "rounds": rounds})
        return
    rows = [[e.round_id, str(e.cost), e.when, (e.answer or "none yet")[:16]] for e in entries]
    console().print(table(f"{granted} in all ({unit})", ["round", "cost", "when", "answer"], rows, left=4))


@app.command()
@options.grouped(watched=watching.WATCHED)
def status(
    state: Annotated[Path, typer.Option("--state", help="The coordinator's directory of state.")],
    watched: dict[str, Any],
) -> None:
    """Show how a coordinator's round is going: who is in, what it waits for, and how exact a count will be."""
    _need()
    from discreet.federated.flower.progress import look

    watching.watch(lambda: look(state), **watched)


def _flag(name: str, value: Any) -> list[str]:
    """An option as words of a command line: nothing, if it was left out."""
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] if value else []
    return [] if value is None else [flag, str(value)]


def _tell(quiet: bool) -> Any:
    def report(event: str, what: str) -> None:
        if not quiet:
            note(f"{event}: {what}")

    return report


def _show(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
        return

    def cost(row: dict[str, Any]) -> str:
        return "none" if row["epsilon"] is None else f"{row['epsilon']:g}"

    rows = [
        [row["node"], "hidden" if row["rows"] is None else str(row["rows"]), cost(row), f"{row['weight']:.3f}"]
        for row in result["nodes"]
    ]
    console().print(table("", ["node", "rows as reported", "epsilon", "weight"], rows))
    for name in result.get("missing", ()):
        note(f"warning: {name} has not answered this step: it is in with its rows of the steps before")
    for name, sentence in result["refused"].items():
        note(f"warning: {name} was left out: {sentence}")
    console().print(f"wrote {result['model']}: try 'discreet inspect {result['model']}'")
