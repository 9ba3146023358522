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
        typer.Argument(help="A CSV, Parquet or Arrow file, or an address with --table; no target column is needed."),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="Where to write the CSV; else it is printed. With an address of Spark and a "
            "name that does not end in .csv: a directory of Parquet files that the executors write.",
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    as_json: options.Json = False,
    table: options.Table = None,
) -> None:
    """Classify rows with a released model and write one line per row, in the order of the rows."""

    from discreet.models import load

    source = located(data, table)
    there = out is not None and not out.endswith(".csv") and getattr(source, "cluster", False)
    if not there:
        check_out(None if out is None else Path(out), source, model)
    elif "://" not in str(out) and Path(str(out)).exists():
        raise DiscreetError(f"{out} exists already: choose another --out")
    if as_json and out is None:
        raise DiscreetError("--json reports on a file: give --out as well")
    loaded = load(model)
    if proba and not loaded.probabilistic:
        raise DiscreetError("this model has scores, not probabilities: leave --proba out")
    with progress("predicting", quiet=as_json) as report:
        if there:
            from discreet import spark

            rows = spark.save(spark.predict(source, loaded, proba=proba), str(out), progress=report)
        else:
            rows = _written(loaded, source, out, proba, report)
    if as_json:
        print_json({"predictions": str(out), "rows": rows})
    elif out is not None:
        console().print(f"wrote {rows} predictions to {out}")


def _written(loaded: Any, source: Any, out: str | None, proba: bool, report: Any) -> int:
    """Write the predictions here, to a file or to standard output."""
    from contextlib import ExitStack

    from discreet.files import replacing

    rows = 0
    with ExitStack() as stack:
        sink: Any = sys.stdout.buffer
        if out is not None:
            sink = stack.enter_context(stack.enter_context(replacing(Path(out), private=True)).open("wb"))
        for batch in _tables(loaded, source, proba, report):
            _write(batch, sink, header=rows == 0)
            rows += batch.num_rows
        sink.flush()
        if not rows:
            raise DiscreetError("there are no rows to predict")
    return rows


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
