"""Bind row_number and rank, and the conditions that bound them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.expr import Col, Expr, lit
from whimbrel.sql.binder import Binder
from whimbrel.sql.epochs import epoch_of
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope
from whimbrel.stream import Stream

NUMBERS: Final = (exp.RowNumber, exp.Rank)
RANK: Final = "_rank"
"""The column of the number."""

_LARGEST: Final = 2**63 - 1
_NOTHING: Final = (((pa.types.is_integer,), 0), ((pa.types.is_floating,), 0.0), ((pa.types.is_boolean,), False),
                   ((pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view), ""))
"""Values in place of nulls, by the test of their type."""


def numbered(window: Any, conditions: list[Any], relation: SqlRelation,
             binder: Binder) -> tuple[SqlRelation, list[Any]]:
    """The relation with a number for each row, and the conditions that are left.

    Rows of a window, an epoch, a table and HOLD are ranked in their snapshots. Rows of a stream in the order of its
    time are counted. In another order those of each key are ranked among all so far, which needs a bound.
    """
    name = "row_number" if isinstance(window.this, exp.RowNumber) else "rank"
    bound, rest = None, []
    for each in conditions:
        most = _bound(each, window)
        if most is None or bound is not None:
            rest.append(each)
        else:
            bound = most
    order = window.args.get("order")
    if order is None:
        raise binder.text.error(f"{name}() needs ORDER BY.", window, "Add ORDER BY and an expression.")
    keys = partition_keys(window, relation, binder)
    first = order.expressions[0]
    by_time = _is_time(scalar(first.this, NameScope(binder, relation)), relation) and not first.args.get("desc")
    relation = _in_epoch(window, relation, binder)
    complete = relation.table or _in_one_window(keys, relation)
    if relation.lives == "instant" and not complete and by_time:
        return relation.after(counted(window, name, bound, order.expressions, keys, relation, binder)), rest
    if relation.lives == "window" and not complete:
        what, hint = refusal("numbers across windows", name=name)
        raise binder.text.error(what, window, hint)
    if bound is None and not complete:
        what, hint = refusal("unbounded numbers", name=name)
        raise binder.text.error(what, window, hint)
    by, options = _order(order.expressions, relation, binder)
    stream = relation.stream
    if relation.lives == "instant" and not complete:
        stream = binder.step(window, lambda: relation.stream.set_duration(None))
    by_key = stream if not keys else binder.step(window, lambda: stream.group_by(*keys))
    if name == "row_number":
        options["ties"] = False
    top = binder.step(window, lambda: by_key.top_k(bound or _LARGEST, by, rank=RANK, **options)).ungroup()
    if complete:
        return relation.after(top), rest
    return replace(relation, stream=top, times={}, lives="lasting"), rest


def _in_epoch(window: Any, relation: SqlRelation, binder: Binder) -> SqlRelation:
    """Rows of a stream in the windows of an epoch among the keys."""
    scope = NameScope(binder, relation)
    epochs = [epoch for each in window.args.get("partition_by") or [] if (epoch := epoch_of(each, scope)) is not None]
    if relation.lives != "instant" or not epochs:
        return relation
    finest = min(epochs, key=lambda epoch: epoch.size_ticks)
    if finest.size_ticks == 1:
        return relation
    stream = binder.step(window, lambda: relation.stream.tumbling_window(finest.size))
    times = {name: divisor for name, divisor in relation.times.items() if divisor % finest.size_ticks == 0}
    if finest.rounds:
        times[scope.find(finest.column).column] = 1
    return replace(relation, stream=stream, times=times, lives="window", step_ticks=finest.size_ticks)


def partition_keys(window: Any, relation: SqlRelation, binder: Binder) -> list[str]:
    """The columns of PARTITION BY."""
    scope = NameScope(binder, relation)
    keys = []
    for each in window.args.get("partition_by") or []:
        if not isinstance(each, exp.Column):
            raise binder.text.error("PARTITION BY needs columns.", each, "Compute the column in a subquery.")
        keys.append(scope.find(each).column)
    return list(dict.fromkeys(keys))


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


def _is_time(by: Expr, relation: SqlRelation) -> bool:
    return isinstance(by, Col) and relation.times.get(by.name) == 1


def _in_one_window(keys: list[str], relation: SqlRelation) -> bool:
    """Whether equal keys are of one window: one of them is a bound, or changes with each window."""
    return relation.lives in ("instant", "window") and (relation.in_one_window(keys) or any(
        0 < relation.times.get(key, 0) <= max(relation.step_ticks, 1) for key in keys))


def counted(window: Any, name: str, bound: int | None, ordered: list[Any], keys: list[str], relation: SqlRelation,
             binder: Binder) -> Stream:
    """Rows with the number of rows of their key before them; of one time, the other orders and columns decide."""
    stream = relation.stream
    by_key = stream if not keys else binder.step(window, lambda: stream.group_by(*keys))
    if name == "row_number" or len(ordered) > 1:
        others = [part for each in ordered[1:] for part in _values(each, relation, binder)]
        time = scalar(ordered[0].this, NameScope(binder, relation))
        by: Any = [time, *(value for value, _ in others)] if others else time
        options_: dict[str, Any] = {"descending": [False, *(falls for _, falls in others)] if others else False}
        if name == "row_number":
            options_["ties"] = False
        rows = binder.step(window, lambda: by_key.top_k(bound or _LARGEST, by, **options_, rank=RANK)).ungroup()
    else:
        rows = binder.step(window, lambda: stream.with_columns(**{RANK: lit(1)}))
    so_far = binder.step(window, lambda: stream.set_duration(None))
    held = so_far if not keys else binder.step(window, lambda: so_far.group_by(*keys))
    before = binder.step(window, lambda: held.aggregate(_before=wb.count()))
    options: dict[str, Any] = {"on": keys, "nulls_equal": True} if keys else {}
    both = binder.step(window, lambda: rows.asof_join(before, strict=True, **options))
    columns: dict[str, Expr] = {each: Col(each) for each in stream.schema.names}
    number = Col(RANK) + Col("_before").fill_null(0)
    made = binder.step(window, lambda: both.select(**columns, **{RANK: number}))
    return made if bound is None else binder.step(window, lambda: made.where(Col(RANK) <= bound))


def _order(ordered: list[Any], relation: SqlRelation, binder: Binder) -> tuple[Any, dict[str, Any]]:
    """The order of ``top_k``: its values, with nulls where SQL has them, and the option `descending`."""
    parts = [part for each in ordered for part in _values(each, relation, binder)]
    values, down = [value for value, _ in parts], [falls for _, falls in parts]
    if len(values) == 1:
        return values[0], {} if down[0] else {"descending": False}
    return values, {"descending": down}


def _values(ordered: Any, relation: SqlRelation, binder: Binder) -> list[tuple[Expr, bool]]:
    """One expression of ORDER BY as values without nulls; ``top_k`` leaves nulls out."""
    descending, first = (bool(ordered.args.get(key)) for key in ("desc", "nulls_first"))
    scope = NameScope(binder, relation)
    by = scalar(ordered.this, scope)
    type_ = scope.type_of(by, ordered.this)
    if pa.types.is_timestamp(type_):
        by, type_ = by.cast(pa.int64()), pa.int64()
    nothing: Any = next((value for kinds, value in _NOTHING if any(kind(type_) for kind in kinds)), None)
    if nothing is None:
        raise binder.text.error(f"Numbers need an order by a number, a text or a time, got {type_}.", ordered.this,
                                "Order by a number, a text or a time.")
    return [(by.is_null(), first), (by.fill_null(nothing), descending)]
