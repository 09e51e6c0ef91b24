"""How a payload of a case (a scalar, a record, a list of payloads) lies in the columns of a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """Leaves by the name of their column: the path to them, joined by underscores.

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
    return {name: leaf for step, branch in below for name, leaf in flatten(branch, f"{root}_{step}").items()}


def names(tree: Tree, root: str) -> Tree:
    """The same tree with the names of columns for leaves."""
    if isinstance(tree, Mapping):
        return {step: names(below, f"{root}_{step}") for step, below in tree.items()}
    return [names(below, f"{root}_{step}") for step, below in enumerate(tree)] if isinstance(tree, list) else root
