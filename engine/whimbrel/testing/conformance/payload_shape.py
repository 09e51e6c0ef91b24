"""Map payloads of cases (scalars, records, lists) to columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Tree = Any
"""A leaf, a dict of trees, or a list of trees. Leaves are values, expressions or names of columns."""


def transform(tree: Tree, leaf: Callable[[Any], Any]) -> Tree:
    """The tree with every leaf replaced.

    Examples
    --------
    >>> transform({"a": 1, "b": [2, 3]}, str)
    {'a': '1', 'b': ['2', '3']}
    """
    if isinstance(tree, Mapping):
        return {name: transform(below, leaf) for name, below in tree.items()}
    return [transform(below, leaf) for below in tree] if isinstance(tree, list) else leaf(tree)


def flatten(tree: Tree, root: str) -> dict[str, Any]:
    """Leaves by the name of their column: the path to them, joined by underscores (doubled within a step).

    Examples
    --------
    >>> flatten({"a": 1, "b": [2, 3]}, "x")
    {'x_a': 1, 'x_b_0': 2, 'x_b_1': 3}
    >>> flatten(5, "x")
    {'x': 5}
    """
    if not isinstance(tree, Mapping | list):
        return {root: tree}
    below = tree.items() if isinstance(tree, Mapping) else enumerate(tree)
    return {name: leaf for step, branch in below for name, leaf in flatten(branch, _path(root, step)).items()}


def names(tree: Tree, root: str) -> Tree:
    """The same tree with the names of columns for leaves."""
    if isinstance(tree, Mapping):
        return {step: names(below, _path(root, step)) for step, below in tree.items()}
    return [names(below, _path(root, step)) for step, below in enumerate(tree)] if isinstance(tree, list) else root


def _path(root: str, step: str | int) -> str:
    return f"{root}_{str(step).replace('_', '__')}"


def shape_of(values: Sequence[Any]) -> Tree:
    """The tree that all these payloads fit into, with None for leaves.

    A field that some lack is null there. Lists of one length are as records are; lists of several are a leaf.

    Examples
    --------
    >>> shape_of([{"a": 1}, {"a": [2, 3], "b": None}])
    {'a': None, 'b': None}
    >>> shape_of([[1, {"a": 2}], None, [3, {"a": 4}]])
    [None, {'a': None}]
    """
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, Mapping) for value in there):
        fields = dict.fromkeys(field for value in there for field in value)
        return {field: shape_of([value.get(field) for value in there]) for field in fields}
    if there and all(isinstance(value, list) and value for value in there) and len(set(map(len, there))) == 1:
        return [shape_of(items) for items in zip(*there, strict=True)]
    return None


def spread(value: Any, shape: Tree, root: str) -> dict[str, Any]:
    """The leaves of a payload by the name of their column, as :func:`flatten` of a shape that it fits into.

    Examples
    --------
    >>> spread({"a": [2, 3]}, {"a": None, "b": None}, "x")
    {'x_a': [2, 3], 'x_b': None}
    """
    if not isinstance(shape, Mapping | list):
        return {root: value}
    at = ({} if value is None else value).get if not isinstance(value, list) else value.__getitem__
    below = shape.items() if isinstance(shape, Mapping) else enumerate(shape)
    return {name: leaf for step, part in below for name, leaf in spread(at(step), part, _path(root, step)).items()}
