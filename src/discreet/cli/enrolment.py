"""discreet federate and discreet gossip: invite, join and revoke, the same for both; and the desk of a network."""

from __future__ import annotations

import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import click
import tomli_w
import typer
import typer.main

from discreet.cli import federate, gossip, options
from discreet.cli.common import check_address, check_data, load_schema
from discreet.cli.config import Configured, ready
from discreet.cli.terminal import console, note, print_json
from discreet.errors import DiscreetError

HomeOption = Annotated[Path, typer.Option("--home", help="The organiser's directory, made by 'invite'.")]
INVITING: options.Group = {
    "nodes": options.option(str, ..., "The members, names separated by commas."),
    "address": options.option(str, ..., "Where members reach the organiser, as HOST:PORT."),
    "schema": (options.Schema, None),
    "epsilon": options.option(float, ..., "What one round costs."),
    "delta": (options.Delta, 0.0),
    "rounds": options.option(int, 1, "How often members answer at most.", min=1),
    "mechanism": (options.Mechanism, "auto"),
    "title": options.option(str, "", "What it is for, in a few words, for the head of the terms."),
    "notes": options.option(Path | None, None, "A text file with further clauses for the terms.", show_default=False),
    "listen": options.option(
        str | None, None, "Where the organiser listens; its port on all addresses unless told.", show_default=False
    ),
    "host": options.option(
        list[str] | None, None, "A further name or address of the organiser; repeat it.", show_default=False
    ),
    "days": options.option(int, 14, "How long the invites hold.", min=1),
    "again": options.flag("--again", "The home is there: take these terms, renew its certificate, end unused invites."),
    "as_json": (options.Json, False),
}
JOINING: options.Group = {
    "data": (options.NodeData, ...),
    "home": options.option(Path | None, None, "The node's own directory; its name unless told.", show_default=False),
    "agree": options.flag("--agree", "Agree to the terms of the invite without being asked."),
    "roster": options.option(
        str | None, None, "The code that you have compared with your partners by another way.", show_default=False
    ),
    "wait": options.option(float, 86400.0, "Seconds to wait for the organiser and the other members."),
    "run": options.option(bool, True, "Start the node when all have joined."),
    **options.PAYING,
}
InviteArgument = Annotated[
    str, typer.Argument(help="The file of the invite, or - for standard input; again, the home has it.")
]


def _room(kind: str) -> ModuleType:
    if kind == "gossip":
        gossip._need()
        from discreet.gossip import enrolment as found

        return found
    federate._need()
    from discreet.federated.flower import enrolment

    return enrolment


# ---- at the organiser


@federate.app.command("invite", cls=Configured)
@options.grouped(inviting=INVITING, terms=options.TERMS, masked=federate.MASKED)
def federate_invite(
    inviting: dict[str, Any], terms: dict[str, Any], masked: dict[str, Any], home: HomeOption = Path("federation")
) -> None:
    """At the coordinator: write its keys, the terms, its config file and one invite for each node."""
    _invite("federate", home, inviting, {**terms, **masked})


@gossip.app.command("invite", cls=Configured)
@options.grouped(inviting=INVITING, terms=options.TERMS)
def gossip_invite(inviting: dict[str, Any], terms: dict[str, Any], home: HomeOption = Path("network")) -> None:
    """At the organiser: write the network's authority, the terms, a config file and one invite for each node."""
    _invite("gossip", home, inviting, terms)


