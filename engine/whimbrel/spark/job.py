"""Run a Spark job whose rows reach the driver while it runs."""

from __future__ import annotations

import uuid
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from whimbrel.errors import SchemaError, SourceError
from whimbrel.spark.detect_parquet_scan import check_texts
from whimbrel.spark.errors import short_cause
from whimbrel.spark.row_receiver import RowReceiver
from whimbrel.spark.row_sender import pusher
from whimbrel.spark.rows import quoted
from whimbrel.spark.session import check_running
from whimbrel.spark.types import sent_schema
from whimbrel.spark.workers import check_workers

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import Column, DataFrame

_LOOK_S = 0.1
_RANGES_A_CORE = 4


def job_batches(frame: DataFrame, columns: Sequence[str], *, where: str, order: str | None = None,
                ticks: Column | None = None, only: Sequence[int] | None = None) -> Generator[pa.RecordBatch]:
    """The rows of these columns, as tasks make them; partitions come side by side.

    The job runs on a thread of its own under its own tag. Closing the generator cancels it.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    columns : sequence of str
    where : str
        The user's call, for errors.
    order : {"time", "newest", "random"}, optional
        "time" and "newest": rows are cut into ranges of time, which come one after the other. "random": partitions
        come by chance, always the same.
    ticks : pyspark.sql.Column, optional
        When rows start; needed for an order of time.
    only : sequence of int, optional
        These partitions, one after the other.

    Raises
    ------
    SourceError
        With Spark's cause when the job fails.
    """
    from pyspark import InheritableThread

    check_running(frame.sparkSession, where)
    check_workers(frame.sparkSession, where, needed=("pyarrow",))
    context = frame.sparkSession.sparkContext
    tag = f"whimbrel-{uuid.uuid4().hex}"
    local = context.master.startswith("local")
    cores = context.defaultParallelism
    delivery = RowReceiver("127.0.0.1" if local else context.getConf().get("spark.driver.host", "127.0.0.1") or "",
                        where=where, in_turn=order == "time" or only is not None)

    names = [quoted(name) for name in columns]
    asked = frame.select(*names)
    if order in ("time", "newest") and ticks is not None:
        frame = frame.repartitionByRange(_RANGES_A_CORE * cores, ticks)
        frame = frame.sortWithinPartitions(ticks) if order == "time" else frame
    chosen = frame.select(*names)

    def work() -> dict[int, int]:
        sent = sent_schema(chosen, where).serialize().to_pybytes()
        pushed = _record_batches(chosen).mapPartitions(pusher(delivery.address, delivery.token, sent))
        if order is None and only is None:
            return dict(pushed.collect())
        turns = list(only) if only is not None else _turns(pushed.getNumPartitions(), order)
        done: dict[int, int] = {}
        # As many at a time as there are cores: a task that is tried again need not wait for one that waits for it.
        for first in range(0, len(turns), cores):
            delivery.turns(turns[first : first + cores])
            done |= dict(context.runJob(pushed, list, turns[first : first + cores]))
        return done

    def run() -> None:
        context.addJobTag(tag)
        context.setInterruptOnCancel(True)
        with suppress(ConnectionAbortedError):  # nobody wants the end any more
            try:
                delivery.finish(work())
            except SourceError as error:
                delivery.fail(error)
            except Exception as error:  # noqa: BLE001 - the reader raises whatever Spark raised
                try:
                    check_texts(asked, error, where)
                except SchemaError as schema_error:
                    delivery.fail(schema_error)
                else:
                    delivery.fail(_failed(error, where))

    job = InheritableThread(target=run, name="whimbrel-spark-job", daemon=True)
    job.start()
    try:
        for part in delivery:
            yield pa.record_batch(part.columns, names=list(columns))
    finally:
        delivery.close()
        while job.is_alive():  # it may not have reached Spark yet when it is first cancelled
            context.cancelJobsWithTag(tag)
            job.join(_LOOK_S)


def _record_batches(frame: DataFrame) -> RDD[bytes]:
    """The rows as Java writes them for ``toArrow()``, partition by partition.

    What Python's tasks do with them beforehand, as in ``mapInArrow``, takes twice as long as writing them.
    """
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    session = frame.sparkSession
    for name, value in session.conf.getAll.items():  # tasks of such a job do not see what is set for SQL else
        if name.startswith("spark.sql."):
            session.sparkContext.setLocalProperty(name, value)
    written = frame._jdf.toArrowBatchRdd().toJavaRDD()  # noqa: SLF001 - Spark has no door of its own to single partitions
    return RDD(written, session.sparkContext, NoOpSerializer())


def _turns(partitions: int, order: str | None) -> list[int]:
    numbers = list(range(partitions))
    if order == "random":
        return [numbers[index] for index in np.random.default_rng(1).permutation(partitions)]
    return numbers if order == "time" else numbers[::-1]


def _failed(error: Exception, where: str) -> SourceError:
    cause = short_cause(error)
    if cause.startswith("ModuleNotFoundError"):
        hint = "executors lack it: set PYSPARK_PYTHON to a Python that has it before the session starts"
    else:
        hint = "Spark's own log has the full trace"
    return SourceError(f"Spark could not make the rows: {cause}", where=where, hint=hint)
