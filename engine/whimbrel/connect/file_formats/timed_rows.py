"""Rows of lines with a lifetime; lines without one are malformed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Mask
from whimbrel.connect.feeds.formats.decode import Format, decode
from whimbrel.connect.file_formats.file_format import MalformedLine, Report
from whimbrel.connect.tables.lifetime_columns import Timeline


def timed(rows: pa.Table, timeline: Timeline,
          line_of: Callable[[int], tuple[int, bytes]]) -> tuple[pa.Table, list[MalformedLine]]:
    """Rows that have a lifetime, and the lines of the others, but for empty ones.

    Parameters
    ----------
    rows : pyarrow.Table
    timeline : Timeline
        The columns of times.
    line_of : callable
        The number and the text of the line of a row.

    Examples
    --------
    >>> table = pa.table({"at": [1, None]})
    >>> timeline = Timeline.of(table.schema, time="at", end=None, arrival=None, where="read_csv(...)")
    >>> rows, without = timed(table, timeline, [(2, b"1"), (3, b"null")].__getitem__)
    >>> rows.num_rows, without[0].line
    (1, 3)
    """
    missing, backward = _without_time(rows, timeline.time), _backward(rows, timeline)
    wrong = missing | backward
    if not wrong.any():
        return rows, []
    reasons = (f"no time: {timeline.time!r} is null", "does not end after it starts")
    malformed = []
    for row in np.flatnonzero(wrong).tolist():
        number, line = line_of(row)
        if line.strip():
            malformed.append(MalformedLine(number, reasons[int(backward[row])], line))
    return rows.filter(pa.array(~wrong)), malformed


def _without_time(rows: pa.Table, time: str) -> Mask:
    if time not in rows.column_names or not rows.column(time).null_count:
        return np.zeros(rows.num_rows, np.bool_)
    return _mask(rows.column(time).is_null())


def _backward(rows: pa.Table, timeline: Timeline) -> Mask:
    """Rows that do not end after they start."""
    if timeline.end is None or not {timeline.time, timeline.end}.issubset(rows.column_names):
        return np.zeros(rows.num_rows, np.bool_)
    type_ = timeline.schema.time_type
    try:
        start, end = (rows.column(name).cast(type_) for name in (timeline.time, timeline.end))
    except pa.ArrowInvalid:  # no tick: the source refuses it, and names the row
        return np.zeros(rows.num_rows, np.bool_)
    return _mask(pc.fill_null(pc.less_equal(end, start), False))


def _mask(values: pa.ChunkedArray) -> Mask:
    return values.to_numpy().astype(np.bool_)


def rows_of_lines(format_: Format, lines: Sequence[tuple[int, bytes]], fields: pa.Schema, timeline: Timeline,
                  report: Report) -> pa.Table:
    """Rows of lines, each of which is one row or malformed.

    Parameters
    ----------
    format_ : Format
    lines : sequence of (int, bytes)
        Numbers and texts.
    fields : pyarrow.Schema
    timeline : Timeline
        The columns of times.
    report : Report
    """
    found = decode(format_, [line for _, line in lines], fields)
    message = found.message
    rows, without = timed(found.rows, timeline, lambda row: lines[message[row]])
    malformed = [MalformedLine(lines[index][0], why, lines[index][1]) for index, why in found.malformed]
    for each in sorted(malformed + without, key=lambda each: each.line):
        report(each)
    return rows
