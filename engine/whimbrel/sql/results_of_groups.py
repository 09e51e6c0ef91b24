"""Bind subqueries and OVER in a SELECT with groups.

The groups are a relation of their own, and the SELECT list and HAVING are over its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp

from whimbrel.sql.aggregates import has_aggregate, is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.closing_when import closing_of
from whimbrel.sql.grouping import grouped, key_nodes, same_expression
from whimbrel.sql.join_conditions import conjuncts
from whimbrel.sql.over import has_window
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.scalar_subqueries import values_of
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.select_list import Item
from whimbrel.sql.subqueries import filtered

Query = Callable[[Any, Binder], SqlRelation]
Projected = Callable[[Any, list[Item], SqlRelation, Binder, Query], SqlRelation]

GROUPS: Final = "(groups)"
"""The table of the keys and aggregates of groups."""


def reads_groups(node: Any, items: list[Item]) -> bool:
    """Whether a SELECT with groups has QUALIFY, or subqueries or OVER in its values or in HAVING."""
    having = node.args.get("having")
    parts = [item.node for item in items] + ([] if having is None else [having])
    return node.args.get("qualify") is not None or any(
        part.find(exp.Query) is not None or has_window(part) for part in parts)


def with_values(node: Any, items: list[Item], relation: SqlRelation, binder: Binder,
                query: Query) -> tuple[Any, list[Item], SqlRelation]:
    """A SELECT whose aggregates have the values of their subqueries as columns of the rows."""
    scope = NameScope(binder, relation)

    def valued(part: Any) -> Any:
        nonlocal relation
        if is_aggregate(part, scope) and part.find(exp.Query) is not None and part.find_ancestor(exp.Query) is None:
            relation, [part] = values_of(relation, [part.copy()], binder, query)
        return part

    items = [replace(item, node=item.node.copy().transform(valued, copy=False))
             if item.node.find(exp.Query) is not None else item for item in items]
    if (having := node.args.get("having")) is not None and having.find(exp.Query) is not None:
        node = node.copy()
        node.set("having", having.copy().transform(valued, copy=False))
    return node, items, relation


@dataclass
class _Groups:
    """The groups of a SELECT as columns, by the expressions that they stand for.

    Parameters
    ----------
    relation : SqlRelation
        The rows that are grouped.
    items : list of Item
        The SELECT list, whose names HAVING and QUALIFY may use.
    scope : NameScope
        Of the rows.
    keys : list of (node, str)
        The keys of GROUP BY, with their aliases.
    parts : list of Item
        The columns of the groups, which :meth:`over` adds.
    """

    relation: SqlRelation
    items: list[Item]
    scope: NameScope
    keys: list[tuple[Any, str]]
    parts: list[Item] = field(default_factory=list)

    def column(self, node: Any, alias: str = "") -> Any:
        """The column of the groups that is an expression, under the name that the SELECT list has for it."""
        found = next((each for each in self.parts if same_expression(each.node, node, self.relation)), None)
        if found is None:
            name = next((item.name for item in self.items if same_expression(item.node, node, self.relation) or (
                isinstance(item.node, exp.Column) and not item.node.table and item.node.name == alias)),
                f"_part{len(self.parts) + 1}")
            found = Item(node, name, name, named=True)
            self.parts.append(found)
        return exp.Column(this=exp.to_identifier(found.name, quoted=True),
                          table=exp.to_identifier(GROUPS, quoted=True))

    def over(self, node: Any, *, call: bool = False) -> Any:
        """The expression over columns of the groups; `call` says that OVER is around this function."""
        for key, alias in self.keys:
            named = isinstance(node, exp.Column) and not node.table and node.name == alias and alias
            if named or same_expression(node, key, self.relation):
                return self.column(key)
        if isinstance(node, exp.Query):
            return node.copy()
        if not call and is_aggregate(node, self.scope):
            return self.column(node)
        if isinstance(node, exp.Column) and not node.name.startswith("$"):
            return self._named(node)
        copy = node.copy()
        for key, given in node.args.items():
            inside = key == "this" and (isinstance(node, exp.Window) or (call and isinstance(node, exp.Filter)))
            if isinstance(given, exp.Expression):
                copy.set(key, self.over(given, call=inside))
            elif isinstance(given, list):
                copy.set(key, [self.over(each) if isinstance(each, exp.Expression) else each for each in given])
        return copy

    def _named(self, node: Any) -> Any:
        """What a plain name means after the groups: the alias of a value, or nothing."""
        if not matching(self.relation, node.name, node.table):
            for item in self.items:
                if item.named and not node.table and item.label.lower() == node.name.lower():
                    return node.copy() if has_window(item.node) else self.over(item.node)
            self.scope.find(node)
        raise self.scope.binder.text.error(f"{node.name!r} must stand in GROUP BY or in an aggregate.", node,
                                           f"Use any_value({node.name}), or add it to GROUP BY.")

    def columns(self, made: SqlRelation) -> tuple[SqlColumn, ...]:
        """The columns of the groups, and keys by the names that subqueries have for them."""
        named = []
        for (key, alias), part in zip(self.keys, made.columns, strict=False):
            if isinstance(key, exp.Column):
                named += [replace(each, column=part.column)
                          for each in matching(self.relation, key.name, key.table)]
            if alias:
                named.append(SqlColumn(alias, "", part.column))
        return (*(replace(each, source=GROUPS) for each in made.columns), *named)


def results_of_groups(node: Any, items: list[Item], relation: SqlRelation, binder: Binder, query: Query,
                      projected: Projected) -> SqlRelation:
    """The relation of a SELECT whose values or conditions are over the rows of its groups."""
    scope = NameScope(binder, relation)
    plain = [item for item in items if not has_window(item.node) and item.node.find(exp.Query) is None]
    groups = _Groups(relation, items, scope, key_nodes(node, plain, items, relation, binder))
    for key, alias in groups.keys:
        groups.column(key, alias)
    results = [replace(item, node=groups.over(item.node)) for item in items]
    having = [] if node.args.get("having") is None else [
        groups.over(each) for each in conjuncts(node.args["having"].this)]
    outer = exp.Select()
    if node.args.get("qualify") is not None:
        outer.set("qualify", exp.Qualify(this=groups.over(node.args["qualify"].this)))
    if not any(has_aggregate(part.node, scope) for part in groups.parts):
        groups.column(exp.Count(this=exp.Star()))
    inner = node.copy()
    for key in ("having", "qualify", "distinct"):
        inner.set(key, None)
    if groups.keys:
        keys = [exp.alias_(key.copy(), alias, quoted=True) if alias else key.copy() for key, alias in groups.keys]
        inner.set("group", exp.Group(expressions=keys, closing=closing_of(node)))
    made = grouped(inner, groups.parts, relation, binder)
    made = replace(made, columns=groups.columns(made))
    made = filtered(made, having, binder, query)
    return projected(outer, results, made, binder, query)
