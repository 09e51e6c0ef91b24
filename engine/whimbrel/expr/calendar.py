"""Calendar parts and grids of times, on the clock of the column's zone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.errors import KernelError
from whimbrel.expr import integers as ints
from whimbrel.expr.nodes import Call
from whimbrel.expr.types import floor_ticks
from whimbrel.expr.value import Scope, Value, from_arrow

_PARTS: dict[str, Callable[[Any], Any]] = {
    "dt.year": pc.year, "dt.month": pc.month, "dt.day": pc.day, "dt.hour": pc.hour, "dt.minute": pc.minute,
    "dt.second": pc.second, "dt.weekday": pc.day_of_week,
}


def calendar(expr: Call, x: Value, scope: Scope) -> Value:
    """The functions of ``.dt``."""
    if expr.function != "dt.floor":
        return from_arrow(_PARTS[expr.function](x.arrow()).cast(pa.int64()))
    step_ticks = np.int64(floor_ticks(expr, x.type))
    if x.type.tz in (None, "UTC"):
        return _floored(expr, x, step_ticks, scope)
    wall = from_arrow(pc.local_timestamp(x.arrow()))
    floored = _floored(expr, wall, step_ticks, scope)
    # The offset of the time itself tells the two hours apart that share a name when clocks go back.
    near = Value(x.type, floored.data - (wall.data - x.data), x.valid)
    same_offset = from_arrow(pc.local_timestamp(near.arrow())).data == floored.data
    if np.all(same_offset):
        return near
    try:
        # A midnight that clocks skip becomes the first moment after it.
        far = from_arrow(pc.assume_timezone(floored.arrow(), x.type.tz, ambiguous="earliest", nonexistent="latest"))
    except pa.ArrowInvalid as error:
        raise KernelError(str(error).splitlines()[0], where=expr.show()) from None
    return Value(x.type, np.where(same_offset, near.data, far.data), x.valid)


def _floored(expr: Call, x: Value, step_ticks: np.int64, scope: Scope) -> Value:
    data, bad = ints.subtract(x.data, x.data % step_ticks)
    scope.refuse(bad, x.valid, expr)
    return Value(x.type, data, x.valid)
