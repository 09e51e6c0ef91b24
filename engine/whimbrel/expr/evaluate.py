"""Evaluate expressions on whole columns: the reference of all tiers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import Batch, Column, Mask, Storage, numpy_type, plain_array
from whimbrel.clock import INF
from whimbrel.errors import KernelError
from whimbrel.expr import checked_integers as ints
from whimbrel.expr.calendar import calendar
from whimbrel.expr.cast import as_type, compared_as
from whimbrel.expr.decimals import decimal_arithmetic, decimal_sign, rounded_decimal
from whimbrel.expr.direct_evaluation import direct_form
from whimbrel.expr.function_table import FUNCTION_TABLE, compute_function
from whimbrel.expr.literals import literal_type
from whimbrel.expr.membership import among_numbers, among_values
from whimbrel.expr.nodes import Binary, Call, Cast, Col, Expr, Lit, RowFunction, Unary, When, node
from whimbrel.expr.number_loops import of_floats, rounded
from whimbrel.expr.numeric_functions import clip_ends, clipped, extreme, float_power, sign
from whimbrel.expr.row_choice import choose_values
from whimbrel.expr.row_functions import call_rows
from whimbrel.expr.segment_values import segment_value
from whimbrel.expr.strings import compare_text, concatenate, per_distinct, string_function
from whimbrel.expr.try_cast import try_cast
from whimbrel.expr.type_predicates import is_bytes, is_text
from whimbrel.expr.types import (
    BOOL,
    COMPARISONS,
    LOGIC,
    Operand,
    binary_types,
    call_type,
    choices,
    common_type,
    in_range,
    in_type,
    unary_type,
)
from whimbrel.expr.unit_comparison import compare_units, differ_in_unit
from whimbrel.expr.value import (
    OTHER_NUMBERS,
    PRESENT,
    Bits,
    Scope,
    Value,
    at_row,
    from_arrow,
    from_column,
    from_scalar,
    integers,
    known,
)

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}
_ARROW_COMPARE = {"==": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
                  ">=": pc.greater_equal}
_INT_ARITHMETIC = {"+": ints.add, "-": ints.subtract, "*": ints.multiply}
_FLOAT_ARITHMETIC: dict[str, np.ufunc] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
}


def evaluate(expr: Expr, batch: Batch, storage: Storage | None = None) -> Column:
    """The value of an expression for every row; in a `storage`, where it stays, if that spares a copy.

    Absent rows are computed like all others, but cannot make it fail.

    Raises
    ------
    SchemaError, ExpressionError
        As :func:`~whimbrel.expr.types.type_of`.
    KernelError
        Integer overflow, a cast that does not fit, a Python function that raised; names the sub-expression.

    Examples
    --------
    >>> from whimbrel.batch import Field, Schema
    >>> from whimbrel.expr import col
    >>> x = Column(pa.int64(), np.array([7, -7, 7]), np.array([True, True, False]))
    >>> batch = Batch(Schema((Field("x", x.type),)), np.arange(3), np.arange(3) + 1, (x,))
    >>> evaluate(col.x // 2, batch).to_arrow().to_pylist()
    [3, -4, None]
    """
    if type(expr) is Col:  # as it is: most of what operators ask for
        return batch.columns[batch.schema.index(expr.name, where=expr.name)]
    absent = batch.absent
    direct = direct_form(expr, batch.schema)
    if direct is not None and (column := direct.column(batch, storage if absent is None else None)) is not None:
        return column
    scope = Scope(batch, lambda: PRESENT if absent is None else ~absent)
    # IEEE results (inf, nan) are results; integer overflow is found by looking.
    with np.errstate(all="ignore"):
        if isinstance(expr, Binary) and absent is None:  # else rows move once more
            return _binary(expr, scope, storage).column(len(batch))
        return _value(expr, scope).column(len(batch))


def predicate(expr: Expr, batch: Batch) -> Mask:
    """Where a condition is true; null counts as false."""
    column = evaluate(expr, batch)
    if not column.fixed:  # the literal None
        return np.zeros(len(batch), np.bool_)
    return column.values if column.valid is None else column.values & column.valid


def _value(expr: Expr, scope: Scope) -> Value:
    match node(expr):
        case Col(name):
            return from_column(scope.batch.columns[scope.batch.schema.index(name, where=name)])
        case Lit(value):
            return known(expr, (), lambda: from_scalar(value, literal_type(value)))
        case Binary() as binary:
            return _binary(binary, scope)
        case Unary(op, x):
            return _unary(expr, op, _value(x, scope), scope)
        case Call(side, ()):
            return _lifetime(side, scope.batch)
        case Call() as call:
            return _call(call, scope)
        case When() as choice:
            return _when(choice, scope)
        case Cast(x, type_):
            return as_type(_value(x, scope), type_, scope, expr)
        case RowFunction(args=args) as function:
            return call_rows(function, [_value(arg, scope) for arg in args], scope)
        case other:
            assert_never(other)


def _lifetime(side: str, batch: Batch) -> Value:
    """The start or the end of each event; its end edge knows both."""
    sync, other = batch.sync, batch.other
    if side == "start_time":
        return Value(batch.schema.time_type, np.minimum(sync, other))
    end = np.maximum(sync, other)
    known = end != INF
    return Value(batch.schema.time_type, end, PRESENT if known.all() else known)


def _typed(expr: Expr, value: Value) -> Operand:
    return expr, value.type


def _at(expr: Expr, value: Value, type_: pa.DataType, scope: Scope, parent: Expr) -> Value:
    """Cast an operand to the type that its operator needs; literals are parsed at that type."""
    if isinstance(expr, Lit):
        return known(expr, (type_,), lambda: from_scalar(expr.value, type_))
    return value if value.type == type_ else compared_as(value, type_, scope, parent)


def _binary(expr: Binary, scope: Scope, storage: Storage | None = None) -> Value:
    left, right = _value(expr.left, scope), _value(expr.right, scope)
    if expr.op in COMPARISONS:
        asked = expr
        expr = known(asked, ("in range", left.type, right.type), lambda: in_range(asked, left.type, right.type))
        if expr is not asked and isinstance(asked.left, Lit):
            left, right = right, left
    left_type, right_type, result = known(expr, (left.type, right.type), lambda: binary_types(
        expr, _typed(expr.left, left), _typed(expr.right, right)))
    x = _at(expr.left, left, left_type, scope, expr)
    y = _at(expr.right, right, right_type, scope, expr)
    if expr.op in LOGIC:
        return _logic(expr.op, x, y)
    if expr.op in COMPARISONS:
        if differ_in_unit(left_type, right_type):
            return Value(BOOL, compare_units(expr.op, left_type, right_type, x.data, y.data), x.valid & y.valid)
        return _compare(expr.op, x, y)
    if is_text(result):
        return concatenate(x, y)
    if t.is_decimal(result):
        return decimal_arithmetic(expr.op, x, y, result, scope, expr)
    valid = x.valid & y.valid
    if t.is_floating(result):
        data = (float_power(expr, x.data, y.data, result) if expr.op == "**"
                else _float_arithmetic(expr.op, x, y, result, storage))
        return Value(result, data, valid)
    if t.is_date32(result):
        return _moved(expr, x, y, scope)
    if expr.op in ("//", "%"):
        divide = ints.floor_divide if expr.op == "//" else ints.modulo
        data, bad, zero = divide(x.data, y.data)
        if np.any(zero):
            valid = valid & ~zero
    elif expr.op == "**" and isinstance(expr.right, Lit):
        data, bad = ints.power(x.data, int(y.data))
    else:
        data, bad = _INT_ARITHMETIC[expr.op](x.data, y.data)
    scope.refuse(bad, valid, expr, lambda row: _overflow(f"{at_row(x.data, row)} {expr.op} {at_row(y.data, row)}",
                                                         result), _instead(result))
    return Value(result, data, valid)


def _moved(expr: Binary, x: Value, y: Value, scope: Scope) -> Value:
    """Days since 1970 of a date that moves by a literal; they are 32 bits wide."""
    data = _INT_ARITHMETIC[expr.op](x.data.astype(np.int64), y.data.astype(np.int64))[0]
    valid = x.valid & y.valid
    scope.refuse(data != data.astype(np.int32), valid, expr, f"integer overflow: a date leaves {x.type}",
                 "Cast the date to a time first: .cast('timestamp[s]').")
    return Value(x.type, data.astype(np.int32), valid)


def _overflow(shown: str, result: pa.DataType) -> str:
    return f"integer overflow: {shown} leaves {result}"


def _instead(result: pa.DataType) -> str:
    return OTHER_NUMBERS if t.is_integer(result) else "Cast times and durations to a coarser unit first, such as us."


def _float_arithmetic(op: str, x: Value, y: Value, result: pa.DataType, storage: Storage | None) -> Any:
    dtype = np.dtype(numpy_type(result))
    if op in ("//", "%"):  # in double also for float32: its quotient may round to the next whole number
        return _FLOAT_ARITHMETIC[op](x.data.astype(np.float64), y.data.astype(np.float64)).astype(dtype)
    rows = np.broadcast(x.data, y.data).size
    out = None if storage is None or rows == 1 else storage.empty(rows, dtype)
    return _FLOAT_ARITHMETIC[op](x.data, y.data, out=out, dtype=dtype, casting="unsafe")


def _logic(op: str, x: Value, y: Value) -> Value:
    """Three-valued: false & null is false, true | null is true."""
    if op == "^":
        return Value(BOOL, x.data ^ y.data, x.valid & y.valid)
    data = x.data & y.data if op == "&" else x.data | y.data
    if x.valid is PRESENT and y.valid is PRESENT:
        return Value(BOOL, data)
    decisive = op == "|"
    decided = (x.valid & (x.data == decisive)) | (y.valid & (y.data == decisive))
    return Value(BOOL, np.where(decided, decisive, data), (x.valid & y.valid) | decided)


def _compare(op: str, x: Value, y: Value) -> Value:
    if x.fixed:
        return Value(BOOL, _COMPARE[op](x.data, y.data), x.valid & y.valid)
    if is_text(x.type) or is_bytes(x.type):
        return compare_text(_ARROW_COMPARE[op], x, y)
    if t.is_null(x.type):
        return from_scalar(None, BOOL)
    return from_arrow(_ARROW_COMPARE[op](x.arrow(), y.arrow()))


def _unary(expr: Expr, op: str, x: Value, scope: Scope) -> Value:
    result = unary_type(expr, op, x.type)
    x = as_type(x, result, scope, expr)
    if t.is_decimal(result):
        return decimal_sign(op, x)
    if op == "~":
        return Value(result, ~x.data, x.valid)
    if t.is_floating(result):
        return Value(result, -x.data if op == "-" else np.abs(x.data), x.valid)
    data, bad = ints.negate(x.data)
    if op == "abs":
        data = np.abs(x.data)
    scope.refuse(bad, x.valid, expr, lambda row: _overflow(f"{op}({at_row(x.data, row)})", result), _instead(result))
    return Value(result, data, x.valid)


def _call(expr: Call, scope: Scope) -> Value:
    first, *others = expr.args
    match expr.function:
        case "between":
            low, high = others
            return _value(Binary("&", Binary(">=", first, low), Binary("<=", first, high)), scope)
        case "is_null":
            return Value(BOOL, ~_value(first, scope.only(lambda: np.bool_(False))).present)
        case "is_not_null":
            return Value(BOOL, _value(first, scope.only(lambda: np.bool_(False))).present)
        case "fill_null":
            return _fill_null(expr, scope)
        case "greatest" | "least":
            return _extreme(expr, scope)
        case function if function.startswith("seg."):
            values = [_value(arg, scope) for arg in expr.args]
            return segment_value(expr, values, call_type(expr, list(map(_typed, expr.args, values))), scope)
        case "struct":
            columns = [_value(arg, scope).column(len(scope.batch)).to_arrow() for arg in expr.args]
            return from_arrow(pa.StructArray.from_arrays(columns, expr.options))
    if expr.function in FUNCTION_TABLE:
        return _by_table(expr, scope)
    x = _value(first, scope)
    result = known(expr, ("called", x.type), lambda: call_type(expr, [(first, x.type)]))
    match expr.function:
        case "is_in":
            return _is_in(expr, x, scope)
        case "parameter":
            at: Value = expr.options[0].at(x.data, x.type)
            return at
        case "field":
            return from_column(Column.from_arrow(plain_array(_field(x.arrow(), expr.options[0]))))
        case "abs":
            return _unary(expr, "abs", x, scope)
        case "round" if t.is_integer(result) and expr.options[0] < 0:
            data, bad = ints.round_to_ten(x.data, -expr.options[0])
            scope.refuse(bad, x.valid, expr, lambda row: _overflow(f"{at_row(x.data, row)} rounded", result),
                         _instead(result))
            return Value(result, data, x.valid)
        case "floor" | "ceil" | "round" if t.is_integer(result):
            return x
        case "floor" | "ceil" | "round" if t.is_decimal(result):
            digits = int(expr.options[0]) if expr.options else 0
            return rounded_decimal(expr.function, x, digits, scope, expr)
        case "floor":
            return Value(result, np.floor(x.data), x.valid)
        case "ceil":
            return Value(result, np.ceil(x.data), x.valid)
        case "round":
            return Value(result, rounded(x.data, expr.options[0]), x.valid)
        case "sqrt" | "log" | "exp" | "sin" | "cos":
            x = as_type(x, result, scope, expr)
            return Value(result, of_floats(expr.function, x.data), x.valid)
        case "sign":
            return sign(x)
        case "try_cast":
            return try_cast(x, result, scope, expr)
        case function if function.startswith("str."):
            return string_function(expr, x)
        case _:
            return calendar(expr, x, scope)


def _field(structs: Any, name: str) -> Any:
    """A field, which is null where the struct is null."""
    if isinstance(structs, pa.StructArray) and not structs.null_count:
        return structs.field(name)
    return pc.struct_field(structs, [name])


def _by_table(expr: Call, scope: Scope) -> Value:
    values = [_value(arg, scope) for arg in expr.args]
    result = known(expr, ("called", *(value.type for value in values)),
                   lambda: call_type(expr, list(map(_typed, expr.args, values))))
    function = FUNCTION_TABLE[expr.function]
    values = [Value(pa.int64(), integers(value, scope, expr), value.valid)
              if function.takes_int64(argument, value.type) else value for argument, value in enumerate(values)]
    if function.direct is not None and all(value.fixed for value in values):
        made = function.of_numbers([value.data for value in values], expr.options)
        if made is not None:
            valid = reduce(operator.and_, (value.valid for value in values))
            return Value(result, made.astype(numpy_type(result), copy=False), valid)
    if function.of_times is not None and values[0].fixed and values[0].data.ndim:
        made = function.of_times(values[0].data, values[0].type)
        if made is not None:
            return Value(result, made, values[0].valid)
    if len(values) == 1:
        found = per_distinct(Value(values[0].type, values[0].data if not values[0].fixed else values[0].arrow()),
                             lambda x: compute_function(expr.function, [x], expr.options, result))
    else:
        found = compute_function(expr.function, [value.arrow() for value in values], expr.options, result)
    return from_arrow(found) if numpy_type(result) is not None else Value(result, found)


def _fill_null(expr: Call, scope: Scope) -> Value:
    x = _value(expr.args[0], scope)
    there = x.present
    filling = _value(expr.args[1], scope.only(lambda: ~there))
    result = known(expr, ("common", x.type, filling.type), lambda: common_type(
        expr, _typed(expr.args[0], x), _typed(expr.args[1], filling)))
    x = _at(expr.args[0], x, result, scope, expr)
    return _choose(there, x, _at(expr.args[1], filling, result, scope.only(lambda: ~there), expr))


def _extreme(expr: Call, scope: Scope) -> Value:
    values = [_value(arg, scope) for arg in expr.args]
    result = known(expr, ("called", *(value.type for value in values)),
                   lambda: call_type(expr, list(map(_typed, expr.args, values))))
    return extreme(expr.function, [_at(arg, value, result, scope, expr)
                                   for arg, value in zip(expr.args, values, strict=True)])


def _when(expr: When, scope: Scope) -> Value:
    if (clip := clip_ends(expr)) is not None:
        x, *ends = clip
        found = clipped(_value(x, scope), ends)
        if found is not None:
            return found
    condition = _at(expr.condition, _value(expr.condition, scope), BOOL, scope, expr)
    holds: Bits = _and(condition.data, condition.valid)
    yes, no = scope.only(lambda: holds), scope.only(lambda: ~holds)
    then, otherwise = _value(expr.then, yes), _value(expr.otherwise, no)
    result = known(expr, ("common", then.type, otherwise.type), lambda: common_type(
        expr, _typed(expr.then, then), _typed(expr.otherwise, otherwise)))
    return _choose(holds, _at(expr.then, then, result, yes, expr), _at(expr.otherwise, otherwise, result, no, expr))


def _choose(first: Bits, one: Value, other: Value) -> Value:
    if first is PRESENT:
        return one
    if one.fixed:
        if _is_null(one):
            return replace(other, valid=_and(~first, other.valid))
        if _is_null(other):
            return replace(one, valid=_and(first, one.valid))
        is_whole = one.valid is PRESENT and other.valid is PRESENT
        valid = PRESENT if is_whole else choose_values(first, one.valid, other.valid)
        return Value(one.type, choose_values(first, one.data, other.data), valid)
    mask = Column(pa.bool_(), first).to_arrow() if isinstance(first, np.ndarray) else pa.scalar(bool(first))
    if isinstance(one.type, pa.BaseExtensionType):  # Arrow chooses among what it is stored as
        storage = (each.storage if isinstance(each, pa.ExtensionArray) else pa.scalar(each.value, one.type.storage_type)
                   for each in (one.arrow(), other.arrow()))
        return Value(one.type, one.type.wrap_array(pc.if_else(mask, *storage)))
    try:
        return Value(one.type, pc.if_else(mask, one.arrow(), other.arrow()))
    except pa.ArrowNotImplementedError:  # Arrow has no if_else for views of strings and run-end encoded values
        raise KernelError(f"when() and fill_null() do not support values of type {one.type}.",
                          where="when() or fill_null()",
                          hint="Choose between their fields, or use explode() first.") from None


def _and(mask: Any, valid: Bits) -> Any:
    return mask if valid is PRESENT else mask & valid


def _is_null(value: Value) -> bool:
    """Whether it is null in all rows."""
    return isinstance(value.valid, np.bool_) and not value.valid


def _sought(expr: Call, type_: pa.DataType) -> tuple[pa.DataType, Callable[[Any], Any]]:
    """The type at which ``is_in`` compares, and its test of values."""
    common = in_type(expr, type_)
    values = [from_scalar(value, common).data for value in choices(expr, type_)]
    dtype = numpy_type(common)
    return common, (among_values([value.as_py() for value in values], common) if dtype is None
                    else among_numbers(np.array(values, dtype)))


def _is_in(expr: Call, x: Value, scope: Scope) -> Value:
    common, among = known(expr, ("choices", x.type), lambda: _sought(expr, x.type))
    x = compared_as(x, common, scope, expr)
    if x.fixed:
        return Value(BOOL, among(x.data), x.valid)
    if t.is_null(common):
        return from_scalar(None, BOOL)
    answer = from_arrow(per_distinct(x, among))
    return Value(BOOL, answer.data, answer.valid & x.present)
