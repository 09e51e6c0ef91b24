"""Generate scalar Python for one row, identical to evaluation.

An expression becomes two texts: its value, and whether it has one. **The value text may be run only where the validity
text is true**; inside one text that is seen to. Interpreted text runs inside ``numpy.errstate(all="ignore")``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Schema, numpy_type
from whimbrel.clock import ticks_per_second
from whimbrel.expr.checked_integers import power_of_ten
from whimbrel.expr.columns import children
from whimbrel.expr.function_table import FUNCTION_TABLE
from whimbrel.expr.literals import physical
from whimbrel.expr.nodes import Binary, Call, Cast, Col, Expr, Lit, RowFunction, Unary, When, node
from whimbrel.expr.number_loops import C_FUNCTIONS
from whimbrel.expr.numeric_codegen import at_precision, extreme_source, function_source, power_source
from whimbrel.expr.type_predicates import is_plain, is_text
from whimbrel.expr.types import (
    BOOL,
    COMPARISONS,
    LOGIC,
    ROUNDED_TIMES,
    binary_types,
    choices,
    in_range,
    in_type,
    meets_date,
    type_of,
)
from whimbrel.expr.unit_comparison import compare_units_source, differ_in_unit

Text = tuple[str, str | None]
"""Text of a value, and of whether there is one (None: always)."""

Bind = Callable[[Expr], Text]
"""Texts for a part that is computed elsewhere: a column, or an expression evaluated beforehand."""


class LiteralArguments(ABC):
    """Texts for parts, as :data:`Bind`; numbers that the user wrote become arguments of the generated code.

    Expressions that differ only in such numbers have the same text, which is compiled once. Divisors and exponents
    stay in the text: the compiler makes faster code for a number that it knows.
    """

    @abstractmethod
    def __call__(self, part: Expr) -> Text:
        """Texts for a part that is computed elsewhere."""

    @abstractmethod
    def argument(self, number: float) -> str:
        """The name of the argument that has this number."""


_WRITTEN_OUT = ("/", "//", "%", "**")
_INT_CALLS = {"+": "checked_add", "-": "checked_sub", "*": "checked_mul", "//": "floor_div", "%": "floor_mod"}
_TRUTH_CALLS = {"&": "truth_and", "|": "truth_or"}
_LONGEST_IN = 16
_NEVER_FAIL = ("is_null", "is_not_null", "is_in", "between", "fill_null", "start_time", "end_time", "parameter", "log",
               "exp", "sin", "cos", "sign", "str.", "dt.")


def to_source(expr: Expr, schema: Schema, bind: Bind) -> Text:
    """Texts of the value and the validity of an expression.

    Parameters
    ----------
    expr : Expr
    schema : Schema
    bind : callable
        Called for each column, and for each largest part that cannot be written out (strings, calendar, Arrow-held
        columns, Python functions), perhaps more than once; answers with texts such as ``("c0[i]", "v0[i]")``.

    Examples
    --------
    >>> from whimbrel.batch import Field
    >>> from whimbrel.expr import col
    >>> schema = Schema((Field("a", pa.int64()), Field("b", pa.int64())))
    >>> to_source(col.a // col.b + 1, schema, lambda part: (f"{part.name}[i]", None))
    ('checked_add(floor_div(a[i], b[i]), 1)', '(b[i] != 0)')
    """
    if not _writable(expr, schema):
        return bind(expr)
    match node(expr):
        case Col():
            return bind(expr)
        case Lit():
            return _part(expr, type_of(expr, schema), schema, bind)
        case Binary() as binary:
            return _binary(binary, schema, bind)
        case Unary(op, x):
            return _unary(op, x, type_of(expr, schema), schema, bind)
        case Call() as call:
            return _call(call, schema, bind)
        case When(condition, then, otherwise):
            common = type_of(expr, schema)
            holds = predicate_source(condition, schema, bind)
            yes, yes_valid = _part(then, common, schema, bind)
            no, no_valid = _part(otherwise, common, schema, bind)
            value = f"({yes} if {holds} else {no})"
            if yes_valid is None and no_valid is None:
                return value, None
            return value, f"({yes_valid or 'True'} if {holds} else {no_valid or 'True'})"
        case Cast(x, type_):
            value, valid = to_source(x, schema, bind)
            return _converted(value, type_of(x, schema), type_), valid
        case RowFunction():
            return bind(expr)
        case other:
            assert_never(other)


def predicate_source(expr: Expr, schema: Schema, bind: Bind) -> str:
    """Text that is true where a condition is true, and false where it is false or null."""
    if isinstance(expr, Lit):
        return str(expr.value is True)
    text, three_valued = _truth(expr, schema, bind)
    if not three_valued:
        return text
    if isinstance(expr, Binary) and expr.op in _TRUTH_CALLS:
        return f"({text} == 1)"
    value, valid = to_source(expr, schema, bind)
    return f"({valid} and {value})"


def inlinable(expr: Expr, schema: Schema) -> bool:
    """True when an expression can be written out over columns alone, with nothing evaluated beforehand."""
    return numpy_type(type_of(expr, schema)) is not None and not list(_bound(expr, schema))


def _bound(expr: Expr, schema: Schema) -> Iterator[Expr]:
    """The largest parts, other than columns, that cannot be written out."""
    if isinstance(expr, Lit):  # written at the type its place asks for
        return
    if not _writable(expr, schema):
        yield expr
        return
    for child in children(expr):
        yield from _bound(child, schema)


def _writable(expr: Expr, schema: Schema) -> bool:
    """True when this node itself can be written out, whatever its parts."""
    match node(expr):
        case Col(name):
            return numpy_type(schema.type_of(name)) is not None
        case Lit(value):
            return not isinstance(value, str | Decimal)
        case Binary(_, left, right) as binary:
            left_type, right_type, result = binary_types(
                binary, (left, type_of(left, schema)), (right, type_of(right, schema)))
            if t.is_duration(result) and t.is_date(type_of(left, schema)):  # a difference of dates
                return False
            if meets_time(schema, left, right):
                return False
            return numpy_type(left_type) is not None and numpy_type(right_type) is not None
        case Unary(_, x):
            return numpy_type(type_of(x, schema)) is not None
        case Cast(x, type_):
            return is_plain(type_of(x, schema)) and is_plain(type_)
        case Call() as call:
            return _writable_call(call, schema)
        case When(condition, then, otherwise):
            return (numpy_type(type_of(expr, schema)) is not None and not t.is_null(type_of(condition, schema))
                    and _guarded(then, schema) and _guarded(otherwise, schema))
        case RowFunction():
            return False
        case other:
            assert_never(other)


def _writable_call(call: Call, schema: Schema) -> bool:
    if not call.args:
        return False
    x = call.args[0]
    x_type = type_of(x, schema)
    match call.function:
        case "is_null" | "is_not_null":  # of a column only: whether a computed value is there may need computing it
            return isinstance(x, Col) and numpy_type(x_type) is not None
        case "fill_null":
            return numpy_type(type_of(call, schema)) is not None and _guarded(call.args[1], schema)
        case "between":
            return not meets_time(schema, *call.args) and not is_text(x_type) and all(
                not isinstance(arg.value, Decimal) if isinstance(arg, Lit)
                else numpy_type(type_of(arg, schema)) is not None for arg in call.args)
        case "is_in":
            common = in_type(call, x_type)
            return (numpy_type(common) is not None and not meets_date(x_type, common)
                    and len(call.options) <= _LONGEST_IN)
        case "greatest" | "least":
            return numpy_type(type_of(call, schema)) is not None
        case "round" if t.is_integer(x_type):  # to tens it may overflow
            return call.options[0] >= 0
        case "abs" | "floor" | "ceil" | "round" | "sqrt" | "sign":
            return numpy_type(x_type) is not None
        case function:
            return function in C_FUNCTIONS and numpy_type(x_type) is not None


def meets_time(schema: Schema, *exprs: Expr) -> bool:
    """Whether a date is compared with times: where its midnight is, zones know."""
    types = [type_of(expr, schema) for expr in exprs if not isinstance(expr, Lit) or expr.value is not None]
    dates = any(t.is_date(type_of(expr, schema)) for expr in exprs if not isinstance(expr, Lit))
    return dates and any(meets_date(one, other) for one in types for other in types)


def _guarded(branch: Expr, schema: Schema) -> bool:
    """True when nothing in a branch is evaluated beforehand that could fail for rows that do not take the branch."""
    return not any(can_fail(part) for part in _bound(branch, schema))


def can_fail(expr: Expr) -> bool:
    """Whether there are values for which it is an error."""
    match node(expr):
        case Cast() | RowFunction():
            return True
        case Binary(op) if op not in COMPARISONS and op not in LOGIC:
            return True
        case Unary(op) if op == "-":
            return True
        case Call(function) if function in ROUNDED_TIMES:
            return True
        case Call(function) if function not in FUNCTION_TABLE and not function.startswith(_NEVER_FAIL):
            return True
    return any(can_fail(child) for child in children(expr))


def _part(expr: Expr, type_: pa.DataType, schema: Schema, bind: Bind, *, written_out: bool = False) -> Text:
    """An operand brought to the type its place asks for."""
    if not isinstance(expr, Lit):
        value, valid = to_source(expr, schema, bind)
        return _converted(value, type_of(expr, schema), type_), valid
    dtype = numpy_type(type_)
    if expr.value is None:
        return _number(0 if dtype is None else dtype.type(0).item(), dtype), "False"
    number = physical(expr.value, type_)
    if not written_out and isinstance(bind, LiteralArguments) and _is_argument(number, dtype):
        name = bind.argument(number)
        return name if dtype == np.int64 else f"np.{dtype}({name})", None
    return _number(number, dtype), None


def _is_argument(number: Any, dtype: np.dtype[Any] | None) -> bool:
    """Whether a number of this type can be an argument: an integer of 64 bits, or a float."""
    if dtype is None or dtype == np.bool_ or isinstance(number, bool):
        return False
    return isinstance(number, float) if dtype.kind == "f" else isinstance(number, int) and -(2**63) <= number < 2**63


def _number(value: Any, dtype: np.dtype[Any] | None) -> str:
    if dtype is None or dtype in (np.bool_, np.int64):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, float):
        text = repr(value) if math.isfinite(value) else f"np.{'nan' if math.isnan(value) else 'inf'}"
        text = f"(-{text})" if value == -math.inf else text
        return f"np.{dtype.name}({text})"
    return f"np.{dtype.name}({value})"


def _converted(text: str, source: pa.DataType, target: pa.DataType) -> str:
    if source == target:
        return text
    if is_plain(source) and is_plain(target):
        return _converted_number(text, source, target)
    from_second, to_second = (ticks_per_second(getattr(type_, "unit", None)) for type_ in (source, target))
    if from_second is None or to_second is None or from_second == to_second:
        return text
    return f"checked_mul({text}, {to_second // from_second})"


def _converted_number(text: str, source: pa.DataType, target: pa.DataType) -> str:
    dtype = numpy_type(target)
    assert dtype is not None
    if dtype.kind == "b":
        return f"({text} != 0)"
    if t.is_boolean(source):
        return f"np.{dtype.name}({text})"
    if dtype.kind == "f":
        # By way of double, so that an integer is rounded once and in the same way everywhere.
        through = f"np.float64({text})" if t.is_integer(source) else text
        return through if through.startswith("np.float64") and dtype == np.float64 else f"np.{dtype.name}({through})"
    if t.is_floating(source):
        text = f"whole(np.float64({text}))"
    elif t.is_uint64(source):
        text = f"np.int64(within({text}, 0, {2**63 - 1}))"
    elif not t.is_int64(source):
        text = f"np.int64({text})"
    if dtype == np.int64:
        return text
    limits = np.iinfo(dtype)
    return f"np.{dtype.name}(within({text}, {limits.min}, {min(int(limits.max), 2**63 - 1)}))"


def _both(one: str | None, other: str | None) -> str | None:
    return f"({one} and {other})" if one and other else one or other


def _binary(expr: Binary, schema: Schema, bind: Bind) -> Text:
    op = expr.op
    if op in _TRUTH_CALLS:
        text, three_valued = _truth(expr, schema, bind)
        return (f"({text} == 1)", f"({text} != 2)") if three_valued else (text, None)
    if op in COMPARISONS:
        expr = in_range(expr, type_of(expr.left, schema), type_of(expr.right, schema))
        op = expr.op
    left_type, right_type, result = binary_types(
        expr, (expr.left, type_of(expr.left, schema)), (expr.right, type_of(expr.right, schema)))
    x, x_valid = _part(expr.left, left_type, schema, bind)
    y, y_valid = _part(expr.right, right_type, schema, bind, written_out=op in _WRITTEN_OUT)
    valid = _both(x_valid, y_valid)
    if op == "^":
        return f"({x} != {y})", valid
    if op in COMPARISONS:
        if differ_in_unit(left_type, right_type):
            return compare_units_source(op, left_type, right_type, x, y), valid
        if t.is_boolean(left_type):
            x, y = f"np.int64({x})", f"np.int64({y})"
        return f"({x} {op} {y})", valid
    if t.is_floating(result):
        return _float_arithmetic(expr, x, y, left_type, result), valid
    if t.is_date32(result):
        return f"np.int32(within(np.int64({x}) {op} np.int64({y}), {-(2**31)}, {2**31 - 1}))", valid
    if op == "**":
        return f"checked_mul({x}, {x})" if y == "2" else f"int_power({x}, {y})", valid
    if op in ("//", "%") and not (isinstance(expr.right, Lit) and expr.right.value):
        valid = _both(valid, f"({y} != 0)")
    return f"{_INT_CALLS[op]}({x}, {y})", valid


def _float_arithmetic(expr: Binary, x: str, y: str, operands: pa.DataType, result: pa.DataType) -> str:
    op, single = expr.op, t.is_float32(result)
    if op == "**":
        return power_source(expr, x, y, result)
    if t.is_duration(operands):
        x, y = f"np.float64({x})", f"np.float64({y})"
    if op in ("//", "%"):  # in double also for float32, as evaluation does
        call = "float_floor_div" if op == "//" else "float_mod"
        text = f"{call}(np.float64({x}), np.float64({y}))" if single else f"{call}({x}, {y})"
    elif op == "/" and not (isinstance(expr.right, Lit) and expr.right.value):
        text = f"divide({x}, {y})"
    else:
        return f"({x} {op} {y})"
    return f"np.float32({text})" if single else text


def _truth(expr: Expr, schema: Schema, bind: Bind) -> tuple[str, bool]:
    """A condition as a bool where it is never null, otherwise as 0 (false), 1 (true) or 2 (null), and which it is."""
    if isinstance(expr, Binary) and expr.op in _TRUTH_CALLS and _writable(expr, schema):
        left, left_three = _truth(expr.left, schema, bind)
        right, right_three = _truth(expr.right, schema, bind)
        if not left_three and not right_three:
            return f"({left} {expr.op} {right})", False
        left, right = (text if three else f"(1 if {text} else 0)"
                       for text, three in ((left, left_three), (right, right_three)))
        return f"{_TRUTH_CALLS[expr.op]}({left}, {right})", True
    value, valid = _part(expr, BOOL, schema, bind)
    return (value, False) if valid is None else (f"((1 if {value} else 0) if {valid} else 2)", True)


def _unary(op: str, x: Expr, result: pa.DataType, schema: Schema, bind: Bind) -> Text:
    value, valid = _part(x, result, schema, bind)
    if op == "~":
        return f"(not {value})", valid
    if t.is_floating(result):
        return (f"(-{value})" if op == "-" else f"abs({value})"), valid
    return f"{'checked_neg' if op == '-' else 'checked_abs'}({value})", valid


def _call(call: Call, schema: Schema, bind: Bind) -> Text:
    x, *others = call.args
    result = type_of(call, schema)
    match call.function:
        case "is_null" | "is_not_null":
            valid = bind(x)[1]
            if valid is None:
                return str(call.function == "is_not_null"), None
            return (valid if call.function == "is_not_null" else f"(not {valid})"), None
        case "fill_null":
            return _fill_null(call, result, schema, bind)
        case "between":
            return to_source(Binary("&", Binary(">=", x, others[0]), Binary("<=", x, others[1])), schema, bind)
        case "is_in":
            x_type = type_of(x, schema)
            common = in_type(call, x_type)
            value, valid = _part(x, common, schema, bind)
            items = "".join(f"{_part(Lit(item), common, schema, bind)[0]}, " for item in choices(call, x_type))
            return (f"({value} in ({items.strip()}))" if items else "False"), valid
        case "abs":
            return _unary("abs", x, result, schema, bind)
        case "greatest" | "least":
            parts = [_part(arg, result, schema, bind) for arg in call.args]
            return extreme_source(call.function, parts, _part(Lit(None), result, schema, bind)[0])
        case "sign":
            value, valid = to_source(x, schema, bind)
            return function_source("sign", value, type_of(x, schema), result), valid
    value, valid = _part(x, result, schema, bind)
    if call.function == "sqrt" or call.function in C_FUNCTIONS:
        return function_source(call.function, value, result, result), valid
    if t.is_integer(result):  # floor, ceil and round leave whole numbers alone
        return value, valid
    if call.function == "round":
        function, digits = ("round_to" if call.options[0] >= 0 else "round_to_multiple"), abs(call.options[0])
        return at_precision(f"{function}({value}, {_number(power_of_ten(digits), numpy_type(result))})", result), valid
    return f"np.{call.function}({value})", valid


def _fill_null(call: Call, result: pa.DataType, schema: Schema, bind: Bind) -> Text:
    value, valid = _part(call.args[0], result, schema, bind)
    if valid is None:
        return value, None
    filling, filling_valid = _part(call.args[1], result, schema, bind)
    return f"({value} if {valid} else {filling})", None if filling_valid is None else f"({valid} or {filling_valid})"
