"""Bind OVER and QUALIFY."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.clock import duration_ticks
from whimbrel.expr import Col, Expr
from whimbrel.sql.aggregates import aggregate, is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.closing_when import is_running
from whimbrel.sql.intervals import duration
from whimbrel.sql.join_conditions import conjuncts
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation, epoch_hint
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.select_list import Item
from whimbrel.stream import Stream

NUMBERS: Final = (exp.RowNumber, exp.Rank)
_LARGEST: Final = 2**63 - 1


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
        relation, conditions = _numbered(numbering, items, conditions, relation, binder)
        for window in windows:
            if isinstance(window.this, NUMBERS):
                names[id(window)] = "_rank"
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


def _numbered(window: Any, items: list[Item], conditions: list[Any], relation: SqlRelation,
              binder: Binder) -> tuple[SqlRelation, list[Any]]:
    """The first rows of each group, and the conditions that are left."""
    name = "row_number" if isinstance(window.this, exp.RowNumber) else "rank"
    bound, rest = None, []
    for each in conditions:
        most = _bound(each, window)
        if most is None or bound is not None:
            rest.append(each)
        else:
            bound = most
    if bound is None and relation.table:
        bound = _LARGEST
    if bound is None:
        what, hint = refusal("unbounded numbers", name=name)
        raise binder.text.error(what, window, hint)
    read = any(window in list(part.walk()) for part in (*(item.node for item in items), *rest))
    if name == "row_number" and bound > 1 and read:
        raise binder.text.error("row_number() as a value numbers rows that are equal.", window,
                                "Use rank(), or QUALIFY row_number() OVER (...) <= n.")
    order = window.args.get("order")
    if order is None or len(order.expressions) != 1:
        raise binder.text.error(f"{name}() needs ORDER BY with one expression.", window, "Order by one expression.")
    keys = _partition(window, relation, binder, name)
    by = scalar(order.expressions[0].this, NameScope(binder, relation))
    descending = bool(order.expressions[0].args.get("desc"))
    by = _nulls_last(by, order.expressions[0].this, relation, binder, descending=descending)
    stream = relation.stream if not keys else binder.step(window, lambda: relation.stream.group_by(*keys))
    options: dict[str, Any] = {} if descending else {"descending": False}
    if name == "row_number":
        options["ties"] = False
    top = binder.step(window, lambda: stream.top_k(bound, by, rank="_rank", **options))
    return relation.after(top.ungroup()), rest


def _bound(node: Any, window: Any) -> int | None:
    """The number of rows that a condition keeps: number <= n, number < n or number = 1."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.LTE | exp.LT | exp.EQ) or node.this != window:
        return None
    value = node.expression
    if not isinstance(value, exp.Literal) or not value.this.isdigit():
        return None
    most = int(value.this) - (1 if isinstance(node, exp.LT) else 0)
    return most if most >= 1 and (most == 1 or not isinstance(node, exp.EQ)) else None


def _nulls_last(by: Expr, node: Any, relation: SqlRelation, binder: Binder, *, descending: bool) -> Expr:
    """The order with nulls after all values, as SQL has it; top-k leaves nulls out."""
    type_ = NameScope(binder, relation).type_of(by, node)
    if pa.types.is_timestamp(type_):
        by, type_ = by.cast(pa.int64()), pa.int64()
    if pa.types.is_signed_integer(type_):
        return by.cast(pa.int64()).fill_null(-_LARGEST if descending else _LARGEST)
    if pa.types.is_floating(type_):
        return by.fill_null(float("-inf") if descending else float("inf"))
    raise binder.text.error(f"Numbers need an order by a number or a time, got {type_}.", node,
                            "Order by a number or a time.")


def _partition(window: Any, relation: SqlRelation, binder: Binder, name: str) -> list[str]:
    """The keys of OVER; rows of a window need its time among them."""
    keys = []
    for each in window.args.get("partition_by") or []:
        if not isinstance(each, exp.Column):
            raise binder.text.error("PARTITION BY needs columns.", each, "Compute the column in a subquery.")
        keys.append(NameScope(binder, relation).find(each).column)
    timed = relation.lives != "instant" and bool(set(keys) & set(relation.times))
    if relation.needs_epoch and not timed:
        what, hint = refusal("unbounded numbers", name=name)
        raise binder.text.error(what, window, hint)
    return list(dict.fromkeys(keys))


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
    keys = _keys(window, relation, binder)
    rows = _frame(window, relation, binder)
    column: dict[str, Any] = {name: aggregate(function, inner)}
    by = rows if not keys else binder.step(window, lambda: rows.group_by(*keys))
    made = binder.step(window, lambda: by.aggregate(**column))
    if not keys:
        return binder.step(window, lambda: relation.stream.cross_join(made))
    return binder.step(window, lambda: relation.stream.join(made, keys, nulls_equal=True))


def _keys(window: Any, relation: SqlRelation, binder: Binder) -> list[str]:
    scope = NameScope(binder, relation)
    keys = []
    for each in window.args.get("partition_by") or []:
        if not isinstance(each, exp.Column):
            raise binder.text.error("PARTITION BY needs columns.", each, "Compute the column in a subquery.")
        keys.append(scope.find(each).column)
    return list(dict.fromkeys(keys))


