"""Declare ordered columns, and check each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME, Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import KernelError, PlanError
from whimbrel.expr.monotone import ValueOrder
from whimbrel.kernels import Kernel
from whimbrel.operators.rows.assumption_errors import shown_time
from whimbrel.plan import (
    EVERYTHING,
    KnownInput,
    LatePolicy,
    LineageRequest,
    Operator,
    Ordered,
    OrderedColumn,
    Properties,
)

Array = np.ndarray[Any, Any]

_HINT: Final = 'Allow more with band=, fix the data, or use late="drop" at the source.'


@dataclass(frozen=True, kw_only=True, eq=False)
class AssumeOrder(Operator):
    """Declare an ordered column, and check each event.

    In an increasing column no value is smaller than one of an event that started earlier. Events that start at one time
    are in no order.

        time     0    5    10   15
        in       3    7    6    9
        out      3    7         9      (increasing, late="drop": 6 is smaller than 7)
        out      3    7    6    9      (increasing, band=1)

    An event that contradicts the order is late, and the late policy of its source counts. "raise" is an error. "drop"
    and "side_output" leave the event out. "adjust" gives it the nearest value that is in the order. A null is in no
    order: with "adjust" such an event is left out.

    Parameters
    ----------
    column : str
        Integers or timestamps.
    decreasing : bool
        No value is larger than one of an event that started earlier.
    band : int
        So much a value may be against the order, in units of the column.
    unit : {"s", "ms", "us", "ns"} or None
        Unit of the column.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        None: the late policy of the source.

    Notes
    -----
    Shapes: at most as many rows out as in. State: the extreme values of a column. Source: ordered attributes of
    Gigascope (Cranor et al., SIGMOD 2003), section 2.

    Examples
    --------
    >>> import whimbrel as wb
    >>> rows = {"at": [0, 5, 10], "seq": [3, 7, 6]}
    >>> log = wb.from_arrow(rows, time="at", late="drop", reorder_latency=0, name="log")
    >>> log.assume(increasing="seq").collect()["seq"].to_pylist()
    [3, 7]
    >>> wb.from_arrow(rows, time="at").assume(increasing="seq", band=1).collect()["seq"].to_pylist()
    [3, 7, 6]
    """

    column: str
    decreasing: bool = False
    band: int = 0
    unit: TickUnit = None
    late: LatePolicy | None = None

    def schema(self, *upstream: Schema) -> Schema:
        check_ordered_type(self.column, upstream[0], self.show())
        return upstream[0]

    def properties(self, *upstream: Properties) -> Properties:
        known = upstream[0]
        if known.late == "raise":
            return replace(known, packed=True)
        return replace(known, packed=True, apart=known.no_period(), sampling=known.with_missing_samples())

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        order = ValueOrder("decreasing" if self.decreasing else "increasing", band=self.band)
        others = tuple(each for each in known[0].ordered if each.name != self.column)
        return (*others, OrderedColumn(self.column, order))

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return (wanted | {self.column},)

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same() if inputs[0].properties.late == "raise" else EVERYTHING,)

    def with_late_policy(self, known: Properties) -> AssumeOrder:
        """The same operator with the late policy of its source."""
        return replace(self, late=known.late)

    def kernel(self, *upstream: Schema) -> Kernel:
        return AssumeOrderKernel(self)

    def show(self) -> str:
        direction = "decreasing" if self.decreasing else "increasing"
        band = f", band={quote_ticks(self.band, self.unit)}" if self.band else ""
        return f"assume({direction}={self.column!r}{band})"


def check_ordered_type(column: str, schema: Schema, where: str) -> None:
    """Refuse a column that cannot be a time."""
    type_ = schema.type_of(column)
    if not pa.types.is_timestamp(type_) and (not pa.types.is_integer(type_) or type_ == pa.uint64()):
        raise PlanError(f"An ordered column must have integers or timestamps, got {column!r} of type {type_}.",
                        where=where, hint="Cast it to int64.")


def ordered_assumptions(schema: Schema, increasing: str | Sequence[str], decreasing: str | Sequence[str],
                        band: Duration | None) -> list[AssumeOrder]:
    """The operators of ``assume(increasing=, decreasing=, band=)``."""
    found: list[AssumeOrder] = []
    for decreases, given in ((False, increasing), (True, decreasing)):
        where = f"assume({'decreasing' if decreases else 'increasing'}={given!r})"
        for name in (given,) if isinstance(given, str) else given:
            schema.index(name, where=where)
            check_ordered_type(name, schema, where)
            if any(each.column == name for each in found):
                raise PlanError(f"{name!r} must be increasing or decreasing, and is named twice.", where=where,
                                hint="Remove one of the two.")
            type_ = schema.type_of(name)
            unit: TickUnit = type_.unit if pa.types.is_timestamp(type_) else None
            ticks = 0 if band is None else duration_ticks(band, unit, where=f"assume(band={band!r})")
            if ticks < 0:
                raise PlanError(f"band must not be negative, got {band!r}.", where=where, hint="Remove the sign.")
            found.append(AssumeOrder(column=name, decreasing=decreases, band=ticks, unit=unit))
    if band is not None and not found:
        raise PlanError("band= needs increasing= or decreasing=.", where=f"assume(band={band!r})",
                        hint='Add the column, such as increasing="seq".')
    return found


class AssumeOrderKernel(Kernel):
    """Compares each event with the largest value of all that started earlier.

    Values of a decreasing column are inverted bit by bit, which turns their order and never overflows.

    Attributes
    ----------
    late_dropped, late_adjusted : int
        Rows against the order so far.
    """

    def __init__(self, op: AssumeOrder) -> None:
        self.op = op
        self.late_dropped = self.late_adjusted = 0
        self.start = self.before = self.largest = MIN_TIME  # the newest start; the largest values before and up to it

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        column = batch.column(self.op.column)
        given = np.asarray(column.values).astype(np.int64)
        values = np.where(column.validity(), ~given if self.op.decreasing else given, MIN_TIME)
        before = self._before(batch.sync, values)
        least = np.where(before > MIN_TIME + self.op.band, before - self.op.band, MIN_TIME)
        late = (values < least) | ~column.validity()
        if late.any():
            batch = self._late(batch, column, late, least, before)
        return [batch] if len(batch) else []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    def _before(self, start: Array, values: Array) -> Array:
        """The largest value of all events that started before each event."""
        largest = np.maximum(np.maximum.accumulate(values), self.largest)
        earlier = self.largest if start[0] > self.start else self.before
        first = np.searchsorted(start, start)  # the first event that starts with each
        found = np.where(first > 0, largest[first - 1], earlier)
        self.start, self.before, self.largest = int(start[-1]), int(found[-1]), int(largest[-1])
        return found

    def _late(self, batch: Batch, column: Column, late: Mask, least: Array, before: Array) -> Batch:
        valid = column.validity()
        match self.op.late:
            case "drop" | "side_output":
                self.late_dropped += int(np.count_nonzero(late))
                return batch.only(~late)
            case "adjust":
                self.late_dropped += int(np.count_nonzero(~valid))
                self.late_adjusted += int(np.count_nonzero(late & valid))
                values = np.where(late, ~least if self.op.decreasing else least, column.values)
                place = batch.schema.index(self.op.column)
                adjusted = Column(column.type, frozen(values.astype(np.asarray(column.values).dtype)))
                columns = (*batch.columns[:place], adjusted, *batch.columns[place + 1:])
                return batch.having(columns=columns).only(valid)
        raise self._error(batch, int(late.argmax()), before)

    def _error(self, batch: Batch, row: int, before: Array) -> KernelError:
        name, time = self.op.column, shown_time(batch, int(batch.sync[row]))
        value, = batch.column(name).slice(row, row + 1).to_arrow().to_pylist()
        if value is None:
            return KernelError(f"An event at {time} has a null in {name}, which is in no order.",
                               where=self.op.show(), hint=f"Use where(col.{name}.is_not_null()) before.")
        largest = int(~before[row] if self.op.decreasing else before[row])
        shown = pa.scalar(largest).cast(batch.schema.type_of(name)).as_py()
        return KernelError(f"An event at {time} has a {name} of {value} after one of {shown}.", where=self.op.show(),
                           hint=_HINT)
