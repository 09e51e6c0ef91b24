"""Type rules of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, assert_never

import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Schema, logical_type
from whimbrel.clock import TickUnit, duration_ticks, grid_offset
from whimbrel.clock.calendar_span import CalendarSpan
from whimbrel.clock.duration import exact_nanoseconds, shown
from whimbrel.errors import ExpressionError, PlanError, WhimbrelError, near_match
from whimbrel.expr.cast_types import cast_type, type_in_zone
from whimbrel.expr.decimal_types import arithmetic_type, common_decimal, literal_decimal, of_integer, wider
from whimbrel.expr.function_table import FUNCTION_TABLE
from whimbrel.expr.infer_return_type import row_function_type
from whimbrel.expr.literals import finer, integer_limits, literal_type, literal_type_for, physical
from whimbrel.expr.mismatch_hint import mismatch_hint
from whimbrel.expr.nodes import (
    Binary,
    Call,
    Cast,
    Col,
    Expr,
    Lit,
    Reduced,
    RowFunction,
    Scalar,
    Unary,
    When,
    node,
)
from whimbrel.expr.segment_types import segment_call_type
from whimbrel.expr.text_functions import TEXT_FUNCTIONS, check_pattern, check_replacement
from whimbrel.expr.type_names import data_type
from whimbrel.expr.type_predicates import (
    HOW_ORDERED,
    HOW_TRUE,
    is_bool,
    is_bytes,
    is_number,
    is_ordered,
    is_text,
    python_class,
)
from whimbrel.expr.unit_comparison import SEEN_FROM_THE_RIGHT, differ_in_unit

INT, FLOAT, BOOL = pa.int64(), pa.float64(), pa.bool_()

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
LOGIC = frozenset(("&", "|", "^"))

Operand = tuple[Expr, pa.DataType]
"""An expression with its type: a literal adapts to what it meets."""


def type_of(expr: Expr, schema: Schema, *, where: str = "") -> pa.DataType:
    """The type of an expression over the columns of a schema.

    Parameters
    ----------
    expr : Expr
    schema : Schema
    where : str, optional
        The user's call, for errors; the expression itself by default.

    Raises
    ------
    SchemaError
        When a column is missing.
    ExpressionError
        When types do not go together; names the sub-expression.

    Examples
    --------
    >>> from whimbrel.batch import Field
    >>> from whimbrel.expr import col
    >>> type_of(col.a / 2, Schema((Field("a", pa.int32()),)))
    DataType(double)
    """
    return _type_of(expr, schema, expr, where)


def _type_of(expr: Expr, schema: Schema, whole: Expr, where: str) -> pa.DataType:
    """The type of a part. The whole expression is formatted only for an error, because that is slow.

    Each part caches its type for the last schema: code generation asks at every step.
    """
    if type(expr) is Col and expr.name in schema:
        return schema.type_of(expr.name)
    over, known = expr.__dict__.get("_typed", (None, None))
    if over is schema:
        return known
    found = _compute_type(expr, schema, whole, where)
    expr.__dict__["_typed"] = schema, found
    return found


def _compute_type(expr: Expr, schema: Schema, whole: Expr, where: str) -> pa.DataType:
    def typed(part: Expr) -> Operand:
        return part, _type_of(part, schema, whole, where)

    match node(expr):
        case Col(name):
            if name not in schema and isinstance(expr, Reduced):
                raise ExpressionError(f"{name} is {expr.kind}, not a value of one row.", where=where or whole.show(),
                                      hint=f"Compute it first with {expr.computed_by}.")
            return schema.type_of(name, where="" if name in schema else where or whole.show())
        case Lit(value):
            return literal_type(value)
        case Binary(_, left, right) as binary:
            return binary_types(binary, typed(left), typed(right))[2]
        case Unary(op, x):
            return unary_type(expr, op, typed(x)[1])
        case Call(_, ()):
            return schema.time_type
        case Call(_, args, _) as call:
            return call_type(call, [typed(arg) for arg in args])
        case When(condition, then, otherwise):
            require(expr, is_bool(typed(condition)[1]), "when() needs a condition", typed(condition)[1], hint=HOW_TRUE)
            return common_type(expr, typed(then), typed(otherwise))
        case Cast(x, type_):
            return cast_type(expr, typed(x)[1], type_)
        case RowFunction(_, _, args) as function:
            return row_function_type(function, [typed(arg)[1] for arg in args])
        case other:
            assert_never(other)


_OF_BITS = {"&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor"}
_NUMBER = "Use .cast('float64')."


def require(expr: Expr, holds: bool, what: str, *got: pa.DataType, hint: str = "") -> None:
    if not holds:
        raise ExpressionError(f"{what}, not {' and '.join(str(type_) for type_ in got)}.", where=expr.show(), hint=hint)


def common_type(expr: Expr, left: Operand, right: Operand, *, compared: bool = False) -> pa.DataType:
    """The type at which two values can stand in for each other, or be `compared`; `expr` is named if there is none.

    Compared with a time, a date is its midnight, on the clock of the time's zone.
    """
    (one, left_type), (other, right_type) = left, right
    try:
        if isinstance(one, Lit) and not isinstance(other, Lit):
            left_type = literal_type_for(one.value, right_type)
        elif isinstance(other, Lit) and not isinstance(one, Lit):
            right_type = literal_type_for(other.value, left_type)
    except ExpressionError as error:
        raise ExpressionError(error.what, where=expr.show(), hint=error.hint) from None
    if left_type == right_type or t.is_null(right_type):
        return left_type
    if t.is_null(left_type):
        return right_type
    if is_number(left_type) and is_number(right_type):
        return INT if t.is_integer(left_type) and t.is_integer(right_type) else FLOAT
    if t.is_decimal(left_type) or t.is_decimal(right_type):
        if t.is_floating(left_type) or t.is_floating(right_type):
            return FLOAT
        if all(t.is_decimal(type_) or t.is_integer(type_) for type_ in (left_type, right_type)):
            try:
                return common_decimal(left_type, right_type)
            except ExpressionError as error:
                raise ExpressionError(error.what, where=expr.show(), hint=error.hint) from None
    if is_text(left_type) and is_text(right_type):
        return pa.large_string()
    if is_bytes(left_type) and is_bytes(right_type):
        return pa.large_binary()
    if t.is_duration(left_type) and t.is_duration(right_type):
        return pa.duration(finer(left_type.unit, right_type.unit))
    if t.is_timestamp(left_type) and t.is_timestamp(right_type):
        aware = "datetime(..., tzinfo=timezone.utc) or '2013-01-31T12:00:00+00:00'"
        require(expr, (left_type.tz is None) == (right_type.tz is None), "A time with a zone meets one without",
                left_type, right_type, hint=f"Use {aware}, or .cast('timestamp[us]').")
        zone = right_type.tz if isinstance(one, Lit) else left_type.tz
        return pa.timestamp(finer(left_type.unit, right_type.unit), zone)
    if compared and meets_date(left_type, right_type):
        (time, type_), = [each for each in ((one, left_type), (other, right_type)) if t.is_timestamp(each[1])]
        require(expr, type_.tz is None or not isinstance(time, Lit),
                "Comparisons with a date need a time without a zone",
                left_type, right_type, hint="Leave the zone out, or compare with a column of times.")
        return type_
    symbol = f"{expr.op!r}" if isinstance(expr, Binary) else "These values"
    raise ExpressionError(f"{symbol} cannot take {left_type} and {right_type}.", where=expr.show(),
                          hint=mismatch_hint(left_type, right_type))


def meets_date(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether one of two types is a time, and the other one a date."""
    return bool((t.is_timestamp(left) and t.is_date(right)) or (t.is_date(left) and t.is_timestamp(right)))


