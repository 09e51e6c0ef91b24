"""Roles of result columns: keys, values and axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel_workbench.frames.options import Options

_TIME: Final = "start"


@dataclass(frozen=True, slots=True)
class ColumnRoles:
    """The roles of a result's columns in a picture.

    Parameters
    ----------
    keys : tuple of str
        Columns that tell one series, bar or row from another.
    value : str or None
        The column on the value axis; None when nothing can be measured.
    values : tuple of str
        Every column that could be on the value axis.
    x : str or None
        The column along the x axis; None when it is time.
    texts : tuple of str
        Columns of words or of instants that tell nothing apart.
    """

    keys: tuple[str, ...]
    value: str | None
    values: tuple[str, ...]
    x: str | None = None
    texts: tuple[str, ...] = ()


def roles(schema: pa.Schema, options: Options = Options(), grouped: Sequence[str] = (), *,  # noqa: B008 - frozen
          alone: bool = False) -> ColumnRoles:
    """Tell keys from values.

    Keys are what the user chose (``by``), else what the query groups by, else every column of labels. The value is
    what the user chose (``y``, or ``C`` of a heat map), else the first number. A scatter tells nothing apart unless it
    is asked to.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of the result.
    options : Options
    grouped : sequence of str
        Columns that the query groups by.
    alone : bool
        Whether there is one row at a time: then no words tell rows apart.

    Raises
    ------
    SchemaError
        A named column is not part of the result, or the value is no number.
    PlanError
        The kind of picture has no such axis.

    Examples
    --------
    >>> rows = pa.schema({"start": pa.int64(), "end": pa.int64(), "origin": pa.string(), "n": pa.int64()})
    >>> roles(rows)
    ColumnRoles(keys=('origin',), value='n', values=('n',), x=None, texts=())
    """
    payload = {field.name: field.type for field in schema if field.name not in (_TIME, "end")}
    x = None if options.x == _TIME else options.x
    by = (options.by,) if isinstance(options.by, str) else None if options.by is None else tuple(options.by)
    _expect_there((x, options.y, options.C, *(by or ())), payload)
    value = options.y
    match options.kind:
        case "heatmap":
            value = options.C or value
            if options.y is not None and (options.C is not None or not _is_measure(payload[options.y])):
                by, value = by or (options.y,), options.C
        case "scatter" | "density":
            by = by or ()
        case "bar" | "auto" if x is not None and (options.kind == "bar" or not _is_position(payload[x])):
            by, x = by or (x,), None
        case "auto" if x is not None:
            by = by or ()
        case _ if x is not None:
            raise PlanError(f"The x axis of kind {options.kind!r} must be time, got {x!r}.", where=f"view(x={x!r})",
                            hint='Use kind="scatter" or kind="heatmap".')
    labels = () if alone else tuple(name for name, kind in payload.items() if _is_label(kind))
    keys = by if by is not None else tuple(name for name in tuple(grouped) or labels if name != x)
    values = tuple(name for name, kind in payload.items() if _is_measure(kind) and name not in (*keys, x))
    if options.kind in ("scatter", "density") and x is not None and not _is_position(payload[x]):
        raise SchemaError(f"x must be a column of numbers, got {x!r}.", where=f"view(x={x!r})",
                          hint=near_match(x, values))
    if x is not None and value == x:
        raise PlanError(f"x and y must be different columns, both are {x!r}.", where=f"view(x={x!r}, y={value!r})",
                        hint="Choose another column for one axis.")
    if value is not None and value not in values:
        raise SchemaError(f"y must be a column of numbers, got {value!r}.", where=f"view(y={value!r})",
                          hint=near_match(value, values))
    texts = tuple(name for name, kind in payload.items() if name not in (*keys, x)
                  and (_is_label(kind) or pa.types.is_timestamp(kind)))
    return ColumnRoles(keys, value if value is not None else next(iter(values), None), values, x, texts)


def _expect_there(names: Iterable[str | None], payload: dict[str, pa.DataType]) -> None:
    for name in names:
        if name is not None and name not in payload:
            raise SchemaError(f"The result has no column {name!r}.", where="view(...)", hint=near_match(name, payload))


def _is_label(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
                or types.is_boolean(kind))


def _is_position(kind: pa.DataType) -> bool:
    return _is_measure(kind) or bool(pa.types.is_timestamp(kind))


def _is_measure(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
