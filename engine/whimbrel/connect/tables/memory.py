"""Sources of tables in memory: Arrow, Polars, DuckDB and pandas."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Mask, Ticks, elapsed
from whimbrel.clock import INF, MIN_TIME
from whimbrel.clock.duration import Duration
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of
from whimbrel.connect.row_group_pruning import may_meet
from whimbrel.connect.tables.columnar_source import ColumnarSource
from whimbrel.connect.tables.lazy_frames import collected
from whimbrel.connect.tables.pandas_index import index_columns, unnamed_index, without
from whimbrel.connect.tables.python_times import with_exact_times
from whimbrel.connect.tables.time_column_markers import Stated, numbered
from whimbrel.connect.tables.time_spacing import KnownGaps
from whimbrel.errors import MissingExtraError, SchemaError, SourceError, WhimbrelError
from whimbrel.expr import Expr
from whimbrel.kernels import ascends
from whimbrel.plan.block_reader import Excerpts
from whimbrel.plan.properties import TimeGrid
from whimbrel.plan.source import Blocks, OrderingSpec, Source

_BATCH_ROWS = 1 << 20
"""Largest number of rows of a batch; larger than for files, since these rows are in memory."""


class ArrowSource(ColumnarSource):
    """Source of a table in memory.

    Rows are shared with it without a copy, where the types allow.

    The table and arrays that share its memory must not change, since the order of rows is checked once.

    Parameters
    ----------
    data : pyarrow.Table, pyarrow.RecordBatch, dict of lists, or any object with ``__arrow_c_stream__``
        The table, for example of Polars or DuckDB. A reader is read to its end. A lazy frame of Polars is collected.
    time, end, arrival, reorder_latency, late, partition
        As in :class:`~whimbrel.connect.tables.columnar_source.TimedSource`.
    name : str, optional
        Default ``"table"``.

    Attributes
    ----------
    table : pyarrow.Table
    known_gaps : KnownGaps or None
        Gaps of pieces in order.

    Raises
    ------
    SourceError
        If Arrow cannot read `data`.
    SchemaError
        For a missing column, or a time column without times.

    Examples
    --------
    >>> source = ArrowSource(pa.table({"t": [1, 2, 5], "x": [10, 20, 30]}), time="t")
    >>> batch = next(source.read(["x"]))
    >>> batch.sync.tolist(), batch.other.tolist(), batch.column("x").values.tolist()
    ([1, 2, 5], [2, 3, 6], [10, 20, 30])
    """

    in_memory = True

    def __init__(self, data: Any, *, time: str, end: str | None = None, arrival: str | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                 partition: str | PartitionWatermarks | None = None, _call: str = "from_arrow",
                 _also: Sequence[str | None] = ()) -> None:
        where = f"{_call}(..., {'sync' if _call == 'from_edges' else 'time'}={time!r})"
        table = _table(data, where, (time, end, arrival, by_of(partition), *_also))
        self.table, time = numbered(table, time, where)
        super().__init__(self.table.schema, time=time, end=end, arrival=arrival, reorder_latency=reorder_latency,
                         late=late, name=name or "table", rows=self.table.num_rows, where=where,
                         partition=partition)
        self.known_gaps = KnownGaps() if self.disorder.reorder_latency == 0 else None
        self._pieces: dict[tuple[str, ...], tuple[pa.RecordBatch, Batch | None] | None] = {}

    @property
    def nbytes(self) -> int:
        """Size of the columns in bytes."""
        return int(self.table.nbytes)

    def cuts(self, parts: int) -> list[int]:
        times = self._times
        row = np.linspace(0, self.table.num_rows, parts + 1)[1:-1].astype(np.int64)
        ends = np.cumsum([len(chunk) for chunk in times])
        return [int(times[chunk][at - ends[chunk]]) for at in row for chunk in [np.searchsorted(ends, at, "right")]
                if len(times)]

    def rows_between(self, start: int, end: int) -> tuple[int, int]:
        if not self._ascends:
            return super().rows_between(start, end)
        return self._rows_before(start), self._rows_before(end)

    def blocks(self, rows: int, cuts: TimeGrid | None = None) -> Blocks | None:
        if self.disorder not in (OrderingSpec(), OrderingSpec(None)) or not self._times:
            return None
        times = self._times[0] if len(self._times) == 1 else np.concatenate(self._times)
        return Blocks.evenly(times, rows, in_order=self.disorder == OrderingSpec(), cuts=cuts)

    def measured(self) -> Source:
        return self._measured

    @cached_property
    def _measured(self) -> Source:
        if self.longest is not None:
            return self
        try:
            lasts = [int(elapsed(batch.other, batch.sync).max()) for batch in self.read(()) if batch is not None]
        except WhimbrelError:  # a run raises it again
            return self
        longest = max(lasts, default=1)
        if longest == INF:
            return self
        copied = copy.copy(self)
        copied.longest = longest
        return copied

    def excerpt(self, first: int, stop: int) -> Source:
        part = copy.copy(self)
        vars(part).update(table=self.table.slice(first, stop - first), rows=stop - first, known_gaps=None,
                          _pieces={})
        for known in ("_times", "_ascends", "_measured"):
            vars(part).pop(known, None)
        return part

    def excerpts(self, columns: Sequence[str]) -> Excerpts:
        return self._in_one_piece(columns) or RecordExcerpts(
            self, self.table.select(self.timeline.needed(columns)), None, columns)

    def _read(self, columns: Sequence[str], offset: int) -> Iterator[Batch | None]:
        whole = self._in_one_piece(columns)
        if whole is not None:
            return whole.read(offset, self.table.num_rows)
        batches = super()._read(columns, offset)
        return batches if self.known_gaps is None else self.known_gaps.with_known_gaps(batches, offset)

    def _in_one_piece(self, columns: Sequence[str]) -> RecordExcerpts | None:
        """A reader of these columns, if each has one chunk."""
        wanted = tuple(columns)
        if wanted not in self._pieces:
            needed = self.table.select(self.timeline.needed(columns))
            in_one = self.table.num_rows > 0 and all(column.num_chunks == 1 for column in needed.columns)
            rows = needed.to_batches()[0] if in_one else None
            self._pieces[wanted] = None if rows is None else (rows, self.timeline.shared(rows, columns))
        piece = self._pieces[wanted]
        return None if piece is None else RecordExcerpts(self, *piece, columns)

    def holding(self, blocks: Blocks, conditions: Sequence[Expr]) -> Mask:
        def ends(rows: pa.Table) -> Callable[[str], Column | None]:
            return lambda name: _ends(rows.column(name)) if name in rows.column_names else None

        return np.array([may_meet(ends(self.table.slice(first, stop - first)), conditions)
                         for first, stop in zip(blocks.first.tolist(), blocks.stop.tolist(), strict=True)], np.bool_)

    def _rows_before(self, time: int) -> int:
        rows, time = 0, max(MIN_TIME, min(INF, time))  # NumPy would compare what int64 does not hold as floats
        for chunk in self._times:
            before = int(np.searchsorted(chunk, time))
            rows += before
            if before < len(chunk):
                break
        return rows

    @cached_property
    def _times(self) -> list[Ticks]:
        """Times of all rows by chunk; empty if any is null."""
        if self.table.column(self.time).null_count:
            return []
        return [self.timeline.starts(chunk) for chunk in self.table.column(self.time).chunks if len(chunk)]

    @cached_property
    def _ascends(self) -> bool:
        """Whether the times of all rows are known, and in order."""
        ends = [bound for chunk in self._times for bound in (chunk[0], chunk[-1])]
        return (bool(self._times) and all(one <= other for one, other in pairwise(ends))
                and all(map(ascends, self._times)))

    def _record_batches(self, columns: list[str], offset: int) -> Generator[pa.RecordBatch]:
        yield from self.table.select(columns).slice(offset).to_batches(max_chunksize=_BATCH_ROWS)


class RecordExcerpts(Excerpts):
    """Reads blocks of a table whose columns are prepared once.

    Parameters
    ----------
    source : ArrowSource
    rows : pyarrow.RecordBatch or pyarrow.Table
        All rows, with these columns.
    shared : Batch or None
        The same rows as a batch, if they need no conversion.
    columns : sequence of str
    """

    def __init__(self, source: ArrowSource, rows: pa.RecordBatch | pa.Table, shared: Batch | None,
                 columns: Sequence[str]) -> None:
        super().__init__(source, columns)
        self._rows, self._timeline, self._known_gaps = rows, source.timeline, source.known_gaps
        self._shared = shared

    def read(self, first: int, stop: int) -> Iterator[Batch | None]:
        batches = self._batches(first, stop)
        return batches if self._known_gaps is None else self._known_gaps.with_known_gaps(batches, first)

    @property
    def in_one_piece(self) -> Batch | None:
        return self._shared

    def ordered(self, first: int, stop: int) -> bool:
        return (self._shared is not None and self._known_gaps is not None
                and self._known_gaps.ordered(self._shared.sync, first, stop))

    def _batches(self, first: int, stop: int) -> Iterator[Batch]:
        for row in range(first, stop, _BATCH_ROWS):
            end = min(row + _BATCH_ROWS, stop)
            if self._shared is None:
                part = self._rows.slice(row, end - row)
                pieces = part.to_batches() if isinstance(part, pa.Table) else [part]
                yield from self._timeline.batches(pieces, self.columns, row)
            else:
                yield self._shared.slice(row, end)


def pandas_source(frame: Any, *, time: str, end: str | None = None, arrival: str | None = None,
                  reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None,
                  partition: str | PartitionWatermarks | None = None) -> ArrowSource:
    """A pandas DataFrame as a source.

    The index is dropped, except for levels that are requested by name; a column of that name has priority.
    Column names that are not strings are converted to strings.

    Parameters
    ----------
    frame : pandas.DataFrame
    time, end, arrival, reorder_latency, late, name, partition
        As in :class:`ArrowSource`.

    Raises
    ------
    SourceError
        If `frame` is not a DataFrame.
    SchemaError
        If a column mixes types, or two columns have one name.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2]}, index=pd.DatetimeIndex(["2024-01-01", "2024-01-02"], name="day"))
    >>> pandas_source(frame, time="day").schema.show()
    'day: timestamp[ns], x: int64'
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "demo", "from_pandas") from None
    where = f"from_pandas(..., time={time!r})"
    if not isinstance(frame, pd.DataFrame):
        raise SourceError(f"frame must be a pandas DataFrame, got {type(frame).__name__}.", where=where,
                          hint="Use from_arrow for Arrow, Polars and DuckDB tables.")
    _check_names(frame, where)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = with_exact_times(table, [values for _, values in frame.items()], where=where)
        columns = {}
        for level in _levels(frame, (time, end, arrival, by_of(partition)), where):
            values = frame.index.get_level_values(level).to_frame(index=False, name=level)
            columns[level] = pa.Table.from_pandas(values, preserve_index=False).column(0)
        table = pa.table({**columns, **dict(zip(table.column_names, table.columns, strict=True))})
    except pa.ArrowException as error:
        raise SchemaError(f"Each column of the DataFrame must have one type: {error.args[-1]}.", where=where,
                          hint="Convert the column first, for example with .astype(str).") from None
    except (ValueError, TypeError, OverflowError) as error:  # sparse columns, integers beyond 64 bits
        raise SchemaError(f"Cannot convert this DataFrame to a table: {error}", where=where,
                          hint="Rename, convert or drop the column; .info() shows the types.") from None
    stated = isinstance(time, Stated) or time in table.column_names
    if not stated and frame.index.names == [None] and not isinstance(frame.index, pd.RangeIndex):
        raise SchemaError(f"time must be the name of a column or of the index, got {time!r}; the index has no name.",
                          where=where, hint=f"Use frame.rename_axis({time!r}) to use the index as time.")
    return ArrowSource(table.replace_schema_metadata(None), time=time, end=end, arrival=arrival,
                       reorder_latency=reorder_latency, late=late, name=name or "frame", partition=partition,
                       _call="from_pandas")


