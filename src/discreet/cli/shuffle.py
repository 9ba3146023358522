"""discreet local shuffle: mix reports of files, or of devices on their way to a collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out
from discreet.cli.terminal import console, note, print_json
from discreet.errors import DataError, DiscreetError

CampaignFile = Annotated[Path, typer.Option("--campaign", help="The campaign file of the collection.")]
MIXED: options.Group = {
    "delta": options.option(float, 1e-6, "The chance with which the central epsilon may be exceeded."),
    "colluding": options.option(
        int, 0, "Reports of a batch that may be of whoever studies them, and hide nobody.", min=0
    ),
}  # what the central epsilon follows from
SHUFFLED: options.Group = {
    "shuffled": options.option(
        int | None, None,
        "The least batch of the shuffler that the reports come through: states the central epsilon too.",
        min=1, show_default=False,
    ),
    **MIXED,
}  # fmt: skip


@options.grouped(mixed=MIXED)
def shuffle(
    reports: Annotated[
        list[Path] | None, typer.Argument(help="Files of reports; without any, they are taken by HTTP.")
    ] = None,
    campaign: CampaignFile = ...,  # type: ignore[assignment]
    least: Annotated[
        int, typer.Option("--least", min=2, help="The least number of reports that go out together.")
    ] = 1000,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the mixed reports of files.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="The collector's address, for reports by HTTP.")] = None,
    key: Annotated[
        Path,
        typer.Option("--key", help="A file for the shuffler's key, made if it is not there; what was let out under it "
                     "is listed beside it, and never counts towards a batch again."),
    ] = ...,  # type: ignore[assignment]
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any free one.")] = 8001,
    *,
    mixed: dict[str, Any],
    as_json: options.Json = False,
) -> None:  # fmt: skip
    """Mix reports so that nobody can tell who sent which: nothing of a sender goes on, and no batch is too small."""
    from discreet.local.amplified import central
    from discreet.local.campaign import Campaign
    from discreet.local.letout import list_beside
    from discreet.local.shuffle import Shuffler

    plan = Campaign.load(campaign)
    told = central(plan, least, **mixed)
    if bool(reports) == (to is not None):
        raise DiscreetError(
            "say what to mix: files of reports with --out, or --to the collector that devices report to"
        )
    if not reports:
        assert to is not None
        with Shuffler.kept(plan, least, key) as mixing:
            return _serve(mixing, to, host, port, told, as_json)
    if out is None:
        raise DiscreetError("say where the mixed reports go: --out FILE")
    check_out(out, *reports, campaign, *(one for one in (key, list_beside(key)) if one.exists()))
    if out.is_file() and out.stat().st_size:
        raise DiscreetError(f"{out} is there, and what it holds is let out only once: choose another --out")
    from discreet.files import replacing
    from discreet.local.store import Outcome

    with Shuffler.kept(plan, least, key) as mixing, replacing(out, private=True) as temporary:
        found = sum((mixing.read(path) for path in reports), Outcome())
        batch = mixing.batch()
        if batch is None:
            raise DataError(f"there are fewer than {least} reports of the campaign that were not let out before: none "
                            "of them goes out; wait for more")  # fmt: skip
        temporary.write_bytes(b"".join(batch))
    if as_json:
        print_json({"reports": str(out), **found.to_dict(), "central": told.to_dict()})
        return
    console().print(f"wrote {found.accepted} mixed reports to {out}; rejected {found.rejected}")
    console().print(told.clause)


def _serve(mixing: Any, to: str, host: str, port: int, told: Any, as_json: bool) -> None:
    import json
    import sys

    from discreet.local.shuffle_serve import serve_shuffler

    def ready(address: str) -> None:
        text = json.dumps({"address": address, "central": told.to_dict()}) if as_json else f"listening on {address}"
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    if not as_json:
        note(told.clause)
    left = serve_shuffler(mixing, to, host=host, port=port, tell=note, ready=ready)
    note(f"stopped: {left} reports waited for a batch of {mixing.least} and were not let out")
