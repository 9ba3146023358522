"""discreet predict: classify rows with a released model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out, console, located, print_json, progress
from discreet.errors import DiscreetError

PIECE = 1 << 15


def command(
    model: options.Model,
    data: Annotated[
        str,
        typer.Argument(help="A CSV, Parquet or Arrow file, or the address of a database; no target column is needed."),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to write the CSV; else it is printed.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    as_json: options.Json = False,
    table: options.Table = None,
) -> None:
    """Classify rows with a released model and write one line per row, in the order of the rows."""

    from contextlib import ExitStack

    from discreet.files import replacing
    from discreet.models import load

    check_out(out)
    if as_json and out is None:
        raise DiscreetError("--json reports on a file: give --out as well")
    loaded = load(model)
    if proba and not loaded.probabilistic:
        raise DiscreetError("this model has scores, not probabilities: leave --proba out")
    rows, source = 0, located(data, table)
    with progress("predicting", quiet=as_json) as report, ExitStack() as stack:
        sink: Any = sys.stdout.buffer
        if out is not None:
            sink = stack.enter_context(stack.enter_context(replacing(out, private=True)).open("wb"))
        for batch in _tables(loaded, source, proba, report):
            _write(batch, sink, header=rows == 0)
            rows += batch.num_rows
        sink.flush()
        if not rows:
            raise DiscreetError("there are no rows to predict")
    if as_json:
        print_json({"predictions": str(out), "rows": rows})
    elif out is not None:
        console().print(f"wrote {rows} predictions to {out}")


def _tables(loaded: Any, data: Any, proba: bool, report: Any) -> Any:
    """Predictions as Arrow tables, batch by batch."""
    import pyarrow as pa

    from discreet.sources import read_rows

    for rows in read_rows(data, loaded.schema, labelled=False, progress=report):
        yield pa.table({name: pa.array(values) for name, values in loaded.answers(rows, proba).items()})


def _write(batch: Any, sink: Any, *, header: bool) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv

    buffer = pa.BufferOutputStream()
    csv.write_csv(batch, buffer, csv.WriteOptions(include_header=header, quoting_style="needed"))
    # Piece by piece, so that a reader who has gone is noticed: a pipe that closes may take one large write whole.
    view = memoryview(buffer.getvalue())
    for start in range(0, len(view), PIECE):
        sink.write(view[start : start + PIECE])
        sink.flush()
