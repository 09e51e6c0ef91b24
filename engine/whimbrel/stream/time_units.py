"""Convert joined streams to their finest time unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from whimbrel.clock import TickUnit, finest
from whimbrel.errors import PlanError
from whimbrel.operators import Coalesce
from whimbrel.operators.rows.finer_unit import FinerUnit, wider_columns
from whimbrel.plan import Node


def in_one_unit(name: str, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The same streams, those with a coarser unit counted in the finest.

    A union widens timestamps and durations among their columns, too: it has one type for each.

    Parameters
    ----------
    name : str
        The method by which they meet.
    nodes : sequence of Node

    Raises
    ------
    PlanError
        For plain integers with a calendar, local times with instants, and times in two time zones.
    """
    first, *others = (node.schema for node in nodes)
    for number, other in enumerate(others, 1):
        if (first.unit is None) != (other.unit is None) or first.zone != other.zone:
            where = f"{name}()" if len(others) == 1 else f"{name}(), stream {number} of {len(others)}"
            raise PlanError(f"The streams must have one type of time, got {first.time_type} and {other.time_type}.",
                            where=where, hint=_hint(first.unit is None or other.unit is None, first.zone, other.zone))
    unit = finest(node.schema.unit for node in nodes)
    columns = wider_columns([node.schema for node in nodes]) if name == "union" else {}
    return tuple(_counted(node, unit, columns) for node in nodes)


def _counted(node: Node, unit: TickUnit, wider: Mapping[str, pa.DataType]) -> Node:
    columns = tuple((name, type_) for name, type_ in wider.items() if node.schema.type_of(name) != type_)
    if node.schema.unit == unit and not columns:
        return node
    points = node.properties.points
    if points and not node.properties.intervals_only:  # the end edge of a point would come before its time
        node = Node(Coalesce(), (node,))
    return Node(FinerUnit(unit=node.schema.unit, finer=unit, points=points, columns=columns), (node,))


def _hint(plain: bool, left: str | None, right: str | None) -> str:
    if plain:
        return "Use time columns of one kind: integers have no unit."
    if left is None or right is None:
        return "Give both time columns a time zone: local times are no instants."
    return f"Cast one time column to the time zone of the other: pyarrow.timestamp(unit, {left!r})."
