"""Conversion of Arrow time columns to lifetimes in ticks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.batch import Batch, Column, Field, Schema, Ticks, frozen, logical_type, plain_array, plain_type
from whimbrel.batch.arrow import ticks_from_arrow
from whimbrel.clock import INF, TickUnit, ticks_per_second
from whimbrel.errors import SchemaError, SourceError, near_match
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.lifetimes.durations import durations

_COARSER: Final = {"ns": "us", "us": "ms", "ms": "s"}
_EPOCH: Final = np.datetime64(0, "s")
_durations = Compiled(durations)
_MANY_ROWS = 4_096
"""From so many on it is worth a look whether all last equally long."""

_TIME_TYPES = "Convert it to a timestamp, a date or an integer, for example with pyarrow.compute.strptime."

Named = Callable[[int], str]
"""What a row of a batch is called in errors."""


@dataclass(frozen=True)
class Timeline:
    """The columns with lifetimes and arrival times, and their conversion to ticks.

    Parameters
    ----------
    schema : Schema
        All payload columns, with the unit and zone of the time column.
    time : str
        Start of a row's lifetime.
    end : str, optional
        End of the lifetime, exclusive; null when no end is known. Without it a row is true for one tick.
    where : str
        The user's call, for errors.
    """

    schema: Schema
    time: str
    end: str | None
    where: str

    @staticmethod
    def of(fields: pa.Schema, *, time: str, end: str | None, arrival: str | None, where: str) -> Timeline:
        """Check the columns that carry time.

        A missing one or a wrong type is a SchemaError.
        """
        try:
            plain = tuple(Field(field.name, logical_type(field.type)) for field in fields)
        except UnicodeDecodeError as error:
            raise SchemaError(f"Column names must be UTF-8, got {error.object!r}.", where=where,
                              hint="Read the file with its encoding in pyarrow.csv or pandas, or rewrite it."
                              ) from None
        start_type = _type_of(plain, time, "time", where)
        unit, zone = time_unit(start_type, time, where)
        schema = Schema((), unit, zone).with_fields(plain, where=where)
        for role, name in (("end", end), ("arrival", arrival)):
            if name is not None:
                type_ = _type_of(plain, name, role, where)
                time_unit(type_, name, where)
                if _kind(type_) != _kind(start_type):
                    raise SchemaError(f"{role}={name!r} is {type_}, but time={time!r} is {start_type}.", where=where,
                                      hint="Cast one column, so that both are integers or both times with or without "
                                           "a zone.")
        return Timeline(schema, time, end, where)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Payload columns with the names ``start`` or ``end``.

        In a result, the ends of lifetimes have these names.
        """
        ends = (("start", self.time), ("end", self.end))
        return tuple(name for name, shown in ends if name in self.schema.names and name != shown)

    def needed(self, columns: Sequence[str]) -> list[str]:
        """Columns to read for rows with these payload columns."""
        return list(dict.fromkeys([*columns, self.time, *([self.end] if self.end else [])]))

    def batches(self, data: Iterable[pa.RecordBatch], columns: Sequence[str], offset: int,
                lies_in: Callable[[int], str] | None = None) -> Iterator[Batch]:
        """Convert record batches; the first row is row `offset` of the source.

        `lies_in` says for errors where a row of the source lies.
        """
        schema = self.schema.select(columns)
        for part in data:
            if part.num_rows:
                yield self._batch(part, schema, partial(row_named, offset, lies_in))
                offset += part.num_rows

    def shared(self, data: pa.RecordBatch, columns: Sequence[str]) -> Batch | None:
        """Rows that share all their memory with these, without a copy.

        None if there is something to do for each row.
        """
        if self.end is not None or data.column(self.time).type != self.schema.time_type:
            return None
        for array in map(data.column, self.needed(columns)):
            made = pa.types.is_boolean(array.type) or pa.types.is_dictionary(array.type)
            if made or array.null_count or plain_type(array.type) != array.type:
                return None
        sync = self.starts(data.column(self.time))
        return Batch(self.schema.select(columns), sync, 1,
                     tuple(self._column(data.column(name), name, sync) for name in columns))

    def starts(self, array: pa.Array) -> Ticks:
        """Ticks of a column of times, none of which is missing."""
        return self._ticks(array, self.time, partial(row_named, 0, None))[0]

    def _batch(self, data: pa.RecordBatch, schema: Schema, named: Named) -> Batch:
        sync = self._starts(data, named)
        ends = self._ends(data, sync, named)
        return Batch(schema, sync, ends, tuple(self._column(data.column(name), name, sync) for name in schema.names))

    def _column(self, array: pa.Array, name: str, sync: Ticks) -> Column:
        if name == self.time and array.type == self.schema.time_type:
            return Column(array.type, sync)  # one array for both: it is moved once
        return Column.from_arrow(plain_array(array))

    def _starts(self, data: pa.RecordBatch, named: Named) -> Ticks:
        sync, valid = self._ticks(data.column(self.time), self.time, named)
        if valid is not None:
            raise SourceError(f"{named(int(np.argmin(valid)))} has no time: {self.time!r} is null.",
                              where=self.where, hint="Drop rows without a time first (rows count from 0).")
        return sync

    def _ends(self, data: pa.RecordBatch, sync: Ticks, named: Named) -> Ticks | int:
        if self.end is None:
            return 1
        other, valid = self._ticks(data.column(self.end), self.end, named)
        if valid is not None:
            other = np.where(valid, other, INF)
        if len(other) >= _MANY_ROWS:
            minimum, maximum = map(int, _durations(frozen(sync), frozen(other)))
            if 0 < minimum == maximum and other[0] < INF:
                return maximum
        wrong = other <= sync
        if wrong.any():
            self._refuse_lifetime(data, int(np.argmax(wrong)), named)
        return other

    def _refuse_lifetime(self, data: pa.RecordBatch, row: int, named: Named) -> None:
        start, end = (_show(plain_array(data.column(name))[row]) for name in (self.time, str(self.end)))
        raise SourceError(f"{named(row)} must end after it starts, but {self.time!r} is {start} and {self.end!r} is "
                          f"{end}.", where=self.where,
                          hint="Use exclusive ends; to drop such rows remove end= and use "
                               f".set_duration(col.{self.end} - col.{self.time}) (rows count from 0).")

    def _ticks(self, array: pa.Array, name: str, named: Named) -> tuple[Ticks, np.ndarray | None]:
        type_ = self.schema.time_type
        array = plain_array(array)
        if array.type != type_:
            try:
                array = array.cast(type_)
            except pa.ArrowInvalid:
                row = _first_refused(array, type_)
                if pa.types.is_uint64(array.type):
                    raise SourceError(f"{named(row)} of {name!r}, {_show(array[row])}, is above the largest "
                                      "int64.", where=self.where, hint="Use times that fit in int64.") from None
                raise self._not_ticks(array[row], name, named(row)) from None
        return ticks_from_arrow(array)

    def _not_ticks(self, value: pa.Scalar, name: str, row: str) -> SourceError:
        """Error for a time that does not fit: outside the range of its unit, or between two ticks."""
        type_ = self.schema.time_type
        reach = type_.unit if pa.types.is_timestamp(type_) else str(type_)
        seconds = _seconds(value)
        last = (2**63 - 1) // (ticks_per_second(self.schema.unit) or 1)
        if -last <= seconds <= last:
            return SourceError(f"{row} of {name!r}, {_show(value)}, is not a whole number of ticks of "
                               f"{self.time!r} ({type_}).", where=self.where,
                               hint=f"Cast both columns to one type; {self.time!r} defines the tick.")
        side, end = ("after", _EPOCH + last) if seconds > 0 else ("before", _EPOCH - last)
        unknown = "Use null for an unknown end, or c" if seconds > 0 and name == self.end else "C"
        return SourceError(f"{row} of {name!r}, {_show(value)}, is beyond what {reach} can count: {side} "
                           f"{end.astype('M8[D]')}.", where=self.where,
                           hint=f"{unknown}ast {self.time!r} to {_COARSER.get(reach, 'a coarser unit')}.")


