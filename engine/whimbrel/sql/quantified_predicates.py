"""EXISTS, IN, ANY and ALL as values, from counts of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp

from whimbrel.sql.aggregates import has_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scope import NameScope, matching

Query = Callable[[Any, Binder], SqlRelation]

OUTER: Final = "(outer)"
"""The table of columns that are named from outside; they have their names in the stream."""

_NEGATED: Final = {exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.LTE: exp.GT, exp.GT: exp.LTE,
                   exp.GTE: exp.LT}


def is_quantified(node: Any) -> bool:
    """Whether a node is EXISTS, IN, ANY or ALL of a subquery."""
    match node:
        case exp.Exists():
            return True
        case exp.In():
            return node.args.get("query") is not None
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return isinstance(node.expression, exp.Any | exp.All) and node.expression.find(exp.Query) is not None
        case _:
            return False


def counts_of(node: Any, relation: SqlRelation, binder: Binder, query: Query) -> Any:
    """The same truth value from counts of rows."""
    if isinstance(node, exp.Exists):
        select = _select(node.this)
        if _is_bare_aggregate(select, relation, binder):
            return exp.Boolean(this=True)
        return _positive(_counted(select, relation, binder))
    if isinstance(node, exp.In):
        return _any(node.this, exp.EQ, _select(node.args["query"]), relation, binder, query)
    kind, select = type(node), _select(node.expression.this)
    if isinstance(node.expression, exp.Any):
        return _any(node.this, kind, select, relation, binder, query)
    return exp.Not(this=exp.Paren(this=_any(node.this, _NEGATED[kind], select, relation, binder, query)))


def marked(node: Any, relation: SqlRelation) -> Any:
    """A copy whose columns say that they are of the rows outside."""
    node = node.copy()
    for column in list(node.find_all(exp.Column)):
        found = matching(relation, column.name, column.table)
        if len({each.column for each in found}) == 1 and column.find_ancestor(exp.Query) is None:
            column.set("this", exp.to_identifier(found[0].column, quoted=True))
            column.set("table", exp.to_identifier(OUTER, quoted=True))
    return node


def _select(node: Any) -> Any:
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.this
    return node


def _any(value: Any, kind: Any, select: Any, relation: SqlRelation, binder: Binder,
         query: Query) -> Any:
    """Whether a comparison is true for a row: null if it is for none, and the value or that of a row is null."""
    values = value.expressions if isinstance(value, exp.Tuple) else [value]
    if column_count(select, binder, query) != len(values):
        what = "one column" if len(values) == 1 else f"{len(values)} columns"
        raise binder.text.error(f"IN needs a subquery of {what}.", select, f"Select {what}.")
    mine = [marked(each, relation) for each in values]

    def compared(items: list[Any]) -> Any:
        pairs = zip(mine, items, strict=True)
        return exp.and_(*(kind(this=one.copy(), expression=other.copy()) for one, other in pairs))

    def unknown(items: list[Any]) -> Any:
        if len(items) == 1:
            return exp.Is(this=items[0].copy(), expression=exp.Null())
        return exp.Is(this=exp.Paren(this=compared(items)), expression=exp.Null())

    found = _positive(_counted(select, relation, binder, compared, len(values)))
    nulls = _positive(_counted(select, relation, binder, unknown, len(values)))
    if len(values) == 1:
        missing = exp.And(this=exp.Is(this=value.copy(), expression=exp.Null()),
                          expression=_positive(_counted(select, relation, binder)))
        nulls = exp.Or(this=nulls, expression=exp.Paren(this=missing))
    return exp.Case(ifs=[exp.If(this=found, true=exp.Boolean(this=True)),
                         exp.If(this=nulls, true=exp.cast(exp.Null(), "boolean"))], default=exp.Boolean(this=False))


def column_count(select: Any, binder: Binder, query: Query) -> int:
    """The number of columns of a query."""
    if isinstance(select, exp.Select) and not any(each.is_star for each in select.expressions):
        return len(select.expressions)
    return len(query(select, binder).columns)


def _positive(query: Any) -> Any:
    return exp.GT(this=exp.Subquery(this=query), expression=exp.Literal.number("0"))


def _counted(select: Any, relation: SqlRelation, binder: Binder, condition: Any = None, width: int = 1) -> Any:
    """How many rows a query has, or how many meet a condition on its columns."""
    count = exp.Count(this=exp.Star())
    if _is_simple(select, relation, binder):
        made = select.copy()
        items = [each.unalias() for each in made.expressions]
        made.set("expressions", [count])
        if condition is not None:
            more = exp.Paren(this=condition(items))
            where = made.args.get("where")
            made.set("where", exp.Where(this=more if where is None else exp.And(
                this=exp.Paren(this=where.this), expression=more)))
        return made
    names = [f"v{number}" for number in range(width)]
    alias = exp.TableAlias(this=exp.to_identifier("(list)", quoted=True),
                           columns=[exp.to_identifier(name) for name in names] if condition is not None else None)
    made = exp.Select(expressions=[count], from_=exp.From(this=exp.Subquery(this=select.copy(), alias=alias)))
    if condition is not None:
        made.set("where", exp.Where(this=condition([
            exp.Column(this=exp.to_identifier(name), table=exp.to_identifier("(list)", quoted=True))
            for name in names])))
    return made


def _is_simple(select: Any, relation: SqlRelation, binder: Binder) -> bool:
    """Whether each row of FROM that meets WHERE is a row of the query."""
    others = ("group", "having", "qualify", "limit", "offset", "with_", "distinct")
    return isinstance(select, exp.Select) and select.args.get("from_") is not None and (
        not any(select.args.get(key) for key in others)) and not (
        any(each.is_star or has_aggregate(each, NameScope(binder, relation)) for each in select.expressions)) and (
        select.find(exp.Window) is None)


def _is_bare_aggregate(select: Any, relation: SqlRelation, binder: Binder) -> bool:
    """Whether a query has one row whatever its table has."""
    return isinstance(select, exp.Select) and not any(
        select.args.get(key) for key in ("group", "having", "limit", "offset")) and any(
        has_aggregate(each, NameScope(binder, relation)) for each in select.expressions)
