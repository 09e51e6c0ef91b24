"""A result as a table: its newest rows, each marked as settled or not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pyarrow as pa

from whimbrel_workbench.frames.numbers import value_words
from whimbrel_workbench.frames.times import words

MOST_ROWS: Final = 15


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest rows, newest first, as words."""

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    cells: tuple[tuple[str, ...], ...]
    settled: tuple[bool, ...]
    settled_rows: int
    rows: int


def rows(table: pa.Table, settled: int) -> Rows:
    """The last rows of ``table``; the first ``settled`` rows are final."""
    first = max(0, len(table) - MOST_ROWS)
    shown = table.slice(first)
    lifetimes = [shown.column(name).cast(pa.int64()).to_pylist() for name in ("start", "end")]
    if all(end == start + 1 for start, end in zip(*lifetimes, strict=True)):
        shown = shown.drop_columns("end")
    starts = shown.column("start").to_pylist()
    order = sorted(range(len(shown)), key=lambda row: starts[row], reverse=True)
    columns = [_cells(shown.column(name)) for name in shown.column_names]
    return Rows(
        names=tuple(shown.column_names),
        numeric=tuple(pa.types.is_integer(field.type) or pa.types.is_floating(field.type) for field in shown.schema),
        cells=tuple(tuple(column[row] for column in columns) for row in order),
        settled=tuple(first + row < settled for row in order),
        settled_rows=settled,
        rows=len(table),
    )


def _cells(column: pa.ChunkedArray) -> list[str]:
    if pa.types.is_timestamp(column.type):
        return [words(value) if value is not None else "open" for value in _instants(column)]
    return [value_words(value) for value in column.to_pylist()]


def _instants(column: pa.ChunkedArray) -> list[datetime | None]:
    """Python datetimes; nanoseconds are cut, since a datetime has none."""
    unit = "us" if column.type.unit == "ns" else column.type.unit
    return column.cast(pa.timestamp(unit, column.type.tz), safe=False).to_pylist()
