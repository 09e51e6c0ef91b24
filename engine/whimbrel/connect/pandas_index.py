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
    return frozenset(name for name in index_columns(notes) if _UNNAMED.fullmatch(name))


def index_columns(notes: Mapping[bytes, bytes] | None) -> list[str]:
    """Columns that hold an index, named or not; a range of numbers is in none."""
    try:
        told: Any = json.loads((notes or {}).get(b"pandas", b"{}"))
    except ValueError:
        return []
    levels = told.get("index_columns", []) if isinstance(told, dict) else []
    return [level for level in levels if isinstance(level, str)] if isinstance(levels, list) else []


def without(table: pa.Table, names: Iterable[str], wanted: Iterable[str | None]) -> pa.Table:
    """A table without these columns, but for those that are asked for by name."""
    kept = frozenset(wanted)
    left_out = [name for name in names if name not in kept and name in table.column_names]
    return table.drop_columns(left_out) if left_out else table
