"""discreet local: reports that devices randomise themselves; make them, collect them, learn from them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import config, options
from discreet.cli.common import check_data, check_out, load_schema
from discreet.cli.paying import account_for, tell_room
from discreet.cli.send import send
from discreet.cli.shuffle import SHUFFLED, shuffle
from discreet.cli.terminal import console, note, print_json, progress, table
from discreet.errors import DataError, DiscreetError

if TYPE_CHECKING:
    from discreet.local.campaign import Campaign
    from discreet.local.collector import Collector
    from discreet.local.serve import Hosted

app = typer.Typer(
    name="local",
    help="Learn from reports that each person's own device randomises: nobody else ever sees a row.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command()(send)
CampaignOption = Annotated[
    Path | None,
    typer.Option("--campaign", help="A campaign file, instead of the schema and the settings.", show_default=False),
]
app.command()(shuffle)
SmoothingOption = Annotated[float, typer.Option(help="People added to every cell.")]


ASKED: options.Group = {
    "schema": (options.Schema, None),
    "epsilon": options.option(float | None, None, "What all that one person sends may cost.", show_default="1"),
    "oracle": options.option(str, "auto", "How values are reported: auto, or an oracle: grr, oue, subset, hadamard, …"),
    "numeric": options.option(str, "bins", "How numbers are reported: bins, or laplace, one-bit, piecewise, hybrid, …"),
    "reports": options.option(int, 1, "Inputs each person reports about, at epsilon/reports."),
    "theta": options.option(float | None, None, "The threshold of the oracle 'the'.", show_default=False),
}  # of people, unless a campaign file says it


def _campaign(file: Path | None, asked: dict[str, Any]) -> Campaign:
    from discreet.local.campaign import Campaign

    settings = dict(asked)
    schema: Path | None = settings.pop("schema")
    if file is None:
        epsilon = settings.pop("epsilon")
        return Campaign(load_schema(schema), 1.0 if epsilon is None else epsilon, **settings)
    if any(value != ASKED[name][1] for name, value in settings.items()):
        raise DiscreetError("the campaign file says what is reported and how: give no settings beside it")
    loaded = Campaign.load(file)
    if schema is not None and load_schema(schema) != loaded.schema:
        raise DiscreetError(f"{schema} is not the schema of the campaign {file}")
    return loaded


@app.command()
@options.grouped(asked=ASKED, paying=options.PAYING)
def perturb(
    data: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file with a row per person.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the reports.")],
    asked: dict[str, Any],
    paying: dict[str, Any],
    campaign: CampaignOption = None,
    as_json: options.Json = False,
) -> None:
    """Play every person's device: one randomised report for each row."""
    from discreet.files import replacing
    from discreet.local.bulk import report_rows
    from discreet.privacy.budget import Adjacency, Budget
    from discreet.privacy.nodes import Response
    from discreet.privacy.payer import unit_of
    from discreet.sources import BLOCK, read_rows

    plan = _campaign(campaign, asked)
    check_out(out, data, asked["schema"], campaign, paying["account"])
    check_data(data, plan.schema)
    paid = account_for(data, **paying, what="discreet local perturb")
    if paid is not None:
        # What a person pays is known before any row is read: as LocalNB charges it.
        reports_node = Response("local reports", "all that one person sends", plan.epsilon)
        paid.charge(reports_node, Budget(plan.epsilon), unit_of(Adjacency.REPLACE, 1), schema=plan.schema)
    people = size = 0
    with (
        progress("reporting", quiet=as_json) as watch,
        replacing(out, private=True) as temporary,
        temporary.open("wb") as file,
    ):
        for rows in read_rows(data, plan.schema, contributions=1, progress=watch):
            for low in range(0, rows.size, BLOCK):
                size += file.write(report_rows(plan, rows.part(low, min(low + BLOCK, rows.size))))
            people += rows.size
        if not people:
            raise DataError("there are no rows to report about")
        file.flush()
    tell_room(paid)
    if as_json:
        print_json({"reports": str(out), "people": people, "bytes": size})
        return
    console().print(f"wrote {people} reports of {size / people:.1f} bytes on average to {out}")


