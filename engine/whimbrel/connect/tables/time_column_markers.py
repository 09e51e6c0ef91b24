"""Markers in place of a time column: file order, sequence, wall clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from whimbrel.errors import PlanError, SchemaError


class Stated(str):
    """A marker that is passed instead of a column name.

    Parameters
    ----------
    name : str
        The public name of the marker.

    Examples
    --------
    >>> FILE_ORDER
    wb.FILE_ORDER
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


FILE_ORDER: Final = Stated("wb.FILE_ORDER")
"""As `arrival=`: rows are in order of arrival, without an arrival column."""


def in_file_order(arrival: str | None) -> bool:
    """Whether `arrival` is the marker for rows in order of arrival.

    Examples
    --------
    >>> in_file_order(FILE_ORDER), in_file_order("wb.FILE_ORDER"), in_file_order(None)
    (True, False, False)
    """
    return isinstance(arrival, Stated) and arrival == FILE_ORDER


SEQUENCE: Final = Stated("wb.SEQUENCE")
"""As `time=`: the row number, from 0, in a column ``sequence``."""

WALL_CLOCK: Final = Stated("wb.WALL_CLOCK")
"""As `time=` of a feed: the arrival time of the row, in a column ``arrival_time``."""

SEQUENCE_COLUMN: Final = "sequence"
ARRIVAL_COLUMN: Final = "arrival_time"


def is_stated(time: str, what: Stated) -> bool:
    """Whether `time` is this marker, and not a column of the same name.

    Examples
    --------
    >>> is_stated(SEQUENCE, SEQUENCE), is_stated("wb.SEQUENCE", SEQUENCE)
    (True, False)
    """
    return isinstance(time, Stated) and time == what


def numbered(table: pa.Table, time: str, where: str) -> tuple[pa.Table, str]:
    """Add a column of row numbers if `time` asks for one; return the table and its event-time column.

    Raises
    ------
    SchemaError
        If the table has a column of that name.

    Examples
    --------
    >>> numbered(pa.table({"x": [5, 6]}), SEQUENCE, "")[0].to_pydict()
    {'x': [5, 6], 'sequence': [0, 1]}
    """
    if not is_stated(time, SEQUENCE):
        return table, time
    check_free(SEQUENCE_COLUMN, table.column_names, where)
    return table.append_column(SEQUENCE_COLUMN, pa.array(np.arange(len(table)))), SEQUENCE_COLUMN


def check_free(name: str, names: Sequence[str], where: str) -> None:
    """Refuse rows that have a column with the name of an added one."""
    if name in names:
        raise SchemaError(f"Cannot add the column {name!r} because the rows have a column of this name.",
                          where=where, hint=f"Use time={name!r}, or rename the column first.")


def refuse_wall_clock(time: str, where: str) -> None:
    """Refuse the wall clock as the time of rows that have already arrived."""
    if is_stated(time, WALL_CLOCK):
        raise PlanError("time=wb.WALL_CLOCK is for feeds; rows of a file or table have already arrived.",
                        where=where, hint="Use time=wb.SEQUENCE for the order of the rows, or name a column.")
