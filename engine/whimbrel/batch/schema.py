"""The schema of a stream: payload columns and time unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from whimbrel.clock import TickUnit
from whimbrel.errors import SchemaError, near_match


@dataclass(frozen=True, slots=True)
class Field:
    """One payload column: its name and its Arrow type. Every column may hold nulls."""

    name: str
    type: pa.DataType


@dataclass(frozen=True)
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

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The position of each name, and the first one of a name that is there twice."""
        return {name: len(self.names) - 1 - back for back, name in enumerate(reversed(self.names))}

    @property
    def time_type(self) -> pa.DataType:
        """The Arrow type in which start and end leave the engine."""
        return pa.int64() if self.unit is None else pa.timestamp(self.unit, self.zone)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def index(self, name: str, *, where: str = "") -> int:
        """Position of a column; an unknown name is an error with the near match."""
        position = self._positions.get(name)
        if position is None:
            raise SchemaError(f"There is no column {name!r}.", where=where, hint=near_match(name, self.names))
        return position

    def type_of(self, name: str, *, where: str = "") -> pa.DataType:
        return self.fields[self.index(name, where=where)].type

    def with_fields(self, fields: Iterable[Field], *, where: str = "") -> Schema:
        """The same time, other columns; a name used twice is an error."""
        fields = tuple(fields)
        times = Counter(field.name for field in fields)
        if len(times) < len(fields):
            name = next(name for name, count in times.items() if count > 1)
            raise SchemaError(f"Two columns would be named {name!r}.", where=where, hint="Rename one of them.")
        return replace(self, fields=fields)

    def select(self, names: Iterable[str]) -> Schema:
        return replace(self, fields=tuple(self.fields[self.index(name)] for name in names))

    def show(self) -> str:
        return ", ".join(f"{field.name}: {field.type}" for field in self.fields)
