"""Build a query again from its own text."""

from __future__ import annotations

from typing import Any

import whimbrel as wb
from whimbrel.plan import Node, Source
from whimbrel.stream.python_text import python_text


def built_again(stream: wb.Stream) -> wb.Stream:
    """The stream that its own text builds of the same sources."""
    printed = python_text(stream.node, stream.keys)
    names: dict[str, Any] = {}
    exec(compile(printed.text, "<printed>", "exec"), names)
    again: wb.Stream = names["query"](**{name: _stream(value) for name, value in printed.arguments.items()})
    return again


def _stream(value: Any) -> Any:
    if isinstance(value, Source):
        return wb.Stream(Node(value))
    return wb.Stream(value) if isinstance(value, Node) else value
