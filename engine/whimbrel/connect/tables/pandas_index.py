"""Row labels of pandas that its notes say are in a table, though nobody made a column of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

_UNNAMED = re.compile(r"__index_level_\d+__")
"""What pandas calls a level of an index that has no name, or that of a column."""


def unnamed_index(notes: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """Columns that hold an index without a name, going by what pandas noted of a table or a file.

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
    """Whether a column is called as pandas calls a level of an index that has no name.

    >>> names_no_index("__index_level_12__"), names_no_index("level")
    (True, False)
    """
    return _UNNAMED.fullmatch(column) is not None


def index_columns(notes: Mapping[bytes, bytes] | None) -> list[str]:
    """Columns that hold an index, named or not; a range of numbers is in none."""
    try:
        notes_of_pandas: Any = json.loads((notes or {}).get(b"pandas", b"{}"))
    except ValueError:
        return []
    levels = notes_of_pandas.get("index_columns", []) if isinstance(notes_of_pandas, dict) else []
    return [level for level in levels if isinstance(level, str)] if isinstance(levels, list) else []


def data_fields(fields: pa.Schema, wanted: Iterable[str | None]) -> pa.Schema:
    """Columns without those of an index that has no name, but for those that are asked for by name; no notes."""
    left_out = unnamed_index(fields.metadata) - frozenset(wanted)
    return pa.schema([field for field in fields if field.name not in left_out])


def without(table: pa.Table, names: Iterable[str], wanted: Iterable[str | None]) -> pa.Table:
    """A table without these columns, but for those that are asked for by name."""
    kept = frozenset(wanted)
    left_out = [name for name in names if name not in kept and name in table.column_names]
    return table.drop_columns(left_out) if left_out else table
