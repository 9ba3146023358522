"""discreet predict: classify rows with a released model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from discreet.cli import options
from discreet.cli.common import check_out, located
from discreet.cli.terminal import clean, console, print_json, progress
from discreet.errors import DiscreetError

PIECE = 1 << 15
SEVERAL = " | "  # between the classes of a prediction set in a CSV file


def command(
    model: options.Model,
    data: Annotated[
        str,
        typer.Argument(
            help="A CSV, JSON-lines, Parquet or Arrow file, - for standard input, or an address with --table; no "
            "target column is needed."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            help="Where to write them; else, or with -, they are printed. With an address of Spark and a "
            "name that does not end in .csv: a directory of Parquet files that the executors write.",
        ),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Columns of the rows to write first, such as id,ward.", show_default=False)
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    threshold: Annotated[
        str | None,
        typer.Option(
            help="Answer a class wherever its probability is not below this: 0.3 for the second of two classes, or "
            "CLASS=0.3.",
            show_default=False,
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            help="Add the prediction set: the classes that hold the true one with this chance. For models fitted with "
            "--holdout.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            click_type=click.Choice(["csv", "jsonl"]),
            help="CSV, or one JSON object per line; else by the name of --out.",
        ),
    ] = None,
    as_json: options.Json = False,
    table: options.Table = None,
) -> None:
    """Classify rows with a released model and write one line per row, in the order of the rows."""

    from discreet.models import load

    out = None if out == "-" else out
    loaded = load(model)
    if proba and not loaded.probabilistic:
        raise DiscreetError("this model has scores, not probabilities: leave --proba out")
    asked = {"proba": proba, "threshold": _threshold(loaded, threshold)}
    rule = None if coverage is None else loaded.set_rule(coverage)
    kept = [] if keep is None else _names(keep)
    if as_json and out is None:
        raise DiscreetError("--json reports on a file: give --out as well")
    source = located(data, table)
    there = out is not None and not out.endswith((".csv", ".jsonl")) and getattr(source, "cluster", False)
    if not there:
        check_out(None if out is None else Path(out), source, model)
    elif "://" not in str(out) and Path(str(out)).exists():
        raise DiscreetError(f"{out} exists already: choose another --out")
    with progress("predicting", quiet=as_json or out is None) as report:
        if there:
            from discreet import spark

            if kept or rule is not None or threshold is not None:
                raise DiscreetError("executors write all columns: leave --keep, --threshold and --coverage out there")
            rows = spark.save(spark.predict(source, loaded, proba=proba), str(out), progress=report)
        else:
            lines = form == "jsonl" or (form is None and str(out).endswith((".jsonl", ".ndjson")))
            found = _tables(loaded, source, kept, asked, rule, lines, report)
            rows = _written(found, out, lines)
    if as_json:
        print_json({"predictions": str(out), "rows": rows})
    elif out is not None:
        console().print(f"wrote {rows} predictions to {out}")


def _names(keep: str) -> list[str]:
    import csv

    return [name for name in dict.fromkeys(next(csv.reader([keep], skipinitialspace=True), [])) if name]


def _threshold(loaded: Any, given: str | None) -> tuple[int, float] | None:
    """The place of the class that is to be answered from a probability on, and that probability."""
    from discreet.domain import text

    if given is None:
        return None
    if not loaded.probabilistic:
        raise DiscreetError("this model has scores, not probabilities: leave --threshold out")
    names = [text(label) for label in loaded.schema.classes]
    name, equals, level = given.rpartition("=")
    if not equals and len(names) != 2:
        raise DiscreetError(f"say of which class by --threshold CLASS=NUMBER: the classes are {', '.join(names)}")
    if equals and name not in names:
        raise DiscreetError(f"there is no class {name!r}: the classes are {', '.join(names)}")
    try:
        least = float(level)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise DiscreetError("--threshold takes a probability from 0 to 1, or CLASS=PROBABILITY")
    return (names.index(name) if equals else 1), least


def _written(found: Iterator[Any], out: str | None, lines: bool) -> int:
    """Write the predictions here, to a file or to standard output."""
    from contextlib import ExitStack

    from discreet.files import replacing

    rows = 0
    with ExitStack() as stack:
        sink: Any = sys.stdout.buffer
        if out is not None:
            sink = stack.enter_context(stack.enter_context(replacing(Path(out), private=True)).open("wb"))
        for batch in found:
            _write(batch, sink, header=rows == 0, lines=lines)
            rows += batch.num_rows
        sink.flush()
        if not rows:
            raise DiscreetError("there are no rows to predict")
    return rows


def _tables(
    loaded: Any, data: Any, kept: list[str], asked: dict[str, Any], rule: Any, lines: bool, report: Any
) -> Iterator[Any]:
    """Predictions as Arrow tables, batch by batch, so that rows of any number need no more memory."""
    import pyarrow as pa

    from discreet.domain import text
    from discreet.sources import read_carried

    labels = [text(label) for label in loaded.schema.classes]
    fresh = [*loaded.answer_names(asked["proba"]), *([] if rule is None else ["set"])]
    twice = next((name for name in kept if name in fresh), None)
    if twice is not None:
        raise DiscreetError(f"the column {twice!r} is named like an answer: rename it before it is kept")
    for rows, beside in read_carried(data, loaded.schema, kept, progress=report):
        columns = {name: _carried(values, lines) for name, values in beside.items()}
        columns |= {name: pa.array(values) for name, values in loaded.answers(rows, **asked).items()}
        if rule is not None:
            sets = [[label for label, held in zip(labels, row, strict=True) if held] for row in rule(rows).tolist()]
            columns["set"] = pa.array(sets if lines else [SEVERAL.join(one) for one in sets])
        yield pa.table(columns)


def _carried(values: Any, lines: bool) -> Any:
    """A column that is written as it came; what has no one type, or none that CSV has, is written as text."""
    import pyarrow as pa

    from discreet.values import unicode

    try:
        found = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        if not lines:
            found.slice(0, 0).cast(pa.string())  # which lists and structures have not
        if lines or not pa.types.is_nested(found.type):
            return found
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError):
        pass
    several = values.to_pylist() if hasattr(values, "to_pylist") else values
    return pa.array([
        None if one is None else unicode(_json(one) if isinstance(one, dict | list | tuple) else str(one))
        for one in several
    ])  # fmt: skip


def _json(value: Any) -> str:
    """Strict JSON: what is no finite number is null."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        return json.dumps(clean(value), ensure_ascii=False, default=str)


def _write(batch: Any, sink: Any, *, header: bool, lines: bool) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv

    if lines:
        text = (_json(row) for row in batch.to_pylist())
        view = memoryview(("\n".join(text) + "\n").encode())
    else:
        buffer = pa.BufferOutputStream()
        csv.write_csv(batch, buffer, csv.WriteOptions(include_header=header, quoting_style="needed"))
        view = memoryview(buffer.getvalue())
    # Piece by piece, so that a reader who has gone is noticed: a pipe that closes may take one large write whole.
    for start in range(0, len(view), PIECE):
        sink.write(view[start : start + PIECE])
        sink.flush()
