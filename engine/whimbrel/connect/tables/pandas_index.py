"""Detection of pandas index columns in tables and files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

_UNNAMED = re.compile(r"__index_level_\d+__")
"""Names that pandas gives to index levels without a name."""


def unnamed_index(notes: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """Columns of an index without a name, from the pandas metadata of a table or file.

    Parameters
    ----------
    notes : mapping of bytes to bytes, optional
        The metadata of an Arrow schema or a Parquet footer.

    Examples
    --------
    >>> unnamed_index({b"pandas": b'{"index_columns": ["__index_level_0__", "day"]}'})
    frozenset({'__index_level_0__'})
    """
    return frozenset(filter(names_no_index, index_columns(notes)))


def names_no_index(column: str) -> bool:
    """Whether a column has the name of an index level without a name.

    >>> names_no_index("__index_level_12__"), names_no_index("level")
    (True, False)
    """
    return _UNNAMED.fullmatch(column) is not None


def index_columns(notes: Mapping[bytes, bytes] | None) -> list[str]:
    """Columns of an index, with or without a name; a RangeIndex has no column."""
    try:
        notes_of_pandas: Any = json.loads((notes or {}).get(b"pandas", b"{}"))
    except ValueError:
        return []
    levels = notes_of_pandas.get("index_columns", []) if isinstance(notes_of_pandas, dict) else []
    return [level for level in levels if isinstance(level, str)] if isinstance(levels, list) else []


def data_fields(fields: pa.Schema, wanted: Iterable[str | None]) -> pa.Schema:
    """Drop columns of an index without a name, except requested ones, and all metadata."""
    left_out = unnamed_index(fields.metadata) - frozenset(wanted)
    return pa.schema([field for field in fields if field.name not in left_out])


def without(table: pa.Table, names: Iterable[str], wanted: Iterable[str | None]) -> pa.Table:
    """Drop these columns, except requested ones."""
    kept = frozenset(wanted)
    left_out = [name for name in names if name not in kept and name in table.column_names]
    return table.drop_columns(left_out) if left_out else table
