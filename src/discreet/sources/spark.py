"""Spark: rows of a cluster, counted and coded by this package in its executors; integers and codes come back.

The plan of a reading is a projection to the schema's columns and one `mapInArrow`. Spark hands on the result of each
partition once per job, whatever attempts, copies and lost workers it took, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from discreet.errors import DataError
from discreet.sources.asks import Hold, Workers
from discreet.sources.beside import INSTALL, Task, checked_run, own_version
from discreet.sources.lazy import home, native
from discreet.sources.streams import first_line, register

COLUMN = "part"
SHAPE = f"{COLUMN} binary"


class Spark(Workers):
    """A Spark data frame, of a classic session or of Spark Connect."""

    def __init__(self, frame: Any, **_: Any) -> None:
        self.frame = native(frame)
        self.names = list(self.frame.columns)
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise DataError(f"the data frame has several columns of one name: {', '.join(twice)}")

    def state(self) -> None:
        plan = getattr(self._only(self.names), "_jdf", None)  # a frame of Spark Connect does not show its plan
        if plan is not None and not told(lambda: plan.queryExecution().withCachedData().deterministic()):
            raise DataError(
                "the query of this data frame draws random numbers, and ids and rows are read one after the other: "
                "write its rows, or persist them, first"
            )

    def _only(self, wanted: list[str]) -> Any:
        """The wanted columns, by their places: Spark reads names in any case and takes dots apart."""
        known = self.frame.toDF(*(f"c{i}" for i in range(len(self.names))))
        return known.select(*(f"c{self.names.index(name)}" for name in wanted))

    def partials(self, task: Task) -> Iterator[bytes]:
        made = self._only(list(task.names)).mapInArrow(in_batches(checked_run(task.payload())), SHAPE)
        yield from _fetched(made) if isinstance(task.ask, Hold) else (row[0] for row in told(made.collect))

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        """The rows themselves, partition by partition: for what has to see them in one place."""
        import pyarrow as pa

        for raw in _fetched(self._only(wanted).mapInArrow(in_batches(written), SHAPE)):
            for batch in pa.ipc.open_stream(raw):
                if batch.num_rows:
                    yield {name: batch.column(i) for i, name in enumerate(wanted)}


def _fetched(made: Any) -> Iterator[bytes]:
    """The messages of one partition after the other.

    All partitions are worked on at once and kept on the executors' disks until they were fetched: what is here at a
    time is one partition, and the driver's limits on results are those of one.
    """
    from pyspark import StorageLevel

    told(lambda: made.persist(StorageLevel.DISK_ONLY))
    try:
        told(made.count)
        rows = told(lambda: made.toLocalIterator(prefetchPartitions=True))
        while (row := told(lambda: next(rows, None))) is not None:
            yield bytes(row[0])
    finally:
        with suppress(Exception):  # a cluster that is gone keeps nothing
            made.unpersist()


def in_batches(run: Callable[[Any], Iterator[bytes]]) -> Callable[[Any], Iterator[Any]]:
    """A function of batches that gives bytes, as Spark takes it; it is sent to the executors by its value."""

    def mapped(batches: Any) -> Iterator[Any]:
        import os

        import pyarrow as pa

        os.environ.setdefault("DISCREET_THREADS", "1")  # Spark runs as many tasks as there are cores
        for raw in run(batches):
            yield pa.RecordBatch.from_arrays([pa.array([raw], pa.binary())], ["part"])

    return mapped


def _writer() -> Callable[[Any], Iterator[bytes]]:
    def written(batches: Any) -> Iterator[bytes]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as out:
                out.write_batch(batch)
            yield sink.getvalue().to_pybytes()

    return written


written = _writer()  # by its value too: executors without the package can hand over rows


def told(ask: Callable[[], Any]) -> Any:
    """What Spark answers, or its error in one sentence."""
    try:
        return ask()
    except Exception as error:  # of Spark, of py4j or of a connection, whichever there is
        raise DataError(f"Spark cannot read the rows: {_reason(error)}") from None


def _reason(error: BaseException) -> str:
    """The last word of the executors' own error, if there is one, else the first line of Spark's."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if any("No module named 'pyarrow'" in line or "No module named 'discreet'" in line for line in lines):
        return "the workers cannot import what they need: " + INSTALL.format(own_version())
    within = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if within:
        ends = [line for line in lines[within[-1] + 1 :] if not line.startswith(("File ", "at ", "^", "~"))]
        named = [line for line in ends if line.partition(":")[0].rpartition(".")[2].endswith(("Error", "Exception"))]
        if named:
            return named[0]
    return first_line(error)


register("a Spark data frame", lambda data: home(data) == "pyspark", Spark, beside=True)
