"""Keep each distinct payload once per snapshot."""

from __future__ import annotations

from whimbrel.batch import Schema
from whimbrel.expr import Expr, Keys, named_columns
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.plan import fluent


@fluent
def distinct(schema: Schema, *columns: str | Expr, keys: Keys = ()) -> GroupAggregate:
    """Keep each distinct payload once per snapshot.

    See :class:`whimbrel.operators.GroupAggregate`.

    Every start and every end of an equal payload begins a new row, as in an aggregate; ``stitch()`` fuses them.

    Parameters
    ----------
    *columns : str or Expr
        What makes rows different, and what they keep; all columns by default. Keys of ``group_by`` are kept too.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 3, 5], "x": [2, 2, 3]}, time="at")
    >>> events.tumbling_window(10).distinct("x").collect().to_pylist()
    [{'start': 0, 'end': 10, 'x': 2}, {'start': 0, 'end': 10, 'x': 3}]
    """
    known = {name for name, _ in keys}
    chosen = named_columns("distinct", columns or schema.names, {})
    return GroupAggregate(keys=(*keys, *(each for each in chosen if each[0] not in known)), measures=())
