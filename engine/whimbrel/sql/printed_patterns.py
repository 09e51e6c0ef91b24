"""Patterns as text of SQL: MATCH_RECOGNIZE."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whimbrel.expr import Binary, Col, Expr, Lit, OuterValue
from whimbrel.operators import Detect, Select
from whimbrel.operators.patterns.pattern import (
    EitherPattern,
    EventPattern,
    OptionalPattern,
    Pattern,
    RepeatPattern,
    SequencePattern,
    SimultaneousPattern,
)
from whimbrel.plan import MethodCall, Node, used_by
from whimbrel.sql.printed_expressions import NoWordError, ScalarTexts, name_text
from whimbrel.sql.printed_groups import ticks_text
from whimbrel.sql.relation import SqlRelation

_AGGREGATE = re.compile("_(count|sum|min|max)_(.*)")


def matches_below(node: Node) -> tuple[Node, MethodCall] | None:
    """The pattern whose matches a step selects columns of, each at its last row; None for other steps."""
    found = node
    for name in ("select", "set_duration", "detect"):
        call = found.calls[-1] if found.calls else None
        if call is None or call.name != name:
            return None
        if name == "detect":
            return (found, call) if isinstance(found.op, Detect) else None
        below = used_by(found, call.inputs[0])
        if below is None or (name == "set_duration" and call.arguments != (1,)):
            return None
        found = below
    return None


def match_text(node: Node, detect: Node, call: MethodCall, source: str, relation: SqlRelation) -> str:
    """What stands after FROM for the matches of a pattern."""
    op, select = detect.op, node.op
    assert isinstance(op, Detect)
    assert isinstance(select, Select)
    times = [name_text(column) for column, divisor in relation.times.items() if divisor == 1]
    keys = [name for name, expr in call.inputs[0].keys if isinstance(expr, Col) and expr.name == name]
    if not times or len(keys) < len(call.inputs[0].keys) or op.skip or op.simultaneous != "discard" or (
            op.absence is not None):
        raise NoWordError(op.show())
    texts = _PatternTexts(op, relation)
    outputs = dict(op.output)
    measures = []
    for name, expr in select.columns:
        if isinstance(expr, Col) and expr.name in keys and name == expr.name:
            continue
        if not isinstance(expr, Col):
            raise NoWordError(expr.show())
        value = expr if expr.name in keys else outputs.get(expr.name)
        if value is None:
            raise NoWordError(f"{expr.name} of {op.show()}")
        measures.append(f"{texts.text(value)} AS {name_text(name)}")
    pattern = texts.pattern(op.pattern)
    defines = [f"{name_text(name)} AS {texts.text(each)}" for name, each in texts.conditions.items()
               if not (isinstance(each, Lit) and each.value is True)]
    parts = [f"PARTITION BY {', '.join(map(name_text, keys))}"] if keys else []
    parts += [f"ORDER BY {times[0]}", f"MEASURES {', '.join(measures)}"]
    parts += ["AFTER MATCH SKIP TO NEXT ROW"] if op.overlapping else []
    parts += [f"PATTERN ({pattern})", f"WITHIN {ticks_text(op.within, op.unit)}"]
    parts += [f"DEFINE {', '.join(defines)}"] if defines else []
    return "\n    ".join([f"{source} MATCH_RECOGNIZE (", *parts]) + ")"


class _PatternTexts(ScalarTexts):
    """Texts of the parts of a pattern, and the condition of each variable that they name."""

    def __init__(self, op: Detect, relation: SqlRelation) -> None:
        super().__init__()
        self.columns = [column.column for column in relation.columns]
        self.variables = sorted({each.name for each in _events(op.pattern) if each.name}, key=len, reverse=True)
        self.conditions: dict[str, Expr] = {}

    def text(self, expr: Expr) -> str:
        match expr:
            case Binary("/", Col(_, OuterValue("register", total)), Col(_, OuterValue("register", count))) if (
                    total.startswith("_sum_") and count == f"_count_{total[5:]}"):
                return f"avg({self._of_rows(total[5:], expr)})"
            case Col(_, OuterValue("register", name)):
                return self._register(name, expr)
            case Col(_, OuterValue("first", column, variable)):
                return f"FIRST({name_text(variable)}.{name_text(column)})"
            case Col(_, OuterValue(_, column, variable)):
                return f"{name_text(variable)}.{name_text(column)}"
        return super().text(expr)

    def _register(self, name: str, expr: Expr) -> str:
        """What a register of MATCH_RECOGNIZE was written as."""
        if name == "_classifier":
            return "CLASSIFIER()"
        if name == "_count":
            return "count(*)"
        for word in ("first", "last", "previous"):
            if name.startswith(f"_{word}_") and name[len(word) + 2:] in self.columns:
                return f"{'PREV' if word == 'previous' else word.upper()}({name_text(name[len(word) + 2:])})"
        found = _AGGREGATE.fullmatch(name)
        if found is None:
            raise NoWordError(expr.show())
        return f"{found[1]}({self._of_rows(found[2], expr)})"

    def _of_rows(self, place: str, expr: Expr) -> str:
        """A column of all rows or of those of a variable, as an aggregate reads it."""
        if place in self.columns:
            return name_text(place)
        for variable in self.variables:
            if place == variable:
                return f"{name_text(variable)}.*"
            column = place.removesuffix(f"_{variable}")
            if column != place and column in self.columns:
                return f"{name_text(variable)}.{name_text(column)}"
        raise NoWordError(expr.show())

    def pattern(self, pattern: Pattern) -> str:
        """The text of a pattern."""
        match pattern:
            case SimultaneousPattern():
                raise NoWordError(pattern.show())
            case EventPattern(condition, _, name):
                name = name or f"E{len(self.conditions) + 1}"
                self.conditions.setdefault(name, condition)
                return name_text(name)
            case SequencePattern(first, second):
                return f"{self._part(first, EitherPattern)} {self._part(second, EitherPattern, SequencePattern)}"
            case EitherPattern(left, right):
                return f"{self.pattern(left)} | {self._part(right, EitherPattern)}"
            case OptionalPattern(inner, reluctant):
                return f"{self._part(inner)}?{'?' * reluctant}"
            case RepeatPattern(inner, minimum, maximum, reluctant):
                counts: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+"}
                one = f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{'' if maximum is None else maximum}}}"
                return f"{self._part(inner)}{counts.get((minimum, maximum), one)}{'?' * reluctant}"
        raise NoWordError(pattern.show())

    def _part(self, pattern: Pattern, *apart: type[Pattern]) -> str:
        """The text, in parentheses for these kinds; without kinds, for all but events."""
        text = self.pattern(pattern)
        inside = isinstance(pattern, apart) if apart else not isinstance(pattern, EventPattern)
        return f"({text})" if inside else text


def _events(pattern: Pattern) -> Sequence[EventPattern]:
    match pattern:
        case EventPattern():
            return [pattern]
        case SequencePattern(one, other) | EitherPattern(one, other):
            return [*_events(one), *_events(other)]
        case OptionalPattern(inner) | RepeatPattern(inner):
            return _events(inner)
    return []
