"""The task of a micro-batch: restore state, process rows, save state."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, table_from_batches
from whimbrel.clock import INF, MIN_TIME
from whimbrel.plan import Node
from whimbrel.run import Execution, in_order
from whimbrel.run.checkpoint import load, save
from whimbrel.spark.rows import RowReader
from whimbrel.spark.tasks import Sent, unpacked

PART, IS_ROW = "whimbrel_part", "whimbrel_is_row"
"""The partition of a row; and whether it is one, or only says that the partition is there."""


class Followed(Sent):
    """Stand-in for a feed whose rows come in micro-batches, with their watermark."""

    live = True


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch of a query.

    Parameters
    ----------
    plan : bytes
        The query, packed: the same for all micro-batches, so that what it compiles is kept.
    reader : Reader
    out : pyarrow.Schema
        Columns of the answer.
    folder : str
        Where states are, by number of the micro-batch and partition; all tasks reach it.
    number : int
    before : int or None
        The micro-batch before; None: this is the first.
    watermark, next_watermark : int
        Rows before `watermark` are late; none before `next_watermark` will follow on time.
    """

    plan: bytes
    reader: RowReader
    out: pa.Schema
    folder: str
    number: int
    before: int | None
    watermark: int
    next_watermark: int

    def answer(self, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows partition by partition; answers with what is settled now."""
        for partition, rows in groupby(_cut(parts), lambda cut: cut[0]):
            yield from self._partition(partition, (part for _, part in rows))

    def _partition(self, partition: int, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan: Node = unpacked(self.plan)
        session = Execution(plan)
        if self.before is not None:
            load(session, Path(self.folder) / str(self.before) / str(partition))
        pipeline = session.pipeline
        pipeline.in_portions = False
        settled = pipeline.advance(0, self.watermark)[0] if self.watermark > MIN_TIME else []
        for part in parts:
            rows = part.filter(part.column(1))
            if rows.num_rows:
                settled += pipeline.push(0, self.reader.batch(rows.columns[2:]))[0]
                yield from self._out(plan, settled)
                settled = []
        if self.next_watermark > MIN_TIME:
            settled += pipeline.advance(0, self.next_watermark)[0]
        yield from self._out(plan, settled)
        if self.next_watermark < INF:
            self._save(session, partition)

    def _out(self, plan: Node, batches: Sequence[Batch]) -> Iterator[pa.RecordBatch]:
        if batches:
            yield from in_order(table_from_batches(plan.schema, batches)).cast(self.out).to_batches()

    def _save(self, session: Execution, partition: int) -> None:
        """Under the name of the attempt first: of several, the first one to be done stays."""
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = 0 if context is None else context.taskAttemptId()
        folder = Path(self.folder) / str(self.number)
        mine, ours = folder / f"{partition}-{attempt}", folder / str(partition)
        save(session, mine)
        try:
            mine.rename(ours)
        except OSError:  # an earlier attempt was as good
            shutil.rmtree(mine, ignore_errors=True)


def _cut(parts: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Record batches with rows of one partition each."""
    for part in parts:
        of = np.asarray(part.column(0))
        cuts = [0, *(np.flatnonzero(np.diff(of)) + 1).tolist(), len(of)]
        for start, stop in pairwise(cuts):
            if start < stop:
                yield int(of[start]), part.slice(start, stop - start)
