"""Expressions as text of SQL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextvars import ContextVar
from datetime import date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from whimbrel.aggregates import (
    AllTrue,
    AnyTrue,
    ApproximateCountDistinct,
    ApproximateQuantile,
    ApproximateTopK,
    ArgMax,
    ArgMin,
    BitAnd,
    BitOr,
    BitXor,
    Collect,
    Count,
    CountDistinct,
    Entropy,
    First,
    Increase,
    Last,
    Max,
    Mean,
    Median,
    MedianDeviation,
    Min,
    Mode,
    Product,
    Quantile,
    QuantileList,
    Std,
    StringAgg,
    Sum,
    SumDistinct,
    UserAggregate,
    Var,
)
from whimbrel.expr import SQL_FUNCTIONS, Binary, Call, Called, Cast, Col, Expr, Lit, Unary, When
from whimbrel.expr.type_names import data_type
from whimbrel.operators.aggregation.result_expressions import Running, WindowBound
from whimbrel.plan import Aggregate
from whimbrel.sql.dialect import Whimbrel
from whimbrel.sql.pair_aggregates import WORDS_OF_FUNCTIONS
from whimbrel.sql.scalars import truncated
from whimbrel.sql.types import TYPES

_BINDING: Final = {"|": 1, "&": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "/": 6}
_WORDS: Final = {"|": "OR", "&": "AND", "==": "=", "!=": "<>"}
_NOT, _ATOM = 3, 8
_BITS: Final = {"bitwise_and": "&", "bitwise_or": "|", "shift_left": "<<", "shift_right": ">>"}
_FUNCTIONS: Final = {
    **{called: name for name, called in SQL_FUNCTIONS.items()},
    "abs": "abs", "sqrt": "sqrt", "exp": "exp", "log": "ln", "sin": "sin", "cos": "cos", "sign": "sign",
    "floor": "floor", "ceil": "ceil", "str.lower": "lower", "str.upper": "upper", "str.length": "length",
    "str.starts_with": "starts_with", "str.ends_with": "ends_with", "greatest": "greatest", "least": "least",
    "fill_null": "coalesce", "start_time": "start_time", "end_time": "end_time", "str.reverse": "reverse",
    "str.repeat": "repeat", "str.split_part": "split_part"}
_GRIDS: Final = {"1w": "week", "1d": "day", "1h": "hour", "1m": "minute", "1s": "second", "1ms": "millisecond",
                 "1mo": "month", "1q": "quarter", "1y": "year"}
_SPAN = re.compile("([1-9][0-9]*)(w|mo|q|y)")
_NULL_OF_NOTHING: Final = {Sum: "sum", AnyTrue: "bool_or", AllTrue: "bool_and", Product: "product", SumDistinct: "sum"}
_AGGREGATES: Final = {AnyTrue: '"any"', AllTrue: '"all"',
                      Mean: "avg", Min: "min", Max: "max", Median: "median", First: "first", Last: "last",
                      Collect: "array_agg", ApproximateCountDistinct: "approx_count_distinct", Sum: "total",
                      Count: "count", ArgMin: "arg_min", ArgMax: "arg_max", BitAnd: "bit_and", BitOr: "bit_or",
                      BitXor: "bit_xor", Mode: "mode", MedianDeviation: "mad", Entropy: "entropy", Increase: "increase",
                      SumDistinct: "sum_distinct"}
_TYPE_WORDS: Final = {type_: word.value for word, type_ in reversed(TYPES.items())}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset(word.lower() for word in Whimbrel.Tokenizer.KEYWORDS if word.isidentifier())


EXACT_DIVISION: ContextVar[bool] = ContextVar("EXACT_DIVISION", default=False)
"""Whether a division is printed as one that is a fraction for integers too."""


class NoWordError(Exception):
    """An expression has no word in SQL."""


def name_text(name: str) -> str:
    """A name, in quotes if it needs them."""
    plain = _PLAIN.fullmatch(name) and (name.lower() not in _RESERVED or name == "time")
    return name if plain else '"' + name.replace('"', '""') + '"'


def interval_text(value: timedelta) -> str:
    """A duration in the largest unit that has it whole."""
    microseconds = value // timedelta(microseconds=1)
    for word, length in (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000),
                         ("SECOND", 1_000_000), ("MILLISECOND", 1_000), ("MICROSECOND", 1)):
        if microseconds % length == 0:
            return f"INTERVAL '{microseconds // length}' {word}"
    raise NoWordError(repr(value))


def _integer_division(expr: Binary) -> tuple[Expr, Expr] | None:
    """The operands, if an expression is a division of integers toward zero."""
    match expr:
        case Binary("+", Binary("//", x, y), When()) if truncated(x, y).show() == expr.show():
            return x, y
    return None


class ScalarTexts:
    """Texts of expressions over columns.

    Parameters
    ----------
    name : callable
        column -> its text.
    """

    def __init__(self, name: Callable[[str], str] = name_text) -> None:
        self.name = name

    def text(self, expr: Expr) -> str:
        """The text of an expression.

        Raises
        ------
        NoWordError
            With the part that has no word in SQL.
        """
        match expr:
            case Aggregate():
                return self._aggregate(expr)
            case Running(of):
                return f"running({self._aggregate(of)})"
            case WindowBound(which):
                return f"window_{which}"
            case Col(name, None):
                return self.name(name)
            case Lit(value):
                return self._literal(value, expr)
            case Binary() if (whole := _integer_division(expr)) is not None:
                return f"{self._operand(whole[0], 6)} / {self._operand(whole[1], 7)}"
            case Binary("**", left, right):
                return f"power({self.text(left)}, {self.text(right)})"
            case Binary("/", left, right) if EXACT_DIVISION.get():
                return f"true_div({self.text(left)}, {self.text(right)})"
            case Binary("//" | "%" as op, left, right):
                return f"floor_{'div' if op == '//' else 'mod'}({self.text(left)}, {self.text(right)})"
            case Binary(op, left, right) if op in _BINDING:
                binding = _BINDING[op]
                first = self._operand(left, binding + (binding == _BINDING["=="]))
                return f"{first} {_WORDS.get(op, op)} {self._operand(right, binding + 1)}"
            case Unary("~", x):
                return f"NOT {self._operand(x, _NOT + 1)}"
            case Unary("-", x):
                return f"-{self._operand(x, _ATOM)}"
            case When():
                return self._case(expr)
            case Cast(x, type_) if type_ in _TYPE_WORDS:
                return f"CAST({self.text(x)} AS {_TYPE_WORDS[type_]})"
            case Cast(x, type_) if pa.types.is_decimal(type_):
                return f"CAST({self.text(x)} AS DECIMAL({type_.precision}, {type_.scale}))"
            case Call():
                return self._call(expr)
            case Called(_, args, by) if args and by.name.isidentifier():
                return f"{by.name}({', '.join(map(self.text, args))})"
        raise NoWordError(expr.show())

    def _operand(self, expr: Expr, at_least: int) -> str:
        text = self.text(expr)
        match expr:
            case Binary("**" | "//" | "%", _, _):
                binding = _ATOM
            case Binary("/", _, _) if EXACT_DIVISION.get():
                binding = _ATOM
            case Binary(op, _, _):
                binding = _BINDING[op]
            case Unary("~", _):
                binding = _NOT
            case Unary() | Lit() if text.startswith("-"):
                binding = 0
            case Call(function, _, _) if function in ("is_null", "is_not_null", "is_in", "between"):
                binding = _BINDING["=="]
            case _:
                binding = _ATOM
        if isinstance(expr, Binary) and _integer_division(expr) is not None:
            binding = _BINDING["/"]
        return text if binding >= at_least else f"({text})"

    def _literal(self, value: Any, expr: Expr) -> str:
        match value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                return str(value)
            case float() if math.isfinite(value):
                return repr(value)
            case str():
                return "'" + value.replace("'", "''") + "'"
            case datetime() if value.tzinfo is None:
                return f"TIMESTAMP '{value}'"
            case date() if not isinstance(value, datetime):
                return f"DATE '{value}'"
            case timedelta():
                return interval_text(value)
        raise NoWordError(expr.show())

    def _case(self, expr: When) -> str:
        match expr:  # an aggregate that is null of nothing
            case When(Binary(">", Count(expr=x, condition=c), Lit(0)), Aggregate() as made, Lit(None)) if (
                    type(made) in _NULL_OF_NOTHING and x is not None and made.expr is not None
                    and x.show() == made.expr.show() and (c is None) == (made.condition is None)):
                return self._aggregate(made, _NULL_OF_NOTHING[type(made)])
        branches = []
        rest: Expr = expr
        while isinstance(rest, When):
            branches.append(f"WHEN {self.text(rest.condition)} THEN {self.text(rest.then)}")
            rest = rest.otherwise
        otherwise = "" if isinstance(rest, Lit) and rest.value is None else f" ELSE {self.text(rest)}"
        return f"CASE {' '.join(branches)}{otherwise} END"

    def _call(self, expr: Call) -> str:
        arguments = [self.text(each) for each in expr.args]
        first = self._operand(expr.args[0], 5) if expr.args else ""
        match expr.function, expr.options:
            case "is_null", ():
                return f"{first} IS NULL"
            case "is_not_null", ():
                return f"{first} IS NOT NULL"
            case "between", ():
                return f"{first} BETWEEN {self._operand(expr.args[1], 5)} AND {self._operand(expr.args[2], 5)}"
            case "is_in", values:
                return f"{first} IN ({', '.join(self._literal(each, expr) for each in values)})"
            case "round", (digits,):
                return f"round({arguments[0]})" if digits == 0 else f"round({arguments[0]}, {digits})"
            case "str.contains", (text, regex):
                return f"{'regexp_matches' if regex else 'contains'}({arguments[0]}, {self._literal(text, expr)})"
            case "str.strip" | "str.lstrip" | "str.rstrip" as strip, (str() as characters,):
                name = strip.removeprefix("str.").replace("strip", "trim")
                return f"{name}({arguments[0]}" + ("" if characters == " " else f", {self._literal(characters, expr)}"
                                                   ) + ")"
            case "try_cast", (name,):
                return f"TRY_{self.text(Cast(expr.args[0], data_type(name, expr.show)))}"
            case "dt.at_time_zone", (zone,):
                return f"({self._operand(expr.args[0], _ATOM)} AT TIME ZONE {self._literal(zone, expr)})"
            case "dt.floor", (step,) if step in _GRIDS:
                return f"date_trunc('{_GRIDS[step]}', {arguments[0]})"
            case "dt.floor", (timedelta() as step,):
                return f"time_bucket({interval_text(step)}, {arguments[0]})"
            case "dt.floor", (str() as step,) if (found := _SPAN.fullmatch(step)):
                return f"time_bucket(INTERVAL '{found[1]}' {_GRIDS[f'1{found[2]}'].upper()}, {arguments[0]})"
            case function, () if function in _BITS:
                return f"({self._operand(expr.args[0], _ATOM)} {_BITS[function]} {self._operand(expr.args[1], _ATOM)})"
            case "bitwise_not", ():
                return f"(~{self._operand(expr.args[0], _ATOM)})"
            case "str.replace", (old, new, False, None):
                return f"replace({arguments[0]}, {self._literal(old, expr)}, {self._literal(new, expr)})"
            case function, options if function in _FUNCTIONS and all(isinstance(each, str | int) for each in options):
                arguments += [self._literal(each, expr) for each in options]
                return f"{_FUNCTIONS[function]}({', '.join(arguments)})"
        raise NoWordError(expr.show())

    def _aggregate(self, part: Aggregate, name: str = "") -> str:
        name = name or _AGGREGATES.get(type(part), "")
        values: tuple[Expr, ...] = () if part.expr is None else (part.expr,)
        if isinstance(part, UserAggregate):
            name = WORDS_OF_FUNCTIONS.get(part.functions) or name_text(part.functions.name)
        if isinstance(part, UserAggregate | ArgMin | ArgMax):
            values = part.expr.args if isinstance(part.expr, Call) and part.expr.function == "struct" else values
        inner = ", ".join(map(self.text, values)) or "*"
        match part:
            case ArgMax(latest=True):
                text = f"last({self.text(values[0])} ORDER BY {self.text(values[1])})"
            case SumDistinct() if name == "sum":
                text = f"sum(DISTINCT {inner})"
            case QuantileList(qs=qs):
                text = f"quantile_cont({inner}, {list(qs)!r})"
            case ApproximateQuantile(q=q, k=500):
                text = f"approx_quantile({inner}, {q!r})"
            case ApproximateTopK(k=k, counters=counters):
                text = f"approx_top_k({inner}, {k}{'' if counters == 1000 else f', {counters}'})"
            case StringAgg(separator=separator, order="value", descending=down):
                order = f"ORDER BY {inner}{' DESC' if down else ''}"
                text = f"string_agg({inner}, {self.text(Lit(separator))} {order})"
            case StringAgg(separator=separator, descending=False):
                text = f"string_agg({inner}, {self.text(Lit(separator))})"
            case Median():
                text = f"median({inner})"
            case CountDistinct():
                text = f"count(DISTINCT {inner})"
            case Std(sample=sample) | Var(sample=sample):
                word = "stddev" if isinstance(part, Std) else "variance" if sample else "var"
                text = f"{word}{'' if sample else '_pop'}({inner})"
            case Quantile(q=q, interpolation=interpolation, descending=descending):
                text = (f"percentile_{'disc' if interpolation == 'discrete' else 'cont'}({q!r}) WITHIN GROUP "
                        f"(ORDER BY {inner}{' DESC' if descending else ''})")
            case _ if name:
                text = f"{name}({inner})"
            case _:
                raise NoWordError(part.show())
        return text if part.condition is None else f"{text} FILTER (WHERE {self.text(part.condition)})"
