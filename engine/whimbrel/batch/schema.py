"""The schema of a stream: payload columns and time unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from whimbrel.clock import TickUnit
from whimbrel.errors import SchemaError, near_match


@dataclass(frozen=True, slots=True)
class Field:
    """One payload column: its name and its Arrow type. Every column may hold nulls."""

    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Schema:
    """Payload columns in order, with the unit (and zone) in which the stream counts time.

    Parameters
    ----------
    fields : tuple of Field
    unit : {"s", "ms", "us", "ns"} or None
        What one tick is; None for plain integers.
    zone : str, optional
        Time zone that start and end are shown in; ticks are UTC then.
    """

    fields: tuple[Field, ...]
    unit: TickUnit = None
    zone: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @property
    def time_type(self) -> pa.DataType:
        """The Arrow type in which start and end leave the engine."""
        return pa.int64() if self.unit is None else pa.timestamp(self.unit, self.zone)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: object) -> bool:
        return any(field.name == name for field in self.fields)

    def index(self, name: str, *, where: str = "") -> int:
        """Position of a column; an unknown name is an error with the near match."""
        for position, field in enumerate(self.fields):
            if field.name == name:
                return position
        raise SchemaError(f"There is no column {name!r}.", where=where, hint=near_match(name, self.names))

    def type_of(self, name: str, *, where: str = "") -> pa.DataType:
        return self.fields[self.index(name, where=where)].type

    def with_fields(self, fields: Iterable[Field], *, where: str = "") -> Schema:
        """The same time, other columns; a name used twice is an error."""
        fields = tuple(fields)
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"Two columns would be named {name!r}.", where=where, hint="Rename one of them.")
        return replace(self, fields=fields)

    def select(self, names: Iterable[str]) -> Schema:
        return replace(self, fields=tuple(self.fields[self.index(name)] for name in names))

    def show(self) -> str:
        return ", ".join(f"{field.name}: {field.type}" for field in self.fields)
