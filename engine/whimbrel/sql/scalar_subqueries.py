"""Bind subqueries that are one value, for each row outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from sqlglot import exp

from whimbrel.errors import SqlError
from whimbrel.expr import Col, Expr, Lit, type_of
from whimbrel.sql.aggregates import has_aggregate, is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.common_types import common_type
from whimbrel.sql.from_clause import from_clause
from whimbrel.sql.join_conditions import conjuncts
from whimbrel.sql.joins import lookahead_option
from whimbrel.sql.quantified_predicates import OUTER, counts_of, is_quantified
from whimbrel.sql.relation import SqlColumn, SqlRelation, relation_of
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.values import one_row

Query = Callable[[Any, Binder], SqlRelation]

VALUES: Final = "(values)"
"""The table of the columns that hold values of subqueries."""

_COUNTS: Final = (exp.Count, exp.CountIf, exp.ApproxDistinct)


def values_of(relation: SqlRelation, nodes: list[Any], binder: Binder,
              query: Query) -> tuple[SqlRelation, list[Any]]:
    """The relation with a column for each subquery in some expressions, and the expressions over these columns."""
    made = []
    for node in nodes:
        new = node
        if node.find(exp.Query) is not None:
            relation, new = _replaced(node, relation, binder, query)
        made.append(new)
    return relation, made


def _replaced(node: Any, relation: SqlRelation, binder: Binder, query: Query) -> tuple[SqlRelation, Any]:
    """An expression without its subqueries."""
    if is_quantified(node):
        return _replaced(counts_of(node, relation, binder, query), relation, binder, query)
    if isinstance(node, exp.Query):
        return _value(node, relation, binder, query)
    copy = node.copy()
    for key, given in node.args.items():
        if isinstance(given, exp.Expression) and (is_quantified(given) or given.find(exp.Query) is not None):
            relation, new = _replaced(given, relation, binder, query)
            copy.set(key, new)
        elif isinstance(given, list):
            parts = []
            for each in given:
                part = each
                if isinstance(each, exp.Expression) and each.find(exp.Query) is not None:
                    relation, part = _replaced(each, relation, binder, query)
                parts.append(part.copy() if isinstance(part, exp.Expression) else part)
            copy.set(key, parts)
    return relation, copy


@dataclass(frozen=True)
class _Correlation:
    """What a subquery names of the rows outside.

    Parameters
    ----------
    equal : list of (node, node)
        Expressions inside and outside that are equal.
    rest : list
        The other conditions of the subquery.
    outer : list of str
        Columns of the rows outside that other parts name.
    """

    equal: list[tuple[Any, Any]]
    rest: list[Any]
    outer: list[str]


def _value(node: Any, relation: SqlRelation, binder: Binder, query: Query) -> tuple[SqlRelation, Any]:
    """The column of a subquery that is one value."""
    select = node.this if isinstance(node, exp.Subquery) else node
    if isinstance(select, exp.Select) and select.args.get("from_") is None and len(select.expressions) == 1 and (
            not has_aggregate(select.expressions[0], NameScope(binder, relation))
            and not any(select.args.get(key) for key in ("where", "group", "having", "with_"))):
        inner = exp.Paren(this=select.expressions[0].unalias().copy())
        return values_of_one(relation, inner, binder, query)
    if not _is_one_row(select, binder):
        raise binder.text.error("A subquery as a value must be an aggregate without GROUP BY.", node,
                                "Use max or any_value, or EXISTS and IN as conditions.")
    found = _correlation(select, relation, binder, query)
    number = sum(column.source == VALUES for column in relation.columns) + 1
    name, mark = f"_value{number}", f"_found{number}"
    if not found.equal and not found.outer:
        value = query(select, binder)
        _check_lasting(value, node, binder)
        columns: dict[str, Expr] = {name: Col(value.columns[0].column)} | ({} if value.table else {mark: Lit(True)})
        one = binder.step(node, lambda: value.stream.select(**columns))
        stream = binder.step(node, lambda: relation.stream.cross_join(
            one, how="left", **lookahead_option(relation, value)))
        widened = replace(relation, stream=stream, columns=(*relation.columns, SqlColumn(name, VALUES, name), *(
            () if value.table else (SqlColumn(mark, VALUES, mark),))))
        return widened, _column(name) if value.table else _or_of_nothing(select, name, mark, relation, binder)
    if found.outer:
        if relation.needs_epoch:
            raise binder.text.error("A subquery for each row of a stream needs equal columns alone.", node,
                                    "Compare with =, or use HOLD or SLIDE.")
        value, keys = _for_each(select, found, relation, number, binder, query)
    else:
        value = query(_by_keys(select, found), binder)
        keys = [scalar(outer, NameScope(binder, relation)) for _, outer in found.equal]
    _check_lasting(value, node, binder)
    stream = _looked_up(relation, value, keys, (name, mark), binder, node, nulls_equal=bool(found.outer))
    columns_ = (*relation.columns, SqlColumn(name, VALUES, name), SqlColumn(mark, VALUES, mark))
    return replace(relation, stream=stream, columns=columns_), _or_of_nothing(select, name, mark, relation, binder)


def values_of_one(relation: SqlRelation, node: Any, binder: Binder, query: Query) -> tuple[SqlRelation, Any]:
    """The relation and the expression of one node."""
    relation, [made] = values_of(relation, [_from_outside(node, relation)], binder, query)
    return relation, made


def _check_lasting(value: SqlRelation, node: Any, binder: Binder) -> None:
    if value.lives not in ("always", "lasting"):
        raise binder.text.error("A subquery as a value needs a table, or HOLD or SLIDE.", node,
                                "Join with the query instead.")


def _is_one_row(node: Any, binder: Binder) -> bool:
    if not isinstance(node, exp.Select) or node.args.get("group") is not None or len(node.expressions) != 1:
        return False
    if node.args.get("having") is not None:
        return False
    scope = NameScope(binder, one_row(binder))
    return node.args.get("from_") is None or has_aggregate(node.expressions[0].unalias(), scope)


def _column(name: str) -> Any:
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(VALUES, quoted=True))


def _or_of_nothing(select: Any, name: str, mark: str, relation: SqlRelation, binder: Binder) -> Any:
    """The value, or where no row inside belongs to a row outside that of an aggregate of nothing."""
    scope = NameScope(binder, relation)

    def emptied(part: Any) -> Any:
        if isinstance(part, exp.Filter) or is_aggregate(part, scope):
            inner = part.this if isinstance(part, exp.Filter) else part
            return exp.Literal.number("0") if isinstance(inner, _COUNTS) else exp.Null()
        return part

    nothing = _from_outside(select.expressions[0].unalias().copy().transform(emptied), relation)
    if isinstance(nothing, exp.Null):
        return _column(name)
    missing = exp.Is(this=_column(mark), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=missing, true=nothing)], default=_column(name))


def _from_outside(node: Any, relation: SqlRelation) -> Any:
    """An expression whose marked columns have the names that they have outside."""
    names = {column.column: column for column in relation.columns}

    def named(part: Any) -> Any:
        if not (isinstance(part, exp.Column) and part.table == OUTER):
            return part
        column = names[part.name]
        return exp.Column(this=exp.to_identifier(column.name, quoted=True),
                          table=exp.to_identifier(column.source, quoted=True) if column.source else None)

    return node.transform(named)


def _correlation(select: Any, relation: SqlRelation, binder: Binder, query: Query) -> _Correlation:
    """Find the columns of the rows outside in a subquery."""
    if select.args.get("from_") is None or select.args.get("with_") is not None:
        return _Correlation([], [], [])
    inner, _ = from_clause(select, [], binder, query)
    where = conjuncts(select.args["where"].this) if select.args.get("where") is not None else []
    equal: list[tuple[Any, Any]] = []
    rest: list[Any] = []
    outer: dict[str, None] = {}
    for each in where:
        pair = _equality(each, select, inner, relation, binder, query)
        if pair is not None:
            equal.append(pair)
        else:
            rest.append(each)
            outer |= dict.fromkeys(_outer_columns(each, select, inner, relation, binder, query))
    outer |= dict.fromkeys(_outer_columns(select.expressions[0], select, inner, relation, binder, query))
    return _Correlation(equal, rest, list(outer))


def _equality(node: Any, select: Any, inner: SqlRelation, relation: SqlRelation, binder: Binder,
              query: Query) -> tuple[Any, Any] | None:
    """The expressions inside and outside that a condition makes equal, if it is nothing else."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.EQ) or node.find(exp.Query) is not None:
        return None
    sides = []
    for each in (node.this, node.expression):
        columns = list(each.find_all(exp.Column))
        outside = [_is_outer(column, select, inner, relation, binder, query) for column in columns]
        sides.append("in" if columns and not any(outside) else "out" if columns and all(outside) else "")
    if sides == ["in", "out"]:
        return node.this, _from_outside(node.expression.copy(), relation)
    if sides == ["out", "in"]:
        return node.expression, _from_outside(node.this.copy(), relation)
    return None


