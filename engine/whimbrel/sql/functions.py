"""Functions of values, by their names in SQL."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.errors import SqlError, WhimbrelError, near_match
from whimbrel.expr import (
    FUNCTION_TABLE,
    SQL_FUNCTIONS,
    Call,
    Expr,
    Lit,
    UserFunction,
    concat_list,
    end_time,
    greatest,
    start_time,
    trace,
    when,
)
from whimbrel.expr import least as smallest
from whimbrel.sql.function_names import AGGREGATES, FUNCTIONS
from whimbrel.sql.intervals import bucket
from whimbrel.sql.manual_functions import manual_function, predicate
from whimbrel.sql.method_functions import item, method_function, slice_between
from whimbrel.sql.names_of_other_databases import ELSEWHERE_ONLY, WORKING_HERE
from whimbrel.sql.refusals import FILE_FUNCTIONS, RANDOM, WALL_CLOCK, refusal
from whimbrel.sql.scope import NameScope
from whimbrel.sql.text_functions import literal_text, literal_whole, text_function

Scalar = Callable[[Any, NameScope], Expr]

ONE: Final[dict[Any, Callable[[Expr], Expr]]] = {
    exp.Abs: lambda x: x.abs(), exp.Sqrt: lambda x: x.sqrt(), exp.Exp: lambda x: x.exp(), exp.Ln: lambda x: x.log(),
    exp.Sin: lambda x: x.sin(), exp.Cos: lambda x: x.cos(), exp.Sign: lambda x: x.sign(),
    exp.Lower: lambda x: x.str.lower(), exp.Upper: lambda x: x.str.upper(), exp.Length: lambda x: x.str.length(),
    exp.DayOfMonth: lambda x: x.dt.day, exp.DayOfYear: lambda x: x.dt.day_of_year, exp.WeekOfYear: lambda x: x.dt.week,
}
"""Functions of one value, by the parser's node."""

PARTS: Final[dict[str, Callable[[Expr], Expr]]] = {
    "YEAR": lambda x: x.dt.year, "MONTH": lambda x: x.dt.month, "DAY": lambda x: x.dt.day,
    "HOUR": lambda x: x.dt.hour, "MINUTE": lambda x: x.dt.minute, "SECOND": lambda x: x.dt.second,
    "QUARTER": lambda x: x.dt.quarter, "WEEK": lambda x: x.dt.week, "DOY": lambda x: x.dt.day_of_year,
    "DAYOFYEAR": lambda x: x.dt.day_of_year,
    "MILLISECOND": lambda x: x.dt.second * 1000 + x.dt.millisecond,
    "MICROSECOND": lambda x: x.dt.second * 1_000_000 + x.dt.microsecond, "DOW": lambda x: (x.dt.weekday + 1) % 7,
    "EPOCH": lambda x: x.dt.epoch("us") / 1_000_000,
    "DAYOFWEEK": lambda x: (x.dt.weekday + 1) % 7, "ISODOW": lambda x: x.dt.weekday + 1,
}
"""Parts of times for EXTRACT."""

_FIXED: Final = {"WEEK": "1w", "DAY": "1d", "HOUR": "1h", "MINUTE": "1m", "SECOND": "1s", "MILLISECOND": "1ms",
                 "MONTH": "1mo", "QUARTER": "1q", "YEAR": "1y"}

_TEXT_TESTS: Final = {"starts_with": "starts_with", "ends_with": "ends_with", "contains": "contains",
                      "prefix": "starts_with", "suffix": "ends_with"}

_CLOSE: Final = 0.74
"""So alike are a misspelt name and its match."""
_COUNTS: Final = {1: "one value", 2: "two values"}
_SHOWN: Final = {1: "x", 2: "y, x"}


