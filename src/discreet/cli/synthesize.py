"""discreet synthesize: rows drawn from a released model, or designed and labelled by it, at no cost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.common import check_out
from discreet.cli.paying import spent
from discreet.cli.terminal import console, note, print_json, progress
from discreet.errors import DataError, DiscreetError

BATCH = 1 << 16


def command(
    model: options.Model,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to write the rows: NAME.csv or NAME.parquet.")],
    rows: Annotated[int, typer.Option(min=1, help="How many to draw.")] = 10_000,
    seed: Annotated[int | None, typer.Option(help="Draw the same rows again.")] = None,
    design: Annotated[
        bool,
        typer.Option(
            "--design",
            help="Of any model with probabilities: values spread evenly, the target by the model. Train another model "
            "on such rows, but count nothing in them.",
        ),
    ] = False,
    measure: Annotated[
        str | None,
        typer.Option(
            help="Labelled rows: train a boosted model on the synthetic ones and score these.", show_default=False
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Draw synthetic rows from a released model, or --design rows that it labels; its certificate is copied beside."""
    from discreet.explanation import LIMITS
    from discreet.files import replacing, write_text
    from discreet.models import load

    if out.suffix not in {".csv", ".parquet"}:
        raise DiscreetError("--out takes NAME.csv or NAME.parquet")
    beside = out.with_name(out.name + ".certificate.json")
    for path in (out, beside):
        check_out(path, model, measure)
    loaded = load(model)
    draw = loaded.design if design else loaded.sample
    draw(0)  # says so if it cannot draw
    with progress("drawing", quiet=as_json) as report, replacing(out) as temporary:
        _write(_drawn(loaded.schema, draw, rows, seed, report), temporary, out.suffix)
    certificate = loaded.to_dict()["certificate"]
    if design:  # whoever gets the files reads no terminal
        certificate = {"rows": LIMITS, **certificate}
        note(f"note: {LIMITS}")
    write_text(beside, json.dumps(certificate, indent=2, ensure_ascii=False) + "\n")
    measured = None if measure is None else usefulness(loaded.schema, str(out), measure)
    if measured is not None:
        note("note: these figures are exact and NOT private: they disclose the rows that were scored")
    if as_json:
        print_json(
            {"rows": rows, "designed": design, "file": str(out), "certificate": str(beside), "measured": measured}
        )
        return
    screen, made = console(), "designed" if design else "synthetic"
    if measured is not None:
        auc = "" if measured["auc"] is None else f", AUC {measured['auc']:.4f}"
        screen.print(
            f"a boosted model of the {made} rows: accuracy {measured['accuracy']:.4f}{auc} on {measured['n']} rows of "
            f"{measure}"
        )
    if loaded.certificate.simulation or not loaded.certificate.private:
        note("warning: the model is for study, not for release, and so are these rows")
    screen.print(f"wrote {rows} {made} rows to {out}; nobody stands behind any of them. They cost nothing beyond the "
                 f"model's {spent(loaded.certificate)}; {beside} is its certificate")  # fmt: skip


def _drawn(schema: Any, draw: Any, rows: int, seed: int | None, report: Any) -> Iterator[Any]:
    """Arrow tables of drawn rows, batch by batch."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    kinds = {feature.name: _type(feature) for feature in (*schema.features, schema.label)}
    for start in range(0, rows, BATCH):
        columns = draw(min(BATCH, rows - start), rng=rng)
        yield pa.table({name: _array(values, kinds[name]) for name, values in columns.items()})
        if report is not None:
            report(min(start + BATCH, rows), rows)


def _type(feature: Any) -> Any:
    """One type for all values that a feature may have; text if they are of several."""
    import pyarrow as pa

    from discreet.schema import Date

    if isinstance(feature, Date):
        return pa.string()
    if not hasattr(feature, "categories"):
        return pa.int64() if feature.integer else pa.float64()
    values = [*feature.categories, *([] if getattr(feature, "other", None) is None else [feature.other])]
    try:
        return pa.array(values).type
    except (pa.ArrowException, TypeError):
        return pa.string()


def _array(values: list[Any], kind: Any) -> Any:
    import pyarrow as pa

    from discreet.domain import text

    if pa.types.is_string(kind):
        values = [None if one is None else text(one) for one in values]
    return pa.array(values, kind)


def _write(tables: Iterator[Any], path: Path, suffix: str) -> None:
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    first = next(tables)
    opened = parquet.ParquetWriter if suffix == ".parquet" else csv.CSVWriter
    with opened(path, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def usefulness(schema: Any, train: str, test: str) -> dict[str, Any]:
    """How well scikit-learn's boosted trees do on real rows after training on synthetic ones."""
    import numpy as np
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    X, y = _matrix(schema, train)
    new, truth = _matrix(schema, test)
    if len(np.unique(y)) < 2:
        raise DataError("all drawn rows are of one class: draw more rows, or leave --measure out")
    few = [hasattr(one, "categories") and one.cells <= 255 for one in schema.features]  # what scikit-learn takes
    fitted = HistGradientBoostingClassifier(categorical_features=few, random_state=0).fit(X, y)
    both = len(schema.classes) == 2 and len(np.unique(truth)) == 2
    auc = float(roc_auc_score(truth, fitted.predict_proba(new)[:, 1])) if both else None
    return {"accuracy": float((fitted.predict(new) == truth).mean()), "auc": auc, "n": len(truth)}


def _matrix(schema: Any, path: str) -> tuple[Any, Any]:
    """Rows as codes of categories and lattice points of numbers, and the places of their classes."""
    import numpy as np

    from discreet.sources import GONE, hold_rows, read_rows

    parts, labels = [], []
    for rows in read_rows(path, schema, unexpected="absorb"):  # a row without a class measures nothing
        columns = [np.asarray(one, np.float64) for one in hold_rows(rows)]
        parts.append(np.stack([np.where(one == GONE, np.nan, one) for one in columns], axis=1))
        assert rows.label is not None
        codes = rows.label.encode()
        if (codes == len(schema.classes)).any():
            rows.label.complain()
        labels.append(codes)
    if not parts:
        raise DataError(f"{path} has no rows")
    return np.concatenate(parts), np.concatenate(labels)