def _frame(window: Any, relation: SqlRelation, binder: Binder) -> Stream:
    """The rows that each frame holds, for as long as they are in it."""
    spec, order = window.args.get("spec"), window.args.get("order")
    counted = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    if spec is not None and not counted and str(spec.args.get("kind")).upper() != "RANGE":
        raise binder.text.error("A frame is RANGE or ROWS.", window, "Use RANGE for times, or ROWS for counts.")
    if order is None:
        if counted:
            raise binder.text.error(*_at("rows frame", window))
        if relation.needs_epoch and not set(_keys(window, relation, binder)) & set(relation.times):
            what, hint = refusal("endless aggregate", **epoch_hint(relation))
            raise binder.text.error(what, window, hint)
        return relation.stream
    column = order.expressions[0].this
    found = matching(relation, column.name, column.table) if isinstance(column, exp.Column) else []
    step = relation.times.get(found[0].column) if found else None
    timed = step == 1 if relation.lives == "instant" else counted and relation.lives == "window" and step is not None
    if not timed or len(order.expressions) != 1 or order.expressions[0].args.get("desc"):
        ordered = ", ".join(relation.ordered()) or "nothing"
        raise binder.text.error("ORDER BY in OVER needs the event time of a stream, ascending.", order,
                                f"Use the ordered attribute: {ordered}.")
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
    if isinstance(start, exp.Interval) and unit is not None and spec.args.get("start_side") == "PRECEDING":
        ticks = int(duration_ticks(duration(start, binder.text), unit))
    elif isinstance(start, exp.Literal) and start.this.isdigit() and unit is None and (
            spec.args.get("start_side") == "PRECEDING"):
        ticks = int(start.this)
    elif start == "CURRENT ROW":
        ticks = 0
    else:
        raise binder.text.error("A frame needs a literal duration before the current row.", window,
                                "Use RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW.")
    return binder.step(window, lambda: relation.stream.set_duration(ticks + 1))


def _last_rows(window: Any, start: Any, relation: SqlRelation, binder: Binder) -> Stream:
    """The current row and a number of rows before it."""
    number = "0" if start == "CURRENT ROW" else start.this if isinstance(start, exp.Literal) else ""
    if not number.isdigit() or (start != "CURRENT ROW" and window.args["spec"].args.get("start_side") != "PRECEDING"):
        raise binder.text.error("A frame of ROWS needs a literal number of rows before the current row.", window,
                                "Use ROWS BETWEEN 9 PRECEDING AND CURRENT ROW.")
    keys = _keys(window, relation, binder)
    by = relation.stream if not keys else binder.step(window, lambda: relation.stream.group_by(*keys))
    last = binder.step(window, lambda: by.last_rows(int(number) + 1))
    return last.ungroup()


def _lag(window: Any, name: str, relation: SqlRelation, binder: Binder) -> Stream:
    """The value of the latest earlier row of the key; rows of one time have the same earlier row."""
    function = window.this
    offset = function.args.get("offset")
    if offset is not None and offset.this != "1":
        raise binder.text.error("LAG looks one row back.", window, "Use an offset of 1.")
    if window.args.get("spec") is not None:
        raise binder.text.error("LAG has no frame.", window, "Leave the frame out.")
    if window.args.get("order") is None:
        raise binder.text.error("LAG needs ORDER BY the event time.", window, "Add ORDER BY in OVER.")
    _frame(window, relation, binder)
    keys = _keys(window, relation, binder)
    value = scalar(function.this, NameScope(binder, relation))
    kept: dict[str, Expr] = {key: Col(key) for key in keys}
    before = binder.step(window, lambda: relation.stream.select(**kept, **{name: value}))
    options: dict[str, Any] = {"on": keys, "nulls_equal": True} if keys else {}
    stream = binder.step(window, lambda: relation.stream.asof_join(before, strict=True, **options))
    default = function.args.get("default")
    if default is None:
        return stream
    filled = Col(name).fill_null(scalar(default, NameScope(binder, relation)))
    return binder.step(window, lambda: stream.with_columns(**{name: filled}))


def _at(kind: str, node: Any) -> tuple[str, Any, str]:
    what, hint = refusal(kind)
    return what, node, hint


def numbers_outside(select: Any, where: list[Any]) -> list[Any]:
    """Move conditions on a number of a subquery into it: ``WHERE rn <= n`` outside is QUALIFY inside."""
    source = select.args["from_"].this
    inner = source.this if isinstance(source, exp.Subquery) else None
    if not isinstance(inner, exp.Select) or select.args.get("joins"):
        return where
    named = {each.alias: each.this for each in inner.expressions
             if isinstance(each, exp.Alias) and isinstance(each.this, exp.Window)
             and isinstance(each.this.this, NUMBERS)}
    rest = []
    read = {column.name for part in select.expressions for column in part.find_all(exp.Column)}
    starred = any(part.find(exp.Star) is not None for part in select.expressions)
    for each in where:
        column = each.this if isinstance(each, exp.LTE | exp.LT | exp.EQ) else None
        if isinstance(column, exp.Column) and column.name in named and isinstance(each.expression, exp.Literal):
            bound = type(each)(this=named[column.name].copy(), expression=each.expression.copy())
            known = inner.args.get("qualify")
            inner.set("qualify", exp.Qualify(this=bound if known is None else exp.And(
                this=known.this, expression=bound)))
            if column.name not in read and not starred:
                inner.set("expressions", [part for part in inner.expressions if part.alias != column.name])
        else:
            rest.append(each)
    return rest
