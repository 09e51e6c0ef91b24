"""Unpivot columns to rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.errors import PlanError, SchemaError
from whimbrel.expr import Keys, check_name, columns_of
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import HIDDEN, KnownInput, LineageRequest, Operator, Properties, Reach, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class Unpivot(Operator):
    """Turn columns into rows: one for each value.

    A row has the name of the column and the value. Nulls give no row.

        time     0    5    10
        in       x=2, y=3──            ([0, 10))
        out      x, 2──────            (two rows, both [0, 10))
                 y, 3──────

    Parameters
    ----------
    keys : tuple of str
        Columns that every row keeps. All others must have one type.
    attribute, value : str
        Names of the two new columns.

    Notes
    -----
    Columns are in the order of their names. Shapes: at most one row out per row in and column. State: none.
    Source: the unpivot of Trill's open source.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0], "k": ["a"], "x": [2], "y": [3]}, time="at").drop("at")
    >>> for row in events.unpivot("k").collect().to_pylist():
    ...     print(row)
    {'start': 0, 'end': 1, 'k': 'a', 'attribute': 'x', 'value': 2}
    {'start': 0, 'end': 1, 'k': 'a', 'attribute': 'y', 'value': 3}
    """

    keys: tuple[str, ...]
    attribute: str = "attribute"
    value: str = "value"

    def schema(self, *upstream: Schema) -> Schema:
        where = self.show()
        kept = [Field(name, upstream[0].type_of(name, where=where)) for name in self.keys]
        fields = [Field(name, upstream[0].type_of(name)) for name in self.values(upstream[0])]
        if not fields:
            raise PlanError("unpivot() needs at least one column that is not a key.",
                            where=where, hint="Use fewer keys.")
        first = fields[0]
        for field in fields[1:]:
            if field.type != first.type:
                raise SchemaError(f"Columns must have one type, got {first.name!r} ({first.type}) and "
                                  f"{field.name!r} ({field.type}).",
                                  where=where, hint="Cast one, or use it as a key.")
        made = [Field(self.attribute, pa.string()), Field(self.value, first.type)]
        return upstream[0].with_fields([*kept, *made], where=where)

    def values(self, schema: Schema) -> list[str]:
        """Columns that become rows.

        A column without a type has only nulls.
        """
        others = sorted(name for name in schema.names if name not in self.keys)
        return [name for name in others if not pa.types.is_null(schema.type_of(name))]

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], apart=None, sampling=None, packed=True)

    def reach(self, *inputs: Reach) -> Reach | None:
        return inputs[0]

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys else HIDDEN

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.only(self.keys).same(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return UnpivotKernel(self, upstream[0])

    def show(self) -> str:
        parts = [*map(repr, self.keys), f"attribute={self.attribute!r}", f"value={self.value!r}"]
        return f"unpivot({', '.join(parts)})"


@fluent
def unpivot(schema: Schema, *names: str, attribute: str = "attribute", value: str = "value",
            keys: Keys = ()) -> Unpivot:
    """Turn columns that are not keys into rows.

    Each value gives one row. See :class:`whimbrel.operators.Unpivot`.

    Parameters
    ----------
    *names : str
        Columns to keep, in addition to those of ``group_by``.
    attribute, value : str
        Names of the columns for the name and the value of each column.
    """
    for name in (attribute, value):
        check_name(name, "unpivot")
    kept = dict.fromkeys([*names, *(name for _, expr in keys for name in sorted(columns_of(expr)))])
    return Unpivot(keys=tuple(kept), attribute=attribute, value=value)


class UnpivotKernel(Stateless):
    """Repeat rows, and add the columns of names and values."""

    def __init__(self, unpivot: Unpivot, schema: Schema) -> None:
        self.unpivot = unpivot
        self.schema = unpivot.schema(schema)
        self.names = unpivot.values(schema)
        self.parts = Column.from_arrow(pa.chunked_array([self.names], pa.string()).combine_chunks())

    def apply(self, batch: Batch) -> Batch:
        batch = batch.compact()
        columns = [batch.column(name) for name in self.names]
        there = np.stack([column.validity() for column in columns], axis=1)
        rows, which = np.nonzero(there)
        kept = batch.take(rows)
        values = Column.concat(columns).take(which * len(batch) + rows)
        made = (*(kept.column(name) for name in self.unpivot.keys), self.parts.take(which), values)
        return replace(kept, schema=self.schema, columns=made)
