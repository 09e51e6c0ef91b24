"""Aggregates as GROUP BY."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.expr import Binary, Expr, Keys, Lit
from whimbrel.expr.reductions import reduced_in
from whimbrel.operators import CalendarWindow, EpochAggregate, GroupAggregate, HoppingWindow, Results, SessionWindow
from whimbrel.operators.aggregation.result_expressions import WindowBound
from whimbrel.plan import Node
from whimbrel.sql.printed_expressions import NoWordError, ScalarTexts, interval_text, name_text
from whimbrel.sql.printed_select import SqlBlock
from whimbrel.sql.relation import SqlRelation

_CALENDAR: Final = {"1d": "day", "1w": "week", "1mo": "month", "1q": "quarter", "1y": "year"}
_MONDAY: Final = 4
_MICROSECONDS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}


def results_of(node: Node) -> tuple[Keys, list[tuple[str, Expr]]]:
    """The keys of an aggregate, and its results over aggregates."""
    op: Any = node.op
    below = node
    while not isinstance(below.op, GroupAggregate):
        below = below.inputs[0]
    if isinstance(op, GroupAggregate):
        return op.keys, list(op.measures)
    if isinstance(op, Results):
        return below.op.keys, list(op.columns)
    raise NoWordError(op.show())


def ticks_text(ticks: int, unit: str | None) -> str:
    """A duration: ticks of integer times, else an interval."""
    if unit is None:
        return str(ticks)
    if unit == "ns" and ticks % 1_000:
        return f"INTERVAL '{ticks}' NANOSECOND"
    return interval_text(timedelta(microseconds=ticks // 1_000 if unit == "ns" else ticks * _MICROSECONDS[unit]))


def grouped_blocks(node: Node, blocks: list[tuple[SqlBlock, SqlRelation, Node | None]],
                   emit: str) -> Iterator[SqlBlock]:
    """SELECTs that may build an aggregate, of which the first one that does so is right.

    Parameters
    ----------
    node : Node
    blocks : list of (SqlBlock, SqlRelation, Node or None)
        What may stand in FROM, and the window that follows it, if GROUP BY puts it on.
    emit : {"change", "close"}
    """
    keys, results = results_of(node)
    for block, relation, window in blocks:
        if window is None:
            yield from _grouped(block, keys, results, [])
            continue
        yield from _epochs(block, relation, window.op, keys, results)
        yield from _windows(block, relation, window.op, keys, results, emit)


def closing_blocks(node: Node, block: SqlBlock, relation: SqlRelation) -> Iterator[SqlBlock]:
    """SELECTs with CLOSING_WHEN that may build an aggregate per epoch."""
    below, results = node.inputs[0].op, node.op
    if isinstance(below, EpochAggregate) and isinstance(results, Results):
        window = HoppingWindow(size=below.size, hop=below.size, offset=below.offset, unit=below.unit)
        for found in _epochs(block, relation, window, below.aggregates.keys, list(results.columns)):
            yield replace(found, group=f"{found.group} CLOSING_WHEN {ScalarTexts().text(below.closing)}")


def _grouped(block: SqlBlock, keys: Keys, results: list[tuple[str, Expr]], more: list[str],
             shown: dict[str, str] | None = None) -> Iterator[SqlBlock]:
    texts, shown = ScalarTexts(), shown or {}
    names = [name_text(name) for name, _ in keys]
    groups = [name if text == name else f"{text} AS {name}"
              for name, text in zip(names, (texts.text(expr) for _, expr in keys), strict=True)]
    columns = [*names]
    for name, expr in results:
        text = shown.get(name) or texts.text(expr)
        columns.append(text if text == name_text(name) else f"{text} AS {name_text(name)}")
    yield replace(block, columns=", ".join(columns), group=", ".join([*groups, *more]))


def _epochs(block: SqlBlock, relation: SqlRelation, op: Any, keys: Keys,
            results: list[tuple[str, Expr]]) -> Iterator[SqlBlock]:
    """GROUP BY time/60 AS tb, where a result is such an epoch."""
    if isinstance(op, CalendarWindow):
        yield from _calendar_epochs(block, relation, op, keys, results)
        return
    if not isinstance(op, HoppingWindow) or op.hop != op.size or op.offset or op.label != "start":
        return
    for column, divisor in relation.times.items():
        if op.size % divisor:
            continue
        time, factor = name_text(column), op.size // divisor
        for name, expr in results:
            match expr:
                case Binary("//", WindowBound("start"), Lit(size)) if size == op.size and op.unit is None:
                    epoch = f"{time}/{factor}"
                case WindowBound("start") if op.unit is not None and divisor == 1:
                    epoch = _truncated(time, ticks_text(op.size, op.unit))
                case _:
                    continue
            alias = name_text(name)
            others = [(each, value) for each, value in results if not isinstance(value, WindowBound) or each == name]
            if len(others) == len(results):
                yield from _grouped(block, keys, results, [f"{epoch} AS {alias}"], {name: alias})


def _calendar_epochs(block: SqlBlock, relation: SqlRelation, op: CalendarWindow, keys: Keys,
                     results: list[tuple[str, Expr]]) -> Iterator[SqlBlock]:
    """GROUP BY date_trunc('month', time) AS m, in the zone of the stream."""
    size = op.windows.size
    if not op.windows.tumbling or not _has_a_text(op, relation) or size.show() not in _CALENDAR:
        return
    for column in (column for column, divisor in relation.times.items() if divisor == 1):
        for name in (name for name, expr in results if isinstance(expr, WindowBound) and expr.which == "start"):
            others = [(each, value) for each, value in results if not isinstance(value, WindowBound) or each == name]
            if len(others) == len(results):
                alias = name_text(name)
                epoch = f"date_trunc('{_CALENDAR[size.show()]}', {name_text(column)})"
                yield from _grouped(block, keys, results, [f"{epoch} AS {alias}"], {name: alias})


def _has_a_text(op: CalendarWindow, relation: SqlRelation) -> bool:
    """Whether windows are as SQL has them: in the zone of the stream, with weeks from Monday."""
    grid, borders = op.windows.grid, op.windows.borders
    begins = grid.first_day == (_MONDAY if grid.step.weeks else 0) and not grid.offset
    in_zone = grid.zone == (relation.stream.schema.zone or "UTC")
    return op.windows.label == "start" and borders.usual and begins and in_zone


def _span_text(span: CalendarSpan) -> str:
    unit, count = ("MONTH", span.count) if span.unit == "mo" else (
        ("WEEK", span.count // 7) if span.weeks else ("DAY", span.count))
    return f"INTERVAL '{count}' {unit}"


def _truncated(time: str, step: str) -> str:
    """A time rounded down to a step: ``date_trunc`` where the step is one unit."""
    unit = re.fullmatch("INTERVAL '1' (DAY|HOUR|MINUTE|SECOND)", step)
    return f"time_bucket({step}, {time})" if unit is None else f"date_trunc('{unit[1].lower()}', {time})"


def _windows(block: SqlBlock, relation: SqlRelation, op: Any, keys: Keys, results: list[tuple[str, Expr]],
             emit: str) -> Iterator[SqlBlock]:
    """GROUP BY window_start, of a function of FROM."""
    match op:
        case HoppingWindow(size=size, hop=hop, offset=offset, label="start"):
            shift = f", OFFSET => {ticks_text(offset, op.unit)}" if offset else ""
            if size == hop:
                call = f"TUMBLE({block.source}, {ticks_text(size, op.unit)}{shift})"
            elif emit == "close":
                call = f"HOP({block.source}, {ticks_text(hop, op.unit)}, {ticks_text(size, op.unit)}{shift})"
            else:
                return
        case CalendarWindow() if _has_a_text(op, relation):
            size_, hop_ = _span_text(op.windows.size), _span_text(op.windows.grid.step)
            if op.windows.tumbling:
                call = f"TUMBLE({block.source}, {size_})"
            elif emit == "close":
                call = f"HOP({block.source}, {hop_}, {size_})"
            else:
                return
        case SessionWindow(timeout=timeout, max_duration=None, emit="close"):
            by = f" PARTITION BY {', '.join(name_text(name) for name, _ in op.keys)}" if op.keys else ""
            table = f"TABLE {block.source}{by}" if block.source.isidentifier() or by else block.source
            call = f"SESSION({table}, {ticks_text(timeout, op.unit)})"
        case _:
            return
    bounds = ["window_start"]
    if any(isinstance(part, WindowBound) and part.which == "end" for _, expr in results for part in reduced_in(expr)):
        bounds.append("window_end")
    yield from _grouped(replace(block, source=call), keys, results, bounds)