def _invite(kind: str, home: Path, inviting: dict[str, Any], agreed: dict[str, Any]) -> None:
    room = _room(kind)
    from discreet.files import write_text
    from discreet.nodes.settings import Settings, node_plan
    from discreet.nodes.terms import Terms, grouped
    from discreet.privacy.budget import Budget

    public = load_schema(inviting["schema"])
    names = [name.strip() for name in inviting["nodes"].split(",") if name.strip()]
    room.check_names(names)
    address = check_address(inviting["address"])
    if inviting["listen"] is not None:
        check_address(inviting["listen"])
    host, _, port = address.rpartition(":")
    loopback = host in {"127.0.0.1", "localhost", "[::1]"}
    listen = inviting["listen"] or (address if loopback else f"0.0.0.0:{port}")
    notes = inviting["notes"]
    made = Terms.of(
        kind, public, members=tuple(names), organiser=address, notes="" if notes is None else notes.read_text("utf-8"),
        **{key: inviting[key] for key in ("epsilon", "delta", "rounds", "mechanism", "title")}, **agreed,
    )  # fmt: skip
    settings = Settings.of(made.adjacency, made.numeric, made.split, made.contributions)
    plan = node_plan(public, settings, Budget(made.epsilon, delta=made.delta), made.mechanism)
    if made.secure:
        from discreet.federated.shares import share_plan

        share_plan(plan, len(names), colluding=made.colluding, dropouts=made.dropouts)
    ready()
    home, hosts = home.absolute(), [host.strip("[]"), *(inviting["host"] or [])]
    if inviting["again"]:
        if not (home / "terms.toml").is_file():
            raise DiscreetError(f"there are no terms in {home}: leave out --again for a new home")
        room.renew_keys(home, hosts)
    elif home.exists():
        raise DiscreetError(f"{home} is there already: say --again to invite anew, or choose another --home")
    else:
        home.mkdir(mode=0o700)
        try:
            room.make_keys(home, hosts)
        except BaseException:
            shutil.rmtree(home)
            raise
    write_text(home / "terms.toml", made.text)
    public.save(home / "schema.json")
    config = home / f"{room.COMMAND}.toml"
    _write_config(config, room.organiser_config(home, made, listen), f"discreet {kind} {room.COMMAND}")
    invites = room.desk_of(home).invite(inviting["days"])
    for one in invites:
        write_text(home / f"{one.name}.invite", one.text + "\n", private=True)
    files = {one.name: str(home / f"{one.name}.invite") for one in invites}
    if inviting["as_json"]:
        shown = {"home": str(home), "terms": str(home / "terms.toml"), "terms_hash": made.hash, "config": str(config),
                 "invites": files}  # fmt: skip
        print_json({**shown, "authority": invites[0].authority if invites else None})
        return
    say = console().print
    say("\n\n".join(made.sentences()), markup=False)
    say(f"wrote {home}: the terms are {home / 'terms.toml'}, SHA-256 {grouped(made.hash)}…")
    for name, path in files.items():
        say(f"  send {path} to {name}: whoever has it can join in its place, once, within {inviting['days']} days")
    if invites:
        say(f"  tell them by another way that this organiser is {grouped(invites[0].authority)}")
    say(f"then start: discreet {kind} {room.COMMAND} --config {config}")


def _write_config(path: Path, values: dict[str, Any], command: str) -> None:
    """Write a config file, which may hold a database's password; keys that somebody has added before stay."""
    from discreet.files import write_text

    try:
        values = {**tomllib.loads(path.read_text(encoding="utf-8")), **values} if path.is_file() else values
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DiscreetError(f"{path} is no TOML: {error}") from None
    write_text(path, f"# {command} --config {path}\n{tomli_w.dumps(values)}", private=True)


@gossip.app.command("admit", cls=Configured)
def admit(
    home: HomeOption,
    listen: Annotated[str, typer.Option("--listen", help="Where to listen, as HOST:PORT.")],
    as_json: options.Json = False,
) -> None:
    """At the organiser: let invited nodes join, renew their certificates, tell them who was revoked; until stopped."""
    room = _room("gossip")
    host, _, port = check_address(listen).rpartition(":")

    def report(event: str, what: str) -> None:
        if as_json:
            print_json({"event": event, "what": what})
            sys.stdout.flush()
        else:
            note(f"{event}: {what}")

    ready()
    room.serve(home, host.strip("[]"), int(port), report)


def _revoking(app: typer.Typer, kind: str, place: str, words: str) -> None:
    """The command that lets a member in no more."""

    @app.command("revoke", help=words)
    def revoke(
        name: Annotated[str, typer.Argument(help="The node whose key or certificate holds no longer.")],
        home: HomeOption = Path(place),
    ) -> None:
        _room(kind).desk_of(home).revoke(name)
        console().print(f"{name} is revoked: the others learn it when they join again; "
                        f"'discreet {kind} invite --again' invites it anew")  # fmt: skip


_revoking(federate.app, "federate", "federation",
          "At the coordinator: let a node's key in no more, from the next start on.")  # fmt: skip
_revoking(gossip.app, "gossip", "network",
          "At the organiser: no node that has joined again since speaks with this one any more.")  # fmt: skip


# ---- at a node


@federate.app.command("join", cls=Configured)
@options.grouped(joining=JOINING)
def federate_join(
    invite: InviteArgument,
    joining: dict[str, Any],
    trusting: Annotated[
        bool,
        typer.Option(
            "--trust-coordinator-keys",
            help="Under masks: run on the members' keys as the coordinator gives them, though nobody has compared "
            "them; if it lies about them, it sees this node's numbers with a share of the noise.",
        ),
    ] = False,
) -> None:
    """At a node: read the terms, make a key here, join, and answer rounds; again, to learn what has changed."""
    _join("federate", invite, joining, {}, trusting)


