"""A desk in words: a line for each query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from whimbrel.run.desk import Budget, DeskCost, QueryCost
from whimbrel_workbench.frames.format_numbers import rate_words, value_words
from whimbrel_workbench.frames.status import State
from whimbrel_workbench.frames.table import cell_words

MAX_QUERIES: Final = 100
"""Lines that are drawn; failed and stopped queries and then those that cost most come first."""

_UNITS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True, slots=True)
class QueryLine:
    """One query in words.

    Parameters
    ----------
    state : State
    fraction : float
        Its part of the seconds of all queries, 0 to 1.
    budget : float or None
        The largest part of a limit that it has used; None without limits.
    """

    name: str
    state: State
    reads: tuple[str, ...]
    rows_in: str
    rows: str
    seconds: str
    fraction: float
    ns_per_row: str
    held: str
    budget: float | None
    budget_words: str
    parameters: str
    error: str
    newest: str


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The newest rows of one query, newest first.

    Parameters
    ----------
    cells : tuple of (bool, tuple of str)
        For each row whether it is settled, and its values in words.
    """

    name: str
    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    cells: tuple[tuple[bool, tuple[str, ...]], ...]
    settled_rows: int


@dataclass(frozen=True, slots=True)
class DeskFrame:
    """Everything that the view of a desk shows at one moment.

    Parameters
    ----------
    sources : tuple of str
    state : State
        Running while any query does.
    facts : tuple of (str, str)
        Name and words of the indicators of the desk.
    lines : tuple of QueryLine
    hidden : int
        Queries without a line.
    chosen : QueryRows or None
    """

    sources: tuple[str, ...]
    state: State
    facts: tuple[tuple[str, str], ...]
    lines: tuple[QueryLine, ...]
    hidden: int
    chosen: QueryRows | None


def desk_frame(sources: Sequence[str], cost: DeskCost, state: State, newest: dict[str, pa.Table], rate: float | None,
               chosen: QueryRows | None) -> DeskFrame:
    """Put a desk in words.

    Parameters
    ----------
    newest : dict of str to table
        The last settled row of each query that is shown and has one.
    rate : float or None
        Rows that were read in a second lately.
    """
    total = sum(each.seconds for each in cost.queries)
    shown = shown_queries(cost)
    facts = [("queries", f"{len(cost.queries):,}"), ("rows read", f"{cost.rows:,}")]
    facts += [("speed", rate_words(rate))] if rate is not None else []
    facts += [("work", seconds_words(cost.seconds)), ("steps", f"{cost.steps:,}, {cost.shared_steps:,} shared"),
              ("templates", f"{cost.templates:,}")]
    facts += [(name, str(status)) for name, status in cost.feeds.items()]
    lines = tuple(_line(each, total, newest.get(each.query)) for each in shown)
    return DeskFrame(tuple(sources), state, tuple(facts), lines, len(cost.queries) - len(lines), chosen)


def shown_queries(cost: DeskCost) -> list[QueryCost]:
    """The queries that have a line, in the order in which they were added."""
    if len(cost.queries) <= MAX_QUERIES:
        return list(cost.queries)
    ended = ("failed", "stopped")
    first = sorted(cost.queries, key=lambda each: (each.state not in ended, -each.seconds))[:MAX_QUERIES]
    kept = {each.query for each in first}
    return [each for each in cost.queries if each.query in kept]


def query_rows(name: str, table: pa.Table, settled: int, settled_rows: int, rows: int) -> QueryRows:
    """The last rows of a result of which the first ones are settled."""
    begin = max(0, table.num_rows - rows)
    last = table.slice(begin)
    lifetimes = [last.column(each).cast(pa.int64()).to_pylist() for each in ("start", "end")]
    if all(end == start + 1 for start, end in zip(*lifetimes, strict=True)):
        last = last.drop_columns("end")
    columns = [cell_words(last.column(each)) for each in last.column_names]
    cells = tuple((begin + row < settled, tuple(column[row] for column in columns))
                  for row in reversed(range(last.num_rows)))
    numeric = tuple(pa.types.is_integer(each.type) or pa.types.is_floating(each.type) for each in last.schema)
    return QueryRows(name, tuple(last.column_names), numeric, cells, settled_rows)


def _line(cost: QueryCost, total: float, newest: pa.Table | None) -> QueryLine:
    used, words = _budget(cost.budget, cost)
    return QueryLine(
        name=cost.query, state=cost.state, reads=cost.reads, rows_in=f"{cost.rows_in:,}", rows=f"{cost.rows:,}",
        seconds=seconds_words(cost.seconds), fraction=cost.seconds / total if total else 0.0,
        ns_per_row="-" if cost.ns_per_row is None else value_words(float(f"{cost.ns_per_row:.3g}")),
        held=bytes_words(cost.buffered_bytes), budget=used, budget_words=words,
        parameters=", ".join(f"{name} = {value_words(value)}" for name, value in cost.parameters.items()),
        error=cost.error or "", newest="" if newest is None else _row_words(newest))


def _budget(budget: Budget | None, cost: QueryCost) -> tuple[float | None, str]:
    """The largest part of a limit that is used, and that limit in words."""
    if budget is None:
        return None, ""
    limits = [(cost.buffered_rows, budget.rows, f"{budget.rows or 0:,} rows"),
              (cost.buffered_bytes, budget.bytes, bytes_words(budget.bytes or 0)),
              (cost.seconds, budget.seconds, seconds_words(budget.seconds or 0))]
    parts = [(used / limit, words) for used, limit, words in limits if limit is not None]
    if not parts:
        return None, ""
    part, words = max(parts)
    return part, f"{part:.0%} of {words}"


def _row_words(row: pa.Table) -> str:
    """The last row of a table in one line, without its lifetime."""
    names = [name for name in row.column_names if name not in ("start", "end")]
    start = cell_words(row.column("start"))[-1]
    return " · ".join([start, *(f"{name} {cell_words(row.column(name))[-1]}" for name in names)])


def seconds_words(seconds: float) -> str:
    """A duration of work with three digits.

    >>> seconds_words(0.00123), seconds_words(0.5), seconds_words(12.345), seconds_words(0.0)
    ('1.23 ms', '500 ms', '12.3 s', '0 ms')
    """
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:,.3g} s" if seconds < 100 else f"{seconds:,.0f} s"


def bytes_words(size_bytes: float) -> str:
    """A size in memory.

    >>> bytes_words(0), bytes_words(1234), bytes_words(5_600_000)
    ('0 B', '1.23 kB', '5.6 MB')
    """
    for unit, name in _UNITS:
        if size_bytes >= unit:
            return f"{size_bytes / unit:.3g} {name}"
    return f"{size_bytes:.0f} B"
