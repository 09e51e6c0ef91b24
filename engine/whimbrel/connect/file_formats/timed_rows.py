"""Rows of lines with a time; lines without one are malformed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.connect.feeds.formats.decode import Format, decode
from whimbrel.connect.file_formats.file_format import MalformedLine, Report


def timed(rows: pa.Table, time: str,
          line_of: Callable[[int], tuple[int, bytes]]) -> tuple[pa.Table, list[MalformedLine]]:
    """Rows that have a time, and the lines of the others, but for empty ones.

    Parameters
    ----------
    rows : pyarrow.Table
    time : str
        The column of times.
    line_of : callable
        The number and the text of the line of a row.

    Examples
    --------
    >>> rows, without = timed(pa.table({"at": [1, None]}), "at", [(2, b"1"), (3, b"null")].__getitem__)
    >>> rows.num_rows, without[0].line
    (1, 3)
    """
    if all_timed(rows, time):
        return rows, []
    missing = rows.column(time).is_null()
    lines = map(line_of, np.flatnonzero(missing.to_numpy()).tolist())
    return rows.filter(pc.invert(missing)), [MalformedLine(number, f"no time: {time!r} is null", line)
                                             for number, line in lines if line.strip()]


def all_timed(rows: pa.Table, time: str) -> bool:
    """Whether all rows have a time. The names of folders may hold it instead."""
    return time not in rows.column_names or not rows.column(time).null_count


def rows_of_lines(format_: Format, lines: Sequence[tuple[int, bytes]], fields: pa.Schema, time: str,
                  report: Report) -> pa.Table:
    """Rows of lines, each of which is one row or malformed.

    Parameters
    ----------
    format_ : Format
    lines : sequence of (int, bytes)
        Numbers and texts.
    fields : pyarrow.Schema
    time : str
        The column of times.
    report : Report
    """
    found = decode(format_, [line for _, line in lines], fields)
    message = found.message
    rows, without = timed(found.rows, time, lambda row: lines[message[row]])
    malformed = [MalformedLine(lines[index][0], why, lines[index][1]) for index, why in found.malformed]
    for each in sorted(malformed + without, key=lambda each: each.line):
        report(each)
    return rows
