"""Kernels that give events another time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whimbrel.batch import Batch, Column, Mask, Schema, Ticks
from whimbrel.clock import INF, MIN_TIME
from whimbrel.disorder import Sorter, SorterSizes
from whimbrel.errors import KernelError
from whimbrel.expr import Expr, evaluate
from whimbrel.kernels import Kernel, Stateless
from whimbrel.operators.windows.start_edges import starts_only


@dataclass(frozen=True)
class WatermarkFunction:
    """A function of event time, for watermarks.

    Parameters
    ----------
    start : Expr
    times : Schema
        Of the input without columns.
    where : str
        The operator, for errors.
    """

    start: Expr
    times: Schema
    where: str

    def __call__(self, watermark: int) -> int:
        """The value at a watermark; MIN_TIME if it has none."""
        if watermark in (INF, MIN_TIME):
            return watermark
        moment = Batch(self.times, np.array([watermark]), 1, ())
        try:
            start, _ = _new_times(evaluate(self.start, moment))
        except KernelError:  # an explicit watermark far away: no row can have such a time
            return MIN_TIME
        return int(start[0])


class RetimeKernel(Stateless):
    """Computes the new times of rows and watermarks alike, from event time.

    Parameters
    ----------
    start : Expr
    clock : WatermarkFunction
    schema : Schema
        Of the output.
    where : str
        The operator, for errors.
    """

    def __init__(self, start: Expr, clock: WatermarkFunction, schema: Schema, where: str) -> None:
        self.start, self.clock, self.schema, self.where = start, clock, schema, where

    def apply(self, batch: Batch) -> Batch:
        return at_new_times(self.start, batch, self.schema, self.where)

    def output_watermark(self, watermark: int) -> int:
        return max(self.watermark, self.clock(watermark))


class OrderedRetimeKernel(SorterSizes, Kernel):
    """Sorts rows by an ordered value, with a watermark that follows the values of all rows that started earlier.

    Parameters
    ----------
    start : Expr
    schema : Schema
        Of the output.
    band : int
        So much a value may be below an earlier one.
    where : str
        The operator, for errors.
    clock : WatermarkFunction, optional
        Of values that event time alone decides: the watermark then needs no row.
    """

    def __init__(self, start: Expr, schema: Schema, band: int, where: str,
                 clock: WatermarkFunction | None = None) -> None:
        self.start, self.schema, self.band, self.where, self.clock = start, schema, band, where, clock
        self.sorter = Sorter()
        self.newest = self.before = self.largest = MIN_TIME  # the newest start; the largest values before and up to it

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = starts_only(batch.compact())
        if not len(batch):
            return []
        old, made = batch.sync, at_new_times(self.start, batch, self.schema, self.where)
        first = int(np.searchsorted(old, old[-1]))  # the first row that starts with the last one
        if first or old[-1] > self.newest:
            self.before = max(self.largest, int(made.sync[:first].max()) if first else MIN_TIME)
        self.newest, self.largest = int(old[-1]), max(self.largest, int(made.sync.max()))
        self.sorter.add(made)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        if watermark == INF:
            self.watermark = INF
            return self.sorter.release(INF)
        passed = self.largest if watermark > self.newest else self.before
        if self.clock is not None:
            passed = max(passed, self.clock(watermark))
        self.watermark = max(self.watermark, passed - self.band if passed >= MIN_TIME + self.band else MIN_TIME)
        return self.sorter.release(self.watermark - 1) if self.watermark > MIN_TIME else []


def at_new_times(expr: Expr, batch: Batch, schema: Schema, where: str) -> Batch:
    """Each event as a point at its new time."""
    rows = starts_only(batch.compact())
    start, known = _new_times(evaluate(expr, rows))
    if not known.all():
        raise KernelError(f"The new time of the event at {rows.sync[~known][0]} is null.", where=where,
                          hint="Use a function that has a value at all times, or where(... .is_not_null()) before.")
    return rows.having(schema=schema, sync=start, ends=1, ids=None)


def _new_times(column: Column) -> tuple[Ticks, Mask]:
    return np.asarray(column.values).astype(np.int64), column.validity()
