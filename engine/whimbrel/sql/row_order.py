"""Bind LAG and frames of ROWS by the numbers of rows."""

from __future__ import annotations

from typing import Any

from whimbrel.expr import Col, Expr, lit
from whimbrel.sql.aggregates import aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.numbering import RANK, counted, partition_keys
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope
from whimbrel.stream import Stream

_ROW = "_row"
"""The column of the number of the row that looks back."""


def lagged(window: Any, name: str, relation: SqlRelation, binder: Binder) -> Stream:
    """The value of an earlier row of the key, by the numbers of rows."""
    function, scope = window.this, NameScope(binder, relation)
    offset, default = (function.args.get(key) for key in ("offset", "default"))
    back = 1 if offset is None else int(offset.this)
    keys = partition_keys(window, relation, binder)
    value = scalar(function.this, scope)
    otherwise = lit(None) if default is None else scalar(default, scope)
    rows = _numbered(window, keys, relation, binder)
    columns: dict[str, Expr] = {each: Col(each) for each in relation.stream.schema.names}
    kept: dict[str, Expr] = {key: Col(key) for key in keys}
    before = _lasting(window, rows, keys, back, binder)
    before = binder.step(window, lambda: before.select(**kept, **{RANK: Col(RANK) + back, name: value}))
    found = binder.step(window, lambda: rows.join(before, [*keys, RANK], nulls_equal=True).select(
        **columns, **{name: Col(name)}))
    type_ = found.schema.type_of(name)
    first = binder.step(window, lambda: rows.where(Col(RANK) <= back).select(
        **columns, **{name: otherwise.cast(type_)}))
    return binder.step(window, lambda: found.union(first))


def framed(window: Any, name: str, before: int, relation: SqlRelation, binder: Binder) -> Stream:
    """The aggregate of each row and a number of rows before it, by the numbers of rows."""
    keys = partition_keys(window, relation, binder)
    rows = _numbered(window, keys, relation, binder)
    held = _lasting(window, rows, keys, before, binder)
    kept: dict[str, Expr] = {key: Col(key) for key in keys}
    wanted = binder.step(window, lambda: rows.select(**kept, **{_ROW: Col(RANK)}))
    pairs = binder.step(window, lambda: wanted.join(held, keys, nulls_equal=True) if keys else wanted.cross_join(held))
    pairs = binder.step(window, lambda: pairs.where((Col(RANK) <= Col(_ROW)) & (Col(RANK) >= Col(_ROW) - before)))
    column: dict[str, Any] = {name: aggregate(window.this, NameScope(binder, relation))}
    found = binder.step(window, lambda: pairs.group_by(*keys, _ROW).aggregate(**column))
    on = {**{key: key for key in keys}, RANK: _ROW}
    columns: dict[str, Expr] = {each: Col(each) for each in (*relation.stream.schema.names, name)}
    return binder.step(window, lambda: rows.join(found, on=on, nulls_equal=True).select(**columns))


def _numbered(window: Any, keys: list[str], relation: SqlRelation, binder: Binder) -> Stream:
    """The rows with their numbers within the key, in the order of time, the other expressions and the other columns."""
    return counted(window, "row_number", None, window.args["order"].expressions, keys, relation, binder)


def _lasting(window: Any, rows: Stream, keys: list[str], back: int, binder: Binder) -> Stream:
    """The rows for as long as one so many numbers later can start, perhaps at the time at which they would end."""
    by = rows if not keys else binder.step(window, lambda: rows.group_by(*keys))
    return binder.step(window, lambda: by.last_rows(back + 1).ungroup().extend(1))