@app.command()
@options.grouped(mixing=SHUFFLED)
def collect(
    reports: Annotated[list[Path], typer.Argument(help="Files of reports, or stores of other collectors.")],
    out: options.Out,
    schema: options.Schema = None,
    campaign: CampaignOption = None,
    epsilon: Annotated[float | None, typer.Option(help="Accept only reports of this epsilon.")] = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="A database that keeps the reports and resumes.", show_default=False)
    ] = None,
    smoothing: SmoothingOption = 1.0,
    *,
    mixing: dict[str, Any],
    as_json: options.Json = False,
) -> None:
    """Count every report once, and learn a model from the sums."""
    from discreet.local.campaign import Campaign
    from discreet.local.collector import Collector
    from discreet.local.store import Outcome, is_store

    public = Campaign.load(campaign) if campaign is not None else load_schema(schema)
    check_out(out, *reports, schema, campaign, store)
    for path in reports:
        if not path.is_file():
            raise DataError(f"there is no file {path}")
    with Collector(public, store=store, epsilon=epsilon) as collector:
        found = Outcome()
        with progress("counting bytes", quiet=as_json) as watch:
            for path in reports:
                if is_store(path):
                    with Collector.load(path, readonly=True) as other:
                        found += collector.merge(other)
                else:
                    found += collector.read(path, watch)
        rejected = {name: count for name, count in found.to_dict().items() if name != "accepted"}
        if not collector.accepted:
            raise DataError(f"no report can be used: {_counts(rejected)}")
        _stated(collector, smoothing, **mixing).save(out)
        if as_json:
            print_json({"model": str(out), **found.to_dict(), "rejected": found.rejected, "total": collector.accepted})
            return
        console().print(f"accepted {found.accepted} reports; {_counts(rejected)}")
        if collector.accepted != found.accepted:
            console().print(f"the store holds {collector.accepted} reports")
        console().print(f"wrote {out}: try 'discreet inspect {out}'")


def _stated(collector: Collector, smoothing: float, shuffled: int | None, delta: float, colluding: int) -> Any:
    """The model, whose certificate states the central ε too if the reports came through a shuffler."""
    made = collector.model(smoothing)
    if shuffled is not None:
        from discreet.local.amplified import central

        if collector.campaign is None:
            raise DiscreetError("the central epsilon follows from the campaign: name its file by --campaign")
        if collector.accepted < shuffled:
            raise DataError(f"fewer than {shuffled} reports are here, so no batch of that size came out of a shuffler: "
                            "state its --least by --shuffled, or collect more first")  # fmt: skip
        made.certificate = central(collector.campaign, shuffled, delta, colluding).stated(made.certificate)
    return made


def _counts(rejected: dict[str, int]) -> str:
    return f"rejected {sum(rejected.values())} ({', '.join(f'{count} {name}' for name, count in rejected.items())})"


@app.command()
@options.grouped(mixing=SHUFFLED)
def model(
    store: Annotated[Path, typer.Option("--store", help="A collector's database; it may be in use by a server.")],
    out: options.Out,
    smoothing: SmoothingOption = 1.0,
    *,
    mixing: dict[str, Any],
    as_json: options.Json = False,
) -> None:
    """Learn a model from all that a store has collected so far."""
    from discreet.local.collector import Collector

    check_out(out, store)
    with Collector.load(store, readonly=True) as collector:
        _stated(collector, smoothing, **mixing).save(out)
        summary = collector.summary()
    if as_json:
        print_json({"model": str(out), **summary})
        return
    rows = [
        [one["about"], one["mechanism"], f"{one['epsilon']:g}", str(one["parts"]), str(one["reports"])]
        for one in summary["tallies"]
    ]
    console().print(table("reports", ["about", "mechanism", "epsilon", "parts", "reports"], rows, left=2))
    console().print(f"{summary['accepted']} reports since {summary['since']}; {_counts(summary['rejected'])}")
    console().print(f"wrote {out}: try 'discreet inspect {out}'")


@app.command()
@options.grouped(asked=ASKED, mixing=SHUFFLED)
def campaign(
    asked: dict[str, Any],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the campaign for clients.")] = None,
    *,
    mixing: dict[str, Any],
    as_json: options.Json = False,
) -> None:
    """Show what people would be asked and how they would answer; write it for clients in any language."""
    plan = _campaign(None, asked)
    check_out(out, asked["schema"])
    from discreet.local.amplified import central

    shuffled = mixing.pop("shuffled")
    promised = None if shuffled is None else central(plan, shuffled, **mixing)
    if out is not None:
        plan.save(out)
    if as_json:
        told = {
            "epsilon": float(plan.epsilon),
            "reports": plan.reports,
            "schema_hash": plan.schema.hash,
            "pin": plan.pin,
            "central": None if promised is None else promised.to_dict(),
        }
        print_json({**told, "questions": plan.describe(), "campaign": None if out is None else str(out)})
        return
    rows = [
        [one["about"], one["mechanism"], "" if one["domain"] is None else str(one["domain"]), str(one["bytes"])]
        for one in plan.describe()
    ]
    title = f"each person reports about {plan.reports} of {len(rows)} inputs, epsilon = {float(plan.epsilon):g} in all"
    console().print(table(title, ["about", "mechanism", "values", "bytes"], rows, left=2))
    if promised is not None:
        console().print(promised.clause)
    console().print(f"clients that insist on this schema are given the pin {plan.pin}")
    if out is not None:
        console().print(f"wrote {out}")