def _outer_columns(node: Any, select: Any, inner: SqlRelation, relation: SqlRelation, binder: Binder,
                   query: Query) -> list[str]:
    """Columns of the stream outside that an expression of a subquery names."""
    found = []
    for column in node.find_all(exp.Column):
        if column.table == OUTER:
            found.append(column.name)
        elif _is_outer(column, select, inner, relation, binder, query):
            found.append(matching(relation, column.name, column.table)[0].column)
    return found


def _is_outer(column: Any, select: Any, inner: SqlRelation, relation: SqlRelation, binder: Binder,
              query: Query) -> bool:
    """Whether a column is of the rows outside: no query around it up to the subquery has it."""
    if column.table == OUTER:
        return True
    if not matching(relation, column.name, column.table) or matching(inner, column.name, column.table):
        return False
    around = column.find_ancestor(exp.Select)
    while around is not None and around is not select:
        if around.args.get("from_") is not None:
            try:
                nested, _ = from_clause(around, [], binder, query)
            except SqlError:
                return False
            if matching(nested, column.name, column.table):
                return False
        around = around.find_ancestor(exp.Select)
    return True


def _by_keys(select: Any, found: _Correlation) -> Any:
    """The subquery for all values of the keys that it compares."""
    made = select.copy()
    keys = [inside.copy() for inside, _ in found.equal]
    made.set("expressions", [*(exp.alias_(key.copy(), f"_key{number}", quoted=True) for number, key in enumerate(keys)),
                             exp.alias_(select.expressions[0].unalias().copy(), "_value", quoted=True)])
    made.set("where", exp.Where(this=exp.and_(*found.rest)) if found.rest else None)
    made.set("group", exp.Group(expressions=keys))
    return made


