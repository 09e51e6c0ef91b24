"""Conditions that are never true together."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.expr import Binary, Expr, Lit, Unary, parts_of

_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_EXCLUDED: Final = (("<", ">"), ("<", ">="), ("<", "=="), ("<=", ">"), (">", "=="), ("==", "!="))


def exclude(one: Expr, other: Expr) -> bool:
    """Whether two conditions are known to be never true together."""
    return any(_contradict(first, second) for first in parts_of(one) for second in parts_of(other))


def _contradict(one: Expr, other: Expr) -> bool:
    for first, second in ((one, other), (other, one)):
        if isinstance(first, Unary) and first.op == "~" and first.x.show() == second.show():
            return True
    if not (isinstance(one, Binary) and isinstance(other, Binary) and one.op in _FLIPPED and other.op in _FLIPPED):
        return False
    left, op, right = _ordered(one)
    left2, op2, right2 = _ordered(other)
    if left.show() != left2.show():
        return False
    if right.show() == right2.show():
        return (op, op2) in _EXCLUDED or (op2, op) in _EXCLUDED
    if not (isinstance(right, Lit) and isinstance(right2, Lit)):
        return False
    try:
        return _apart(op, right.value, op2, right2.value) or _apart(op2, right2.value, op, right.value)
    except TypeError:
        return False


def _ordered(expr: Binary) -> tuple[Expr, str, Expr]:
    """A comparison with its literal on the right."""
    if isinstance(expr.left, Lit):
        return expr.right, _FLIPPED[expr.op], expr.left
    return expr.left, expr.op, expr.right


def _apart(op: str, value: Any, other: str, bound: Any) -> bool:
    """Whether ``x <op> value`` is below everything for which ``x <other> bound``."""
    if op == other == "==":
        return bool(value != bound)
    return bool(op in ("<", "<=", "==") and other in (">", ">=", "==") and value < bound)