@app.command()
@options.grouped(asked=ASKED)
def tokens(
    store: Annotated[Path, typer.Option("--store", help="The database of the collection; it must not be in use.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many people may report.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the tokens, one per line.")],
    asked: dict[str, Any],
    campaign: CampaignOption = None,
) -> None:
    """Draw tokens, each of which lets one report in; hand them out before anybody reports."""
    from discreet.files import write_text
    from discreet.local.collector import Collector

    check_out(out, store, asked["schema"], campaign)
    with Collector(_campaign(campaign, asked), store=store) as collector:
        write_text(out, "".join(f"{one}\n" for one in collector.make_tokens(count)), private=True)
    console().print(f"wrote {count} tokens to {out}: each lets one report in at 'discreet local serve --tokens'")


@app.command(cls=config.Configured)
@options.grouped(asked=ASKED)
def serve(
    asked: dict[str, Any],
    store: Annotated[
        Path | None, typer.Option("--store", help="The database that keeps the reports.", show_default=False)
    ] = None,
    campaign: CampaignOption = None,
    campaigns: Annotated[
        Path | None,
        typer.Option("--campaigns", help="A file (TOML) of several campaigns, each with its store and settings."),
    ] = None,
    page: Annotated[bool, typer.Option("--page", help="Serve a page on which people can answer.")] = False,
    title: Annotated[str, typer.Option(help="The page's title: what is asked, by whom.", show_default=False)] = "",
    about: Annotated[
        Path | None, typer.Option(help="A text file that the page shows first: who asks, and why.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any free one.")] = 8000,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", help="A certificate chain (PEM).")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="The certificate's key (PEM).")] = None,
    max_bytes: Annotated[int, typer.Option("--max-bytes", help="The largest request.")] = 1 << 20,
    cors: Annotated[list[str] | None, typer.Option(help="A web site whose pages may post ('*' for any).")] = None,
    max_reports: Annotated[
        int | None, typer.Option("--max-reports", min=1, help="The most reports to take in all.")
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Each new report needs a token ('discreet local tokens').")
    ] = False,
    per_address: Annotated[
        int, typer.Option("--per-address", min=0, help="Connections from one address at once; 0 behind a proxy.")
    ] = 256,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request with its address.")] = False,
    as_json: options.Json = False,
) -> None:
    """Take reports by HTTP until stopped; what was acknowledged is on disk and counted once."""
    from discreet.guard import Limits
    from discreet.local.serve import Hosted
    from discreet.local.serve import serve as run
    from discreet.local.several import load

    one: dict[str, Any] = {
        "page": page, "title": title, "about": _text(about), "max_bytes": max_bytes, "cors": cors or (),
        "max_reports": max_reports, "tokens": tokens,
    }  # fmt: skip
    shared: dict[str, Any] = {
        "host": host, "port": port, "tls_cert": tls_cert, "tls_key": tls_key, "access_log": access_log,
        "limits": Limits(each=per_address),
    }  # fmt: skip
    if campaigns is not None:
        own = {name: getattr(Hosted, name) for name in one}
        if store or campaign or asked["schema"] or any(one[name] != own[name] for name in one):
            raise DiscreetError(f"{campaigns} says of each campaign what it is: give no settings of one beside it")
        hosted, root = load(campaigns)
        config.ready()
        all_done: dict[str, Collector] = run(hosted, root=root, ready=_told(hosted, as_json), **shared)
        for name, done in all_done.items():
            note(f"stopped: the store {hosted[name].store} of {name} holds {done.accepted} reports")
        return
    if store is None:
        raise DiscreetError("a collection needs a store: name the database that keeps the reports by --store FILE")
    plan = _campaign(campaign, asked)
    config.ready()
    only: Collector = run(plan, store, ready=_told({"": Hosted(plan, page=page)}, as_json), **one, **shared)
    note(f"stopped: the store {store} holds {only.accepted} reports")


def _text(path: Path | None) -> str:
    """The text of a file, or none."""
    try:
        return "" if path is None else path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DiscreetError(f"cannot read the text {path}: {error}") from None


def _told(hosted: dict[str, Hosted], as_json: bool) -> Callable[[str], None]:
    """What is said once the server listens: where, and what the participants' pages are pinned by."""
    from discreet.local.participants import hashes

    pages = {name: one for name, one in hosted.items() if one.page}
    pinned = hashes() if pages else {}

    def ready(address: str) -> None:
        at = {name: f"{address}/{name}/" if name else f"{address}/" for name in hosted}
        if as_json:
            shown = {at[name]: one.campaign.pin for name, one in pages.items()}
            text = json.dumps({"address": address, **({"pages": shown, "integrity": pinned} if pages else {})})
        else:
            lines = [f"listening on {address} (status: {address}/{'status' if '' in hosted else ''})"]
            lines += [f"people answer at {at[name]} (fingerprint of the questions: {one.campaign.pin})"
                      for name, one in pages.items()]  # fmt: skip
            text = "\n".join([*lines, *(f"{name} is {code}" for name, code in pinned.items())])
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    return ready