def _levels(frame: Any, wanted: Iterable[str | None], where: str) -> list[str]:
    """Levels of an index that are requested by name and are not columns."""
    names = Counter(frame.index.names)
    columns = {str(name) for name in frame.columns}
    levels = [name for name in dict.fromkeys(wanted) if name is not None and name in names and name not in columns]
    for name in levels:
        if names[name] > 1:
            raise SchemaError(f"Two levels of the index are named {name!r}.", where=where,
                              hint="Use frame.rename_axis([...]) to rename one of them.")
    return levels


def _check_names(frame: Any, where: str) -> None:
    """Refuse two columns of one name, including a number and a string that become equal."""
    names = Counter(str(name) for name in frame.columns)
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise SchemaError(f"The DataFrame has two columns named {twice!r}.", where=where,
                          hint="Use frame.set_axis([...], axis=1) to rename one of them.")


def _ends(values: pa.ChunkedArray) -> Column | None:
    """Smallest and largest value; None without values, or for types without an order."""
    try:
        found = pc.min_max(values)
    except pa.ArrowException:
        return None
    low, high = found["min"], found["max"]
    return Column.from_arrow(pa.array([low.as_py(), high.as_py()], low.type)) if low.is_valid else None


_NO_TABLE = (pa.ArrowException, ValueError, TypeError, OverflowError)
"""Exceptions of Arrow and of other libraries for columns that Arrow cannot represent."""


