"""discreet explain: what a released model makes of each feature, or of one row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, located
from discreet.cli.terminal import console, print_json, table
from discreet.errors import DataError, DiscreetError


def command(
    model: options.Model,
    row: Annotated[
        str | None,
        typer.Argument(
            help="One row: a JSON object such as '{\"age\": 40, …}', or a file, an address or - for standard input, "
            "whose first row is taken."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it: NAME.svg, .png or .pdf (needs matplotlib).", show_default=False)
    ] = None,
    at: options.Table = None,
    as_json: options.Json = False,
) -> None:
    """Show what a released model makes of each feature, with the error of the noise; it costs nothing."""
    from discreet.models import load
    from discreet.values import text, unicode

    check_out(plot, model, row)
    loaded = load(model)
    found = loaded.explain(None if row is None else _row(loaded, row, at))
    if plot is not None:
        from discreet.files import replacing

        figure = found.plot()
        with replacing(plot) as temporary:
            try:
                figure.savefig(temporary, format=plot.suffix[1:].lower() or "png")
            except ValueError as error:
                raise DiscreetError(f"{plot}: {str(error).splitlines()[0]}") from None
    if as_json:
        print_json(found.to_dict())
        return
    screen = console()
    if found.contributions is not None:
        assert found.row is not None
        order = sorted(found.contributions.items(), key=lambda one: -max(abs(part) for part in one[1]))
        lines = [[name, unicode(text(found.row[name])), *(f"{part:+.3f}" for part in parts)] for name, parts in order]
        screen.print(
            table(
                f"what each value adds to the {found.unit} of {found.target}",
                ["feature", "value", *found.classes],
                lines,
                left=2,
            )
        )
        totals = [sum(parts[k] for parts in found.contributions.values()) for k in range(len(found.classes))]
        said = ", ".join(
            f"{name}: {start:.3f} at the start, {start + more:.3f} in all"
            for name, start, more in zip(found.classes, found.start, totals, strict=True)
        )
        screen.print(said)
    else:
        lines = [[one.name, f"{one.importance:.4f}", *_ends(one)] for one in found.shapes]
        heads = ["feature", "importance", "lowest at", "highest at"]
        screen.print(table(f"mean size of each feature's effect on the {found.unit} of {found.target}", heads, lines))
        screen.print(f"error bands (±): {found.bands}")
    if plot is not None:
        screen.print(f"wrote {plot}")


def _ends(shape: Any) -> list[str]:
    """Where a feature speaks most against and most for the last class."""
    from discreet.domain import text

    values = shape.values[-1]
    error = None if shape.error is None else shape.error[-1]

    def said(place: int) -> str:
        band = "" if error is None else f" ± {error[place]:.2g}"
        at = shape.at[place]
        name = "missing" if at is None else f"{float(f'{at:.4g}'):g}" if isinstance(at, float) else text(at)
        return f"{name}: {values[place]:+.2f}{band}"

    return [said(int(values.argmin())), said(int(values.argmax()))]


def _row(loaded: Any, given: str, at: str | None) -> dict[str, Any]:
    from discreet.files import parse_json
    from discreet.sources import read_carried

    if given.lstrip().startswith("{"):
        try:
            found = parse_json(given)
        except ValueError as error:
            raise DataError(f"the row is no JSON object: {error}") from None
        if isinstance(found, dict):
            return found
        raise DataError("the row is no JSON object")
    for _, beside in read_carried(located(given, at), loaded.schema, list(loaded.schema.names)):
        first = {name: values[0] for name, values in beside.items()}
        return {name: value.as_py() if hasattr(value, "as_py") else value for name, value in first.items()}
    raise DataError(f"{given} has no rows")
