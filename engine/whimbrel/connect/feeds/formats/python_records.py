"""Python dicts as messages, one per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import Format, Index, rows_of
from whimbrel.connect.tables.python_times import with_exact_times


class Records(Format):
    """Reads dicts; names that the schema does not have are left out, missing ones are null.

    Examples
    --------
    >>> rows, each = Records().parse([{"at": 1, "x": 2.5}, {"at": 2}], pa.schema({"at": pa.int64(), "x": pa.float64()}))
    >>> rows.to_pylist()
    [{'at': 1, 'x': 2.5}, {'at': 2, 'x': None}]
    """

    def infer(self, sample: Sequence[Any]) -> pa.Schema:
        found = pa.Table.from_pylist(list(sample))
        columns = [[row.get(name) for row in sample] for name in found.column_names]
        return with_exact_times(found, columns, where="feeds.iterator(...)").schema

    def parse(self, messages: Sequence[Any], schema: pa.Schema) -> tuple[pa.RecordBatch, Index]:
        if not all(isinstance(message, dict) for message in messages):
            raise TypeError("not a dict")
        return rows_of(messages, schema), np.ones(len(messages), np.int64)