def _for_each(select: Any, found: _Correlation, relation: SqlRelation, number: int, binder: Binder,
              query: Query) -> tuple[SqlRelation, list[Expr]]:
    """The subquery joined with the different values outside that it names, grouped by them."""
    columns = list(dict.fromkeys([*found.outer, *(column for _, outer in found.equal
                                                  for column in _named(outer, relation))]))
    view = f"(outer {number})"
    names = {column: f"{column} of {view}" for column in columns}
    kept: dict[str, Expr] = {names[column]: Col(column) for column in columns}
    outside = binder.step(select, lambda: relation.stream.select(**kept).distinct())
    inside = replace(relation_of(outside, view), lives=relation.lives)
    inner, _ = from_clause(select, [], binder, query)

    def replaced(column: Any) -> Any:
        if not isinstance(column, exp.Column):
            return column
        if column.table == OUTER:
            name = column.name
        elif id(column) in outer:
            name = outer[id(column)]
        else:
            return column
        return exp.Column(this=exp.to_identifier(names[name], quoted=True), table=exp.to_identifier(view, quoted=True))

    made = select.copy()
    outer = {id(column): matching(relation, column.name, column.table)[0].column
             for part in (made.args.get("where"), made.expressions[0]) if part is not None
             for column in part.find_all(exp.Column)
             if column.table != OUTER and _is_outer(column, made, inner, relation, binder, query)}
    for part in (made.args.get("where"), made.expressions[0]):
        if part is not None:
            part.transform(replaced, copy=False)
    keys = [exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(view, quoted=True))
            for name in names.values()]
    made.set("expressions", [*(exp.alias_(key.copy(), f"_key{place}", quoted=True) for place, key in enumerate(keys)),
                             exp.alias_(made.expressions[0].unalias(), "_value", quoted=True)])
    made.set("group", exp.Group(expressions=keys))
    join = exp.Join(this=exp.Table(this=exp.to_identifier(view, quoted=True)))
    join.meta["comma"] = True
    made.append("joins", join)
    return query(made, binder.with_view(view, inside)), [Col(name) for name in columns]


def _named(node: Any, relation: SqlRelation) -> list[str]:
    return [matching(relation, column.name, column.table)[0].column for column in node.find_all(exp.Column)]


def _looked_up(relation: SqlRelation, value: SqlRelation, keys: list[Expr], names: tuple[str, str], binder: Binder,
               node: Any, *, nulls_equal: bool) -> Any:
    """The rows outside with the value of their keys, and a mark where there is one."""
    own, inside = relation.stream, [column.column for column in value.columns]
    on = {f"_key{place}{names[0]}": place for place in range(len(keys))}
    mine: dict[str, Expr] = {}
    theirs: dict[str, Expr] = {}
    for name, place in on.items():
        types = type_of(keys[place], own.schema), value.stream.schema.type_of(inside[place])
        common = common_type(*types)
        if common is None:
            raise binder.text.error(f"Values of {types[0]} and {types[1]} cannot be compared.", node, "Cast one side.")
        mine[name] = keys[place] if types[0] == common else keys[place].cast(common)
        theirs[name] = Col(inside[place]) if types[1] == common else Col(inside[place]).cast(common)
    right = binder.step(node, lambda: value.stream.select(
        **theirs, **{names[0]: Col(inside[-1]), names[1]: Lit(True)}))
    left = binder.step(node, lambda: own.with_columns(**mine))
    joined = binder.step(node, partial(left.join, right, list(on), how="left", nulls_equal=nulls_equal,
                                       **lookahead_option(relation, value)))
    kept: dict[str, Expr] = {name: Col(name) for name in (*own.schema.names, *names)}
    return binder.step(node, lambda: joined.select(**kept))