def call(node: Any, scope: NameScope, scalar: Scalar) -> Expr:
    """The expression of a function call."""
    text = scope.binder.text

    def value(key: str = "this") -> Expr:
        if node.args.get(key) is None:
            raise text.error("A value is missing.", node, "Write the value.")
        return scalar(node.args[key], scope)

    if type(node) in ONE:
        _only(node, ("this",), scope)
        return ONE[type(node)](value())
    if (found := text_function(node, scope, scalar)) is not None:
        return found
    if (found := _by_table(node, scope, scalar)) is not None:
        return found
    if (found := method_function(node, scope, scalar)) is not None:
        return found
    match node:
        case exp.Floor() | exp.Ceil():
            _only(node, ("this",), scope)
            return value().floor() if isinstance(node, exp.Floor) else value().ceil()
        case exp.Round():
            _only(node, ("this", "decimals"), scope)
            digits = 0 if node.args.get("decimals") is None else literal_whole(node.args["decimals"], scope, scalar)
            return value().round(digits)
        case exp.Log():
            if node.args.get("expression") is not None:  # a base, then the value
                base, x = value(), value("expression")
                if isinstance(base, Lit) and base.value in (2, 10):
                    return x.log2() if base.value == 2 else x.log10()
                return x.log() / base.log()
            return value().log10()
        case exp.Trunc():
            _only(node, ("this",), scope)
            return when(value() < 0).then(value().ceil()).otherwise(value().floor())
        case exp.Pi():
            return Lit(math.pi)
        case exp.Greatest() | exp.Least():
            values = [value(), *(scalar(each, scope) for each in node.expressions)]
            return greatest(*values) if isinstance(node, exp.Greatest) else smallest(*values)
        case exp.Extract():
            unit = node.name.upper()
            if unit not in PARTS:
                raise text.error(f"EXTRACT has no part {node.name!r}.", node, near_match(unit, PARTS, noun="part"))
            return PARTS[unit](value("expression"))
        case exp.Quarter() | exp.DayOfWeek():
            return PARTS["QUARTER" if isinstance(node, exp.Quarter) else "DOW"](value())
        case exp.DateTrunc() | exp.TimestampTrunc():
            return _date_trunc(node, scope, scalar)
        case exp.StartsWith():
            return value().str.starts_with(literal_text(node.expression, scope, scalar))
        case exp.EndsWith():
            return value().str.ends_with(literal_text(node.expression, scope, scalar))
        case exp.Contains():
            return value().str.contains(literal_text(node.expression, scope, scalar))
        case exp.RegexpLike():
            return value().str.contains(literal_text(node.expression, scope, scalar), regex=True)
        case exp.StrPosition():
            _only(node, ("this", "substr"), scope)
            return value().str.index_of(literal_text(node.args["substr"], scope, scalar)) + 1
        case exp.AggFunc():
            raise text.error("An aggregate is not allowed here.", node, "Use HAVING, or a subquery.")
        case exp.Anonymous():
            return _named(node, scope, scalar)
        case exp.Bracket() if (found := predicate(node, scope, scalar)) is not None:
            return found
        case exp.Bracket() if len(node.expressions) == 1:
            return _subscript(node, scope, scalar)
        case exp.Array() if node.expressions:
            return _list(node, scope, scalar)
        case exp.Func():
            raise unknown_function(node, node.sql_name().lower(), scope)
        case _:
            what, hint = (refusal("caret") if isinstance(node, exp.BitwiseXor)
                          else refusal("expression", text=_shown(node)))
            raise text.error(what, node, hint)


def _shown(node: Any) -> str:
    try:
        return str(node.sql())[:60]
    except ValueError:  # sqlglot writes no text of what only this dialect has
        return type(node).__name__


def _by_table(node: Any, scope: NameScope, scalar: Scalar) -> Expr | None:
    """The expression of a function of the table of functions, if no function of the user has its name."""
    if not isinstance(node, exp.Func) or isinstance(node, exp.AggFunc):
        return None
    name = node.name.lower() if isinstance(node, exp.Anonymous) else node.sql_name().lower()
    called = SQL_FUNCTIONS.get("isnan" if name == "is_nan" else name)
    if called is None or name in scope.binder.functions:
        return None
    given = [*node.expressions] if isinstance(node, exp.Anonymous) else [each for each in node.args.values() if each]
    function = FUNCTION_TABLE[called]
    count, options = function.arguments or max(1, len(given) - len(function.options)), function.options
    if len(given) != count + len(options):
        wanted = count + len(options)
        raise scope.binder.text.error(f"{name}() takes {_COUNTS.get(wanted, f'{wanted} values')}.", node,
                                      f"Use {name}({_SHOWN.get(wanted, 'x, ...')}).")
    literals = [(literal_text if kind is str else literal_whole)(each, scope, scalar)
                for kind, each in zip(options, given[count:], strict=True)]
    found = Call(called, tuple(scalar(each, scope) for each in given[:count]), tuple(literals))
    scope.type_of(found, node)
    return found