def binary_types(expr: Binary, left: Operand, right: Operand) -> tuple[pa.DataType, pa.DataType, pa.DataType]:
    """Types to which the two operands are brought, and the type of the result."""
    op, left_type, right_type = expr.op, left[1], right[1]
    if op in LOGIC:
        hint = "Put comparisons in parentheses: (a > 1) & (b > 2)."
        if t.is_integer(left_type) and t.is_integer(right_type):
            hint = f"Use x.{_OF_BITS[op]}(y) for bits of integers."
        require(expr, is_bool(left_type) and is_bool(right_type), f"{op!r} takes conditions", left_type, right_type,
                hint=hint)
        return BOOL, BOOL, BOOL
    if op in COMPARISONS:
        common = common_type(expr, left, right, compared=True)
        require(expr, is_ordered(common), f"{op!r} needs values with an order", left_type, right_type, hint=HOW_ORDERED)
        if common == INT and t.is_uint64(left_type) != t.is_uint64(right_type):  # of which none holds both: as they are
            return (left_type, INT, BOOL) if t.is_uint64(left_type) else (INT, right_type, BOOL)
        x, y = (_in_own_unit(operand, common) for operand in (left, right))
        return (x, y, BOOL) if differ_in_unit(x, y) else (common, common, BOOL)
    if t.is_timestamp(left_type) or t.is_timestamp(right_type) or t.is_duration(left_type) or t.is_duration(right_type):
        return _time_arithmetic(expr, left, right)
    if _are_decimals(left_type, right_type):
        return _decimal_arithmetic(expr, left, right)
    common = common_type(expr, left, right)
    if op == "+" and is_text(common):
        return common, common, common
    if op == "-" and t.is_date(common):  # the time between their midnights
        return pa.timestamp("s"), pa.timestamp("s"), pa.duration("s")
    require(expr, is_number(common) or t.is_null(common), f"{op!r} needs numbers", left_type, right_type,
            hint=mismatch_hint(left_type, right_type))
    if not t.is_integer(common):
        number = FLOAT if t.is_null(common) else common
        return number, number, number
    if op == "/" or (op == "**" and not _whole_exponent(right[0])):
        return FLOAT, FLOAT, FLOAT
    return INT, INT, INT


