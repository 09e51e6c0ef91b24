"""Shuffle rows to the tasks of a stage, and return their results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.clock import INF, MIN_TIME, finest, ticks_in
from whimbrel.optimize import optimize
from whimbrel.plan import Node, OrderingSpec, Reach, Source
from whimbrel.spark.expressions import native
from whimbrel.spark.rows import TICKS, RowReader, SparkRows, quoted
from whimbrel.spark.sql_partial_aggregates import names_of
from whimbrel.spark.stages import How, Stage
from whimbrel.spark.tasks import RANGE, SOURCE, Sent, TaskWork, sent, travelling
from whimbrel.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ROWS_A_TASK = 1_000_000
_CELLS_A_RANGE = 16
_CELL, _FROM, _TO = "whimbrel_cell", "whimbrel_from", "whimbrel_to"


def answered(stage: Stage, given: Sequence[SparkRows], out: pa.Schema, *, ticks: bool) -> DataFrame:
    """What the tasks of a stage answer.

    Parameters
    ----------
    stage : Stage
    given : sequence of Rows
        Its sources, in their order.
    out : pyarrow.Schema
        Columns of the answer, in types that Spark has.
    ticks : bool
        Whether it is for a next stage.
    """
    plan = sendable(stage)
    inputs = _Inputs(plan, given)
    frame, schema = inputs.frame(), spark_schema(out)
    work = TaskWork(plan, inputs.readers, out, ticks=ticks)
    match stage.how:
        case How.LOCAL:
            way = "stream" if all(sent(source).as_it_comes for source in plan.sources()) else "in_chunks"
            return frame.drop(TICKS).mapInArrow(travelling(work, way), schema)
        case How.KEY:
            together = frame.repartition(*inputs.keys(stage))
        case How.TIME:
            assert stage.reach is not None
            ranges = _ranges(frame, stage.reach)
            work = TaskWork(plan, inputs.readers, out, ticks=ticks, ranges=tuple(ranges))
            parts = _into_ranges(frame, ranges, stage.reach).repartition(len(ranges), RANGE)
            return (parts.sortWithinPartitions(RANGE, TICKS).drop(TICKS)
                    .mapInArrow(travelling(work, "by_range"), schema))
        case How.ORDER:
            together = frame.repartition(1)
    return together.sortWithinPartitions(TICKS).drop(TICKS).mapInArrow(travelling(work, "stream"), schema)


def sendable(stage: Stage) -> Node:
    """The plan of a stage as it runs, over sources whose rows are sent."""
    sources = stage.plan.sources()
    in_place = stage.how is How.LOCAL
    stateless = in_place and all(isinstance(node.op, Source) or node.op.takes_any_order for node in stage.plan.walk())
    stand_ins = {source: Sent(source, number, OrderingSpec(None if in_place else 0), as_it_comes=stateless)
                 for number, source in enumerate(sources)}
    return optimize(stage.plan.rewrite(
        lambda node: Node(stand_ins[node.op]) if isinstance(node.op, Source) else node))


class _Inputs:
    """The sources of a plan in one DataFrame: of each only the rows and columns that the plan asks for."""

    def __init__(self, plan: Node, given: Sequence[SparkRows]) -> None:
        wanted = {sent(source).number: source for source in plan.sources()}
        self.given = given
        self.sent = [sent(wanted[number]) for number in range(len(given))]
        self.readers: tuple[RowReader, ...] = tuple(rows.reader(wanted[number].schema.names)
                                                 for number, rows in enumerate(given))

    def frame(self) -> DataFrame:
        """Range and source of a row, when it starts, and the columns of every source, null where it is of another."""
        from pyspark.sql import functions as f

        if len(self.given) == 1:
            return self._rows(0).select(TICKS, *self._named(0))
        parts = []
        for number in range(len(self.given)):
            others = [columns if other == number else [f.lit(None).alias(name) for name in self._names(other)]
                      for other, columns in enumerate(map(self._named, range(len(self.given))))]
            parts.append(self._rows(number).select(
                self._time(number), f.lit(number).alias(SOURCE), *(column for columns in others for column in columns)))
        together, *more = parts
        for part in more:
            together = together.unionByName(part)
        return together

    def keys(self, stage: Stage) -> list[Column]:
        """What decides to which task a row goes."""
        from pyspark.sql import functions as f

        found: list[Column] = []
        for columns in stage.by:
            names = [columns[source] for source in stage.plan.sources()]
            if all(name in reader.sent.names for name, reader in zip(names, self.readers, strict=True)):
                own = [f.col(f"s{number}_{reader.sent.get_field_index(name)}")
                       for number, (name, reader) in enumerate(zip(names, self.readers, strict=True))]
                found.append(f.coalesce(*own) if len(own) > 1 else own[0])
        assert found, "what is done per key reads the key"
        return found

    def _rows(self, number: int) -> DataFrame:
        rows = self.given[number]
        frame, names = rows.frame.withColumn(TICKS, rows.ticks()), names_of(rows)
        for condition in self.sent[number].conditions:
            predicate = native(condition, names, rows.schema, may_fail=False)
            frame = frame if predicate is None else frame.where(predicate)
        return frame

    def _time(self, number: int) -> Column:
        """When a row starts, as the rows of all sources are put in order: in the finest of their units."""
        from pyspark.sql import functions as f

        unit = self.given[number].schema.unit
        finer = finest(rows.schema.unit for rows in self.given)
        if all(rows.schema.unit == finer for rows in self.given):
            return f.col(TICKS)
        return (f.col(TICKS).cast("decimal(38, 0)") * ticks_in(unit, finer)).cast("decimal(38, 0)").alias(TICKS)

    def _names(self, number: int) -> list[str]:
        return [f"s{number}_{index}" for index in range(len(self.readers[number].sent))]

    def _named(self, number: int) -> list[Column]:
        from pyspark.sql import functions as f

        return [f.col(quoted(name)).alias(alias)
                for name, alias in zip(self.readers[number].sent.names, self._names(number), strict=True)]


def _ranges(rows: DataFrame, reach: Reach) -> list[tuple[int, int]]:
    """As many ranges as rows are worth, of like size; found by one job."""
    from pyspark.sql import functions as f

    fractions = [part / 1_000 for part in range(1, 1_000)]
    count, times = rows.agg(f.count(f.lit(1)), f.percentile_approx(TICKS, fractions, 10_000)).head() or (0, None)
    parts = max(2 * rows.sparkSession.sparkContext.defaultParallelism, -(-count // ROWS_A_TASK))
    wanted = [times[min(part * 1_000 // parts, 998)] for part in range(1, parts)] if times else []
    return list(pairwise([MIN_TIME, *sorted({_rounded(time, reach) for time in wanted}), INF]))


def _rounded(time: int, reach: Reach) -> int:
    return time if reach.time_grid is None else time - (time - reach.time_grid.offset) % reach.time_grid.hop


def _into_ranges(rows: DataFrame, ranges: Sequence[tuple[int, int]], reach: Reach) -> DataFrame:
    """Each row once for every range that it is within reach of.

    Time is cut into equal cells, and rows find the ranges of their cell by a hash join: with many ranges that takes a
    look at few of them.
    """
    from pyspark.sql import functions as f

    halos = [(max(start - reach.back, MIN_TIME), min(stop + reach.forward, INF)) for start, stop in ranges]
    cuts = [start for start, _ in ranges[1:]] or [0]
    first, cells = cuts[0], _CELLS_A_RANGE * len(ranges)
    width = max(1, -(-(cuts[-1] - first) // cells))
    found = []
    for number, (start, stop) in enumerate(halos):
        low, high = (min(max((time - first) // width, -1), cells) for time in (start, stop))
        found += [(cell, number, start, stop) for cell in range(low, high + 1)]
    known = rows.sparkSession.createDataFrame(found, f"{_CELL} int, {RANGE} int, {_FROM} long, {_TO} long")
    # Between the first and the last cut a difference is no larger than what they span; outside there is one cell each.
    inside = f.least(f.greatest(f.col(TICKS), f.lit(first - 1)), f.lit(first + width * cells))
    cell = f.floor((inside - first) / width).cast("int")
    exact = (f.col(TICKS) >= f.col(_FROM)) & (f.col(TICKS) < f.col(_TO))
    together = rows.withColumn(_CELL, cell).join(f.broadcast(known), _CELL).where(exact)
    return together.select(RANGE, *rows.columns)
