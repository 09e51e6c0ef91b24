"""Bind PIVOT and UNPIVOT of a table in FROM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlglot import exp

from whimbrel.expr import Col, Expr
from whimbrel.sql.binder import Binder
from whimbrel.sql.common_types import common_type
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.scope import NameScope

Query = Callable[[Any, Binder], SqlRelation]

_ROWS: Final = "(rows)"


def pivoted(relation: SqlRelation, pivots: list[Any], binder: Binder, query: Query) -> SqlRelation:
    """The relation after PIVOT or UNPIVOT, under its alias."""
    for pivot in pivots:
        if len(pivot.args["fields"]) != 1 or not isinstance(pivot.args["fields"][0], exp.In):
            raise binder.text.error("PIVOT needs one column and its values.", pivot, "Use FOR k IN ('a', 'b').")
        if pivot.args.get("include_nulls"):
            raise binder.text.error("UNPIVOT leaves nulls out.", pivot, "Replace nulls with coalesce first.")
        made = _rows if pivot.args.get("unpivot") else _columns
        relation = made(relation, pivot, binder, query)
        alias = pivot.args.get("alias")
        relation = relation.named(alias.name if alias is not None and alias.name else "")
    return relation


def pivot_statement(node: Any, relation: SqlRelation, binder: Binder, query: Query) -> SqlRelation:
    """The relation of PIVOT or UNPIVOT as a statement."""
    if node.args.get("unpivot"):
        into = node.args.get("into")
        if into is not None and not (isinstance(into.this, exp.Column) and into.expressions):
            raise binder.text.error("INTO needs NAME and VALUE.", node, "Use INTO NAME n VALUE v.")
        name = exp.column("name") if into is None else into.this
        values = [exp.column("value")] if into is None else into.expressions
        listed = exp.In(this=name.copy(), expressions=[each.copy() for each in node.expressions])
        made = exp.Pivot(fields=[listed], expressions=[each.copy() for each in values], unpivot=True)
    else:
        [first, *others] = node.expressions or [None]
        if others or not isinstance(first, exp.In) or not first.expressions or not node.args.get("using"):
            what, hint = refusal("pivot statement")
            raise binder.text.error(what, node, hint)
        made = exp.Pivot(fields=[first.copy()], expressions=[each.copy() for each in node.args["using"]],
                         group=node.args.get("group"))
    return pivoted(relation, [made], binder, query)


def _columns(relation: SqlRelation, pivot: Any, binder: Binder, query: Query) -> SqlRelation:
    """One column for each value and aggregate, grouped by all other columns."""
    field = pivot.args["fields"][0]
    used = {column.name.lower() for part in (field.this, *pivot.expressions) for column in part.find_all(exp.Column)}
    if pivot.args.get("group") is not None:
        keys = list(pivot.args["group"].expressions)
    else:
        keys = [_named(column) for column in relation.columns if column.name.lower() not in used]
    for measure in pivot.expressions:
        if not isinstance(measure.unalias(), exp.Func | exp.Filter):
            raise binder.text.error("PIVOT needs aggregates.", measure, "Use an aggregate, such as sum(x).")
    items = [key.copy() for key in keys]
    for value in field.expressions:
        literal = value.this if isinstance(value, exp.PivotAlias) else value
        label = value.args["alias"].name if isinstance(value, exp.PivotAlias) else _label(literal, binder)
        compared = exp.NullSafeEQ if isinstance(literal, exp.Null) else exp.EQ
        for measure in pivot.expressions:
            where = exp.Where(this=compared(this=field.this.copy(), expression=literal.copy()))
            call = exp.Filter(this=measure.unalias().copy(), expression=where)
            several = measure.alias or (measure.sql_name().lower() if len(pivot.expressions) > 1 else "")
            items.append(exp.alias_(call, f"{label}_{several}" if several else label, quoted=True))
    table = exp.Table(this=exp.to_identifier(_ROWS, quoted=True))
    select = exp.Select(expressions=items, from_=exp.From(this=table))
    if keys:
        select.set("group", exp.Group(expressions=keys))
    return query(select, binder.with_view(_ROWS, relation))


def _label(value: Any, binder: Binder) -> str:
    """The name of the column of a value."""
    match value:
        case exp.Boolean():
            return "true" if value.this else "false"
        case exp.Neg() if isinstance(value.this, exp.Literal):
            return f"-{value.this.name}"
        case _ if value.name:
            return str(value.name)
        case _:
            raise binder.text.error("A value of PIVOT needs a name.", value, "Add AS and a name.")


def _rows(relation: SqlRelation, pivot: Any, binder: Binder, query: Query) -> SqlRelation:
    """One row for each column that has a value."""
    field = pivot.args["fields"][0]
    scope = NameScope(binder, relation)
    taken: dict[str, str] = {}
    named = [each.this if isinstance(each, exp.PivotAlias) else each for each in field.expressions]
    if not named or not all(isinstance(column, exp.Column) for column in named):
        raise binder.text.error("UNPIVOT needs names of columns.", pivot, "Use FOR n IN (x, y).")
    for each, column in zip(field.expressions, named, strict=True):
        taken[each.args["alias"].name if isinstance(each, exp.PivotAlias) else column.name] = scope.find(column).column
    schema = relation.stream.schema
    types = [schema.type_of(column) for column in taken.values()]
    common = types[0]
    for type_ in types[1:]:
        common = common_type(common, type_)
        if common is None:
            raise binder.text.error(f"Columns of UNPIVOT have types without a common one: {types[0]} and {type_}.",
                                    pivot, "Cast them in a subquery.")
    keys = [column for column in relation.columns if column.column not in taken.values()]
    if set(taken) & {column.column for column in keys}:
        raise binder.text.error("A name of UNPIVOT is that of another column.", pivot, "Use another name.")
    columns: dict[str, Expr] = {column.column: Col(column.column) for column in keys}
    columns |= {label: Col(name) if schema.type_of(name) == common else Col(name).cast(common)
                for label, name in taken.items()}
    attribute, value = field.this.name, pivot.expressions[0].name
    before = binder.step(pivot, lambda: relation.stream.select(**columns))
    stream = binder.step(pivot, partial(before.unpivot, *(column.column for column in keys), attribute=attribute,
                                        value=value))
    times = {name: divisor for name, divisor in relation.times.items() if name in columns}
    return replace(relation, stream=stream, times=times,
                   columns=(*keys, SqlColumn(attribute, "", attribute), SqlColumn(value, "", value)))


def _named(column: SqlColumn) -> Any:
    return exp.Column(this=exp.to_identifier(column.name, quoted=True))
