"""Rows of a Delta table by the values of its partition columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def is_partition_type(type_: pa.DataType) -> bool:
    """Whether values of a type may be those of a partition."""
    return any(check(type_) for check in (pa.types.is_integer, pa.types.is_string, pa.types.is_date,
                                          pa.types.is_timestamp, pa.types.is_boolean))


def partitioned(rows: pa.Table, columns: Sequence[str]) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """Values of each partition as the log has them, and its rows in their order, without these columns.

    >>> rows = pa.table({"at": [1, 2, 3], "day": ["b", None, "b"]})
    >>> [(values, part["at"].to_pylist()) for values, part in partitioned(rows, ["day"])]
    [({'day': None}, [2]), ({'day': 'b'}, [1, 3])]
    """
    if not columns:
        yield {}, rows
        return
    codes = np.stack([_codes(rows.column(name)) for name in columns])
    _, number_of = np.unique(codes, axis=1, return_inverse=True)
    number_of = number_of.reshape(-1)
    order = np.argsort(number_of, kind="stable")
    firsts = np.flatnonzero(np.diff(number_of[order], prepend=-1))
    for first, stop in zip(firsts.tolist(), [*firsts[1:].tolist(), len(order)], strict=True):
        part = rows.take(pa.array(order[first:stop]))
        yield {name: _text(part.column(name)[0].as_py()) for name in columns}, part.drop_columns(list(columns))


def _codes(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Numbers that are equal where the values are; -1 for null."""
    return pc.fill_null(column.combine_chunks().dictionary_encode().indices, -1).to_numpy(zero_copy_only=False)


def _text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
