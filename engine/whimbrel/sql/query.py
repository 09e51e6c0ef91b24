"""Bind a query: SELECT, operations on sets, VALUES, MERGE and WITH."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from whimbrel.sql import join_subqueries, lateral  # noqa: F401 - they add joins to FROM
from whimbrel.sql.binder import Binder
from whimbrel.sql.dialect import MergeStreams
from whimbrel.sql.distinct_on import first_rows, has_keys
from whimbrel.sql.from_clause import renamed, source
from whimbrel.sql.merge import merge_streams
from whimbrel.sql.pivot import pivot_statement
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.select import select
from whimbrel.sql.set_operations import set_operation
from whimbrel.sql.values import values


def query(node: Any, binder: Binder) -> SqlRelation:
    """The relation of a query; ORDER BY and LIMIT are for the outermost one."""
    if has_keys(node):
        node = first_rows(node, binder)
        node.set("order", None)
    for key in ("order", "limit", "offset", "fetch", "locks", "sample", "pivots"):
        if node.args.get(key):
            what, hint = refusal("order inside") if key in ("order", "limit", "offset") else refusal(
                "clause", clause=key.upper())
            raise binder.text.error(what, node.args[key] if key != "pivots" else node, hint)
    if (with_ := node.args.get("with_")) is not None:
        if with_.args.get("recursive"):
            raise binder.text.error("WITH RECURSIVE is not part of the language.", node, "Leave RECURSIVE out.")
        for each in with_.expressions:
            part = renamed(query(each.this, binder), each.args["alias"], binder)
            binder = binder.with_view(each.alias, part.named(each.alias))
    match node:
        case exp.Select():
            return select(node, binder, query)
        case exp.Subquery():
            return query(node.this, binder)
        case exp.Union() | exp.Intersect() | exp.Except():
            return set_operation(node, binder, query)
        case exp.Values():
            return values(node, binder)
        case exp.Pivot():
            return pivot_statement(node, source(node.this, binder, query), binder, query)
        case MergeStreams():
            return merge_streams(node, binder, query)
        case _:
            what, hint = refusal("statement", text=type(node).__name__.upper())
            raise binder.text.error(what, node, hint)
