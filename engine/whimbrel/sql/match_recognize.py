"""Bind MATCH_RECOGNIZE to ``detect``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.clock import duration_ticks
from whimbrel.expr import Col, Expr, Lit
from whimbrel.operators.patterns.pattern import Pattern, event, sequence
from whimbrel.sql.all_rows import rivals, rows_of_matches
from whimbrel.sql.binder import Binder
from whimbrel.sql.intervals import duration
from whimbrel.sql.pattern_names import PatternNames, PatternRegisters
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.row_pattern import RowPattern, beginning, detected, ending, row_pattern, variables_of, varies
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.stream import Stream

_NUMBER: Final = "_match_number"
_TAKEN: Final = ("first_time", "events")


@dataclass(frozen=True)
class PatternClauses:
    """What the clauses of MATCH_RECOGNIZE say.

    Parameters
    ----------
    keys : tuple of str
        Columns of PARTITION BY.
    every : bool
        ALL ROWS PER MATCH.
    overlapping : bool
        AFTER MATCH SKIP TO NEXT ROW.
    within : int
    pattern : RowPattern
    measures : mapping of str to node
    final : frozenset of str
        Measures that are those of the whole match.
    numbers : tuple of str
        Measures that number the matches.
    """

    keys: tuple[str, ...]
    every: bool
    overlapping: bool
    within: int
    pattern: RowPattern
    measures: Mapping[str, Any]
    final: frozenset[str]
    numbers: tuple[str, ...]


def match_recognize(node: Any, relation: SqlRelation, binder: Binder) -> SqlRelation:
    """One row for each match, with the keys and the measures; or all of its rows."""
    clauses = _clauses(node, relation, binder)
    keys, measures = clauses.keys, clauses.measures
    registers = PatternRegisters()
    variables, begin = variables_of(clauses.pattern), beginning(clauses.pattern)[0]
    names = PatternNames(relation, binder, variables, begin, registers, keys)
    conditions = _conditions(node, names)
    scope = names.scope(None)
    results = {name: scalar(value, scope) for name, value in measures.items() if name not in clauses.numbers}
    rest = [each.column for each in relation.columns if each.column not in keys] if clauses.every else []
    rows = {f"_row_{name}": names.of_row(name) for name in rest}
    taken = {*_TAKEN, *keys, *registers.starts}
    columns = {name: f"_{name}" if name in taken else name for name in results}
    columns |= dict.fromkeys(clauses.numbers, _NUMBER)
    made = {name: value for name, value in results.items() if not _is_key(value, keys)}
    events = {name: sequence(**{name: event(conditions[name], **registers.updates.get(name, {}))})
              for name in names.variables}
    found = detected(clauses.pattern, events.__getitem__)
    stream = relation.stream.group_by(*keys) if keys else relation.stream

    def detect(pattern: Pattern, outputs: dict[str, Expr], **options: Any) -> Stream:
        options |= {"register": registers.starts} if registers.starts else {}
        options |= {"output": outputs} if outputs else {}
        return binder.step(node, lambda: stream.detect(pattern, within=clauses.within, **options))

    options: dict[str, Any] = {"greedy": True} if varies(clauses.pattern) or not clauses.overlapping else {}
    options |= {} if clauses.overlapping else {"overlapping": False}
    final = {columns[name]: value for name, value in made.items() if name in clauses.final}
    matches = detect(found, final, **options)
    matches = binder.step(node, lambda: matches.set_duration(1))
    if clauses.numbers:
        matches = binder.step(node, lambda: _with_number(matches, keys))
    if clauses.every:
        _check_rows(node, found, conditions, binder)
        running = {columns[name]: value for name, value in made.items() if name not in clauses.final}
        begun = detect(found.prefixes(), rows | running)
        shown = [*keys, "first_time"]
        numbers = [_NUMBER] if clauses.numbers else []
        matches = binder.step(node, lambda: rows_of_matches(
            matches.select(*shown, *final, *numbers), begun.select(*shown, *rows, *running), keys))
    return _result(node, matches, {
        **{key: Col(key) for key in keys},
        **{name: Col(columns[name]) if name in made or name in clauses.numbers else results[name] for name in measures},
        **{name: Col(f"_row_{name}") for name in rest}}, clauses, relation, binder)


def _result(node: Any, matches: Stream, shown: dict[str, Expr], clauses: PatternClauses, relation: SqlRelation,
            binder: Binder) -> SqlRelation:
    """The relation of the columns that are shown."""
    result = binder.step(node, lambda: matches.select(**shown))
    alias = node.args["alias"].name if node.args.get("alias") is not None else ""
    last = ending(clauses.pattern)
    times = {name: 1 for name in clauses.final if _is_last_time(clauses.measures[name], last, relation)}
    return SqlRelation(result, tuple(SqlColumn(name, alias, name) for name in shown), times, "instant")


def _clauses(node: Any, relation: SqlRelation, binder: Binder) -> PatternClauses:
    def refuse(kind: str, **values: object) -> Exception:
        what, hint = refusal(kind, **values)
        return binder.text.error(what, node, hint)

    if relation.lives != "instant":
        raise refuse("pattern of others")
    keys = _keys(node, relation, binder)
    _check_order(node, relation, binder)
    rows = node.args["rows"].name if node.args.get("rows") else "ONE ROW PER MATCH"
    after = node.args["after"].name if node.args.get("after") else "AFTER MATCH SKIP PAST LAST ROW"
    every, overlapping = rows == "ALL ROWS PER MATCH", after.endswith("TO NEXT ROW")
    if not every and rows != "ONE ROW PER MATCH":
        raise refuse("all rows", text=rows)
    if after not in ("AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"):
        raise refuse("skip to", text=after)
    if node.args.get("within") is None:
        raise refuse("no within")
    within = _within(node.args["within"], relation, binder)
    pattern = row_pattern(node.args["pattern"].meta["tokens"], binder.text)
    given = node.args.get("measures") or []
    if pattern is None or not given:
        raise refuse("no measures")
    measures = {each.this.alias: each.this.this for each in given if isinstance(each.this, exp.Alias)}
    if len(measures) < len(given):
        raise refuse("measure without name")
    if every and (double := next((each.column for each in relation.columns if each.column in measures), None)):
        raise refuse("measure of a column", name=double)
    numbers = tuple(name for name, value in measures.items() if _is_number(value))
    if (numbers and overlapping) or any(_is_number(each) for name, value in measures.items() if name not in numbers
                                        for each in value.walk()):
        raise refuse("match number")
    final = {each.this.alias for each in given if not every or each.args.get("window_frame") == "FINAL"}
    return PatternClauses(keys, every, overlapping, within, pattern, measures, frozenset(final), numbers)


def _check_rows(node: Any, pattern: Pattern, conditions: Mapping[str, Expr], binder: Binder) -> None:
    """Refuse all rows of a pattern in which a row may have several variables."""
    if both := rivals(pattern, conditions):
        what, hint = refusal("ambiguous rows", one=both[0], other=both[1])
        raise binder.text.error(what, node, hint)


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
