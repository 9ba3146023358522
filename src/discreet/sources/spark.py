"""Spark: rows of a cluster, counted and coded by this package in its executors; integers and codes come back.

The plan of a reading is a projection to the schema's columns and one `mapInArrow`, which for plain Parquet files gets
the numbers of row groups in the place of rows (`sparkfiles`). Spark hands on the result of each
partition once per job, whatever attempts, copies and lost workers it took, so nothing is counted twice.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

from discreet.errors import DataError
from discreet.sources.asks import Hold, HoldKnown, Workers
from discreet.sources.beside import INSTALL, Task, checked_run, own_version
from discreet.sources.lazy import home, native
from discreet.sources.sparkfiles import laid_out, plain_files, read_there, stamp_of
from discreet.sources.streams import first_line, register

COLUMN = "part"
SHAPE = f"{COLUMN} binary"
EVERY = 0.25  # seconds between two looks at the tasks


class Spark(Workers):
    """A Spark data frame, of a classic session or of Spark Connect."""

    def __init__(self, frame: Any, **_: Any) -> None:
        self.frame = native(frame)
        self.names = list(self.frame.columns)
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise DataError(f"the data frame has several columns of one name: {', '.join(twice)}")

    def state(self) -> Any:
        plan = getattr(self._only(self.names), "_jdf", None)  # a frame of Spark Connect does not show its plan
        if plan is not None and not told(lambda: plan.queryExecution().withCachedData().deterministic()):
            raise DataError(
                "the query of this data frame draws random numbers, and ids and rows are read one after the other: "
                "write its rows, or persist them, first"
            )
        with suppress(Exception):  # of files that are not there, or sessions of another make, Spark tells
            return [stamp_of(path) for path in plain_files(self.frame) or ()]
        return None

    def _only(self, wanted: list[str]) -> Any:
        """The wanted columns, by their places: Spark reads names in any case and takes dots apart."""
        known = self.frame.toDF(*(f"c{i}" for i in range(len(self.names))))
        return known.select(*(f"c{self.names.index(name)}" for name in wanted))

    def partials(self, task: Task) -> Iterator[bytes]:
        names, run = list(task.names), in_batches(checked_run(task.payload()))
        tasks = laid_out(self.frame, names)
        if tasks is None:
            made = self._only(names).mapInArrow(run, SHAPE)
        else:
            numbers = self.frame.sparkSession.range(0, len(tasks), 1, len(tasks))
            made = numbers.mapInArrow(read_there(run, tasks, names), SHAPE)
        if isinstance(task.ask, Hold | HoldKnown):
            yield from _fetched(made, self.progress)
        else:
            yield from (row[0] for row in watched(made, made.collect, self.progress))

    def batches(self, wanted: list[str]) -> Iterator[dict[str, Any]]:
        """The rows themselves, partition by partition: for what has to see them in one place."""
        import pyarrow as pa

        for raw in _fetched(self._only(wanted).mapInArrow(in_batches(written), SHAPE), self.progress):
            for batch in pa.ipc.open_stream(raw):
                if batch.num_rows:
                    yield {name: batch.column(i) for i, name in enumerate(wanted)}


def _fetched(made: Any, progress: Any) -> Iterator[bytes]:
    """The messages of one partition after the other.

    All partitions are worked on at once and kept on the executors' disks until they were fetched: what is here at a
    time is one partition, and the driver's limits on results are those of one.
    """
    from pyspark import StorageLevel

    told(lambda: made.persist(StorageLevel.DISK_ONLY))
    try:
        watched(made, made.count, progress)
        rows = told(lambda: made.toLocalIterator(prefetchPartitions=True))
        while (row := told(lambda: next(rows, None))) is not None:
            yield bytes(row[0])
    finally:
        with suppress(Exception):  # a cluster that is gone keeps nothing
            made.unpersist()


def watched(frame: Any, ask: Callable[[], Any], progress: Any) -> Any:
    """What Spark answers; meanwhile `progress` is told how many of the tasks that are known of are done.

    The job runs in a thread of its own under a tag of its own, so that whatever `progress` does is done in this one;
    Connect keeps no such books.
    """
    context = getattr(frame.sparkSession, "_sc", None)
    if progress is None or context is None:
        return told(ask)
    from pyspark import InheritableThread

    tag, ended = f"discreet-{uuid4()}", []

    def run() -> None:
        context.addJobTag(tag)
        try:
            ended.append((True, ask()))
        except BaseException as error:  # raised in the thread that waits
            ended.append((False, error))

    thread = InheritableThread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            progress(*_tasks(context, tag))
            thread.join(EVERY)
    except BaseException:  # whoever watches has had enough
        context.cancelJobsWithTag(tag)
        raise
    ((fine, answer),) = ended

    def answered() -> Any:
        if not fine:
            raise answer
        return answer

    return told(answered)


def _tasks(context: Any, tag: str) -> tuple[int, int | None]:
    """Tasks that are done, and all that are known of."""
    tracker = context.statusTracker()
    with suppress(Exception):  # a job that ends takes its stages with it
        jobs = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        known = [stage for stage in stages if stage is not None]
        if known:
            return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
    return 0, None


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


def told(ask: Callable[[], Any], what: str = "read the rows") -> Any:
    """What Spark answers, or its error in one sentence."""
    try:
        return ask()
    except Exception as error:  # of Spark, of py4j or of a connection, whichever there is
        raise DataError(f"Spark cannot {what}: {_reason(error)}") from None


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


# ---- sessions and tables by their addresses


def session_at(address: str) -> Any:
    """The session of this process if it is of that master, else a new one, which ends with the process.

    Everything else that a session needs is said by spark-defaults.conf and the environment.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError("rows on Spark need pyspark: pip install 'discreet[spark]'") from None
    if address.startswith("sc://"):
        return told(lambda: SparkSession.builder.remote(address).getOrCreate(), "be reached")
    master = address if address.startswith("spark://") else address.removeprefix("spark:")
    found = SparkSession.getActiveSession()
    if found is not None:
        if master not in ("", found.sparkContext.master):
            raise DataError("this process has a Spark session of another master: stop it, or pass its data frame")
        return found
    builder = SparkSession.builder.appName("discreet").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.log.level", "OFF")  # what goes wrong is told in one sentence
    if master:
        builder = builder.master(master)
    if master.startswith("local"):  # nobody else has business with it
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return told(builder.getOrCreate, "be started")


def table_of(session: Any, table: str | tuple[str, str]) -> Any:
    """A table of the catalogue by its name, or one that lies in files by its format and place."""
    if isinstance(table, str):
        return told(lambda: session.table(table))
    kind, place = table
    try:
        return session.read.format(kind).load(place)
    except Exception as error:  # as in `told`
        if "DATA_SOURCE_NOT_FOUND" in str(error):
            raise DataError(
                f"this Spark cannot read {kind} tables: name their package in spark-defaults.conf "
                "(spark.jars.packages), as the format's documentation says"
            ) from None
        raise DataError(f"Spark cannot read the rows: {_reason(error)}") from None


register("a Spark data frame", lambda data: home(data) == "pyspark", Spark, beside=True)