def _table(data: Any, where: str, wanted: Sequence[str | None]) -> pa.Table:
    """Convert data to a table, without pandas index columns that are not requested."""
    data = collected(data, where)
    if hasattr(data, "set_axis") and any(each.__module__.partition(".")[0] == "pandas" for each in type(data).__mro__):
        asked = any(level in wanted for level in data.index.names if level is not None)
        table = _as_table(data if asked else data.set_axis(range(len(data))), where)
        table = with_exact_times(table, [values for _, values in data.items()], where=where)
        return without(table, index_columns(table.schema.metadata), wanted)
    table = _as_table(data, where)
    return without(table, unnamed_index(table.schema.metadata), wanted)


def _as_table(data: Any, where: str) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, dict):
        try:
            table = pa.table(data)
        except _NO_TABLE as error:
            raise SourceError(f"Cannot convert these columns to a table: {str(error).splitlines()[0]}", where=where,
                              hint="Use lists of equal length with one type each.") from None
        return with_exact_times(table, list(data.values()), where=where)
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        if type(data).__module__.partition(".")[0] == "polars":
            _check_objects(data, where)
        try:
            return pa.table(data)
        except _NO_TABLE as error:
            raise SourceError(f"Cannot convert this {type(data).__name__} to a table: {error.args[-1]}", where=where,
                              hint="Convert or drop the column.") from None
    raise SourceError(f"data must be an Arrow table, got {type(data).__name__}.", where=where,
                      hint="Use a pyarrow, Polars or DuckDB table, or from_pandas or read_parquet.")


def _check_objects(frame: Any, where: str) -> None:
    """Refuse Python objects of a Polars DataFrame: it would export their addresses in memory as values."""
    for column, type_ in getattr(frame, "schema", {}).items():
        if str(type_) == "Object":
            raise SourceError(f"Column {column!r} of the DataFrame has Python objects, which have no type of Arrow.",
                              where=where, hint="Convert or drop the column.")
