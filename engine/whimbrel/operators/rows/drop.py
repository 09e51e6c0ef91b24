"""Drop columns."""

from __future__ import annotations

from whimbrel.batch import Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Col
from whimbrel.operators.rows.select import Select
from whimbrel.plan import fluent


@fluent
def drop(schema: Schema, *names: str) -> Select:
    """Drop columns, and keep all others. See :class:`whimbrel.operators.Select`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> wb.from_arrow({"at": [1], "x": [10], "y": [5]}, time="at").drop("at", "y").schema.show()
    'x: int64'
    """
    where = f"drop({', '.join(map(repr, names))})"
    for name in names:
        schema.index(name, where=where)
    kept = [name for name in schema.names if name not in names]
    if not kept:
        raise PlanError("drop() must leave at least one column.",
                        where=where, hint="Keep one column, or count events instead.")
    return Select(columns=tuple((name, Col(name)) for name in kept))
