"""Record which method made a node, and from which nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from whimbrel.expr import Keys
from whimbrel.plan.graph import Node
from whimbrel.plan.method_calls import InputStream, MethodCall

_NOTHING: Mapping[str, Any] = MappingProxyType({})


def recorded(node: Node, name: str, inputs: Sequence[tuple[Node, Keys]], arguments: Sequence[Any] = (),
             options: Mapping[str, Any] = _NOTHING, keys_after: Keys = ()) -> Node:
    """The node with a record of the call that made it."""
    found = [_path(node, used) for used, _ in inputs]
    if any(path is None for path in found):
        return node
    streams = tuple(InputStream(path, _steps(node, path), keys)
                    for path, (_, keys) in zip(found, inputs, strict=True) if path is not None)
    call = MethodCall(name, streams, tuple(arguments), options, keys_after)
    return Node(node.op, node.inputs, (*node.calls, call))


def used_by(node: Node, stream: InputStream) -> Node | None:
    """The node that a call has used.

    None if steps between have been replaced since.
    """
    for position, op in zip(stream.path, stream.steps, strict=True):
        if node.op is not op or position >= len(node.inputs):
            return None
        node = node.inputs[position]
    return node


def _path(node: Node, used: Node) -> tuple[int, ...] | None:
    """The shortest way to a node below; None if there is none."""
    todo: list[tuple[Node, tuple[int, ...]]] = [(node, ())]
    seen: set[int] = set()
    for each, path in todo:  # grows
        if each is used:
            return path
        if id(each) not in seen:
            seen.add(id(each))
            todo += [(below, (*path, position)) for position, below in enumerate(each.inputs)]
    return None


def _steps(node: Node, path: tuple[int, ...]) -> tuple[Any, ...]:
    steps = []
    for position in path:
        steps.append(node.op)
        node = node.inputs[position]
    return tuple(steps)
