"""Format an expression as the user typed it."""

from __future__ import annotations

import ast
import inspect
import keyword
import math
import re
from types import CodeType
from typing import Any, assert_never

from whimbrel.expr.nodes import Binary, Call, Called, Cast, Col, Expr, Lit, RowFunction, Unary, When, node

_LAMBDA = -1
_COMPARISON = 0
_ATOM = 8
_BINDING = {"==": _COMPARISON, "!=": _COMPARISON, "<": _COMPARISON, "<=": _COMPARISON, ">": _COMPARISON,
            ">=": _COMPARISON, "|": 1, "^": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}
_UNARY = 6


def show(expr: Expr) -> str:
    """Python text that builds the same expression, with as few parentheses as possible.

    >>> from whimbrel.expr import col
    >>> show((col.a + 1) * col.name.str.length())
    '(col.a + 1) * col.name.str.length()'
    """
    if isinstance(expr := _as_shown(expr), Called):
        return f"{_name_of(expr)}({', '.join(map(_argument, expr.args))})"
    match node(expr):
        case Col(name, remembered) if remembered is not None:
            return name
        case Col(name):
            plain = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
            return f"col.{name}" if plain else f"col({name!r})"
        case Lit(value):
            return f"lit({_value(value)})"
        case Binary() as binary:
            return _binary(binary)
        case Unary(op, x):
            return f"{op}{_operand(x, _UNARY)}"
        case Call() as call:
            return _call(call)
        case When(condition, then, otherwise):
            return f"when({_argument(condition)}).then({_argument(then)}).otherwise({_argument(otherwise)})"
        case Cast(x, type_):
            return f"{_operand(x, _ATOM)}.cast({str(type_)!r})"
        case RowFunction(function):
            return f"python: {_source(function)}"
        case other:
            assert_never(other)


def _binary(expr: Binary) -> str:
    binding = _BINDING[expr.op]
    left, right = expr.left, expr.right
    # A plain value on the left works through the reflected operator; comparisons would turn around instead.
    if isinstance(left, Lit) and not isinstance(right, Lit) and binding != _COMPARISON:
        first = _value(left.value)
        if (expr.op == "%" and isinstance(left.value, str)) or (expr.op == "**" and first.startswith("-")):
            first = show(left)
    else:
        first = _operand(left, binding + 1 if expr.op == "**" or binding == _COMPARISON else binding)
    tight = binding if expr.op == "**" else binding + 1
    second = _value(right.value) if isinstance(right, Lit) else _operand(right, tight)
    return f"{first} {expr.op} {second}"


def _operand(expr: Expr, at_least: int) -> str:
    """The text of an operand, in parentheses if it binds less tightly than its place asks."""
    match _as_shown(expr):
        case Binary(op):
            binding = _BINDING[op]
        case Unary():
            binding = _UNARY
        case RowFunction():
            binding = _LAMBDA
        case _:
            binding = _ATOM
    return show(expr) if binding >= at_least else f"({show(expr)})"


def _as_shown(expr: Expr) -> Expr:
    """What stands for a call of a function that has no name, or whose arguments were replaced."""
    while isinstance(expr, Called) and not (expr.args and (expr.by.name != "<lambda>" or _is_of_rows(expr))):
        expr = expr.x
    return expr


def _is_of_rows(expr: Called) -> bool:
    return isinstance(expr.x, RowFunction)


def _name_of(expr: Called) -> str:
    return expr.by.name if expr.by.name != "<lambda>" else f"({_source(expr.by.function)})"


def _argument(expr: Expr) -> str:
    return _value(expr.value) if isinstance(expr, Lit) else show(expr)