def _in_own_unit(operand: Operand, common: pa.DataType) -> pa.DataType:
    """The type at which it is compared: a date with times in s, which hold all of them; a literal as is asked."""
    part, type_ = operand
    if isinstance(part, Lit) or not (t.is_timestamp(common) or t.is_duration(common)):
        return common
    if t.is_date(type_):
        return pa.timestamp("s", common.tz)
    return type_ if differ_in_unit(type_, common) else common


def _are_decimals(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether one is a decimal, and the other one too, or an integer."""
    return (t.is_decimal(left) or t.is_decimal(right)) and all(
        t.is_decimal(type_) or t.is_integer(type_) for type_ in (left, right))


def _decimal_arithmetic(expr: Binary, left: Operand, right: Operand) -> tuple[pa.DataType, pa.DataType, pa.DataType]:
    if expr.op not in ("+", "-", "*", "/"):
        raise ExpressionError(f"{expr.op!r} cannot take {left[1]} and {right[1]}.", where=expr.show(),
                              hint="Decimals have + - * /. Compute other things of floats: .cast(float).")
    x, y = (literal_decimal(part.value) if isinstance(part, Lit) and isinstance(part.value, int)
            else type_ if t.is_decimal(type_) else of_integer(type_) for part, type_ in (left, right))
    try:
        return x, y, arithmetic_type(expr.op, x, y)
    except ExpressionError as error:
        raise ExpressionError(error.what, where=expr.show(), hint=error.hint) from None


def _whole_exponent(expr: Expr) -> bool:
    return isinstance(expr, Lit) and isinstance(expr.value, int) and expr.value >= 0


def _time_arithmetic(expr: Binary, left: Operand, right: Operand) -> tuple[pa.DataType, pa.DataType, pa.DataType]:
    op, left_type, right_type = expr.op, left[1], right[1]
    match _kind(left_type), op, _kind(right_type):
        case "time", "-", "time":
            common = common_type(expr, left, right)
            return common, common, pa.duration(common.unit)
        case "duration", "+" | "-" | "%", "duration":
            common = common_type(expr, left, right)
            return common, common, common
        case "duration", "//", "duration":
            common = common_type(expr, left, right)
            return common, common, INT
        case "duration", "/", "duration":
            common = common_type(expr, left, right)
            return common, common, FLOAT
        case "time", "+" | "-", "duration":
            unit = finer(left_type.unit, right_type.unit)
            return pa.timestamp(unit, left_type.tz), pa.duration(unit), pa.timestamp(unit, left_type.tz)
        case "duration", "+", "time":
            unit = finer(left_type.unit, right_type.unit)
            return pa.duration(unit), pa.timestamp(unit, right_type.tz), pa.timestamp(unit, right_type.tz)
        case "duration", "*" | "//", "integer":
            return left_type, INT, left_type
        case "integer", "*", "duration":
            return INT, right_type, right_type
        case "date", "+" | "-", "duration":
            return _date_arithmetic(expr, left_type, right)
        case "duration", "+", "date":
            return _date_arithmetic(expr, right_type, left)
        case _:
            raise ExpressionError(f"{op!r} cannot take {left_type} and {right_type}.", where=expr.show(),
                                  hint="Use time - time, time +- duration, duration +- duration or duration * integer; "
                                       "timedelta(minutes=5) is a duration.")


def _date_arithmetic(expr: Binary, date: pa.DataType, by: Operand) -> tuple[pa.DataType, pa.DataType, pa.DataType]:
    """A date that moves by whole days: those of a literal, since only it is known before any row."""
    part, type_ = by
    if not isinstance(part, Lit):
        raise ExpressionError(f"A date moves by a literal of whole days, got {type_}.", where=expr.show(),
                              hint="Cast the date to a time first: .cast('timestamp[s]').")
    try:
        physical(part.value, date)
    except ExpressionError as error:
        raise ExpressionError(error.what, where=expr.show(), hint=error.hint) from None
    return date, date, date


def _kind(type_: pa.DataType) -> str:
    if t.is_timestamp(type_):
        return "time"
    if t.is_date(type_):
        return "date"
    if t.is_duration(type_):
        return "duration"
    return "integer" if t.is_integer(type_) else "other"


def unary_type(expr: Expr, op: str, x: pa.DataType) -> pa.DataType:
    if op == "~":
        require(expr, is_bool(x), "'~' takes a condition", x,
                hint="Use x.bitwise_not() for bits of integers." if t.is_integer(x) else "")
        return BOOL
    require(expr, is_number(x) or t.is_duration(x) or t.is_decimal(x), f"{op!r} takes a number or a duration", x)
    return INT if t.is_integer(x) else x


def call_type(expr: Call, args: Sequence[Operand]) -> pa.DataType:
    """The type of a function's result, after checking what it is called on."""
    x = args[0][1]
    match expr.function:
        case "is_null" | "is_not_null":
            return BOOL
        case "fill_null":
            return common_type(expr, args[0], args[1])
        case "between":
            for bound in args[1:]:
                common = common_type(expr, args[0], bound, compared=True)
                require(expr, is_ordered(common), "between needs values with an order", x, bound[1], hint=HOW_ORDERED)
            return BOOL
        case "is_in":
            in_type(expr, x)
            return BOOL
        case "struct":
            return pa.struct([(name, type_) for name, (_, type_) in zip(expr.options, args, strict=True)])
        case "field":
            return _field_type(expr, x, expr.options[0])
        case "abs":
            return unary_type(expr, "abs", x)
        case "floor" | "ceil" | "round":
            require(expr, is_number(x) or t.is_decimal(x), f"{expr.function} takes a number", x, hint=_NUMBER)
            return wider(x) if t.is_decimal(x) else x
        case "sign":
            require(expr, is_number(x), "sign takes a number", x, hint=_NUMBER)
            return INT if t.is_integer(x) else x
        case "greatest" | "least":
            return _extreme_type(expr, args)
        case "sqrt" | "log" | "exp" | "sin" | "cos":
            require(expr, is_number(x) or t.is_decimal(x), f"{expr.function} takes a number", x, hint=_NUMBER)
            return x if t.is_floating(x) else FLOAT
        case "str.contains" | "str.starts_with" | "str.ends_with":
            _require_text(expr, x)
            return BOOL
        case "str.lower" | "str.upper":
            _require_text(expr, x)
            return x
        case function if function in TEXT_FUNCTIONS:
            _require_text(expr, x)
            if function == "str.extract":
                check_pattern(expr.options[0], expr.options[1], expr.show())
            if function == "str.replace" and expr.options[2]:
                check_replacement(expr.options[0], expr.options[1], expr.options[3], expr.show())
            return x
        case "str.length" | "str.index_of":
            _require_text(expr, x)
            return INT
        case function if function in ROUNDED_TIMES:
            require(expr, t.is_timestamp(x) or t.is_date(x), f"{function} takes a time or a date", x,
                    hint="Use .cast('timestamp[us]').")
            if floor_months(expr) is None:
                floor_ticks(expr, x)
            return x
        case "dt.at_time_zone":
            return type_in_zone(expr, x)
        case "parameter":
            found: pa.DataType = expr.options[0].type
            return found
        case "try_cast":
            return cast_type(expr, x, data_type(expr.options[0], expr.show))
        case function if function in FUNCTION_TABLE:
            if function == "str.count_matches" and expr.options[1]:
                check_pattern(expr.options[0], 0, expr.show())
            return FUNCTION_TABLE[function].type_of(function, [type_ for _, type_ in args], expr.options, expr.show)
        case function if function.startswith("seg."):
            return segment_call_type(expr, args)
        case _:
            raise ExpressionError(f"There is no function {expr.function!r}.", where=expr.show())


def _extreme_type(expr: Call, args: Sequence[Operand]) -> pa.DataType:
    """The type at which all can be compared; literals adapt to the others, so they come last."""
    _, common = reduce(lambda one, other: (expr, common_type(expr, one, other)),
                       sorted(args, key=lambda arg: isinstance(arg[0], Lit)))
    require(expr, is_ordered(common), f"{expr.function} needs values with an order", common, hint=HOW_ORDERED)
    return common


def _field_type(expr: Call, x: pa.DataType, name: str) -> pa.DataType:
    require(expr, t.is_struct(x), "field takes a struct", x,
            hint=f'Use .str.json_extract("$.{name}") for a text in JSON.' if is_text(x) else "")
    types = {field.name: field.type for field in x}
    if name not in types:
        raise ExpressionError(f"There is no field {name!r}.", where=expr.show(),
                              hint=near_match(name, types, noun="field"))
    return logical_type(types[name])


def _require_text(expr: Call, x: pa.DataType) -> None:
    require(expr, is_text(x), f"{expr.function} takes a string", x, hint="Use .cast('string').")


def in_range(expr: Binary, left: pa.DataType, right: pa.DataType) -> Binary:
    """A comparison with an integer that the column's type cannot hold as one with an end of its range: as true."""
    op: str = expr.op
    x, y, type_ = expr.left, expr.right, left
    if isinstance(x, Lit):
        op, x, y, type_ = SEEN_FROM_THE_RIGHT[op], y, x, right
    if not isinstance(y, Lit) or not isinstance(y.value, int) or _holds(type_, y.value):
        return expr
    low, high = integer_limits(type_)
    if y.value > high:
        return Binary("<=" if op in ("<", "<=", "!=") else ">", x, Lit(high))
    return Binary(">=" if op in (">", ">=", "!=") else "<", x, Lit(low))


def _holds(type_: pa.DataType, value: Any) -> bool:
    if not t.is_integer(type_) or not isinstance(value, int) or isinstance(value, bool):
        return True
    low, high = integer_limits(type_)
    return low <= value <= high


def choices(expr: Call, x: pa.DataType) -> list[Scalar]:
    """What ``is_in`` looks for, but integers that the column's type cannot hold and times between two of its ticks."""
    known = vars(expr).setdefault("_choices", {})
    if x not in known:
        known[x] = [value for value in expr.options if _holds(x, value) and not _is_finer(x, value)]
    found: list[Scalar] = known[x]
    return found


def _is_finer(type_: pa.DataType, value: Scalar) -> bool:
    if isinstance(value, str) or not (t.is_timestamp(type_) or t.is_duration(type_)):
        return False
    own = literal_type(value)
    return differ_in_unit(type_, own) and finer(type_.unit, own.unit) == own.unit


def in_type(expr: Call, x: pa.DataType) -> pa.DataType:
    """The type at which ``is_in`` compares."""
    same = python_class(x)  # of thousands of values, others are few
    types = [common_type(expr, (expr.args[0], x), (Lit(value), literal_type(value)), compared=True)
             for value in choices(expr, x) if type(value) is not same]
    return reduce(lambda one, other: common_type(expr, (expr, one), (expr, other), compared=True), types, x)


ROUNDED_TIMES = ("dt.floor", "dt.ceil", "dt.round")
"""Functions that round times to a grid."""


def floor_months(expr: Call) -> CalendarSpan | None:
    """The step of a rounded time where it is in months, quarters or years."""
    try:
        span = CalendarSpan.asked(expr.options[0], expr.show())
    except PlanError as error:
        raise ExpressionError(error.what, where=error.where, hint=error.hint) from None
    return span if span is not None and span.unit == "mo" and span.count > 0 else None


def floor_ticks(expr: Call, x: pa.DataType) -> tuple[int, int]:
    """The step of a rounded time in ticks of the column, and where its grid begins; of a date, in seconds."""
    step = expr.options[0]
    unit: TickUnit = "s" if t.is_date(x) else x.unit
    try:
        if t.is_date(x) and exact_nanoseconds(step, where="") % (86_400 * 10**9):
            raise ExpressionError(f"{expr.function} of a date needs whole days, got {shown(step)}.",
                                  hint="Use days, weeks, months or years, or .cast('timestamp[s]') first.")
        ticks = duration_ticks(step, unit)
    except WhimbrelError as error:
        raise ExpressionError(error.what, where=expr.show(), hint=error.hint) from None
    if ticks <= 0:
        raise ExpressionError(f"{expr.function} needs a positive duration.", where=expr.show())
    return ticks, grid_offset(step, unit)
