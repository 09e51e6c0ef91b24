"""Run the statements of a text in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from whimbrel.errors import ExpressionError, PlanError, SchemaError, SqlError
from whimbrel.sql.binder import Binder, time_type
from whimbrel.sql.create_stream import CreateStream, declared
from whimbrel.sql.distinct_on import first_rows, has_keys
from whimbrel.sql.manual_protocols import check_protocols
from whimbrel.sql.order_by import ordered
from whimbrel.sql.parameters import check_parameters
from whimbrel.sql.parse import Emit, Statement, parse
from whimbrel.sql.positions import plain_hint
from whimbrel.sql.query import query
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import keep_facts
from whimbrel.sql.unread_words import check_words
from whimbrel.stream import LatencyBands, Stream

_ORDER = ("order", "limit", "offset")


def run_query(text: str, streams: Mapping[str, Any], parameters: Mapping[str, Any],
              functions: Mapping[str, Callable[..., Any]]) -> Any:
    """The stream of the one query of a text; views may be created before it."""
    statements = parse(text)
    queries = [each for each in statements if not isinstance(each.tree, exp.Create | CreateStream)]
    if not queries:
        raise SqlError(refusal("empty")[0], where="wb.sql(...)", hint=refusal("empty")[1])
    unnamed = [each for each in queries if not each.blocks.name or each is queries[-1]]
    if len(unnamed) > 1:
        what, hint = refusal("several", count=len(unnamed))
        raise unnamed[1].text.error(what, unnamed[1].tree, hint)
    if queries[-1].explained:
        raise queries[-1].text.error(refusal("explain")[0], queries[-1].tree, refusal("explain")[1])
    return _run(statements, streams, parameters, functions)["result"]


def run_script(text: str, streams: Mapping[str, Any], parameters: Mapping[str, Any],
               functions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """All results of a text, by the names of its views; the last query is ``result``."""
    statements = parse(text)
    if not statements:
        raise SqlError(refusal("empty")[0], where="wb.sql.script(...)", hint=refusal("empty")[1])
    return _run(statements, streams, parameters, functions)


def _run(statements: list[Statement], streams: Mapping[str, Any], parameters: Mapping[str, Any],
         functions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    time = time_type(streams, [each.tree for each in statements])
    properties = frozenset(column.name for each in statements for column in each.tree.find_all(exp.Column)
                           if column.name.startswith("@"))
    binder = Binder(statements[0].text, streams, parameters, functions, time, properties=properties)
    results: dict[str, Any] = {}
    for statement in statements:
        check_parameters(statement, parameters)
        check_words(statement.tree, statement.text)
        check_protocols(statement.text, statement.blocks.protocols, streams)
        binder = replace(binder, flushes_evenly=statement.blocks.flushes_evenly)
        try:
            binder = _run_statement(statement, binder, results)
        except (PlanError, SchemaError, ExpressionError) as error:
            raise statement.text.error(error.what, statement.tree, plain_hint(error.hint)) from error
    return results


def _run_statement(statement: Statement, binder: Binder, results: dict[str, Any]) -> Binder:
    """Add the result of a statement; what the statements after it can name."""
    tree = statement.tree
    if isinstance(tree, CreateStream):
        return binder.with_view(*declared(tree, binder))
    if isinstance(tree, exp.Create):
        if statement.emit is not None:
            raise _at_emit(statement, statement.emit, *refusal("emit of a view"))
        name, relation = _view(tree, binder)
        if relation.window is None:
            keep_facts(relation)
        results[name] = relation.stream
        return binder.with_view(name, relation)
    results["result"] = _result(statement, binder)
    if (name := statement.blocks.name) and not statement.explained:
        results[name] = results["result"]
        if statement.emit is None:
            return binder.with_view(name, query(_unordered(tree), binder).named(name))
    return binder


def _view(tree: Any, binder: Binder) -> tuple[str, Any]:
    """The name of a view, and its relation."""
    if tree.kind != "VIEW" or tree.expression is None or not isinstance(tree.this, exp.Table):
        what, hint = refusal("statement", text=f"CREATE {tree.kind}")
        raise binder.text.error(what, tree, hint)
    return tree.this.name, query(tree.expression, binder).named(tree.this.name)


def _unordered(tree: Any) -> Any:
    """A query without ORDER BY and LIMIT, which are of the collected result."""
    if all(tree.args.get(key) is None for key in _ORDER):
        return tree
    tree = tree.copy()
    for key in _ORDER:
        tree.set(key, None)
    return tree


def _result(statement: Statement, binder: Binder) -> Any:
    """The stream of a query, or its latency bands; their text where it is explained."""
    tree = first_rows(statement.tree, binder) if has_keys(statement.tree) else statement.tree
    order, limit, offset = (tree.args.get(key) for key in _ORDER)
    relation = query(_unordered(tree), binder)
    has_order = order is not None or limit is not None or offset is not None
    if statement.emit is not None:
        if has_order:
            raise _at_emit(statement, statement.emit, *refusal("emit in order"))
        made = _bands(relation.stream, statement, statement.emit)
        return made.explain() if statement.explained else made
    if statement.explained:
        return relation.stream.explain()
    if has_order:
        return ordered(relation, tree, binder, lambda wide: query(wide, binder))
    if relation.window is None:
        keep_facts(relation)
    return relation.stream


def _bands(stream: Stream, statement: Statement, emit: Emit) -> LatencyBands:
    """The results at the latencies of EMIT AT."""
    latencies = list(emit.latencies)
    if stream.schema.unit is None:
        latencies = [int(each) if isinstance(each, int) or each.strip().isdecimal() else each for each in latencies]
    elif any(isinstance(each, int) for each in latencies):
        spelled = ", ".join(f"'{each}s'" if isinstance(each, int) else f"'{each}'" for each in latencies)
        raise _at_emit(statement, emit, "A latency needs a unit, because times are timestamps.",
                       f"Use EMIT AT {spelled}.")
    try:
        return stream.at_latencies(*latencies)
    except PlanError as error:
        hint = re.sub(r"at_latencies\((.*)\)", r"EMIT AT \1", error.hint)
        raise _at_emit(statement, emit, error.what, plain_hint(hint)) from None


def _at_emit(statement: Statement, emit: Emit, what: str, hint: str) -> SqlError:
    """An error that shows EMIT AT."""
    return statement.text.error_at(what, emit.start, emit.stop, hint)
