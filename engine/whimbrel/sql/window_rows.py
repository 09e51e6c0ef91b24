"""Rows in the windows of FROM, with their bounds as columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot import exp

from whimbrel.expr import Expr, end_time, start_time
from whimbrel.sql.binder import Binder
from whimbrel.sql.intervals import span_of_ticks
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import Bound, SqlColumn, SqlRelation, SqlWindow
from whimbrel.sql.scope import matching
from whimbrel.stream import Stream


def with_bounds(relation: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    """A relation in the window that FROM has put on it, whose bounds become columns.

    A row of HOP and CUMULATE stands in each of its windows: it holds for the last step of each. A row of SESSION holds
    for its session.
    """
    window = relation.window
    if window is None:
        return relation
    if not window.has_rows:
        what, hint = refusal("hop without group")
        raise binder.text.error(what.replace("HOP", window.kind.upper()), node, hint)
    taken = relation.stream.schema.names
    start, end = (bound if bound not in taken else f"{bound}_{window.source}"
                  for bound in ("window_start", "window_end"))
    rows = binder.step(node, lambda: session_rows(relation.stream, window))
    pieces = rows
    if window.kind in ("hop", "cumulate"):
        offset = window.offset % window.step_ticks or None
        pieces = binder.step(node, lambda: rows.chop(window.step_ticks, offset=offset))
    columns: dict[str, Any] = {start: _begin(window, relation), end: end_time()}
    stream = binder.step(node, lambda: pieces.with_columns(**columns))
    shown = (SqlColumn("window_start", window.source, start), SqlColumn("window_end", window.source, end))
    bounds: dict[str, Bound] = {start: "start", end: "end"}
    step = 0 if window.kind == "session" else window.step_ticks
    times = {start: 1} if window.kind == "tumble" else {}
    return SqlRelation(stream, (*relation.columns, *shown), times, "window", step, bounds=bounds, alone=window.alone,
                       window_keys=frozenset(window.keys), size_ticks=window.size_ticks, fixed=window.fixed)


def session_rows(stream: Stream, window: SqlWindow) -> Stream:
    """The rows in a window; sessions are per key."""
    rows: Stream = window.apply(stream.group_by(*window.keys)).ungroup() if window.keys else window.apply(stream)
    return rows


def at_ends(relation: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    """Rows of windows as points at the ends of their windows, where they are known; other rows as they are."""
    ends = {name: 1 for name, bound in relation.bounds.items() if bound == "end"}
    if not relation.bounds or relation.lives not in ("window", "lasting") or relation.window is not None:
        return relation
    stream = binder.step(node, relation.stream.point_at_end)
    return replace(relation, stream=stream, times=ends, lives="instant", step_ticks=0, ended=True)


def needs_windows_first(conditions: list[Any], relation: SqlRelation) -> bool:
    """Whether rows have their windows before WHERE: it reads the bounds, or a row more makes another session."""
    window = relation.window
    return window is not None and bool(conditions) and (window.kind == "session" or any(
        column.name in ("window_start", "window_end") and not matching(relation, column.name, column.table)
        for each in conditions for column in each.find_all(exp.Column)))


def _begin(window: SqlWindow, relation: SqlRelation) -> Expr:
    """The start of the window of a row."""
    match window.kind:
        case "hop":
            return end_time() - span_of_ticks(window.size_ticks, relation.stream.schema.unit)
        case "cumulate":
            return begin_of_partial(window, relation)
        case _:
            return start_time()


def begin_of_partial(window: SqlWindow, relation: SqlRelation) -> Expr:
    """The start of the whole window of a row of CUMULATE."""
    schema, size = relation.stream.schema, window.size_ticks
    offset = window.offset % size
    if schema.unit is None:
        return start_time() // size * size if not offset else (start_time() - offset) // size * size + offset
    if schema.zone in (None, "UTC"):
        shift: Any = span_of_ticks(offset, schema.unit)
        length = f"{size}{schema.unit}"
        return start_time().dt.floor(length) if not offset else (start_time() - shift).dt.floor(length) + shift
    ticks = start_time().cast("int64")  # a zone has no fixed grid: floor() would be of local clocks
    return ((ticks - offset) // size * size + offset).cast(schema.time_type)
