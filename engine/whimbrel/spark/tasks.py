"""Run the engine's kernels inside Spark tasks."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, table_from_batches
from whimbrel.clock import as_ticks, finest
from whimbrel.expr import Expr
from whimbrel.kernels import wait_for_compiler
from whimbrel.plan import Node, OrderingSpec, PushSource, Source
from whimbrel.run import Pipeline, in_order
from whimbrel.spark.rows import RowReader, arrow_of

SOURCE, RANGE = "whimbrel_source", "whimbrel_range"
"""Which source a row is of, where there are several; and which range of time it is for."""

_CHUNK_ROWS = 1 << 20
_WORTH_COMPILING_ROWS = 5_000


class Sent(PushSource):
    """Stands in a plan that travels for a source whose rows will be sent.

    Parameters
    ----------
    source : Source
        For whom it stands.
    number : int
        Its place among the plan's sources.
    disorder : Disorder
        None: rows come in any order.
    as_it_comes : bool
        They are not even sorted.

    Attributes
    ----------
    conditions : tuple of Expr
        What every row that is sent should meet; the plan asks it once more.
    """

    conditions: tuple[Expr, ...] = ()

    def __init__(self, source: Source, number: int, disorder: OrderingSpec, *, as_it_comes: bool = False) -> None:
        super().__init__(source.name, source.time, source.schema, source.longest)
        self.number, self.disorder, self.as_it_comes = number, disorder, as_it_comes
        self.sampling = None if source.sampling is None else source.sampling.with_gaps()

    def where(self, conditions: Sequence[Expr]) -> Source:
        copied = copy.copy(self)
        copied.conditions = tuple(conditions)
        return copied


@dataclass(frozen=True)
class TaskWork:
    """What a task does.

    Parameters
    ----------
    plan : Node
        Optimized, over :class:`Sent` sources.
    readers : tuple of Reader
        By the number of the source.
    out : pyarrow.Schema
        Columns of the answer.
    ticks : bool
        Whether the answer is for a next stage.
    ranges : tuple of (int, int)
        Of the answer for range i, only rows that start within it are kept.
    """

    plan: Node
    readers: tuple[RowReader, ...]
    out: pa.Schema
    ticks: bool = False
    ranges: tuple[tuple[int, int], ...] = ()

    # Ways to do it: each takes the record batches of one partition and answers with record batches.

    def stream(self, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows in the order of time, however many they are."""
        running = _Running(self)
        for part in parts:
            yield from running.push(part)
        yield from running.finish()

    def by_range(self, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Ranges one after the other, and the rows of each in the order of time; each range is answered alone."""
        running: _Running | None = None
        now = -1
        for part in parts:
            numbers = np.asarray(part.column(part.schema.get_field_index(RANGE)))
            cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, stop in pairwise(cuts):
                if start == stop:
                    continue
                if running is None or numbers[start] != now:
                    yield from running.finish() if running else ()
                    now = int(numbers[start])
                    running = _Running(self, within=self.ranges[now])
                yield from running.push(part.slice(start, stop - start))
        yield from running.finish() if running else ()

    def in_chunks(self, parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows in any order, in groups; the results of the groups are merged later."""
        running, rows = _Running(self), 0
        for part in parts:
            yield from running.push(part)
            rows += part.num_rows
            if rows >= _CHUNK_ROWS:
                yield from running.finish()
                running, rows = _Running(self), 0
        yield from running.finish()


class _Running:
    """A pipeline and what goes through it."""

    def __init__(self, work: TaskWork, within: tuple[int, int] | None = None) -> None:
        self.work, self.within = work, within
        self.pipeline = Pipeline(work.plan)
        self.pipeline.in_portions = True
        self.numbers = {sent(source).number: index for index, source in enumerate(self.pipeline.sources)}
        self.in_order = all(sent(source).disorder == OrderingSpec() for source in self.pipeline.sources)

    def push(self, part: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield from self._out(self._settled(part))
        yield from self._portions()

    def finish(self) -> Iterator[pa.RecordBatch]:
        yield from self._out([batch for index in self.numbers.values() for batch in self.pipeline.finish(index)[0]])
        yield from self._portions()

    def _portions(self) -> Iterator[pa.RecordBatch]:
        """Of rows that make very many: not all of them are in memory at once."""
        while self.pipeline.pending:
            yield from self._out(self.pipeline.next_portion()[0])

    def _settled(self, part: pa.RecordBatch) -> list[Batch]:
        batches = [] if not part.num_rows else list(self._batches(part))
        if not batches:
            return []
        settled: list[Batch] = []
        with ExitStack() as waiting:
            if part.num_rows >= _WORTH_COMPILING_ROWS:
                waiting.enter_context(wait_for_compiler())
            for number, batch in batches:
                settled += self.pipeline.push(self.numbers[number], batch)[0]
            if self.in_order and len(self.numbers) > 1:  # who has no rows here must not be waited for
                units = [source.schema.unit for source in self.pipeline.sources]
                finer = finest(units)
                newest = max(as_ticks(int(batch.sync[-1]), units[self.numbers[number]], finer)
                             for number, batch in batches)
                for index in self.numbers.values():
                    settled += self.pipeline.advance(index, as_ticks(newest, finer, units[index]))[0]
        return settled

    def _batches(self, part: pa.RecordBatch) -> Iterator[tuple[int, Batch]]:
        """Rows by source: the columns of one follow those of another."""
        names = part.schema.names
        first = names.index(SOURCE) + 1 if SOURCE in names else 1 if RANGE in names else 0
        of = np.asarray(part.column(first - 1)) if SOURCE in names else None
        for number, reader in enumerate(self.work.readers):
            columns = part.columns[first : first + len(reader.sent)]
            first += len(reader.sent)
            if of is not None:
                mine = pa.array(of == number)
                columns = [column.filter(mine) for column in columns]
            if len(columns[0]) and number in self.numbers:
                yield number, reader.batch(columns)

    def _out(self, batches: Sequence[Batch]) -> list[pa.RecordBatch]:
        if self.within is not None:
            start, stop = self.within
            batches = [batch.compact() for batch in batches]
            batches = [batch.take(np.flatnonzero((batch.sync >= start) & (batch.sync < stop))) for batch in batches]
        batches = [batch for batch in batches if len(batch)]
        if self.work.ticks or not batches:
            return [arrow_of(batch, self.work.out) for batch in batches]
        table = in_order(table_from_batches(self.work.plan.schema, batches))
        return list(table.cast(self.work.out).to_batches())


def sent(source: Source) -> Sent:
    """The operator after the steps that the planner put before it."""
    while not isinstance(source, Sent):
        source = source.source  # type: ignore[attr-defined]
    return source


Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def travelling(work: Any, way: str) -> Task:
    """The function for ``mapInArrow`` that does the work in one of its ways.

    What compiled code was made of is the same object for all tasks of a worker, so it is compiled once in each.
    """
    sent = packed(work)

    def task(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from whimbrel.spark.tasks import unpacked

        return getattr(unpacked(sent), way)(parts)

    return task


def packed(value: Any) -> bytes:
    """As Spark itself sends what tasks run: users' functions by their code."""
    from pyspark.serializers import CloudPickleSerializer

    return bytes(CloudPickleSerializer().dumps(value))


@functools.lru_cache(maxsize=16)
def unpacked(sent: bytes) -> Any:
    """What was sent, once in each process."""
    from pyspark.serializers import CloudPickleSerializer

    return CloudPickleSerializer().loads(sent)
