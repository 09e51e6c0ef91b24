"""Find the columns by which a query can be partitioned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import pyarrow as pa

from whimbrel.expr import can_be_key
from whimbrel.plan.graph import Node
from whimbrel.plan.source import Source

Columns = Mapping[Source, str]
"""One column of each source."""


def partition_columns(plan: Node, *, floats: bool = False) -> list[dict[Source, str]]:
    """Ways to partition the sources, each by one column, such that parts have nothing to do with one another.

    If all rows with the same value there are in one part, whichever source they are of, the answers of the parts are
    together the answer. Several ways can be taken together: by all their columns.

    Columns of nested values are left out, and those of floats unless asked for: what is one key in the engine, such as
    0.0 and -0.0, must not be two to who makes the parts.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [1, 4], "k": [1, 2], "x": [3, 3]}, time="at", name="log")
    >>> found = partition_columns(log.group_by("k").session_window(9).aggregate(n=wb.count()).node)
    >>> [list(columns.values()) for columns in found]
    [['k']]
    """
    ways: dict[int, list[tuple[str, dict[Source, str]]]] = {}
    for node in plan.walk():
        if isinstance(node.op, Source):
            found = [(field.name, {node.op: field.name}) for field in node.schema
                     if can_be_key(field.type) and (floats or not pa.types.is_floating(field.type))]
        else:
            found = [(name, columns) for by, columns in _together([ways[id(below)] for below in node.inputs])
                     if (name := node.op.partitioned(*by)) is not None]
        ways[id(node)] = found
    every = len(plan.sources())
    unlike: list[dict[Source, str]] = []
    for _, columns in ways[id(plan)]:
        if len(columns) == every and columns not in unlike:
            unlike.append(columns)
    return unlike


def _together(inputs: list[list[tuple[str, dict[Source, str]]]]) -> Iterator[tuple[tuple[str, ...], dict[Source, str]]]:
    """Combinations of the ways of several inputs that agree on the column of each source and on its type."""
    for ways in product(*inputs):
        columns: dict[Source, str] = {}
        for _, each in ways:
            columns |= each
        agree = all(columns[source] == name for _, each in ways for source, name in each.items())
        if agree and len({str(source.schema.type_of(name)) for source, name in columns.items()}) == 1:
            yield tuple(name for name, _ in ways), columns
