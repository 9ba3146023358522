"""Spark: a released model answers for the rows of a cluster where they are; rows to fit on are passed to any fit."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from discreet.errors import DataError, ModelError
from discreet.models import ReleasedModel, load
from discreet.sources import Address, Progress, watched_spark

__all__ = ["predict", "save"]


def predict(frame: Any, model: ReleasedModel | str | os.PathLike[str], *, proba: bool = False) -> Any:
    """A Spark data frame with the columns of this one, the `prediction` for each row and its `probability` or `score`.

    `frame` may be an `Address` of Spark as well, and `model` is a released model or its file; nothing else is needed,
    and it costs no privacy. With `proba` there is a
    column `P(class)` for every class. Like any transformation of Spark it runs when the result is asked for, in the
    executors, which need this package; a value that has no place in the model's schema makes it fail.
    """
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    if isinstance(frame, Address):
        frame = frame.frame()
    loaded = model if isinstance(model, ReleasedModel) else load(model)
    if proba and not loaded.probabilistic:
        raise ModelError("this model has scores, not probabilities: leave proba out")
    names = list(frame.columns)
    for name in loaded.schema.names:
        if names.count(name) != 1:
            raise DataError(f"the data frame has {'no column' if name not in names else 'several columns'} {name!r}")
    fresh = loaded.answer_names(proba)
    for name in fresh:
        if name in names:
            raise DataError(f"the data frame has a column {name!r} already: rename it")
    kinds = [StringType(), *(DoubleType() for _ in fresh[1:])]
    fields = [StructField(name, kind) for name, kind in zip(fresh, kinds, strict=True)]
    shape = StructType([*frame.schema.fields, *fields])
    spots = [names.index(name) for name in loaded.schema.names]
    return frame.mapInArrow(_answering(json.dumps(loaded.to_dict()), spots, names + fresh, proba), shape)


def save(answers: Any, out: str, *, progress: Progress | None = None) -> int:
    """Let the executors write a data frame as Parquet files in a new directory, and say how many rows it has.

    The path is one that they see alike, such as s3://bucket/answers or a directory that all machines share.
    """
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    seen = Observation()
    counted = answers.observe(seen, count(lit(1)).alias("rows"))
    watched_spark(counted, lambda: counted.write.parquet(out), progress)
    return int(seen.get["rows"])


def _answering(model: str, spots: list[int], names: list[str], proba: bool) -> Callable[[Any], Iterator[Any]]:
    wanted = version("discreet")

    def answer(batches: Any) -> Iterator[Any]:
        from importlib.metadata import version

        if version("discreet") != wanted:
            raise RuntimeError(f"this executor has discreet {version('discreet')}, not {wanted}: install it there")
        import pyarrow as pa

        from discreet.models import from_json
        from discreet.sources import read_rows

        loaded = from_json(model)
        for batch in batches:
            if not batch.num_rows:
                continue
            table = pa.table([batch.column(spot) for spot in spots], list(loaded.schema.names))
            for rows in read_rows(table, loaded.schema, labelled=False):
                found = [pa.array(values) for values in loaded.answers(rows, proba).values()]
                yield pa.RecordBatch.from_arrays([*batch.columns, *found], names)

    return answer
