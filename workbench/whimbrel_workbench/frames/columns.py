"""Which columns of a result are keys, which are values, and which of them a view shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from whimbrel.errors import SchemaError, near_match


@dataclass(frozen=True, slots=True)
class Columns:
    """The roles of a result's columns in a picture.

    Parameters
    ----------
    keys : tuple of str
        Columns that tell one series or bar from another.
    value : str or None
        The column on the value axis; None when nothing can be measured.
    values : tuple of str
        Every column that could be on the value axis.

    Examples
    --------
    >>> rows = pa.schema({"start": pa.int64(), "end": pa.int64(), "origin": pa.string(), "n": pa.int64()})
    >>> roles(rows)
    Columns(keys=('origin',), value='n', values=('n',))
    """

    keys: tuple[str, ...]
    value: str | None
    values: tuple[str, ...]


def roles(schema: pa.Schema, *, grouped: Sequence[str] = (), by: str | Sequence[str] | None = None,
          y: str | None = None) -> Columns:
    """Tell keys from values.

    Keys are what the user chose (``by``), else what the query groups by, else every column of labels. The value is
    what the user chose (``y``), else the first number.

    Raises
    ------
    SchemaError
        A named column is not part of the result, or ``y`` is no number.
    """
    payload = {field.name: field.type for field in schema if field.name not in ("start", "end")}
    chosen = (by,) if isinstance(by, str) else tuple(by) if by is not None else None
    for name in (*(chosen or ()), *((y,) if y is not None else ())):
        if name not in payload:
            raise SchemaError(f"The result has no column {name!r}.", where="view(...)", hint=near_match(name, payload))
    labels = tuple(name for name, kind in payload.items() if _is_label(kind))
    keys = chosen if chosen is not None else tuple(grouped) or labels
    values = tuple(name for name, kind in payload.items() if _is_measure(kind) and name not in keys)
    if y is not None and y not in values:
        raise SchemaError(f"Column {y!r} is not a number.", where=f"view(y={y!r})", hint=near_match(y, values))
    return Columns(keys, y if y is not None else next(iter(values), None), values)


def _is_label(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
                or types.is_boolean(kind))


def _is_measure(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
