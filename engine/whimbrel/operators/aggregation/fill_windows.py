"""Add rows for empty windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen
from whimbrel.clock import INF, MIN_TIME, TickUnit, quote_ticks
from whimbrel.errors import KernelError
from whimbrel.kernels import PORTION_ROWS, Compiled, Kernel, KeyTable
from whimbrel.kernels.array_growth import extend
from whimbrel.kernels.primitives.windows.fill import NOW, SEEN, UNKNOWN, USED, fill_windows
from whimbrel.operators.aggregation.queued_kernel import QueuedKernel
from whimbrel.plan import EVERYTHING, Exact, KnownInput, LineageRequest, Operator, Properties, WindowGrid

Array = np.ndarray[Any, Any]

_fill = Compiled(fill_windows)
_NONE = frozen(np.empty(0, np.int64))
_NO_GROUPS = frozen(np.empty(0, np.int32))
CAPACITY_ROWS = 4096
MAX_ROWS = 1 << 27
"""More rows than this for one gap are a mistake, not an answer."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Fill(Operator):
    """Add a row for each group and empty window.

    The rows begin with the first window of the group.

        time     0    5    10   15   20
        in       2────          1────         (count per 5: a row of one group)
        out      2────0────0────1────         (fill=True)
        out      2────2────2────1────         (fill="previous")

    A group begins with its first row. An empty window gets a row only when that window or a later one has a row of any
    group, never because time passed. All groups end with the last window of the stream that has a row.

    Parameters
    ----------
    keys : int
        So many of the first columns are keys.
    nothing : tuple of Column
        One value for each of the other columns.
    grid : WindowGrid
        The windows.
    previous : bool
        Rows have the values of the last row of their group instead.
    limit : int, optional
        So many windows after it, at most.
    marked : str, optional
        A column to add that is true for the rows that are made.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    The result needs look-ahead with either label: whether an empty window is shown depends on later rows.
    Shapes: a row for each group and window. State: one entry for each group that was ever seen; with `previous` its
    last row.
    Source: gap filling on the window grid, docs/semantics.md, aggregates.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1, 15]}, time="at")
    >>> events.tumbling_window(5).aggregate(n=wb.count(), fill=True).collect().to_pylist()[1:]
    [{'start': 5, 'end': 10, 'n': 0}, {'start': 10, 'end': 15, 'n': 0}, {'start': 15, 'end': 20, 'n': 1}]
    """

    keys: int
    nothing: tuple[Column, ...]
    grid: WindowGrid
    previous: bool = False
    limit: int | None = None
    marked: str | None = None
    unit: TickUnit = None

    ends_grouping: ClassVar[bool] = True

    def schema(self, *upstream: Schema) -> Schema:
        mark = [] if self.marked is None else [Field(self.marked, pa.bool_())]
        return upstream[0].with_fields([*upstream[0], *mark], where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(duration=self.grid.step, causal=False, apart=upstream[0].no_period())

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        if wanted.result and not wanted.starting and wanted.exact is Exact.VALUES:
            return (wanted.only(inputs[0].schema.names[: self.keys]),)
        return (EVERYTHING,)  # where rows are made depends on the first and on the last row of all

    def kernel(self, *upstream: Schema) -> Kernel:
        return FillKernel(self, upstream[0], self.schema(*upstream))

    def show(self) -> str:
        return f"fill(every {quote_ticks(self.grid.hop, self.unit)})"


class FillKernel(QueuedKernel):
    """Knows which groups there are, and which of them have a row in the open window."""

    def __init__(self, fill: Fill, schema: Schema, out_schema: Schema) -> None:
        super().__init__()
        self.fill, self.out_schema = fill, out_schema
        self.keys = KeyTable([field.type for field in schema.fields[: fill.keys]])
        self.state = np.zeros(4, np.int64)
        self.state[NOW] = MIN_TIME
        self.groups = np.full(64, UNKNOWN, np.int8)
        self.last, self.since = np.full(64, -1, np.int64), np.zeros(64, np.int64)
        self.values = Batch.empty(schema)
        """With previous: the last row of each group before the batch at hand, by the numbers of the groups."""
        self.open = False

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        groups = self.keys.ids(batch.columns[: self.fill.keys], len(batch))
        if len(self.keys) > len(self.groups):
            self.groups = extend(self.groups, 2 * len(self.keys), UNKNOWN)
            self.last, self.since = extend(self.last, 2 * len(self.keys), -1), extend(self.since, 2 * len(self.keys), 0)
        return self.enqueue(batch, frozen(groups))

    @property
    def reached(self) -> int:
        return int(self.state[NOW])

    @property
    def growing(self) -> str:
        return f"a gap of windows is filled for {int(self.state[SEEN]):,} groups"

    def next_portion(self) -> list[Batch]:
        out, remaining = list[Batch](), PORTION_ROWS
        while self.todo and remaining > 0:
            batch, groups, row = self.todo[0]
            if row == 0:
                self._check(int(batch.sync[-1]))
            made, row = self._run(batch, groups, MIN_TIME, row, remaining)
            out, remaining = out + made, remaining - sum(map(len, made))
            self.todo[0][2] = row
            if row > len(batch):
                self.todo.pop(0)
                self._remember(batch)
        self.open = True
        return self.after_portion(out)

    def close(self) -> list[Batch]:
        """Fill up the open window, if it is over."""
        out: list[Batch] = []
        if self.open and self.input_watermark > self.state[NOW]:
            self.open = False
            rows = Batch.empty(self.out_schema.select(self.out_schema.names[: len(self._columns)]))
            out, _ = self._run(rows, _NO_GROUPS, int(self.state[NOW]) + self.fill.grid.hop)
        held = self.input_watermark != INF and self.state[SEEN] > 0
        self.watermark = min(self.input_watermark, int(self.state[NOW])) if held else self.input_watermark
        return out

    @property
    def buffered_rows(self) -> int:
        return int(self.state[SEEN])

    @property
    def _columns(self) -> tuple[Field, ...]:
        return self.out_schema.fields[: len(self.out_schema.fields) - (self.fill.marked is not None)]

    def _check(self, time: int) -> None:
        groups = int(self.state[SEEN])
        windows = (time - int(self.state[NOW])) // self.fill.grid.hop if groups else 0
        if windows * groups > MAX_ROWS:
            raise KernelError(f"Cannot fill a gap of {windows:,} windows in {groups:,} groups because it is too long.",
                              where=self.fill.show(), hint="Use longer hops, or leave out fill=.")

    def _run(self, batch: Batch, groups: Array, until: int, row: int = 0,
             remaining: int = MAX_ROWS) -> tuple[list[Batch], int]:
        """Rows as they are and rows that are made, at most about `remaining` of them, and the row that is next."""
        out: list[Batch] = []
        time, source, last, age = (np.empty(CAPACITY_ROWS, np.int64) for _ in range(4))
        while row <= len(batch) and remaining > 0:
            self.state[USED] = 0
            row = int(_fill(row, batch.sync, groups, until, self.fill.grid.hop, self.state, self.groups, self.last,
                            self.since, time, source, last, age))
            if rows := int(self.state[USED]):
                out.append(self._batch(batch, time[:rows].copy(), source[:rows], last[:rows], age[:rows]))
                remaining -= rows
        return out, row

    def _batch(self, batch: Batch, time: Array, source: Array, last: Array, age: Array) -> Batch:
        made = source < 0
        groups, given = -1 - source[made], source[~made]
        none = np.zeros(len(groups), np.int64)
        columns = [*self.keys.values(groups), *(value.take(none) for value in self.fill.nothing)]
        index = np.empty(len(source), np.int64)
        index[~made], index[made] = np.arange(len(given)), len(given) + np.arange(len(groups))
        before = np.where(last[made] >= 0, last[made], len(batch) + groups)
        early = np.full(len(groups), self.fill.previous) if self.fill.limit is None else age[made] <= self.fill.limit
        both = []
        for number, (old, new) in enumerate(zip(batch.columns, columns, strict=True)):
            if self.fill.previous and number >= self.fill.keys and early.any():
                known = Column.concat([old, self.values.columns[number], new])
                later = len(batch) + len(self.values) + np.arange(len(groups))
                rows = np.empty(len(source), np.int64)
                rows[~made], rows[made] = given, np.where(early, before, later)
                both.append(known.take(rows))
            else:
                both.append(Column.concat([old.take(given), new]).take(index))
        if self.fill.marked is not None:
            both.append(Column(pa.bool_(), made))
        return Batch(self.out_schema, time, self.fill.grid.step, tuple(both))

    def _remember(self, batch: Batch) -> None:
        """Store the last row of each group of a batch that is done."""
        known = len(self.keys)
        here = np.flatnonzero(self.last[:known] >= 0)
        if self.fill.previous and len(here):
            rows = np.minimum(np.arange(known), max(len(self.values) - 1, 0))  # groups of later batches have no row yet
            both = Batch.concat([self.values, batch.having(ends=1, ids=None, began=None)])
            rows[here] = len(self.values) + self.last[here]
            self.values = both.take(rows)
        self.last[:known] = -1
