"""Find the first value of each row among latency bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FIRST: Final = "first "
"""Names of the added columns begin so; the names of a query's columns have no space."""

_ROW: Final = "row "


def first_answers(tables: Sequence[pa.Table], keys: Sequence[str]) -> list[pa.Table]:
    """Add to each value of a band the value of the earliest band; null where they are equal.

    Parameters
    ----------
    tables : sequence of pyarrow.Table
        For each band, the earliest first, its rows as :class:`whimbrel.operators.Changelog` gives them.
    keys : sequence of str
        Columns that, with the start, identify a row.

    Examples
    --------
    >>> def band(n, revision, before):
    ...     before = pa.array([before], pa.int64())
    ...     return pa.table({"start": [0], "n": [n], "change": [revision], "n_before": before})
    >>> three = band(1, "insert", None), band(2, "update", 1), band(2, "unchanged", 2)
    >>> [table[FIRST + "n"].to_pylist() for table in first_answers(three, [])]
    [[None], [1], [1]]
    """
    measures = [name.removesuffix("_before") for name in tables[0].column_names if name.endswith("_before")]
    if not measures:  # rows that are only there or not
        return list(tables)
    found: list[pa.Table] = []
    for table in tables:
        changed = pc.equal(table.column("change"), "update")
        first = [pc.if_else(changed, table.column(f"{name}_before"), None) for name in measures]
        if found:
            earlier = _of_subjects(found[-1], table, [FIRST + name for name in measures], keys)
            first = [pc.coalesce(before, own) for before, own in zip(earlier, first, strict=True)]
        for name, own in zip(measures, first, strict=True):
            # A value that came back to what it was at first is not revised.
            moved = pc.fill_null(pc.not_equal(own, table.column(name)), False)
            table = table.append_column(FIRST + name, pc.if_else(moved, own, None))  # noqa: PLW2901
        found.append(table)
    return found


def _of_subjects(earlier: pa.Table, table: pa.Table, columns: Sequence[str],
                 keys: Sequence[str]) -> list[pa.ChunkedArray]:
    """Columns of an earlier table, each row where the other table speaks of the same; null where it does not."""
    subject = ["start", *keys]
    revised = earlier.filter(pc.invert(_all_null(earlier, columns)))
    if not len(revised):
        return [pa.chunked_array([pa.nulls(len(table), earlier.schema.field(name).type)]) for name in columns]
    rows = table.select(subject).append_column(_ROW, pa.array(np.arange(len(table))))
    joined = rows.join(revised.select([*subject, *columns]), keys=subject).sort_by(_ROW)
    return [joined.column(name) for name in columns]


def _all_null(table: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    nulls = table.column(columns[0]).is_null()
    for name in columns[1:]:
        nulls = pc.and_(nulls, table.column(name).is_null())
    return nulls
