"""Windows as functions of tables: TUMBLE, HOP, SESSION, CUMULATE, SLIDE and HOLD."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import numpy as np
from sqlglot import exp

from whimbrel.clock import duration_ticks, grid_offset
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.errors import WhimbrelError
from whimbrel.operators import CalendarWindow
from whimbrel.sql.binder import Binder
from whimbrel.sql.dialect import TableArgument
from whimbrel.sql.intervals import duration
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation, SqlWindow
from whimbrel.sql.scope import NameScope, matching
from whimbrel.stream import Stream

WINDOWS: Final[dict[str, tuple[str, ...]]] = {
    "TUMBLE": ("data", "timecol", "size", "offset"),
    "HOP": ("data", "timecol", "slide", "size", "offset"),
    "SESSION": ("data", "timecol", "gap"),
    "CUMULATE": ("data", "timecol", "step", "size", "offset"),
    "SLIDE": ("data", "timecol", "size"),
    "HOLD": ("data",),
}
"""Names of the arguments, in their order."""

_SPANS: Final = {"DAY": "d", "WEEK": "w", "MONTH": "mo", "QUARTER": "q", "YEAR": "y"}

_DURATIONS: Final[tuple[str, ...]] = ("size", "slide", "gap", "step", "offset")
_REQUIRED: Final = {"TUMBLE": ("size",), "HOP": ("slide", "size"), "SESSION": ("gap",), "CUMULATE": ("step", "size"),
                    "SLIDE": ("size",), "HOLD": ()}


def window_call(name: str, node: Any, binder: Binder, source: Callable[[Any], SqlRelation]) -> SqlRelation:
    """The relation of a window: its rows, and the window until GROUP BY uses it."""
    given, keys = _arguments(name, node, binder)
    data = given.get("data")
    if data is None:
        raise binder.text.error(f"{name} needs a table.", node, f"Use {_form(name)}.")
    if isinstance(data, exp.Column):
        data = exp.Table(this=data.this)
    if isinstance(data, exp.Subquery | exp.Table):
        relation = source(data)
    elif isinstance(data, exp.Select):
        relation = source(exp.Subquery(this=data))
    elif isinstance(data, exp.Anonymous):
        relation = source(exp.Table(this=data))
    else:
        raise binder.text.error(f"{name} needs a table.", node, f"Use {_form(name)}.")
    if relation.window is not None:
        raise binder.text.error("A window needs rows that have no window yet.", node,
                                "Use GROUP BY window_start first, in a subquery.")
    if relation.table:
        raise binder.text.error(f"{name} needs a stream, and the rows of a table hold at all times.", node,
                                'Pass a stream: wb.from_arrow(table, time="...").')
    _check_time(given.get("timecol"), relation, binder)
    spans = _spans(name, given, relation, binder)
    ticks = {key: _nominal(spans[key], relation) if key in spans else _ticks(given[key], relation, binder)
             for key in _DURATIONS if key in given}
    for key, value in ticks.items():
        if value <= 0 and key != "offset":
            raise binder.text.error(f"{name} needs a positive {key}.", given[key], "Use INTERVAL '1' MINUTE.")
    return _windowed(name, relation, ticks, spans, keys, node, binder)


def _windowed(name: str, relation: SqlRelation, ticks: dict[str, int], spans: dict[str, CalendarSpan], keys: list[Any],
              node: Any, binder: Binder) -> SqlRelation:
    """The relation with the window of a call; ticks of spans of the calendar are nominal."""
    source, offset = relation.sources[0] if relation.sources else "", ticks.get("offset")
    lengths: dict[str, Any] = {**ticks, **{key: span.show() for key, span in spans.items()}}
    match name:
        case "SLIDE":
            stream = binder.step(node, lambda: relation.stream.sliding_window(lengths["size"]))
            return replace(relation, stream=stream, lives="lasting")
        case "HOLD":
            stream = binder.step(node, lambda: relation.stream.set_duration(None))
            return replace(relation, stream=stream, lives="lasting")
        case "TUMBLE":
            window = SqlWindow("tumble", source, lambda stream: stream.tumbling_window(lengths["size"], offset=offset),
                               ticks["size"], ticks["size"])
        case "HOP":
            window = SqlWindow("hop", source,
                               lambda stream: stream.hopping_window(lengths["size"], lengths["slide"], offset=offset),
                               ticks["size"], ticks["slide"])
        case "CUMULATE":
            if ticks["size"] % ticks["step"]:
                raise binder.text.error("The size of CUMULATE must be a multiple of its step.", node,
                                        "Change one of the two.")
            window = SqlWindow("cumulate", source,
                               lambda stream: stream.progressive_window(lengths["size"], lengths["size"],
                                                                        ticks["step"], offset=offset),
                               ticks["size"], ticks["step"])
        case _:
            for key in keys:
                if not isinstance(key, exp.Column):
                    raise binder.text.error("PARTITION BY needs columns.", node, "Name the columns.")
            columns = tuple(NameScope(binder, relation).find(key).column for key in keys)
            window = SqlWindow("session", source, lambda stream: stream.session_window(ticks["gap"], emit="close"),
                               ticks["gap"], ticks["gap"], columns)
    made = binder.step(node, lambda: window.apply(relation.stream)).node.op
    where = grid_offset(lengths.get("slide", lengths.get("size", 0)), relation.stream.schema.unit, offset)
    return replace(relation, window=replace(window, offset=where, calendar=isinstance(made, CalendarWindow)))


def _form(name: str) -> str:
    shapes = {"TUMBLE": "TUMBLE(t, ts, INTERVAL '1' MINUTE)", "HOLD": "HOLD(t)",
              "HOP": "HOP(t, ts, INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
              "SESSION": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTE)",
              "CUMULATE": "CUMULATE(t, ts, INTERVAL '1' MINUTE, INTERVAL '1' HOUR)",
              "SLIDE": "SLIDE(t, INTERVAL '1' HOUR)"}
    return shapes[name]


def _arguments(name: str, node: Any, binder: Binder) -> tuple[dict[str, Any], list[Any]]:
    """Arguments by name, and the keys of PARTITION BY."""
    names = WINDOWS[name]
    values = list(node.expressions) if isinstance(node, exp.Anonymous) else [
        each for part in node.args.values() for each in (part if isinstance(part, list) else [part])
        if each is not None]
    keys: list[Any] = []
    flat: list[Any] = []
    for value in values:
        inner = value.expression if isinstance(value, exp.Kwarg) else value
        if isinstance(inner, TableArgument):
            keys = inner.args.get("partition_by") or []
            table = inner.this
            flat.append(exp.Kwarg(this=value.this, expression=table) if isinstance(value, exp.Kwarg) else table)
        else:
            flat.append(value)
    given: dict[str, Any] = {}
    position = 0
    for value in flat:
        if isinstance(value, exp.Kwarg):
            key = value.this.name.lower()
            if key not in names or key in given:
                raise binder.text.error(f"{name} has no argument {value.this.name!r} here.", value,
                                        f"Use {', '.join(each.upper() for each in names)}.")
            given[key] = value.expression
            continue
        if position == 1 and not isinstance(value, exp.Column | exp.Anonymous):  # the event time may be left out
            position = 2
        if position >= len(names):
            raise binder.text.error(f"{name} has too many arguments.", value, f"Use {_form(name)}.")
        given[names[position]] = value
        position += 1
    for key in _REQUIRED[name]:
        if key not in given:
            raise binder.text.error(f"{name} needs {key.upper()}.", node, f"Use {_form(name)}.")
    return given, keys


def _check_time(node: Any, relation: SqlRelation, binder: Binder) -> None:
    """Refuse another column than the event time."""
    if node is None:
        return
    if isinstance(node, exp.Anonymous) and node.name.upper() == "DESCRIPTOR" and len(node.expressions) == 1:
        [node] = node.expressions
    if isinstance(node, exp.Column):
        found = matching(relation, node.name, node.table)
        if not found:
            NameScope(binder, relation).find(node)
        if relation.times.get(found[0].column) == 1:
            return
    ordered = ", ".join(each.name for each in relation.columns if relation.times.get(each.column) == 1) or "nothing"
    raise binder.text.error("A window needs the event time of its stream.", node,
                            f"Use the ordered attribute: {ordered}.")


def _spans(name: str, given: dict[str, Any], relation: SqlRelation, binder: Binder) -> dict[str, CalendarSpan]:
    """The durations of a window that are spans of the calendar."""
    zoned = relation.stream.schema.zone not in (None, "UTC")
    wanted = {"TUMBLE": ("size",), "HOP": ("size", "slide"), "CUMULATE": ("size",), "SLIDE": ("size",)}.get(name, ())
    spans = {key: span for key in wanted if (span := _span(given[key], relation)) is not None}
    if len(spans) < len(wanted) or (name == "SLIDE" and spans["size"].unit == "d"):  # sliding days last 24 hours
        return {}
    if name == "CUMULATE" and (zoned or spans["size"].unit != "d"):
        what, hint = refusal("partial windows of the calendar")
        raise binder.text.error(what, given["size"], hint)
    return spans


def _nominal(span: CalendarSpan, relation: SqlRelation) -> int:
    """The ticks of a span, with 30 days in a month."""
    return int(duration_ticks(f"{1 if span.unit == 'd' else 30}d", relation.stream.schema.unit)) * span.count


def _ticks(node: Any, relation: SqlRelation, binder: Binder) -> int:
    unit = relation.stream.schema.unit
    value: timedelta | np.timedelta64 | int
    if isinstance(node, exp.Interval):
        value = duration(node, binder.text)
    elif isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        value = int(node.this)
        if unit is not None:
            raise binder.text.error("A duration needs a unit, because times are timestamps.", node,
                                    f"Use INTERVAL '{value}' SECOND.")
    else:
        raise binder.text.error("A window needs a literal duration.", node, "Use INTERVAL '1' MINUTE.")
    try:
        return int(duration_ticks(value, unit))
    except WhimbrelError as error:
        if unit is None:
            raise binder.text.error("Times of this stream are integers, so durations are integers too.", node,
                                    "Write the number of ticks.") from None
        raise binder.text.error(error.what, node, "Use a coarser duration.") from None


def _span(node: Any, relation: SqlRelation) -> CalendarSpan | None:
    """The days, weeks, months, quarters or years of an interval, which begin as those of ``tumbling_window``."""
    if not isinstance(node, exp.Interval):
        return None
    count: Any = node.this
    unit = node.args.get("unit")
    word = "" if unit is None else unit.name.upper().removesuffix("S")
    whole = isinstance(count, exp.Literal) and count.this.strip().isdigit() and int(count.this) > 0
    if word not in _SPANS or not whole or relation.stream.schema.unit is None:
        return None
    return CalendarSpan.of(f"{count.this.strip()}{_SPANS[word]}")


def windowed_stream(relation: SqlRelation) -> Stream:
    """The stream with its window."""
    stream: Stream = relation.stream if relation.window is None else relation.window.apply(relation.stream)
    return stream
