"""Print a plan: operators, last one first, with stream properties."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.errors import shortened
from whimbrel.plan.graph import Node, walk
from whimbrel.plan.source import Source


def explain(node: Node) -> str:
    """Print a plan as a tree; a stream used twice is printed once and named."""
    return explain_together((node,))[0]


def readable(text: str) -> str:
    """A plan without the middles of lines that name thousands of columns or quote a whole document."""
    return "\n".join(map(shortened, text.splitlines()))


def explain_together(roots: Sequence[Node]) -> list[str]:
    """Print several plans; what they share is printed with the first."""
    names = _shared_names(roots)
    done: set[int] = set()
    texts = []
    for root in roots:
        lines: list[str] = []
        _write(root, "", "", lines, names, done)
        texts.append("\n".join(lines))
    return texts


def _write(node: Node, head: str, indent: str, lines: list[str], names: dict[int, str], done: set[int]) -> None:
    name = names.get(id(node))
    if name and id(node) in done:
        lines.append(f"{head}{name}, as above")
        return
    done.add(id(node))
    label = f"{name} = " if name else ""
    lines.append(f"{head}{label}{_line(node)}")
    if not isinstance(node.op, Source):
        bar = "│  " if node.inputs else "   "
        lines += [f"{indent}{bar}note: {note}" for note in node.op.notes(*(below.schema for below in node.inputs))]
    for position, below in enumerate(node.inputs):
        last = position == len(node.inputs) - 1
        _write(below, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "), lines, names, done)


def _line(node: Node) -> str:
    if isinstance(node.op, Source):
        rows = "" if node.op.rows is None else f", {node.op.rows:,} rows"
        rows += f", {node.op.read_of}" if node.op.read_of else ""
        order = ", unsorted" if node.op.as_it_comes else ""
        return f"{node.op.name}({', '.join(node.schema.names)}{rows}){order}"
    return f"{node.op.show()}   [{node.properties.show()}]"


def _shared_names(roots: Sequence[Node]) -> dict[int, str]:
    uses = {id(root): 1 for root in roots} if len(roots) > 1 else {}
    for node in walk(roots):
        for below in node.inputs:
            uses[id(below)] = uses.get(id(below), 0) + 1
    shared = [node for node in walk(roots) if uses.get(id(node), 0) > 1]
    return {id(node): f"#{position}" for position, node in enumerate(shared, 1)}
