"""Aggregates of different values, as groups of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from whimbrel.expr import Col, Expr, Lit, when
from whimbrel.sql.aggregates import aggregate
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope
from whimbrel.stream import Stream

_VALUE: Final = "_value"
_ANYWAY: Final = (exp.Count, exp.Sum, exp.Min, exp.Max, exp.LogicalOr, exp.LogicalAnd)
"""Aggregates that have a form for different values, or need none."""


@dataclass
class DistinctAggregates:
    """The aggregates of different values of one SELECT.

    Parameters
    ----------
    scope : NameScope
        Of single rows.
    types : dict of str to pyarrow.DataType
        Gets the types of the columns that hold them.
    possible : bool
        Whether groups can be joined: not those of overlapping windows.
    """

    scope: NameScope
    types: dict[str, pa.DataType]
    possible: bool
    found: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)

    def column(self, node: Any) -> Expr | None:
        """The column of an aggregate of different values; None for another node."""
        call = node.this if isinstance(node, exp.Filter) else node
        if not (self.possible and isinstance(call, exp.AggFunc) and isinstance(call.this, exp.Distinct)
                and not isinstance(call, _ANYWAY) and len(call.this.expressions) == 1):
            return None
        value = scalar(call.this.expressions[0], self.scope)
        if isinstance(node, exp.Filter):
            value = when(condition(node.expression.this, self.scope)).then(value).otherwise(Lit(None))
        inside = call.copy()
        column = exp.Column(this=exp.to_identifier(_VALUE, quoted=True))
        inside.set("this", column)
        relation = self.scope.relation
        widened = self.scope.binder.step(node, lambda: relation.stream.with_columns(**{_VALUE: value}))
        over = NameScope(self.scope.binder, relation.after(widened),
                         lambda each: Col(_VALUE) if each is column else None)
        reduced = aggregate(inside, over)
        name = f"_distinct{len(self.found) + 1}"
        self.types[name] = over.type_of(reduced, node)
        self.found[name] = value, reduced
        return Col(name)

    def joined(self, stream: Stream, rows: Stream, keys: Mapping[str, Expr], node: Any) -> Stream:
        """The results of groups with these aggregates of the same rows."""
        step = self.scope.binder.step
        for name, (value, reduced) in self.found.items():
            once = step(node, partial(lambda value: rows.select(**keys, **{_VALUE: value}).distinct(), value))
            by = step(node, partial(once.group_by, *keys)) if keys else once
            measures: dict[str, Any] = {name: reduced}
            other = step(node, partial(by.aggregate, **measures))
            before = stream
            if keys:
                stream = step(node, partial(before.join, other, list(keys), how="left", nulls_equal=True))
            else:
                stream = step(node, partial(before.cross_join, other, how="left"))
        return stream

