"""Find the columns that are not null where a condition is true."""

from __future__ import annotations

from whimbrel.expr.columns import children
from whimbrel.expr.function_table import FUNCTION_TABLE
from whimbrel.expr.nodes import Binary, Call, Cast, Col, Expr, Unary, node

_KEEP_NULLS = ("abs", "floor", "ceil", "round", "sqrt", "sign", "exp", "log", "sin", "cos", "is_in", "between")
"""Functions that are null where an argument is."""


def rejects_null(condition: Expr) -> frozenset[str]:
    """Names of columns that have a value wherever a condition is true: it rejects their nulls.

    >>> from whimbrel.expr import col
    >>> sorted(rejects_null((col.a > col.b) & (col.c | col.d.is_null())))
    ['a', 'b']
    """
    match node(condition):
        case Binary("&", left, right):
            return rejects_null(left) | rejects_null(right)
        case Binary("|", left, right):
            return rejects_null(left) & rejects_null(right)
        case Call("is_not_null", (x,)):
            return _present(x)
        case Call("between", args):
            return frozenset().union(*map(_present, args))
    return _present(condition)


def _present(expr: Expr) -> frozenset[str]:
    """Names of columns that have a value wherever an expression has one."""
    match node(expr):
        case Col(name):
            return frozenset((name,))
        case Binary("&" | "|", _, _):  # false and null is false
            return frozenset()
        case Binary() | Unary() | Cast():
            return frozenset().union(*map(_present, children(expr)))
        case Call("between", _):
            return frozenset()
        case Call(function, args) if function in _KEEP_NULLS or function in FUNCTION_TABLE:
            return frozenset().union(*map(_present, args))
    return frozenset()
