"""Schema of a feed, and validation of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Mask
from whimbrel.clock import INF, TickUnit, duration_ticks, ticks_per_second
from whimbrel.clock.duration import Duration
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.errors import SchemaError
from whimbrel.expr.type_names import named_type

_FURTHEST = INF - (1 << 58)
"""Largest valid time: a window of nine years (in nanoseconds) must still fit before the end of time."""

Fields = Mapping[str, Any] | Any
"""A pyarrow.Schema, or names with types or their names."""
_EXAMPLE = 'Use for example schema={"at": "timestamp[ms]", "price": "double"}.'


def fields_given(fields: Fields, where: str) -> pa.Schema:
    """Make a schema from an Arrow schema, or from names with types or type names.

    Python types are those of ``cast``.

    >>> fields_given({"at": "timestamp[ms]", "x": pa.int64(), "y": float}, "").types
    [TimestampType(timestamp[ms]), DataType(int64), DataType(double)]
    """
    if isinstance(fields, pa.Schema):
        return fields.remove_metadata()
    if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
        raise SchemaError(f"schema must be a pyarrow.Schema or a dict of names and types, got {str(fields)[:80]}.",
                          where=where, hint=_EXAMPLE)
    types = {name: named_type(type_) for name, type_ in fields.items()}
    for name, type_ in types.items():
        if type_ is None:
            raise SchemaError(f"schema has an unknown type for {name!r}: {str(fields[name])[:80]!r}.", where=where,
                              hint="Use a type, such as 'int64', 'decimal(38, 2)' or 'timestamp[us]'.")
    return pa.schema(types)


def fields_inferred(schema: pa.Schema, where: str) -> pa.Schema:
    """Return the schema of a sample if each column has a type.

    Raises
    ------
    SchemaError
        For a column with only nulls or empty lists: later values would be malformed.
    """
    for field in schema:
        if _holds_nothing(field.type):
            raise SchemaError(f"Cannot infer the type of {field.name!r}: no message of the sample has a value in it.",
                              where=where, hint=_EXAMPLE)
    return schema


def _holds_nothing(type_: pa.DataType) -> bool:
    return pa.types.is_null(type_) or any(_holds_nothing(type_.field(part).type) for part in range(type_.num_fields))


@dataclass(frozen=True)
class Rules:
    """Rules that a row must meet before the engine reads it.

    Parameters
    ----------
    timeline : Timeline
    max_ahead_ticks : int, optional
        How far an event time may be after the wall clock.
    """

    timeline: Timeline
    max_ahead_ticks: int | None

    @staticmethod
    def of(timeline: Timeline, max_ahead: Duration | None) -> Rules:
        """Rules with `max_ahead` as users write it."""
        unit = timeline.schema.unit
        return Rules(timeline, None if max_ahead is None else duration_ticks(max_ahead, unit, where=timeline.where))

    def violations(self, rows: pa.Table, now_ns: int) -> list[tuple[str, Mask]]:
        """Violated rules, each with a mask of rows; each row counts once."""
        time = rows.column(self.timeline.time)
        now = now_ticks(now_ns, self.timeline.schema.unit)
        maximum = INF if self.max_ahead_ticks is None else now + self.max_ahead_ticks
        if self.timeline.end is None and not time.null_count and self._within(time, maximum):
            return []
        times = _ticks(time, self.timeline.schema.time_type)
        fine, found = np.ones(len(rows), bool), []
        if time.null_count:
            found.append((f"no time: {self.timeline.time!r} is null", _mask(time.is_null())))
            fine &= ~found[-1][1]
        if len(rows) and not -_FURTHEST < times.min() <= times.max() < _FURTHEST:
            found.append(("time out of range", fine & ((times <= -_FURTHEST) | (times >= _FURTHEST))))
            fine &= ~found[-1][1]
        if self.timeline.end is not None:
            end = rows.column(self.timeline.end)
            ends, known = _ticks(end, self.timeline.schema.time_type), ~_mask(end.is_null())
            found.append(("does not end after it starts", fine & (ends <= times) & known))
            fine &= ~found[-1][1]
            found.append(("end out of range", fine & (ends >= _FURTHEST) & (ends < INF) & known))
            fine &= ~found[-1][1]
        if self.max_ahead_ticks is not None:
            taken = ", as seconds since 1970" if ticks_per_second(self.timeline.schema.unit) is None else ""
            found.append((f"time is ahead of the clock{taken}", fine & (times > maximum)))
        return [(reason, rows) for reason, rows in found if rows.any()]

    def _within(self, time: pa.ChunkedArray, maximum: int) -> bool:
        """Whether all times are valid, by one pass over their minimum and maximum: the common case."""
        spread = pc.min_max(_counted(time, self.timeline.schema.time_type)).as_py()
        return spread["min"] is None or -_FURTHEST < spread["min"] <= spread["max"] < min(_FURTHEST, maximum + 1)


def now_ticks(now_ns: int, unit: TickUnit) -> int:
    """The wall clock in ticks; integer times count seconds."""
    return now_ns * (ticks_per_second(unit) or 1) // 10**9


def _mask(array: pa.ChunkedArray) -> Mask:
    return array.to_numpy()


def _counted(array: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    if array.type != type_:
        array = array.cast(type_, safe=False)
    return array if array.type == pa.int64() else array.cast(pa.int64())


def _ticks(array: pa.ChunkedArray, type_: pa.DataType) -> np.ndarray[Any, np.dtype[np.int64]]:
    whole = _counted(array, type_)
    return (pc.fill_null(whole, 0) if whole.null_count else whole).to_numpy()
