"""Expressions of the cases (Python over ``x``, ``l``, ``r``, ``v``, ``key``, ...) as expressions of Whimbrel."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from whimbrel.expr import Expr, RowFunction, lit, when
from whimbrel.testing.vectors.case import UnsupportedError
from whimbrel.testing.vectors.shape import Tree

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}
_CASTS = {"int": int, "float": float, "str": str, "bool": bool}


def translate(text: str, names: Mapping[str, Tree]) -> Tree:
    """What an expression makes: an expression of Whimbrel, or a record or list of them.

    Parameters
    ----------
    text : str
        Python, such as ``x.field1 * 2`` or ``{"a": l, "b": r.f}``.
    names : mapping of str to tree
        What the names in it stand for, as trees of expressions.

    Raises
    ------
    UnsupportedError
        For anything else that Python can say.

    Examples
    --------
    >>> from whimbrel import col
    >>> translate("x.a % 2 == 1 and x.b != 'no'", {"x": {"a": col.x_a, "b": col.x_b}})
    (col.x_a % 2 == 1) & (col.x_b != 'no')
    >>> translate("{'both': [key, v]}", {"key": col.k, "v": col.v})
    {'both': [col.k, col.v]}
    """
    return _translate(ast.parse(text, mode="eval").body, names)


def _translate(node: ast.expr, names: Mapping[str, Tree]) -> Tree:
    def below(part: ast.expr) -> Tree:
        return _translate(part, names)

    match node:
        case ast.Constant(value):
            return lit(value)
        case ast.Name(name):
            if name not in names:
                raise UnsupportedError(f"{name} in an expression")
            return names[name]
        case ast.Attribute(value, name):
            return below(value)[name]
        case ast.Subscript(value, place):
            return _item(below(value), place)
        case ast.Dict(keys, values):
            return {ast.literal_eval(key): below(value) for key, value in zip(keys, values, strict=True) if key}
        case ast.List(items) | ast.Tuple(items):
            return [below(item) for item in items]
        case ast.BinOp(left, op, right):
            return _OPERATORS[type(op)](below(left), below(right))
        case ast.UnaryOp(ast.Not(), x):
            return ~below(x)
        case ast.UnaryOp(ast.USub(), x):
            return -below(x)
        case ast.Compare(first, ops, others):
            values = [below(part) for part in (first, *others)]
            pairs = zip(ops, values, values[1:], strict=False)
            return reduce(operator.and_, (_compare(op, left, right) for op, left, right in pairs))
        case ast.BoolOp(op, parts):
            return _both_or_either(op, [below(part) for part in parts])
        case ast.IfExp(test, then, otherwise):
            return choose(_truth(below(test)), below(then), below(otherwise))
        case ast.Call(ast.Name(name), [x]) if name in _CASTS:
            return below(x).cast(_CASTS[name])
        case ast.Call(ast.Name("len"), [x]):
            return below(x).str.length()
        case ast.JoinedStr(parts):
            return reduce(operator.add, (below(part) for part in parts), lit(""))
        case ast.FormattedValue(x, -1, None):
            return below(x).cast(str)
    raise UnsupportedError(f"the expression {ast.unparse(node)}")


def choose(condition: Expr, then: Tree, otherwise: Tree) -> Tree:
    """One of two trees of one shape."""
    if isinstance(then, dict):
        return {name: choose(condition, branch, otherwise[name]) for name, branch in then.items()}
    return when(condition).then(then).otherwise(otherwise)


def _compare(op: ast.cmpop, left: Tree, right: Tree) -> Expr:
    match op:
        case ast.Is():
            return left.is_null()
        case ast.IsNot():
            return left.is_not_null()
        case ast.In():
            return left.is_in([item.value for item in right])
    return _OPERATORS[type(op)](left, right)


def _both_or_either(op: ast.boolop, parts: list[Tree]) -> Expr:
    if isinstance(op, ast.And):
        return reduce(operator.and_, parts)
    # `r or ""` is Python's way to say: where there is no r, take this.
    return reduce(lambda left, right: left.fill_null(right) if _is_text(right) else left | right, parts)


def _is_text(tree: Tree) -> bool:
    return isinstance(getattr(tree, "value", None), str)


def _truth(tree: Tree) -> Expr:
    """`if r` asks of a record whether it is there."""
    return next(iter(tree.values())).is_not_null() if isinstance(tree, dict) else tree


def _item(tree: Tree, place: ast.expr) -> Tree:
    at = ast.literal_eval(place)
    if isinstance(tree, dict | list):
        return tree[at]

    def character(row: Any) -> str:
        return str(row.text[at])

    return RowFunction(character, ("text",), (tree,))