@gossip.app.command("join", cls=Configured)
@options.grouped(joining=JOINING)
def gossip_join(
    invite: InviteArgument,
    listen: Annotated[str, typer.Option("--listen", help="Where this node listens, as HOST:PORT.")],
    joining: dict[str, Any],
    advertise: Annotated[str | None, typer.Option(help="Where peers reach this node, if not at --listen.")] = None,
    beat: Annotated[float, typer.Option(min=0.001, help="Seconds between two messages; the same at all nodes.")] = 0.25,
) -> None:
    """At a node: read the terms, make a key here, join, and gossip; again, to renew and learn who was revoked."""
    check_address(listen)
    own: dict[str, Any] = {"listen": listen, "beat": beat}
    if advertise is not None:
        own["advertise"] = check_address(advertise)
    elif listen.rpartition(":")[0].strip("[]") in {"0.0.0.0", "::", "*"}:
        raise DiscreetError(f"no peer can reach {listen}: say by --advertise HOST:PORT where this node is")
    _join("gossip", invite, joining, own)


def _join(kind: str, given: str, joining: dict[str, Any], own: dict[str, Any], trusting: bool = False) -> None:
    room = _room(kind)
    from discreet.files import write_text
    from discreet.nodes.invites import Invite
    from discreet.nodes.joining import Joining
    from discreet.nodes.terms import grouped

    try:
        text = sys.stdin.read() if given == "-" else Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DiscreetError(f"cannot read the invite {given}: save the line that you were sent as a file") from None
    invite = Invite.read(text)
    if invite.kind != kind:
        raise DiscreetError(f"this invite is for another command: use 'discreet {invite.kind} join'")
    home = (joining["home"] or Path(invite.name)).absolute()
    if not home.parent.is_dir():
        raise DiscreetError(f"there is no directory {home.parent}: make it first or choose another --home")
    wait = joining["wait"]
    ready()
    desk = Joining(invite, wait, lambda event, what: note(f"{invite.name}: {event} {what}"))
    terms = desk.terms()
    schema = desk.schema(terms)
    check_data(joining["data"], schema)
    note("\n\n".join(terms.sentences()))
    if terms.notes:
        note("\n".join(["\nNOTES, in the organiser's own words:", *(f"  | {one}" for one in terms.notes.split("\n"))]))
    note(f"terms: SHA-256 {grouped(terms.hash)}…; organiser: {grouped(invite.authority)}")
    _consent(joining["agree"])
    home.mkdir(mode=0o700, exist_ok=True)
    key = room.node_key(home, invite.name)
    answer = desk.enrol_all(key, own.get("advertise") or own.get("listen"))
    code = room.settle(home, invite.name, desk.authority, answer, terms, joining["roster"])
    write_text(home / "terms.toml", terms.text)
    schema.save(home / "schema.json")
    paying = {"account": joining["account"] and str(joining["account"].absolute())} if joining["account"] else {}
    paying |= {"no-account": True} if joining["no_account"] else {}
    own = {**own, **paying, "data": _absolute(joining["data"])}
    config = home / "node.toml"
    _write_config(config, room.node_config(home, invite.name, terms, answer, own), f"discreet {kind} node")
    note(f"{invite.name}: joined; the config file is {config}")
    if joining["roster"] is None:
        note(f"{invite.name}: compare this code with your partners by another way: {code}")
    if terms.secure and joining["roster"] is None and not trusting:
        note(f"{invite.name}: if all have the same, go on by: discreet {kind} node --config {shlex.quote(str(config))}")
    elif joining["run"]:
        run_configured(kind, "node", config)


def _absolute(data: str) -> str:
    return data if "://" in data or not Path(data).exists() else str(Path(data).absolute())


def _consent(agreed: bool) -> None:
    if agreed:
        return
    if not sys.stdin.isatty():
        raise DiscreetError("nobody has agreed to these terms: read them, and say --agree")
    if not typer.confirm("Join under these terms?", default=False, err=True):
        raise DiscreetError("you did not agree: nothing was sent and nothing kept")


def run_configured(kind: str, name: str, config: Path) -> None:
    """Run a command of the same process with a config file."""
    group = typer.main.get_command({"federate": federate.app, "gossip": gossip.app}[kind])
    assert isinstance(group, click.Group)
    command = group.commands[name]
    with command.make_context(f"discreet {kind} {name}", ["--config", str(config)]) as context:
        command.invoke(context)
