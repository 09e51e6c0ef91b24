"""Operators as functions of tables, such as ``SHIFT(t, INTERVAL '5' MINUTE)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from whimbrel.errors import near_match
from whimbrel.expr import Col, Lit
from whimbrel.plan import FLUENT
from whimbrel.sql.aggregates import aggregate, is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.dialect import TableArgument
from whimbrel.sql.intervals import duration
from whimbrel.sql.printed_expressions import name_text
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation, relation_of
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.stream import Stream
from whimbrel.stream.python_text import HANDED_OVER
from whimbrel.stream.time_functions import FunctionsOfTime

Source = Callable[[Any], SqlRelation]

OPERATORS: Final[dict[str, Callable[..., Any]]] = {
    **FLUENT, **{name: getattr(FunctionsOfTime, name) for name in ("between", "hold", "over_time", "resample")}}
"""Operators by name, each with its parameters."""

_GIVEN: Final = ("schema", "self", *HANDED_OVER)
"""Parameters that the stream fills."""

_OF_PYTHON: Final = {"detect": "MATCH_RECOGNIZE", "process": "a view of the stream in Python"}
"""Operators whose arguments only Python can write, and what to use instead."""


_LOOKAHEAD: Final = inspect.Parameter("allow_lookahead", inspect.Parameter.KEYWORD_ONLY, default=False,
                                     annotation="bool")
"""An argument of methods that their builders do not see."""


def is_operator(name: str) -> bool:
    """Whether a function of this name is an operator."""
    return name.lower() in OPERATORS


def operator_word(name: str) -> str:
    """The name of an operator as a function; in quotes where SQL uses the word for something else."""
    return f'"{name}"' if name == "hold" or name_text(name) != name else name.upper()


def takes_keys(name: str) -> bool:
    """Whether an operator can have PARTITION BY."""
    return name not in FLUENT or "keys" in inspect.signature(FLUENT[name]).parameters


def operator_call(name: str, node: Any, binder: Binder, source: Source) -> SqlRelation:
    """The relation of an operator over tables, with the arguments of its method."""
    name = name.lower()
    if name in _OF_PYTHON:
        what, hint = refusal("operator of Python", name=name.upper(), use=_OF_PYTHON[name])
        raise binder.text.error(what, node, hint)
    parameters = {key: each for key, each in inspect.signature(OPERATORS[name]).parameters.items() if key not in _GIVEN}
    values = _flat(node)
    tables = 2 if "right" in parameters else len(values) if "others" in parameters else 1
    if len(values) < max(tables, 1) or any(isinstance(each, exp.Kwarg) for each in values[:tables]):
        raise binder.text.error(f"{name.upper()} needs {'a table' if tables == 1 else 'two tables'}.", node,
                                f"Use {name.upper()}({'t' if tables == 1 else 'a, b'}, ...).")
    relations = [_table(each, name, binder, source) for each in values[:tables]]
    keys = values[0].args.get("partition_by") or [] if isinstance(values[0], TableArgument) else []
    scope = NameScope(binder, relations[0])
    stream = relations[0].stream
    if keys:
        if not takes_keys(name):
            raise binder.text.error(f"{name.upper()} has no keys.", node, "Leave PARTITION BY out.")
        stream = binder.step(node, lambda: _grouped(stream, keys, scope, node))
    options = [each for key, each in parameters.items() if key not in ("right", "others")]
    if "allow_lookahead" not in parameters and "allow_lookahead" in inspect.signature(getattr(Stream, name)).parameters:
        options.append(_LOOKAHEAD)
    positional, named = _arguments(name, values[tables:], options, scope, node)

    def call() -> Stream:
        method = getattr(stream, name)
        made: Stream = method(*(each.stream for each in relations[1:]), *positional, **named)
        return made

    try:
        result = binder.step(node, call)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise binder.text.error(f"{name.upper()} cannot use these arguments.", node,
                                f"See the page of the operator {name}.") from None
    result = result.ungroup()  # PARTITION BY is of this call only
    return relation_of(result, relations[0].sources[0] if relations[0].sources else "")


def _grouped(stream: Stream, keys: Sequence[Any], scope: NameScope, node: Any) -> Stream:
    """The stream grouped by columns, or by values with names."""
    for each in keys:
        if isinstance(each, exp.Column):
            stream = stream.group_by(scope.find(each).column)
        elif isinstance(each, exp.Alias):
            stream = stream.group_by(**{each.alias: scalar(each.this, scope)})
        else:
            raise scope.binder.text.error("PARTITION BY needs columns.", node, "Name the columns.")
    return stream


def _flat(node: Any) -> list[Any]:
    """The arguments of a call in their order."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [each for part in node.args.values() for each in (part if isinstance(part, list) else [part])
            if isinstance(each, exp.Expression)]


