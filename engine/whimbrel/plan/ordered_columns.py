"""Columns of a stream whose values are in an order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from whimbrel.batch import Schema
from whimbrel.expr import Col, Expr
from whimbrel.expr.monotone import ValueOrder, order_of


@dataclass(frozen=True, slots=True)
class OrderedColumn:
    """A column in an order: an event that starts later has no smaller value, or no larger one.

    Events that start at one time are in no order. A banded column may be against the order by a number of ticks.

    Parameters
    ----------
    name : str
    order : ValueOrder
    """

    name: str
    order: ValueOrder

    def show(self) -> str:
        band = f" banded {self.order.band}" if self.order.band else ""
        return f"{self.name} {self.order.direction}{band}"


Ordered = tuple[OrderedColumn, ...]


def orders(ordered: Ordered) -> Mapping[str, ValueOrder]:
    """The orders of columns by name."""
    return {each.name: each.order for each in ordered}


def ordered_among(ordered: Ordered, names: Iterable[str]) -> Ordered:
    """The ordered columns of these names."""
    left = set(names)
    return tuple(each for each in ordered if each.name in left)


def ordered_values(columns: Iterable[tuple[str, Expr]], schema: Schema, ordered: Ordered) -> Ordered:
    """The ordered columns among computed ones.

    Examples
    --------
    >>> from whimbrel.batch import Field
    >>> import pyarrow as pa
    >>> from whimbrel.expr import col
    >>> schema = Schema((Field("seq", pa.int64()),))
    >>> known = (OrderedColumn("seq", ValueOrder("increasing", band=8)),)
    >>> [each.show() for each in ordered_values([("a", 10 - col.seq // 4), ("b", col.seq % 2)], schema, known)]
    ['a decreasing banded 2']
    """
    if not ordered:
        return ()
    known = orders(ordered)
    found: list[OrderedColumn] = []
    for name, expr in columns:
        order = known.get(expr.name) if isinstance(expr, Col) else order_of(expr, schema, known)
        if isinstance(order, ValueOrder) and order.direction != "constant":
            found.append(OrderedColumn(name, order))
    return tuple(found)
