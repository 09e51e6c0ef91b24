"""Arguments of methods as text of Python."""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from whimbrel.aggregates.user_defined.user_defined import UserAggregate
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Expr, functions_called, trace
from whimbrel.expr.columns import children
from whimbrel.expr.temporal_nodes import Temporal
from whimbrel.operators.aggregation.result_expressions import Running
from whimbrel.operators.patterns.absence import Absence
from whimbrel.operators.patterns.pattern import (
    EitherPattern,
    EventPattern,
    OptionalPattern,
    Pattern,
    PrefixPattern,
    RepeatPattern,
    SequencePattern,
    SimultaneousPattern,
)
from whimbrel.plan import Aggregate
from whimbrel.stream.pair_statistics import OWN_FUNCTIONS

_MODULES: Final = {"datetime": "import datetime", "Decimal": "from decimal import Decimal",
                   "Fraction": "from fractions import Fraction", "np": "import numpy as np",
                   "pa": "import pyarrow as pa", "zoneinfo": "import zoneinfo"}
_OWN_NAMES: Final = ("col", "float", "timedelta")
_ROW = re.compile(r"\b(Column|Condition|Expr|Moment|Span)\b")
"""Types of arguments that may be functions of a row."""


class PythonValues:
    """Text of values, and the imports and arguments that it needs.

    An object without a text becomes an argument.

    Parameters
    ----------
    public : object
        Has the names of the package, such as ``count``.

    Attributes
    ----------
    imports : set of str
    arguments : dict of str to object
    """

    def __init__(self, public: Any) -> None:
        self.public = public
        self.imports: set[str] = set()
        self.arguments: dict[str, Any] = {}

    def argument(self, value: Any, stem: str) -> str:
        """The name of an argument of the text that stands for an object."""
        for name, known in self.arguments.items():
            if known is value:
                return name
        stem = stem if stem.isidentifier() and stem not in (*vars(builtins), "wb", "col", *_MODULES) else "value"
        name, number = stem, 2
        while name in self.arguments or keyword.iskeyword(name):
            name, number = f"{stem}_{number}", number + 1
        self.arguments[name] = value
        return name

    def text(self, value: Any, annotation: str = "") -> str:
        """The text of an argument; `annotation` is the type that the method declares."""
        match value:
            case Expr():
                return self._expression(value)
            case Pattern():
                return self._pattern(value)
            case Absence(condition, within):
                event = "" if condition is None else f"{self._expression(condition)}, "
                return f"wb.absent({event}within={self.text(within)})"
            case bool() | int() | float() | str() | bytes() | None:
                endless = isinstance(value, float) and not math.isfinite(value)
                return f"float({str(value)!r})" if endless else repr(value)
            case datetime() | date() | time() | timedelta() | timezone() | ZoneInfo() | Decimal() | Fraction():
                return self._qualified(repr(value))
            case np.datetime64() | np.timedelta64():
                return self._qualified(repr(value))
            case pa.DataType():
                return self._type(value)
            case pa.Scalar():
                return self.argument(value, "value")
            case np.generic():
                return self.text(value.item())
            case tuple() if type(value) is tuple:
                return f"({', '.join(self.text(each, annotation) for each in value)}{',' * (len(value) == 1)})"
            case list() | set() | frozenset():
                items = ", ".join(self.text(each, annotation) for each in value)
                return f"[{items}]" if isinstance(value, list) else f"{{{items}}}" if items else "set()"
            case Mapping():
                return f"{{{', '.join(f'{self.text(k)}: {self.text(v, annotation)}' for k, v in value.items())}}}"
        return self._object(value, annotation)

    def _object(self, value: Any, annotation: str) -> str:
        if not callable(value):
            return self.argument(value, "value")
        name = getattr(value, "__name__", "")
        if name and getattr(self.public, name, None) is value:
            return f"wb.{name}"
        if _ROW.search(annotation) and inspect.isfunction(value) and value.__code__.co_argcount == 1:
            try:
                return self._expression(trace(value, where=""))
            except WhimbrelError:
                pass
        return self.argument(value, getattr(value, "name", "") or name if name != "<lambda>" else "function")

    def _expression(self, expr: Expr) -> str:
        users: dict[str, Any] = {each.functions.name: each.functions for each in aggregates_in(expr)
                                 if isinstance(each, UserAggregate) and each.functions not in OWN_FUNCTIONS}
        called = list(functions_called(expr))
        if not all(each.name.isidentifier() and each.name not in _OWN_NAMES for each in called):
            return self.argument(expr, "expression")
        text = self._qualified(expr.show(), users | {each.name: each for each in called})
        return self.argument(expr, "expression") if text is None else text

    def _qualified(self, text: str, known: Mapping[str, Any] | None = None) -> Any:
        """The text with the names of the package after ``wb``; None if it is no Python of known names."""
        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError):
            return None
        names = [each for each in ast.walk(tree) if isinstance(each, ast.Name)]
        data = text.encode()
        for name in sorted(names, key=lambda each: -each.col_offset):
            if name.id in _OWN_NAMES:
                self.imports |= {"col"} if name.id == "col" else set()
                continue
            if name.id in _MODULES:
                self.imports.add(_MODULES[name.id])
                continue
            if known and name.id in known:
                new = self.argument(known[name.id], name.id)
                data = data[:name.col_offset] + new.encode() + data[name.end_col_offset:]
            elif name.id in self.public.__all__:
                data = data[:name.col_offset] + b"wb." + data[name.col_offset:]
            else:
                return None
        return data.decode()

    def _type(self, type_: pa.DataType) -> str:
        try:
            if pa.type_for_alias(str(type_)) == type_:
                self.imports.add(_MODULES["pa"])
                return f"pa.type_for_alias({str(type_)!r})"
        except ValueError:
            pass
        return self.argument(type_, "type")

    def _pattern(self, pattern: Pattern) -> str:
        match pattern:
            case SimultaneousPattern(clauses=clauses, minimum=minimum, maximum=maximum):
                words = {"some": "any", "every": "all", "none": "none"}
                options = [f"{words[quantifier]}={self._expression(expr)}" for quantifier, expr in clauses]
                options += [f"min={minimum}"] if minimum > 1 else []
                options += [] if maximum is None else [f"max={maximum}"]
                return self._named(f"wb.simultaneous({', '.join(options)})", pattern)
            case EventPattern(condition=condition, updates=updates):
                parts = [self._expression(condition), *self.named(dict(updates))]
                return self._named(f"wb.event({', '.join(parts)})", pattern)
            case SequencePattern(first, second):
                return f"{self._in_chain(first)}.then({self._pattern(second)})"
            case EitherPattern(left, right):
                other = self._pattern(right)
                return f"{self._pattern(left)} | {f'({other})' if isinstance(right, EitherPattern) else other}"
            case RepeatPattern(inner, minimum, maximum, reluctant):
                bounds = [str(minimum), *([] if maximum is None else [str(maximum)])]
                return f"{self._in_chain(inner)}.repeat({', '.join(bounds + ['reluctant=True'] * reluctant)})"
            case PrefixPattern(inner):
                return f"{self._in_chain(inner)}.prefixes()"
            case OptionalPattern(inner, reluctant):
                return f"{self._in_chain(inner)}.optional({'reluctant=True' * reluctant})"
        return self.argument(pattern, "pattern")

    def _in_chain(self, pattern: Pattern) -> str:
        text = self._pattern(pattern)
        return f"({text})" if isinstance(pattern, EitherPattern) else text

    def _named(self, text: str, event: EventPattern) -> str:
        return f"wb.sequence({', '.join(_keywords({event.name: text}))})" if event.name else text

    def named(self, options: Mapping[str, Any], annotations: Callable[[str], str] = lambda _: "") -> list[str]:
        """Keyword arguments."""
        return _keywords({name: self.text(value, annotations(name)) for name, value in options.items()})


def _keywords(texts: Mapping[str, str]) -> list[str]:
    """Keyword arguments; those whose names are no words of Python stand in a dict."""
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in texts):
        return [f"{name}={text}" for name, text in texts.items()]
    return [f"**{{{', '.join(f'{name!r}: {text}' for name, text in texts.items())}}}"]


def aggregates_in(expr: Expr) -> Iterator[Aggregate]:
    """All aggregates in an expression, also those within temporal parts and running ones."""
    todo = [expr]
    while todo:
        each = todo.pop()
        if isinstance(each, Aggregate):
            yield each
        elif isinstance(each, Temporal | Running):
            todo.append(each.of)
        else:
            todo += children(each)
