"""Frame of a table: the newest rows of a result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import isnan, nan
from typing import Final, Self

import numpy as np
import pyarrow as pa

from whimbrel_workbench.frames.arrow_values import floats
from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.format_numbers import interval_words, value_words
from whimbrel_workbench.frames.format_times import instant_text, instants, positions
from whimbrel_workbench.frames.labels import labels
from whimbrel_workbench.frames.result import Result

MAX_ROWS: Final = 15


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row as words.

    Parameters
    ----------
    cells : tuple of str
    stage : int
        How final the row is.
    before : tuple of str
        For each cell what its earliest answer was if it was revised, else nothing.
    mark : str
        As a page tells which row it is (:class:`~whimbrel_workbench.frames.mark.Mark`), as JSON.
    changed : frozenset of int
        Cells that are otherwise than at the reader's last look.
    fresh : bool
        Whether the row is new since then.
    """

    cells: tuple[str, ...]
    stage: int
    before: tuple[str, ...]
    mark: str = "{}"
    changed: frozenset[int] = frozenset()
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class TableFrame:
    """The newest rows, newest first, as words.

    Parameters
    ----------
    names : tuple of str
        Columns.
    numeric : tuple of bool
        Which columns are numbers.
    identifying : tuple of int
        Columns that say what a row speaks of: its time and its keys.
    table : tuple of TableRow
    result : Result
        All rows, of which it shows the newest.
    columns : ColumnRoles
    """

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    identifying: tuple[int, ...]
    table: tuple[TableRow, ...]
    stages: Stages
    settled_rows: int
    rows: int
    result: Result = field(repr=False, compare=False)
    columns: ColumnRoles = field(repr=False, compare=False)

    def only(self, chosen: Mapping[str, frozenset[str]]) -> TableFrame | None:
        """The newest rows of those whose keys have chosen values, as words; None if there are none."""
        table, keys = self.result.table, [key for key in self.columns.keys if key in chosen]
        if not keys:
            return self
        kept = np.ones(len(table), np.bool_)
        for key in keys:
            named = labels(table, [key])
            kept &= np.array([name in chosen[key] for name in named.names], np.bool_)[named.codes]
        if not kept.any():
            return None
        known = {self._subject(row): row for row in self.table}
        left = rows(self.result.at(np.flatnonzero(kept)), self.columns)
        if left.names != self.names:
            return left
        return replace(left, table=tuple(known.get(self._subject(row), row) for row in left.table))

    def compared(self, earlier: TableFrame) -> Self:
        """The same, with what is otherwise than in an earlier picture marked."""
        if earlier.names != self.names:
            return self
        known = {self._subject(row): row for row in earlier.table}
        marked = tuple(self._marked(row, known.get(self._subject(row))) for row in self.table)
        several = len({self._subject(row) for row in self.table}) < len(self.table)
        # Where rows have no identity, or all are new, marks would say nothing.
        return self if several or all(row.fresh for row in marked) else replace(self, table=marked)

    def _subject(self, row: TableRow) -> tuple[str, ...]:
        return tuple(row.cells[column] for column in self.identifying)

    def _marked(self, row: TableRow, earlier: TableRow | None) -> TableRow:
        if earlier is None:
            return replace(row, fresh=True)
        pairs = enumerate(zip(row.cells, earlier.cells, strict=True))
        changed = frozenset(cell for cell, (now, before) in pairs if now != before)
        return replace(row, changed=changed, fresh=False)


def rows(result: Result, columns: ColumnRoles) -> TableFrame:
    """The last rows of a result."""
    first = max(0, len(result.table) - MAX_ROWS)
    newest = result.last(MAX_ROWS)
    shown = newest.table
    lifetimes = [shown.column(name).cast(pa.int64()).to_pylist() for name in ("start", "end")]
    if all(end == start + 1 for start, end in zip(*lifetimes, strict=True)):
        shown = shown.drop_columns("end")
    starts = shown.column("start").to_pylist()
    order = sorted(range(len(shown)), key=lambda row: starts[row], reverse=True)
    cells = [_cells(newest, name) for name in shown.column_names]
    before = [_before(result, name, first) for name in shown.column_names]
    stage = result.stage[first:].tolist()
    subject = ("start", "end", *columns.keys)
    marks = _marks(result.table.slice(first), columns)
    return TableFrame(
        names=tuple(shown.column_names),
        numeric=tuple(pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in shown.schema),
        identifying=tuple(place for place, name in enumerate(shown.column_names) if name in subject),
        table=tuple(TableRow(tuple(column[row] for column in cells), stage[row],
                             tuple(column[row] for column in before),
                        marks[row]) for row in order),
        stages=result.stages,
        settled_rows=result.settled,
        rows=len(result.table),
        result=result,
        columns=columns,
    )


def _marks(shown: pa.Table, columns: ColumnRoles) -> list[str]:
    keys = labels(shown, columns.keys)
    value = floats(shown.column(columns.value)).tolist() if columns.value is not None else [nan] * len(shown)
    at = positions(shown.column(columns.x)).tolist() if columns.x else [None] * len(shown)
    return [json.dumps({"key": keys.names[code], "at": x, "instant": start, "value": None if isnan(y) else y})
            for code, x, start, y in zip(keys.codes.tolist(), at, instants(shown), value, strict=True)]


def _cells(result: Result, name: str) -> list[str]:
    """The values of a column as words; estimates with their intervals."""
    words = cell_words(result.table.column(name))
    if result.intervals is None or f"{name}_low" not in result.intervals.column_names:
        return words
    values, (low, high) = result.values(name), result.interval(name)
    return [word if row < result.settled or values[row] != values[row] else
            interval_words(float(values[row]), float(low[row]), float(high[row])) for row, word in enumerate(words)]


def _before(result: Result, name: str, first: int) -> list[str]:
    if result.before is None or name not in result.before.column_names:
        return [""] * (len(result.table) - first)
    values = result.before.column(name).slice(first).to_pylist()
    return ["" if value is None else value_words(value) for value in values]


def cell_words(column: pa.ChunkedArray) -> list[str]:
    """The values of a column as words."""
    if pa.types.is_timestamp(column.type):
        return [instant_text(value) if value is not None else "open" for value in _instants(column)]
    return [value_words(value) for value in column.to_pylist()]


def _instants(column: pa.ChunkedArray) -> list[datetime | None]:
    """Python datetimes; nanoseconds are cut, since a datetime has none."""
    unit = "us" if column.type.unit == "ns" else column.type.unit
    return column.cast(pa.timestamp(unit, column.type.tz), safe=False).to_pylist()