def _named(node: Any, scope: NameScope, scalar: Scalar) -> Expr:
    name, arguments = node.name, node.expressions
    functions = scope.binder.functions
    if name in functions:
        function = functions[name]
        if isinstance(function, UserFunction):
            function = function.named(name)
        return _traced(node, function, [scalar(each, scope) for each in arguments], scope)
    lower = name.lower()
    if lower in ("start_time", "end_time") and not arguments:
        return start_time() if lower == "start_time" else end_time()
    if lower in ("floor_div", "floor_mod", "true_div") and len(arguments) == 2:
        x, y = (scalar(each, scope) for each in arguments)
        return x % y if lower == "floor_mod" else x // y if lower == "floor_div" else x / y
    if lower == "time_bucket" and len(arguments) == 2 and isinstance(arguments[0], exp.Interval):
        return scalar(arguments[1], scope).dt.floor(bucket(arguments[0], scope.binder.text))
    if lower in ("date_diff", "datediff"):
        return _date_diff(node, scope, scalar)
    if lower in ("date_part", "datepart") and len(arguments) == 2:
        unit = literal_text(arguments[0], scope, scalar).upper()
        if unit in PARTS:
            return PARTS[unit](scalar(arguments[1], scope))
        raise scope.binder.text.error(f"{lower} has no part {unit.lower()!r}.", node,
                                      "Use year, quarter, month, week, day, hour, minute or second.")
    if lower == "timezone" and len(arguments) == 2:
        return scalar(arguments[1], scope).dt.at_time_zone(literal_text(arguments[0], scope, scalar))
    if lower == "btrim" and len(arguments) in (1, 2):
        return scalar(arguments[0], scope).str.strip(
            " " if len(arguments) == 1 else literal_text(arguments[1], scope, scalar))
    if lower in _TEXT_TESTS and len(arguments) == 2:
        return getattr(scalar(arguments[0], scope).str, _TEXT_TESTS[lower])(literal_text(arguments[1], scope, scalar))
    if lower == "regexp_matches" and len(arguments) == 2:
        return scalar(arguments[0], scope).str.contains(literal_text(arguments[1], scope, scalar), regex=True)
    if (found := manual_function(node, scope, scalar)) is not None:
        return found
    raise unknown_function(node, name, scope)


def _traced(node: Any, function: Callable[..., Any], values: list[Expr], scope: NameScope) -> Expr:
    """What a function of the user makes of expressions; its own error is shown at the call."""
    try:
        return trace_call(function, values, node.name)
    except SqlError:
        raise
    except Exception as error:
        if isinstance(function, UserFunction) and isinstance(error, WhimbrelError):
            raise scope.binder.text.error(error.what, node, error.hint) from error
        reason = error.what if isinstance(error, WhimbrelError) else f"{type(error).__name__}: {error}"
        first = reason.splitlines()[0].rstrip(".")
        raise scope.binder.text.error(
            f"{node.name}() takes expressions of whole columns, and failed: {first}.", node,
            "Use methods such as x.sqrt(), or wb.function(f), which calls it for each row.") from error


def trace_call(function: Callable[..., Any], values: list[Expr], name: str) -> Expr:
    """A user's function of values: its expression where it can be traced, else a call for each row."""
    if not values:
        return trace(lambda _: function(), where=f"{name}()")
    found = function(*values)
    return found if isinstance(found, Expr) else Lit(found)


