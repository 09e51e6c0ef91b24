"""Parameters of queries: values that change at event times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Ticks
from whimbrel.clock import INF, MIN_TIME, TickUnit, ticks_per_second
from whimbrel.errors import ExpressionError
from whimbrel.expr.build import start_time
from whimbrel.expr.literals import literal_type
from whimbrel.expr.nodes import Call, Expr, Lit, lift
from whimbrel.expr.value import Value, from_arrow, from_scalar

PARAMETER = "parameter"
"""Name of the calls that read a parameter."""


class ParameterValues:
    """The values of a parameter, by event time: a step function that only grows at its end.

    Parameters
    ----------
    name : str
    default : scalar
        The value before the first change.
    type : pyarrow.DataType
        Of all values.

    Attributes
    ----------
    changes : list of (int, scalar)
        Times from which values hold, in ascending order, and the values.
    per_second : int or None
        Ticks in a second of these times; None where times are plain numbers.
    newest : int or None
        Newest event time, in these ticks, at which a value was read. A change holds after it.
    edits : int
        Grows with each change.
    """

    def __init__(self, name: str, default: Any, type_: pa.DataType) -> None:
        self.name, self.default, self.type = name, default, type_
        self.changes: list[tuple[int, Any]] = []
        self.per_second: int | None = None
        self.newest: int | None = None
        self.edits = 0

    def copy(self, per_second: int | None) -> ParameterValues:
        """Values of its own, at first the default, with times in such ticks."""
        made = ParameterValues(self.name, self.default, self.type)
        made.per_second = per_second
        return made

    def checked(self, value: Any) -> Any:
        """A value of the type of the parameter.

        Raises
        ------
        ExpressionError
        """
        whole = isinstance(value, int) and not isinstance(value, bool) and pa.types.is_integer(self.type)
        literal = Lit(value) if whole else lift(value)
        fits = isinstance(literal, Lit) and isinstance(value, bool) == pa.types.is_boolean(self.type)
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError, ValueError):
            if fits and value is not None:
                held = pa.scalar(value, self.type).as_py()
                if not pa.types.is_integer(self.type) or held == value:  # Arrow cuts 2.5 to 2
                    return held
        raise ExpressionError(f"The parameter {self.name!r} must be {self.type}, got {value!r}."[:200],
                              where=f"{self.name}={value!r}"[:80],
                              hint=f"Use an integer that fits into {self.type}." if whole
                              else "Use a value of the type of the default.")

    def set(self, value: Any, at: int) -> None:
        """Change the value for rows that start at `at` or later; a restarted desk may have changed it later before."""
        while self.changes and self.changes[-1][0] >= at:
            self.changes.pop()
        self.changes.append((at, value))
        self.edits += 1

    def resume(self, changes: Iterable[tuple[int, Any]], newest: int | None) -> None:
        """Take the changes of an earlier process."""
        self.changes, self.newest = list(changes), newest
        self.edits += 1

    @property
    def newest_value(self) -> Any:
        """The value that holds from the last change on."""
        return self.changes[-1][1] if self.changes else self.default

    def at(self, starts: Ticks, type_: pa.DataType) -> Value:
        """The values for rows that start at these times, which are of a type."""
        if not len(starts):
            return from_scalar(self.default, self.type)
        unit = getattr(type_, "unit", None)
        self.read(int(starts.max()), unit)
        if not self.changes:
            return from_scalar(self.default, self.type)
        which = np.searchsorted(np.array(self._borders(unit), np.int64), starts, side="right")
        values = [self.default, *(value for _, value in self.changes)]
        if which[0] == which[-1] and (which == which[0]).all():
            return from_scalar(values[int(which[0])], self.type)
        return from_arrow(pa.array(values, self.type).take(pa.array(which)))

    def read(self, start: int, unit: TickUnit) -> None:
        """Remember that rows up to a start, in ticks of a unit, have read their values."""
        scale, per = self._scale(unit)
        newest = start * per // scale
        self.newest = newest if self.newest is None else max(self.newest, newest)

    def value_at(self, start: int, unit: TickUnit) -> Any:
        """The value for rows of a start, in ticks of a unit."""
        before = bisect_right(self._borders(unit), start)
        return self.changes[before - 1][1] if before else self.default

    def change_after(self, start: int, unit: TickUnit) -> int:
        """The first start, in ticks of a unit, of rows for which a later change holds; infinite if there is none."""
        borders = self._borders(unit)
        after = bisect_right(borders, start)
        return borders[after] if after < len(borders) else INF

    def _borders(self, unit: TickUnit) -> list[int]:
        """The first starts for which the changes hold, in ticks of a unit."""
        scale, per = self._scale(unit)
        return [max(-(-at * scale // per), MIN_TIME) for at, _ in self.changes]

    def _scale(self, unit: TickUnit) -> tuple[int, int]:
        """Ticks of a unit, and ticks of the changes, that are equally long."""
        if unit is None or self.per_second is None:
            return 1, 1
        return int(ticks_per_second(unit) or 1), self.per_second

    def __repr__(self) -> str:
        return f"{self.name!r}, {self.default!r}"


def parameter(name: str, default: Any) -> Expr:
    """Parameter of a query, which a desk can change while it runs.

    Each row reads the value that holds at the start of its lifetime. Outside a desk it is the default. See
    :meth:`whimbrel.Desk.set`.

    Parameters
    ----------
    name : str
        An identifier.
    default : scalar
        The first value. It also gives the type.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 4], "x": [50, 200]}, time="at")
    >>> long = events.where(wb.col.x >= wb.parameter("MinLen", 100))
    >>> long.collect().to_pylist()
    [{'start': 4, 'end': 5, 'at': 4, 'x': 200}]
    """
    where = f"parameter({name!r}, {default!r})"[:80]
    if not isinstance(name, str) or not name.isidentifier():
        raise ExpressionError(f"The name of a parameter must be an identifier, got {name!r}."[:200], where=where,
                              hint='Use for example parameter("min_length", 100).')
    literal = lift(default)
    if not isinstance(literal, Lit) or not isinstance(literal.value, bool | int | float | str):
        raise ExpressionError(f"The default must be a number, a string or a bool, got {default!r}."[:200], where=where,
                              hint='Use for example parameter("min_length", 100).')
    type_ = literal_type(literal.value)
    return Call(PARAMETER, (start_time(),), (ParameterValues(name, literal.value, type_),))