def _call(call: Call) -> str:
    if not call.args:
        return f"{call.function}()"
    if call.function == "parameter":
        return f"parameter({call.options[0]!r})"
    if call.function in ("greatest", "least", "haversine", "concat_list"):
        return f"{call.function}({', '.join(map(_argument, call.args))})"
    if call.function.startswith("seg."):
        return _segment_call(call)
    receiver = _operand(call.args[0], _ATOM)
    match call.function, call.options:
        case "str.contains" | "str.count_matches", (text, True):
            arguments = [repr(text), "regex=True"]
        case "str.replace", (old, new, regex, count):
            arguments = [repr(old), repr(new), *(["regex=True"] if regex else []),
                         *([] if count is None else [f"count={count}"])]
        case "list.sort", (descending,):
            arguments = ["descending=True"] if descending else []
        case "str.like", (text, ignore_case):
            return f"{receiver}.str.{'ilike' if ignore_case else 'like'}({text!r})"
        case "str.strptime", (form, unit):
            arguments = [repr(form), *([] if unit == "us" else [f"unit={unit!r}"])]
        case "str.concat", (separator,):
            arguments = [*map(_argument, call.args[1:]), *([f"separator={separator!r}"] if separator else [])]
        case "dt.replace_timezone", (zone, ambiguous):
            arguments = [repr(zone), *([] if ambiguous == "latest" else [f"ambiguous={ambiguous!r}"])]
        case "dt.business_days", (holidays,):
            arguments = [_argument(call.args[1]), *([f"holidays={list(holidays)!r}"] if holidays else [])]
        case "str.strip" | "str.lstrip" | "str.rstrip", (None,):
            arguments = []
        case "str.contains" | "str.count_matches", (text, False):
            arguments = [repr(text)]
        case "struct", _:
            return f"({', '.join(map(_argument, call.args))})"
        case "is_in", values:
            arguments = [f"[{', '.join(_value(value) for value in values)}]"]
        case "round", (0,):
            arguments = []
        case function, () if function.startswith("dt.") and len(call.args) == 1:
            return f"{receiver}.{function}"
        case _, options:
            arguments = [*(_argument(arg) for arg in call.args[1:]), *(repr(option) for option in options)]
    return f"{receiver}.{call.function}({', '.join(arguments)})"


_SEGMENT_OPTIONS: dict[str, tuple[str, ...]] = {
    "seg.crossings": ("",), "seg.psd": ("window=",), "seg.band": ("", "", "window="),
    "seg.wavelet": ("", "level=", "part="), "seg.lag": ("limit=",),
}


def _segment_call(call: Call) -> str:
    """A function of segments, with the options that it was given."""
    name, args = call.function.removeprefix("seg."), list(map(_argument, call.args))
    if name == "apply":
        return f"{call.options[0]!r}({', '.join(args)})"
    options = [f"{option}{value!r}" for option, value in zip(_SEGMENT_OPTIONS.get(call.function, ()), call.options,
                                                            strict=True) if (option, value) not in _DEFAULTS]
    if name in ("lag", "correlate", "majority"):
        return f"{name}({', '.join([*args, *options])})"
    return f"{_operand(call.args[0], _ATOM)}.seg.{name}({', '.join([*args[1:], *options])})"


_DEFAULTS = (("window=", "hann"), ("part=", "detail"), ("limit=", None))


def _value(value: Any) -> str:
    return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)


def _source(function: Any) -> str:
    """The text of a lambda, or the name of a function."""
    if function.__name__ != "<lambda>":
        return str(function.__name__)
    try:
        text = inspect.getsource(function)
    except OSError:
        return "<lambda>"
    for found in re.finditer(r"\blambda\b", text):  # of several in one statement, the one with this code
        for end in range(len(text), found.start(), -1):
            try:
                tree = ast.parse(text[found.start() : end], mode="eval")
            except SyntaxError:
                continue
            if isinstance(tree.body, ast.Lambda):
                if _same_code(tree, function):
                    return " ".join(text[found.start() : end].split())
                break
    return "<lambda>"


def _same_code(tree: ast.Expression, function: Any) -> bool:
    """Whether a lambda's source is that of a function, as far as its names and constants tell."""
    written = next(const for const in compile(tree, "<lambda>", "eval").co_consts if isinstance(const, CodeType))
    code = function.__code__
    names = set(written.co_names + written.co_freevars), set(code.co_names + code.co_freevars)
    return names[0] == names[1] and written.co_varnames == code.co_varnames and _plain(written) == _plain(code)


def _plain(code: CodeType) -> list[Any]:
    return [const for const in code.co_consts if not isinstance(const, CodeType)]
