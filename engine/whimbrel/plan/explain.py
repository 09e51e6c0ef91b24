"""Print a plan: operators, last one first, with stream properties."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from whimbrel.errors import shortened
from whimbrel.plan.graph import Node, walk
from whimbrel.plan.source import Source

Lines = Mapping[int, Sequence[str]]
"""Lines of nodes, by the identity of the node."""

_WIDEST_INDENT: Final = 120
"""A subtree that would be indented more is printed after its tree, under a name: 40 operators are one such tree."""


def explain(node: Node, more: Lines = MappingProxyType({})) -> str:
    """Print a plan as a tree; a stream used twice is printed once and named.

    Nodes may have more lines, by their identity.
    """
    return explain_together((node,), more)[0]


def readable(text: str) -> str:
    """A plan without the middles of lines that name thousands of columns or quote a whole document."""
    return "\n".join(map(shortened, text.splitlines()))


def explain_together(roots: Sequence[Node], more: Lines = MappingProxyType({})) -> list[str]:
    """Print several plans; what they share is printed with the first."""
    shared, names = _shared(roots), dict[int, str]()
    done: set[int] = set()
    return ["\n".join(_lines(root, shared, names, done, more)) for root in roots]


def _lines(root: Node, shared: set[int], names: dict[int, str], done: set[int], more: Lines) -> Iterator[str]:
    """The lines of a tree, and after them those of subtrees that would stand too far to the right."""
    trees = deque([root])
    while trees:
        todo = [(trees.popleft(), "", "")]
        while todo:
            node, head, indent = todo.pop()
            if id(node) in shared:
                names.setdefault(id(node), f"#{len(names) + 1}")  # numbers stand in the order of the lines
            name = names.get(id(node))
            if name and (id(node) in done or node in trees):
                yield f"{head}{name}, {'as above' if id(node) in done else 'below'}"
                continue
            if node.inputs and len(indent) >= _WIDEST_INDENT:
                name = names.setdefault(id(node), f"#{len(names) + 1}")
                trees.append(node)
                yield f"{head}{name}, below"
                continue
            done.add(id(node))
            label = f"{name} = " if name else ""
            yield f"{head}{label}{_line(node)}"
            bar = "│  " if node.inputs else "   "
            for line in more.get(id(node), ()):
                yield f"{indent}{bar}{line}"
            if not isinstance(node.op, Source):
                for note in node.op.notes(*(below.schema for below in node.inputs)):
                    yield f"{indent}{bar}note: {note}"
            for position, below in reversed(list(enumerate(node.inputs, 1))):
                branch, bar = ("└─ ", "   ") if position == len(node.inputs) else ("├─ ", "│  ")
                todo.append((below, indent + branch, indent + bar))


def _line(node: Node) -> str:
    if isinstance(node.op, Source):
        rows = "" if node.op.rows is None else f", {node.op.rows:,} rows"
        rows += f", {node.op.read_of}" if node.op.read_of else ""
        order = ", unsorted" if node.op.as_it_comes else ""
        return f"{node.op.name}({', '.join(node.schema.names)}{rows}){order}"
    return f"{node.op.show()}   [{node.properties.show()}]"


def _shared(roots: Sequence[Node]) -> set[int]:
    """The identities of nodes that several nodes or plans read."""
    uses = {id(root): 1 for root in roots} if len(roots) > 1 else {}
    for node in walk(roots):
        for below in node.inputs:
            uses[id(below)] = uses.get(id(below), 0) + 1
    return {node for node, times in uses.items() if times > 1}