def unknown_function(node: Any, name: str, scope: NameScope) -> Exception:
    lower, text = name.lower(), scope.binder.text
    if isinstance(node, exp.Struct):
        return text.error("A query makes no structs.", node, "Select each value as a column.")
    said = text.called(node) or lower
    if lower in FILE_FUNCTIONS:
        return text.error(refusal("files")[0], node, refusal("files")[1])
    if lower in WALL_CLOCK:
        return text.error(*_at(refusal("wall clock", name=f"{lower}()"), node))
    if lower in RANDOM:
        return text.error(*_at(refusal("random", name=f"{said}()"), node))
    if lower in ("moving_sum", "moving_sum_exp", "byte_match_offset"):
        kind = "byte_match_offset" if lower == "byte_match_offset" else "moving_sum"
        return text.error(*_at(refusal(kind, name=lower), node))
    if lower in ("histogram", "rate"):
        return text.error(*_at(refusal(lower), node))
    known = [*FUNCTIONS, *AGGREGATES, *scope.binder.functions]
    if lower in known:
        return text.error(f"{lower}() takes other arguments.", node, "See the functions in docs/sql.md.")
    close = [] if lower in ELSEWHERE_ONLY else difflib.get_close_matches(lower, known, n=1, cutoff=_CLOSE)
    found = WORKING_HERE.get(lower) or "".join(close)
    if isinstance(node, exp.JSONExtract | exp.JSONExtractScalar) and not text.called(node):
        said = "->" if isinstance(node, exp.JSONExtract) else "->>"
        return text.error(f"There is no operator {said!r}.", node, f"Use {found}.")
    return text.error(f"There is no function {said!r}.", node,
                      f"Use {found}." if found else "Pass it: wb.sql(..., functions={...}).")


def _at(words: tuple[str, str], node: Any) -> tuple[str, Any, str]:
    return words[0], node, words[1]


def _date_trunc(node: Any, scope: NameScope, scalar: Scalar) -> Expr:
    unit = node.args["unit"].name.upper()
    if unit not in _FIXED:
        raise scope.binder.text.error(f"date_trunc has no unit {unit.lower()!r} here.", node,
                                      "Use year, quarter, month, week, day, hour, minute, second or millisecond.")
    x = scalar(node.this, scope)
    if pa.types.is_date(scope.type_of(x, node.this)):
        x = x.cast(pa.timestamp("s"))
    return x.dt.floor(_FIXED[unit])


def _date_diff(node: Any, scope: NameScope, scalar: Scalar) -> Expr:
    """Borders of a unit between two times: date_diff('month', first, then)."""
    if len(node.expressions) != 3:
        raise scope.binder.text.error("date_diff takes a unit and two times.", node, "Use date_diff('day', t, u).")
    unit, first, then = node.expressions
    found = Call("dt.date_diff", (scalar(first, scope), scalar(then, scope)),
                 (literal_text(unit, scope, scalar).lower(),))
    scope.type_of(found, node)
    return found


def _subscript(node: Any, scope: NameScope, scalar: Scalar) -> Expr:
    """``x[2]``, ``x[2:3]``: items of a list or characters of a text, from 1 and with both ends."""
    x, at = scalar(node.this, scope), node.expressions[0]
    if isinstance(at, exp.Slice):
        first = 1 if at.this is None else literal_whole(at.this, scope, scalar)
        last = -1 if at.args.get("expression") is None else literal_whole(at.expression, scope, scalar)
    else:
        first = last = literal_whole(at, scope, scalar)
    type_ = scope.type_of(x, node.this)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return x.str.slice(*slice_between(first, last)) if first or isinstance(at, exp.Slice) else x.str.slice(0, 0)
    if not (pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_)):
        raise scope.binder.text.error(f"A subscript needs a list or a text, not {type_}.", node,
                                      "Name a column of lists or texts.")
    found = x.list.slice(*slice_between(first, last)) if isinstance(at, exp.Slice) else item(x, first)
    scope.type_of(found, node)
    return found


def _list(node: Any, scope: NameScope, scalar: Scalar) -> Expr:
    """``[1, 2]``; lists of columns would keep nulls in SQL, and are null with one in :func:`~whimbrel.concat_list`."""
    items = [scalar(each, scope) for each in node.expressions]
    if not all(isinstance(each, Lit) and each.value is not None for each in items):
        raise scope.binder.text.error("A list needs literals, none of them NULL.", node,
                                      "Use wb.concat_list(...) in Python for values of columns.")
    found = concat_list(*items)
    scope.type_of(found, node)
    return found


def _only(node: Any, known: tuple[str, ...], scope: NameScope) -> None:
    """Refuse arguments that this function does not have here."""
    for key, given in node.args.items():
        if key not in known and given:
            raise scope.binder.text.error(f"{node.sql_name().lower()} has no such argument here.", node,
                                          "Leave the last argument out.")
