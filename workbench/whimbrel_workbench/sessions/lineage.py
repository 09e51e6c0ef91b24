"""Find the source events of a result row and verify them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose, isnan
from typing import Any, Final

import pyarrow as pa

from whimbrel.errors import WhimbrelError
from whimbrel.operators import GroupAggregate
from whimbrel.run import Lineage, Run, lineage
from whimbrel.run.lineage import Origin
from whimbrel.stream import Stream
from whimbrel_workbench.frames.events import MAX_EVENTS, LineageEvents, NamedValue, OriginRows
from whimbrel_workbench.frames.table import cell_words
from whimbrel_workbench.sessions.group_columns import grouped_by
from whimbrel_workbench.sessions.run_status import failure_of

MAX_RUN_AGAIN: Final = 10_000
"""With more events the query is not run again: a reader waits for it."""

_CLOSE: Final = 1e-9


def row_words(row: pa.Table) -> tuple[NamedValue, ...]:
    """A row of an answer as names and words."""
    return tuple((name, cell_words(row.column(name))[0]) for name in row.column_names)


def source_events(query: Stream, run: Run, row: pa.Table) -> LineageEvents:
    """The source events of a row, among those that a run has read.

    Parameters
    ----------
    query : Stream
        What was asked, if at several latencies then once.
    run : Run
        Reads its sources.
    row : pyarrow.Table
        One row of the answer.
    """
    words = row_words(row)
    try:
        found = lineage(query.node, _asked(query, row), limit=MAX_RUN_AGAIN, read=run.read)
        again, same = _again(found, row, ended=run.state not in ("running", "paused"))
    except WhimbrelError as error:
        return LineageEvents("failed", words, failure=failure_of(error))
    return LineageEvents("found", words, tuple(map(_rows, found.origins)), found.paths, again, same)


def _asked(query: Stream, row: pa.Table) -> Mapping[str, Any]:
    """Start and key of a row, since its values may have moved; one that was not aggregated is known by all it says."""
    aggregated = any(isinstance(node.op, GroupAggregate) for node in query.node.walk())
    keys = grouped_by(query.node)
    names = [name for name in row.column_names if name not in ("start", "end") and (name in keys or not aggregated)]
    return {name: row.column(name)[0].as_py() for name in names} | {"start": row.column("start")[0]}


def _rows(origin: Origin) -> OriginRows:
    newest = slice(max(0, origin.table.num_rows - MAX_EVENTS), None)
    table, lifetimes = origin.events[newest], origin.lifetimes[newest]
    ends = table.column("end").cast(pa.int64()).to_pylist()
    points = all(end == start + 1 for start, end in zip(table.column("start").cast(pa.int64()).to_pylist(), ends,
                                                        strict=True))
    shown = {name: table.column(place) for place, name in enumerate(table.column_names)
             if place == 0 or (place == 1 and not points) or (place > 1 and name != origin.source.time)}
    shown |= {"valid from": lifetimes.column(0), "valid to": lifetimes.column(1)}
    cells = [cell_words(column)[::-1] for column in shown.values()]
    numeric = tuple(pa.types.is_integer(each.type) or pa.types.is_floating(each.type) for each in shown.values())
    return OriginRows(origin.source.name, origin.rows, tuple(shown), numeric, tuple(zip(*cells, strict=True)))


def _again(found: Lineage, row: pa.Table, *, ended: bool) -> tuple[str, bool | None]:
    """What the query gives for the events alone, and whether that is what the row says."""
    if not found.complete:
        return f"Not verified: there are more than {MAX_RUN_AGAIN:,} source events.", None
    if not any(origin.rows for origin in found.origins):
        return "No source event contributes to this row.", None
    try:
        rows = found.rerun()
    except WhimbrelError as error:
        return f"{error.what} {error.hint}".strip(), None
    payload = [name for name in row.column_names if name not in ("start", "end")]
    then = row.select(payload).to_pylist()[0]
    places = [place for place, now in enumerate(rows.select(payload).to_pylist()) if _alike(now, then)]
    if places:
        return "Verified: the query gives the same row from these events alone.", True
    gives = "; ".join(", ".join(f"{name} {words}" for name, words in row_words(rows[place:place + 1])
                                if name not in ("start", "end")) for place in range(min(3, rows.num_rows)))
    since = "" if ended else " The run has read more rows since."
    return f"From these events alone, the query gives {gives or 'no row'}.{since}", False if ended else None


def _alike(now: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    return all(_same(now[name], then[name]) for name in then)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (isnan(one) and isnan(other)) or isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return bool(one == other)
