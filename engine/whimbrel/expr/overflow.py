"""Find out whether the generated code of an expression can overflow."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as t

from whimbrel.batch import Schema
from whimbrel.expr.columns import children
from whimbrel.expr.nodes import Binary, Call, Cast, Expr, Lit, Unary, When, node
from whimbrel.expr.type_predicates import is_plain
from whimbrel.expr.types import COMPARISONS, LOGIC, binary_types, in_type, type_of


def can_overflow(expr: Expr, schema: Schema) -> bool:
    """Whether the code of an expression raises an error for some values of its columns.

    The only error is that an integer is too large for its type. The expression must be inlinable.

    >>> from whimbrel.batch import Field
    >>> from whimbrel.expr import col
    >>> schema = Schema((Field("a", pa.int64()), Field("b", pa.float64())))
    >>> can_overflow(col.a + 1 > 3, schema), can_overflow(col.b + 1 > 3, schema)
    (True, False)
    """
    if isinstance(expr, Lit):
        return False
    match node(expr):
        case Binary(op, left, right) as binary:
            types = [type_of(left, schema), type_of(right, schema)]
            *operands, result = binary_types(binary, (left, types[0]), (right, types[1]))
            own = op not in COMPARISONS and op not in LOGIC and op != "%" and not t.is_floating(result)
            if own or _any_conversion((left, right), operands, schema):
                return True
        case Unary("-"):
            if not t.is_floating(type_of(expr, schema)):
                return True
        case Call("abs"):
            if not t.is_floating(type_of(expr, schema)):
                return True
        case Call("is_in", (x, *_)) as call:
            if _any_conversion((x,), (in_type(call, type_of(x, schema)),), schema):
                return True
        case Call("fill_null" | "greatest" | "least", args):
            if _any_conversion(args, [type_of(expr, schema)] * len(args), schema):
                return True
        case When(_, then, otherwise):
            if _any_conversion((then, otherwise), [type_of(expr, schema)] * 2, schema):
                return True
        case Cast(x, type_):
            if _can_miss(type_of(x, schema), type_):
                return True
    return any(can_overflow(child, schema) for child in children(expr))


def _any_conversion(exprs: tuple[Expr, ...], types: list[pa.DataType] | tuple[pa.DataType, ...], schema: Schema
                    ) -> bool:
    """Whether one of these values may not fit its type; literals are converted when code is generated."""
    return any(_can_miss(type_of(expr, schema), type_) for expr, type_ in zip(exprs, types, strict=True)
               if not isinstance(expr, Lit))


def _can_miss(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a conversion has values without a counterpart."""
    if source == target:
        return False
    if not (is_plain(source) and is_plain(target)):
        return getattr(source, "unit", None) != getattr(target, "unit", None)
    if t.is_boolean(source) or t.is_boolean(target) or t.is_floating(target):
        return False
    return t.is_floating(source) or t.is_uint64(source) or not t.is_int64(target)
