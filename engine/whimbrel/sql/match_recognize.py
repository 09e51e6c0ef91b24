"""Bind MATCH_RECOGNIZE to ``detect``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.clock import duration_ticks
from whimbrel.expr import Col, Expr, Lit
from whimbrel.operators.patterns.pattern import event, sequence
from whimbrel.sql.binder import Binder
from whimbrel.sql.intervals import duration
from whimbrel.sql.pattern_names import PatternNames, PatternRegisters
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.row_pattern import beginning, detected, ending, row_pattern, variables_of, varies
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.stream import Stream

_NUMBER: Final = "_match_number"
_TAKEN: Final = ("first_time", "events")


def match_recognize(node: Any, relation: SqlRelation, binder: Binder) -> SqlRelation:
    """One row for each match: the keys, and the measures."""
    def refuse(kind: str, at: Any = node, **values: object) -> Exception:
        what, hint = refusal(kind, **values)
        return binder.text.error(what, at, hint)

    if relation.lives != "instant":
        raise refuse("pattern of others")
    keys = _keys(node, relation, binder)
    _check_order(node, relation, binder)
    rows = node.args["rows"].name if node.args.get("rows") else "ONE ROW PER MATCH"
    after = node.args["after"].name if node.args.get("after") else "AFTER MATCH SKIP PAST LAST ROW"
    if rows != "ONE ROW PER MATCH":
        raise refuse("all rows", text=rows)
    if after not in ("AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"):
        raise refuse("skip to", text=after)
    if node.args.get("within") is None:
        raise refuse("no within")
    within = _within(node.args["within"], relation, binder)
    pattern = row_pattern(node.args["pattern"].meta["tokens"], binder.text)
    if pattern is None or not node.args.get("measures"):
        raise refuse("no measures")
    registers = PatternRegisters()
    names = PatternNames(relation, binder, variables_of(pattern), beginning(pattern)[0], registers, keys)
    conditions = _conditions(node, names)
    measures = {each.this.alias: each.this.this for each in node.args["measures"] if isinstance(each.this, exp.Alias)}
    if len(measures) < len(node.args["measures"]):
        raise refuse("measure without name")
    scope = names.scope(None)
    overlapping = after.endswith("TO NEXT ROW")
    numbered = tuple(name for name, value in measures.items() if _is_number(value))
    if (numbered and overlapping) or any(_is_number(each) for name, value in measures.items() if name not in numbered
                                         for each in value.walk()):
        raise refuse("match number")
    results = {name: scalar(value, scope) for name, value in measures.items() if name not in numbered}
    taken = {*_TAKEN, *keys}
    columns = {name: f"_{name}" if name in taken or name in registers.starts else name for name in results}
    events = {name: sequence(**{name: event(conditions[name], **registers.updates.get(name, {}))})
              for name in names.variables}
    options: dict[str, Any] = {"greedy": True} if varies(pattern) or not overlapping else {}
    options |= {} if overlapping else {"overlapping": False}
    options |= {"register": registers.starts} if registers.starts else {}
    outputs = {columns[name]: value for name, value in results.items() if not _is_key(value, keys)}
    if outputs:
        options["output"] = outputs
    stream = relation.stream.group_by(*keys) if keys else relation.stream
    found = detected(pattern, events.__getitem__)
    made = binder.step(node, lambda: stream.detect(found, within=within, **options).set_duration(1))
    if numbered:
        made = binder.step(node, lambda: _with_number(made, keys))
    columns |= dict.fromkeys(numbered, _NUMBER)
    shown: dict[str, Expr] = {**{key: Col(key) for key in keys},
                              **{name: results[name] if name in results and _is_key(results[name], keys)
                                 else Col(columns[name]) for name in measures}}
    result = binder.step(node, lambda: made.select(**shown))
    alias = node.args.get("alias")
    times = {name: 1 for name, value in measures.items() if _is_last_time(value, ending(pattern), relation)}
    return SqlRelation(result, tuple(SqlColumn(name, alias.name if alias is not None else "", name) for name in shown),
                       times, "instant")


def _is_number(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "MATCH_NUMBER"


def _with_number(matches: Stream, keys: Sequence[str]) -> Stream:
    """Matches with their number among those of their key so far, of which no two end at one time."""
    so_far = matches.set_duration(None)
    if not keys:
        return matches.cross_join(so_far.aggregate(_match_number=wb.count()), allow_lookahead=True)
    numbers = so_far.group_by(*keys).aggregate(_match_number=wb.count())
    return matches.join(numbers, list(keys), nulls_equal=True, allow_lookahead=True)


def _is_key(value: Expr, keys: Sequence[str]) -> bool:
    return isinstance(value, Col) and value.name in keys


def _keys(node: Any, relation: SqlRelation, binder: Binder) -> tuple[str, ...]:
    parts = node.args.get("partition_by") or []
    for each in parts:
        if not isinstance(each, exp.Column):
            raise binder.text.error("PARTITION BY needs columns.", each, "Name the columns.")
    return tuple(NameScope(binder, relation).find(each).column for each in parts)


def _check_order(node: Any, relation: SqlRelation, binder: Binder) -> None:
    order = node.args.get("order")
    parts = [] if order is None else order.expressions
    alone = parts[0].this if len(parts) == 1 and not parts[0].args.get("desc") else None
    found = matching(relation, alone.name, alone.table) if isinstance(alone, exp.Column) else []
    if not found or relation.times.get(found[0].column) != 1:
        what, hint = refusal("pattern order", name=", ".join(relation.ordered()) or "nothing")
        raise binder.text.error(what, node if order is None else order, hint)


def _within(node: Any, relation: SqlRelation, binder: Binder) -> int:
    unit = relation.stream.schema.unit
    if isinstance(node, exp.Interval) and unit is not None:
        ticks = int(duration_ticks(duration(node, binder.text), unit))
    elif isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() and unit is None:
        ticks = int(node.this)
    else:
        ticks = 0
    if ticks <= 0:
        what, hint = refusal("within", form="WITHIN 60" if unit is None else "WITHIN INTERVAL '1' MINUTE")
        raise binder.text.error(what, node, hint)
    return ticks


def _conditions(node: Any, names: PatternNames) -> Mapping[str, Expr]:
    """The condition of each variable; without one in DEFINE every event has it."""
    found: dict[str, Expr] = {name: Lit(True) for name in names.variables}
    for each in node.args.get("define") or []:
        if not isinstance(each, exp.Alias):
            what, hint = refusal("define")
            raise names.binder.text.error(what, each, hint)
        name = next((known for known in names.variables if known.lower() == each.alias.lower()), None)
        if name is None:
            what, hint = refusal("pattern variable", name=each.alias, known=", ".join(dict.fromkeys(names.variables)))
            raise names.binder.text.error(what, each, hint)
        found[name] = condition(each.this, names.scope(name))
    return found


def _is_last_time(node: Any, last: str | None, relation: SqlRelation) -> bool:
    """Whether a measure is the event time of the last row of each match, which a variable has."""
    inner = node.this if isinstance(node, exp.Last) else node
    if not isinstance(inner, exp.Column) or (inner.table and inner.table.lower() != (last or "").lower()):
        return False
    found = matching(relation, inner.name)
    return len(found) == 1 and relation.times.get(found[0].column) == 1
