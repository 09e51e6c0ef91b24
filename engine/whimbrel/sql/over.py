"""Bind OVER and QUALIFY."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from sqlglot import exp

from whimbrel.clock import duration_ticks
from whimbrel.expr import Col, Expr, lit, when
from whimbrel.sql.aggregates import aggregate, is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.closing_when import is_running
from whimbrel.sql.intervals import duration
from whimbrel.sql.join_conditions import conjuncts
from whimbrel.sql.numbering import NUMBERS, RANK, numbered, partition_keys
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation, epoch_hint
from whimbrel.sql.row_order import framed, lagged
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.select_list import Item
from whimbrel.stream import Stream

_HAS = "_has_row"
"""The column that is null where there is no earlier row."""


def has_window(node: Any) -> bool:
    """Whether an expression has OVER in it."""
    return any(isinstance(part, exp.Window) for part in node.walk(prune=lambda each: isinstance(each, exp.Query)))


def over_columns(items: list[Item], qualify: Any, relation: SqlRelation,
                 binder: Binder) -> tuple[SqlRelation, dict[int, str]]:
    """The relation with a column for each OVER, and the rows that QUALIFY keeps."""
    conditions = [] if qualify is None else [_with_aliases(each, items) for each in conjuncts(qualify)]
    nodes = [item.node for item in items] + conditions
    windows = [part for node in nodes for part in node.walk(prune=lambda each: isinstance(each, exp.Query))
               if isinstance(part, exp.Window)]
    names: dict[int, str] = {}
    numbering = None
    made: list[tuple[Any, str]] = []
    for window in windows:
        if isinstance(window.this, NUMBERS):
            if numbering is not None and numbering != window:
                raise binder.text.error("A query can number its rows once.", window, "Use a subquery for the other.")
            numbering = window
            continue
        known = next((name for other, name in made if other == window), None)
        if known is None:
            known = f"_over{len(made) + 1}"
            relation = relation.after(_over(window, known, relation, binder))
            made.append((window, known))
        names[id(window)] = known
    if numbering is not None:
        relation, conditions = numbered(numbering, conditions, relation, binder)
        for window in windows:
            if isinstance(window.this, NUMBERS):
                names[id(window)] = RANK
    if conditions:
        scope = NameScope(binder, relation, lambda node: Col(names[id(node)]) if id(node) in names else None)
        kept = reduce(and_, [condition(each, scope) for each in conditions])
        stream = relation.stream
        relation = relation.after(binder.step(conditions[0], lambda: stream.where(kept)))
    return relation, names


def _with_aliases(node: Any, items: list[Item]) -> Any:
    """A condition with the expressions of aliases that have OVER in them."""
    for item in items:
        if item.named and has_window(item.node):
            if isinstance(node, exp.Column) and node.name == item.label:
                return item.node
            for column in list(node.find_all(exp.Column)):
                if not column.table and column.name == item.label:
                    column.replace(item.node.copy())
    return node


def _over(window: Any, name: str, relation: SqlRelation, binder: Binder) -> Stream:
    """The stream with the column of one OVER."""
    extra = [key for key, given in window.args.items() if given and key not in (
        "this", "partition_by", "order", "spec", "over")]
    if extra:
        raise binder.text.error("This form of OVER is not part of the language.", window, "Write the window in OVER.")
    function = window.this
    if isinstance(function, exp.Lead):
        raise binder.text.error(refusal("lead")[0], window, refusal("lead")[1])
    if isinstance(function, exp.Lag):
        return _lag(window, name, relation, binder)
    call = function.this if isinstance(function, exp.Filter) else function
    inner = NameScope(binder, relation)
    named = isinstance(call, exp.Anonymous) and is_aggregate(call, inner) and not is_running(call.name)
    if not (named or isinstance(call, exp.AggFunc)) or isinstance(call, exp.DenseRank):
        raise binder.text.error("OVER needs an aggregate, LAG, rank or row_number.", window, "Use an aggregate.")
    keys = partition_keys(window, relation, binder)
    if (before := _rows_before(window, relation, binder)) is not None:
        return framed(window, name, before, relation, binder)
    rows = _frame(window, relation, binder)
    column: dict[str, Any] = {name: aggregate(function, inner)}
    by = rows if not keys else binder.step(window, lambda: rows.group_by(*keys))
    made = binder.step(window, lambda: by.aggregate(**column))
    if not keys:
        return binder.step(window, lambda: relation.stream.cross_join(made))
    return binder.step(window, lambda: relation.stream.join(made, keys, nulls_equal=True))


def _frame(window: Any, relation: SqlRelation, binder: Binder) -> Stream:
    """The rows that each frame holds, for as long as they are in it."""
    spec, order = window.args.get("spec"), window.args.get("order")
    counted = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    if spec is not None and not counted and str(spec.args.get("kind")).upper() != "RANGE":
        raise binder.text.error("A frame is RANGE or ROWS.", window, "Use RANGE for times, or ROWS for counts.")
    if order is None:
        if counted:
            raise binder.text.error(*_at("rows frame", window))
        if relation.needs_epoch and not set(partition_keys(window, relation, binder)) & set(relation.times):
            what, hint = refusal("endless aggregate", **epoch_hint(relation))
            raise binder.text.error(what, window, hint)
        return relation.stream
    _check_order(window, relation, binder)
    if spec is None:
        return binder.step(window, lambda: relation.stream.set_duration(None))
    if spec.args.get("end") not in ("CURRENT ROW", None):
        raise binder.text.error(*_at("following", window))
    start = spec.args.get("start")
    if start == "UNBOUNDED":
        return binder.step(window, lambda: relation.stream.set_duration(None))
    if counted:
        return _last_rows(window, start, relation, binder)
    unit = relation.stream.schema.unit
    if isinstance(start, exp.Interval) and unit is not None and _is_before(spec):
        ticks = int(duration_ticks(duration(start, binder.text), unit))
    elif isinstance(start, exp.Literal) and start.this.isdigit() and unit is None and (
            _is_before(spec)):
        ticks = int(start.this)
    elif start == "CURRENT ROW":
        ticks = 0
    else:
        raise binder.text.error("A frame needs a literal duration before the current row.", window,
                                "Use RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW.")
    return binder.step(window, lambda: relation.stream.set_duration(ticks + 1))


def _check_order(window: Any, relation: SqlRelation, binder: Binder, *, alone: bool = True) -> None:
    """Refuse another order than that of the event time, or `alone` one that also orders rows of one time."""
    spec, order = window.args.get("spec"), window.args["order"]
    counted = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    column = order.expressions[0].this
    found = matching(relation, column.name, column.table) if isinstance(column, exp.Column) else []
    step = relation.times.get(found[0].column) if found else None
    timed = step == 1 if relation.lives == "instant" else counted and relation.lives == "window" and step is not None
    if not timed or (alone and len(order.expressions) != 1) or order.expressions[0].args.get("desc"):
        ordered = ", ".join(relation.ordered()) or "nothing"
        raise binder.text.error("ORDER BY in OVER needs the event time of a stream, ascending.", order,
                                f"Use the ordered attribute: {ordered}.")


def _is_before(spec: Any) -> bool:
    return str(spec.args.get("start_side")).upper() == "PRECEDING"


def _rows_before(window: Any, relation: SqlRelation, binder: Binder) -> int | None:
    """How many rows a frame of ROWS looks back, if ORDER BY also orders rows of one time."""
    spec, order = window.args.get("spec"), window.args.get("order")
    if spec is None or order is None or len(order.expressions) == 1 or relation.lives != "instant" or (
            str(spec.args.get("kind")).upper() != "ROWS" or spec.args.get("end") not in ("CURRENT ROW", None)
            or spec.args.get("start") == "UNBOUNDED"):
        return None
    _check_order(window, relation, binder, alone=False)
    return _number(window, spec.args.get("start"), binder)


def _last_rows(window: Any, start: Any, relation: SqlRelation, binder: Binder) -> Stream:
    """The current row and a number of rows before it, rows of one time together."""
    number = _number(window, start, binder)
    keys = partition_keys(window, relation, binder)
    by = relation.stream if not keys else binder.step(window, lambda: relation.stream.group_by(*keys))
    last = binder.step(window, lambda: by.last_rows(number + 1))
    return last.ungroup()


def _number(window: Any, start: Any, binder: Binder) -> int:
    """The number of rows before the current one."""
    number = "0" if start == "CURRENT ROW" else start.this if isinstance(start, exp.Literal) else ""
    if not number.isdigit() or (start != "CURRENT ROW" and not _is_before(window.args["spec"])):
        raise binder.text.error("A frame of ROWS needs a literal number of rows before the current row.", window,
                                "Use ROWS BETWEEN 9 PRECEDING AND CURRENT ROW.")
    return int(number)


def _lag(window: Any, name: str, relation: SqlRelation, binder: Binder) -> Stream:
    """The value of an earlier row of the key: of the latest earlier time, unless ORDER BY orders rows of one time."""
    function, order = window.this, window.args.get("order")
    offset, default = (function.args.get(key) for key in ("offset", "default"))
    if window.args.get("spec") is not None:
        raise binder.text.error("LAG has no frame.", window, "Leave the frame out.")
    if order is None:
        raise binder.text.error("LAG needs ORDER BY the event time.", window, "Add ORDER BY in OVER.")
    _check_order(window, relation, binder, alone=False)
    if offset is not None and not (isinstance(offset, exp.Literal) and offset.this.isdigit() and int(offset.this) > 0):
        raise binder.text.error("LAG needs a literal number of rows, from 1.", window, "Use lag(x, 1).")
    if len(order.expressions) > 1:
        return lagged(window, name, relation, binder)
    if offset is not None and offset.this != "1":
        raise binder.text.error("LAG looks further back only if rows of one time have an order.", window,
                                "Use an offset of 1, or add a column after the time in ORDER BY.")
    keys = partition_keys(window, relation, binder)
    scope = NameScope(binder, relation)
    kept: dict[str, Expr] = {key: Col(key) for key in keys} | ({} if default is None else {_HAS: lit(value=True)})
    value = scalar(function.this, scope)
    before = binder.step(window, lambda: relation.stream.select(**kept, **{name: value}))
    options: dict[str, Any] = {"on": keys, "nulls_equal": True} if keys else {}
    stream = binder.step(window, lambda: relation.stream.asof_join(before, strict=True, ties="last", **options))
    if default is None:
        return stream
    filled = when(Col(_HAS).is_null()).then(scalar(default, scope)).otherwise(Col(name))
    return binder.step(window, lambda: stream.with_columns(**{name: filled}).drop(_HAS))


def _at(kind: str, node: Any) -> tuple[str, Any, str]:
    what, hint = refusal(kind)
    return what, node, hint
