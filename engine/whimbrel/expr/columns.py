"""Find and replace the columns of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from whimbrel.expr.nodes import Binary, Call, Called, Cast, Col, Expr, Lit, RowFunction, Unary, When, node


def columns_of(expr: Expr) -> frozenset[str]:
    """Names of the columns that an expression reads.

    >>> from whimbrel.expr import col
    >>> sorted(columns_of(col.a + col.b * col.a))
    ['a', 'b']
    """
    if isinstance(expr, Col):
        return frozenset((expr.name,))
    return frozenset().union(*(columns_of(child) for child in children(expr)))


def lifetime_of(expr: Expr) -> frozenset[str]:
    """What an expression reads of the event's own lifetime: "start_time", "end_time".

    >>> from whimbrel.expr import col, start_time
    >>> sorted(lifetime_of(col.a + start_time()))
    ['start_time']
    """
    if isinstance(expr, Call) and not expr.args:
        return frozenset((expr.function,))
    return frozenset().union(*(lifetime_of(child) for child in children(expr)))


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions that an expression is computed from directly."""
    match node(expr):
        case Col() | Lit():
            return ()
        case Binary(_, left, right):
            return (left, right)
        case Unary(_, x) | Cast(x, _):
            return (x,)
        case Call(_, args, _) | RowFunction(args=args):
            return args
        case When(condition, then, otherwise):
            return (condition, then, otherwise)
        case other:
            assert_never(other)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """The same node over other expressions, in the order of :func:`children`."""
    if isinstance(expr, Called):
        return replace(expr, x=with_children(expr.x, new), args=new if isinstance(expr.x, RowFunction) else ())
    match node(expr):
        case Col() | Lit():
            return expr
        case Binary(op):
            return Binary(op, *new)
        case Unary(op):
            return Unary(op, *new)
        case Cast(_, type_):
            return Cast(new[0], type_)
        case Call() as call:
            return replace(call, args=new)
        case RowFunction() as call:
            return replace(call, args=new)
        case When():
            return When(*new)
        case other:
            assert_never(other)


def substitute(expr: Expr, mapping: Mapping[str, Expr]) -> Expr:
    """The same expression with other expressions in place of some columns.

    >>> from whimbrel.expr import col
    >>> substitute(col.total * 2, {"total": col.a + col.b})
    (col.a + col.b) * 2
    """
    if isinstance(expr, Called):
        return replace(expr, x=substitute(expr.x, mapping), args=tuple(substitute(each, mapping) for each in expr.args))
    if isinstance(found := node(expr), Col):
        return mapping.get(found.name, expr)
    return with_children(expr, tuple(substitute(each, mapping) for each in children(expr)))
