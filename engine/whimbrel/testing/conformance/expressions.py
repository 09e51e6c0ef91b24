"""Translate the expressions of cases to expressions of Whimbrel."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from whimbrel.expr import Expr, RowFunction, lit, when
from whimbrel.testing.conformance.case import UnsupportedError
from whimbrel.testing.conformance.payload_shape import Tree, flatten, transform

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.Eq: operator.eq,
    ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}
_CASTS = {"int": int, "float": float, "str": str, "bool": bool}
_FUNCTIONS = {function.__name__: function for function in (
    abs, all, any, bool, chr, divmod, float, int, len, list, max, min, ord, range, reversed, round, sorted, str, sum,
    tuple, zip)} | {"math": math}


def translate(text: str, names: Mapping[str, Tree]) -> Tree:
    """What an expression makes: an expression of Whimbrel, or a record or list of them.

    What Whimbrel's own expressions do not say is a Python function of the row.

    Parameters
    ----------
    text : str
        Python, such as ``x.field1 * 2`` or ``{"a": l, "b": r.f}``.
    names : mapping of str to tree
        What the names in it stand for, as trees of expressions.

    Raises
    ------
    UnsupportedError
        For names that nothing is known of.

    Examples
    --------
    >>> from whimbrel import col
    >>> translate("x.a % 2 == 1 and x.b != 'no'", {"x": {"a": col.x_a, "b": col.x_b}})
    (col.x_a % 2 == 1) & (col.x_b != 'no')
    >>> translate("{'both': [key, v]}", {"key": col.k, "v": col.v})
    {'both': [col.k, col.v]}
    """
    return _translate(_parsed(text), names)


def translate_condition(text: str, names: Mapping[str, Tree]) -> Expr:
    """What an expression makes where only its truth counts."""
    return _truth(_parsed(text), names)


def translate_list(text: str, names: Mapping[str, Tree]) -> Tree:
    """What an expression makes that is a list of any length."""
    return _python(_parsed(text), names)


def _parsed(text: str) -> ast.expr:
    return ast.parse(str(text).strip(), mode="eval").body


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
        case ast.Attribute(value, name) if isinstance(tree := below(value), Mapping):
            return tree[name]
        case ast.Subscript(value, index) if isinstance(tree := below(value), Mapping | list) and _is_literal(index):
            return tree[ast.literal_eval(index)]
        case ast.Subscript(value, ast.Constant(int())) if not isinstance(below(value), Mapping | list):
            return _python(node, names, declared=str)  # a character of a text
        case ast.Dict(keys, values):
            return {name: leaf for key, value in zip(keys, values, strict=True)
                    for name, leaf in (below(value) if key is None else {ast.literal_eval(key): below(value)}).items()}
        case ast.List(items) | ast.Tuple(items):
            return [below(item) for item in items]
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS and _are_values(parts := [below(left), below(right)]):
            return _OPERATORS[type(op)](*parts)
        case ast.UnaryOp(ast.Not(), x):
            return ~_truth(x, names)
        case ast.UnaryOp(ast.USub(), x):
            return -below(x)
        case ast.Compare(first, ops, others):
            parts = [first, *others]
            return reduce(operator.and_, (_compare(op, left, right, names)
                                          for op, left, right in zip(ops, parts, others, strict=False)))
        case ast.BoolOp(op, parts):
            return _both_or_either(node, op, parts, names)
        case ast.IfExp(test, then, otherwise):
            return choose(_truth(test, names), below(then), below(otherwise))
        case ast.Call(ast.Name(name), [x]) if name in _CASTS:
            return below(x).cast(_CASTS[name])
        case ast.JoinedStr(parts):
            return reduce(operator.add, (below(part) for part in parts), lit(""))
        case ast.FormattedValue(x, -1, None):
            return below(x).cast(str)
    return _python(node, names)


def choose(condition: Expr, then: Tree, otherwise: Tree) -> Tree:
    """One of two trees of one shape; a null stands for a tree of nulls."""
    def part(tree: Tree, step: Any) -> Tree:
        return tree[step] if isinstance(tree, dict | list) else tree

    match then, otherwise:
        case (dict() as steps, _) | (_, dict() as steps):
            return {step: choose(condition, part(then, step), part(otherwise, step)) for step in steps}
        case (list() as steps, _) | (_, list() as steps):
            return [choose(condition, part(then, step), part(otherwise, step)) for step in range(len(steps))]
    return when(condition).then(then).otherwise(otherwise)


def _compare(op: ast.cmpop, left: ast.expr, right: ast.expr, names: Mapping[str, Tree]) -> Expr:
    one = _translate(left, names)
    match op, right:
        case ast.Is() | ast.Eq(), ast.Constant(None):
            return ~_is_there(one)
        case ast.IsNot() | ast.NotEq(), ast.Constant(None):
            return _is_there(one)
        case ast.In() | ast.NotIn(), ast.List(items) | ast.Tuple(items) | ast.Set(items) if isinstance(one, Expr) \
                and all(map(_is_literal, items)):
            found = one.is_in([ast.literal_eval(item) for item in items])
            return ~found if isinstance(op, ast.NotIn) else found
    other = None if isinstance(op, ast.In | ast.NotIn) else _translate(right, names)
    if type(op) in _OPERATORS and _are_values([one, other]):
        return _OPERATORS[type(op)](one, other)
    return _python(ast.Compare(left, [op], [right]), names)


def _both_or_either(node: ast.expr, op: ast.boolop, parts: list[ast.expr], names: Mapping[str, Tree]) -> Tree:
    if isinstance(op, ast.And):
        return reduce(operator.and_, (_truth(part, names) for part in parts))
    last = ast.literal_eval(parts[-1]) if _is_literal(parts[-1]) else False
    if isinstance(last, str):
        # `r or ""` is Python's way to say: where there is no r, take this.
        return reduce(lambda left, right: left.fill_null(right), (_translate(part, names) for part in parts))
    if not isinstance(last, bool):
        return _python(node, names)
    return reduce(operator.or_, (_truth(part, names) for part in parts))


def _truth(node: ast.expr, names: Mapping[str, Tree]) -> Expr:
    """`if r` asks of a record whether it is there, and of a number whether it is not nought."""
    tree = _translate(node, names)
    if isinstance(tree, Mapping | list):
        return _is_there(tree)
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()) | ast.Constant(True | False):
            return tree
    return _function(lambda row: bool(row.value), ("value",), (tree,), declared=bool)


def _is_there(tree: Tree) -> Expr:
    if hasattr(tree, "is_not_null"):
        return tree.is_not_null()
    return reduce(operator.or_, (leaf.is_not_null() for leaf in flatten(tree, "x").values()), lit(False))


def _are_values(trees: list[Tree]) -> bool:
    return all(not isinstance(tree, Mapping | list) for tree in trees)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


class _Record(dict[str, Any]):
    """A record whose fields are read as attributes too."""

    __getattr__ = dict.__getitem__


def _python(node: ast.expr, names: Mapping[str, Tree], declared: type | None = None) -> Expr:
    """An expression as Python reads it, row by row."""
    parts = list(ast.walk(node))
    bound = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    free = dict.fromkeys(part.id for part in parts if isinstance(part, ast.Name))
    unknown = [name for name in free if name not in names and name not in bound and name not in _FUNCTIONS]
    private = [part.attr for part in parts if isinstance(part, ast.Attribute) and part.attr.startswith("_")]
    if unknown or private:
        raise UnsupportedError(f"{(unknown or private)[0]} in an expression")
    known = {name: names[name] for name in free if name in names and name not in bound}
    leaves = {column: leaf for name, tree in known.items() for column, leaf in flatten(tree, name).items()}
    code = compile(ast.Expression(ast.fix_missing_locations(node)), ast.unparse(node), "eval")

    def of_row(row: Any) -> Any:
        values = iter([row[column] for column in leaves])
        rebuilt = {name: _record(transform(tree, lambda _: next(values))) for name, tree in known.items()}
        return eval(code, {"__builtins__": {}, **_FUNCTIONS, **rebuilt})  # noqa: S307

    return _function(of_row, tuple(leaves), tuple(leaves.values()), declared=declared)


def _function(function: Callable[[Any], Any], fields: tuple[str, ...], args: tuple[Expr, ...], *,
              declared: type | None = None) -> Expr:
    made = RowFunction(function, fields, args, takes_nulls=True)
    if declared is not None:
        function.__annotations__["return"] = declared
    return made


def _record(tree: Tree) -> Any:
    if isinstance(tree, Mapping):
        return _Record({name: _record(below) for name, below in tree.items()})
    return [_record(below) for below in tree] if isinstance(tree, list) else tree