def time_unit(type_: pa.DataType, name: str, where: str, hint: str = _TIME_TYPES) -> tuple[TickUnit, str | None]:
    """Unit and zone of a time column of this type; a SchemaError for other types."""
    if pa.types.is_timestamp(type_):
        if type_.tz is not None:
            try:
                pc.hour(pa.nulls(1, type_))
            except pa.ArrowInvalid:
                raise SchemaError(f"Column {name!r} has the unknown time zone {type_.tz!r}.", where=where,
                                  hint="Cast it, for example to timestamp('us', 'UTC').") from None
        return type_.unit, type_.tz
    if pa.types.is_date32(type_):
        return "s", None
    if pa.types.is_date64(type_):
        return "ms", None
    if pa.types.is_integer(type_):
        return None, None
    raise SchemaError(f"A time column must hold timestamps, dates or integers, but {name!r} is {type_}.", where=where,
                      hint=hint)


def _type_of(fields: Sequence[Field], name: str, role: str, where: str) -> pa.DataType:
    for field in fields:
        if field.name == name:
            return field.type
    raise SchemaError(f"{role} must be the name of a column, got {name!r}.", where=where,
                      hint=near_match(str(name), [field.name for field in fields]))


def row_named(first: int, lies_in: Callable[[int], str] | None, row: int) -> str:
    """Name of a row for errors: its number in the source, and its file."""
    path = "" if lies_in is None else lies_in(first + row)
    return f"Row {first + row:,} ({path})" if path else f"Row {first + row:,}"


def _kind(type_: pa.DataType) -> str:
    if pa.types.is_integer(type_):
        return "integer"
    return "instant" if pa.types.is_timestamp(type_) and type_.tz is not None else "local"


def _first_refused(array: pa.Array, type_: pa.DataType) -> int:
    """Row of the first value that the type cannot hold."""
    def refused(row: int) -> bool:
        try:
            array.slice(0, row + 1).cast(type_)
        except pa.ArrowInvalid:
            return True
        return False

    return bisect_left(range(len(array)), True, key=refused)


def _seconds(value: pa.Scalar) -> int:
    """Whole seconds from the epoch to a time or a day."""
    if pa.types.is_date32(value.type):
        return int(value.value) * 86_400
    return int(value.value) // (1_000 if pa.types.is_date64(value.type) else ticks_per_second(value.type.unit) or 1)


def _show(value: pa.Scalar) -> str:
    return str(value.cast(pa.string()))