def _table(node: Any, name: str, binder: Binder, source: Source) -> SqlRelation:
    inner = node.this if isinstance(node, TableArgument) else node
    match inner:
        case exp.Column() if inner.table:
            inner = exp.Table(this=inner.this, db=inner.args.get("table"))
        case exp.Column():
            inner = exp.Table(this=inner.this)
        case exp.Select():
            inner = exp.Subquery(this=inner)
        case exp.Func():
            inner = exp.Table(this=inner)
    if not isinstance(inner, exp.Table | exp.Subquery):
        raise binder.text.error(f"{name.upper()} needs a table.", node, f"Use {name.upper()}(t, ...).")
    relation = source(inner)
    if relation.window is not None:
        raise binder.text.error("A window needs rows that have no window yet.", node,
                                "Use GROUP BY window_start first, in a subquery.")
    return relation


def _arguments(name: str, values: Sequence[Any], options: Sequence[inspect.Parameter], scope: NameScope,
               node: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position and by name."""
    text = scope.binder.text
    known = {each.name for each in options if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)}
    every = next((each for each in options if each.kind == each.VAR_KEYWORD), None)
    many = next((each for each in options if each.kind == each.VAR_POSITIONAL), None)
    places = [each for each in options if each.kind == each.POSITIONAL_OR_KEYWORD]
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for value in values:
        if isinstance(value, exp.Kwarg):
            key = value.this.name.lower()
            if key not in known and every is None:
                raise text.error(f"{name.upper()} has no argument {value.this.name!r}.", value,
                                 near_match(key, sorted(known), noun="argument"))
            parameter = next((each for each in options if each.name == key), every)
            named[key if key in known else value.this.name] = _value(value.expression, parameter, scope)
            continue
        parameter = places[len(positional)] if len(positional) < len(places) else many
        if parameter is None:
            raise text.error(f"{name.upper()} has too many arguments.", value,
                             f"Its arguments are {', '.join(sorted(known)) or 'tables only'}.")
        positional.append(_value(value, parameter, scope))
    missing = [each.name for number, each in enumerate(options) if each.default is each.empty and each.name not in named
               and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
               and not (each in places and places.index(each) < len(positional))]
    if missing:
        raise text.error(f"{name.upper()} needs {missing[0]}.", node, f"Add {missing[0]} => value.")
    return positional, named


def _value(node: Any, parameter: Any, scope: NameScope) -> Any:
    """A value of Python for an argument: a duration, a literal, names of columns, or an expression."""
    kind = str(parameter.annotation)
    names = kind.startswith(("str", "On", "Sequence[str]"))
    match node:
        case exp.Interval():
            return duration(node, scope.binder.text)
        case exp.Neg() if isinstance(node.this, exp.Interval):
            return -duration(node.this, scope.binder.text)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Array() | exp.Tuple():
            return [_value(each, parameter, scope) for each in node.expressions]
        case exp.Paren():
            return _value(node.this, parameter, scope)
        case exp.Anonymous() if node.name.upper() == "DESCRIPTOR":
            found = [scope.find(each).column if isinstance(each, exp.Column) else "" for each in node.expressions]
            return found[0] if len(found) == 1 else found
        case exp.Column() if names and kind in ("str", "'str'"):
            return node.name
        case exp.Column() if names:
            return scope.find(node).column
    time = scope.relation.stream.schema.time_type
    scope = replace(scope, types={**scope.types, "start": time, "end": time})
    special = replace(scope, special=lambda part: _special(part, scope))
    made = scalar(node, special)
    return made.value if isinstance(made, Lit) and kind != "Column" else made


def _special(node: Any, scope: NameScope) -> Any:
    """An aggregate, or the start or end of the lifetime; None for other nodes."""
    if isinstance(node, exp.Column) and node.name in ("start", "end") and not node.table and not matching(
            scope.relation, node.name):
        return Col(node.name)
    return aggregate(node, scope) if is_aggregate(node, scope) else None
