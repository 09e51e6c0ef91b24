"""Build expressions: ``col.name``, ``lit(3)``, ``when(...)``, ``greatest(...)``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from whimbrel.batch import logical_type
from whimbrel.errors import ExpressionError
from whimbrel.expr.literals import literal_type
from whimbrel.expr.nodes import Call, Cast, Col, Expr, Lit, When, by_name, lift


class ColumnNamespace:
    """Namespace of columns, by attribute, by subscript or by call.

    A subscript takes any name: one with a space, one that is a Python keyword, one that begins with two underscores.

    Examples
    --------
    >>> col.price * col["fee in %"]
    col.price * col('fee in %')
    """

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return Col(name)

    def __call__(self, name: str) -> Expr:
        return by_name(name)

    __getitem__ = __call__
    __iter__ = None  # with __getitem__ alone Python would count through columns 0, 1, 2, ... without end

    def __repr__(self) -> str:
        return "col"


col = ColumnNamespace()


def lit(value: Any) -> Expr:
    """A literal: the same value for every row.

    A Python value adapts to the type that it meets. An Arrow scalar keeps its type.

    Examples
    --------
    >>> lit(3) < col.x
    lit(3) < col.x
    >>> import pyarrow as pa
    >>> lit(pa.scalar(3, pa.int8()))
    lit(3).cast('int8')
    """
    literal = lift(value)
    if isinstance(value, pa.Scalar) and isinstance(literal, Lit):
        type_ = logical_type(value.type)
        return literal if literal_type(literal.value) == type_ else Cast(literal, type_)
    return literal


def start_time() -> Expr:
    """Start of the lifetime of the event.

    It is a time of the stream. After a window it is the start of the window.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [4, 12], "x": [1, 2]}, time="at").select("x")
    >>> events.tumbling_window(10).select(since=wb.start_time(), until=wb.end_time()).collect().to_pylist()
    [{'start': 0, 'end': 10, 'since': 0, 'until': 10}, {'start': 10, 'end': 20, 'since': 10, 'until': 20}]
    """
    return Call("start_time", ())


def end_time() -> Expr:
    """End of the lifetime of the event.

    It is a time of the stream, and null where none is known. See :func:`start_time`.
    """
    return Call("end_time", ())


def greatest(*values: Any) -> Expr:
    """Greatest of several values of a row; nulls are left out.

    It is null where all of them are null. NaN counts as greater than every number, as in :func:`whimbrel.max`.

    Parameters
    ----------
    values : expressions or literals
        Numbers, strings, times, dates or durations that can be compared with each other.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 2, 3], "a": [1, 5, None], "b": [4, 2, 3]}, time="at")
    >>> events.select(most=wb.greatest(wb.col.a, wb.col.b)).collect()["most"].to_pylist()
    [4, 5, 3]
    >>> events.select(b=wb.least(wb.col.b, 3)).collect()["b"].to_pylist()
    [3, 2, 3]
    """
    return _extreme("greatest", values)


def least(*values: Any) -> Expr:  # word allowed: the function of SQL
    """Least of several values of a row; nulls are left out.

    It is null where all of them are null. NaN counts as greater than every number. See :func:`greatest`.

    Parameters
    ----------
    values : expressions or literals
        Numbers, strings, times, dates or durations that can be compared with each other.
    """
    return _extreme("least", values)


def coalesce(*values: Any) -> Expr:
    """First of several values of a row that is not null.

    It is null where all of them are null. A value after the first one is only looked at where it is needed.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 2, 3], "a": [1, None, None], "b": [4, 2, None]}, time="at")
    >>> events.select(x=wb.coalesce(wb.col.a, wb.col.b, 0)).collect()["x"].to_pylist()
    [1, 2, 0]
    """
    if not values:
        raise ExpressionError("coalesce() needs at least one value.", where="coalesce()",
                              hint="Name the values: coalesce(col.a, col.b).")
    first, *others = map(lift, values)
    return reduce(lambda found, other: found.fill_null(other), others, first)


def format(template: str, *values: Any) -> Expr:
    """Text with values in place of ``{}``.

    It is null where one of them is null.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 2], "a": ["x", None], "n": [4, 2]}, time="at")
    >>> events.select(s=wb.format("{}/{}", wb.col.a, wb.col.n)).collect()["s"].to_pylist()
    ['x/4', None]
    """
    pieces = template.split("{}") if isinstance(template, str) else []
    if len(pieces) != len(values) + 1:
        raise ExpressionError(f"format() needs one {{}} for each value, got {template!r} and {len(values)} values.",
                              where=f"format({template!r}, ...)", hint='Use format("{} of {}", col.a, col.b).')
    parts: list[Expr] = [Lit(pieces[0])]
    for value, piece in zip(values, pieces[1:], strict=True):
        parts += [Cast(lift(value), pa.string()), Lit(piece)]
    return Call("str.concat", tuple(part for part in parts if not (isinstance(part, Lit) and part.value == "")) or (
        Lit(""),), ("",))


def haversine(latitude: Any, longitude: Any, to_latitude: Any, to_longitude: Any) -> Expr:
    """Distance in meters between two points on the Earth.

    It is computed by the haversine formula. The Earth is a sphere with a radius of 6371008.8 m, and
    coordinates are in degrees. It is null where one is null.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1], "lat": [52.52], "lon": [13.405]}, time="at")
    >>> paris = wb.haversine(wb.col.lat, wb.col.lon, 48.8566, 2.3522)
    >>> events.select(km=(paris / 1000).round(1)).collect()["km"].to_pylist()
    [877.5]
    """
    return Call("haversine", tuple(map(lift, (latitude, longitude, to_latitude, to_longitude))))


def concat_list(*values: Any) -> Expr:
    """List of several values of one row, in this order.

    The values have one type. It is null where one of them is null.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [1, 2], "x": [3, 4], "y": [5, None]}, time="at")
    >>> events.select(both=wb.concat_list(wb.col.x, wb.col.y)).collect()["both"].to_pylist()
    [[3, 5], None]
    """
    return _extreme("concat_list", values)


def _extreme(function: str, values: tuple[Any, ...]) -> Expr:
    if not values:
        raise ExpressionError(f"{function}() needs at least one value.", where=f"{function}()",
                              hint=f"Name the values: {function}(col.a, col.b).")
    return Call(function, tuple(map(lift, values)))


def when(condition: Any) -> Choice:
    """Choose one of two values by a condition.

    A null condition counts as false. Only the branch that is taken can fail, so it may guard arithmetic.

    Examples
    --------
    >>> when(col.x > 0).then(col.x).otherwise(0)
    when(col.x > 0).then(col.x).otherwise(0)
    """
    return Choice(lift(condition))


@dataclass(frozen=True)
class Choice:
    """A ``when`` that waits for its ``then``."""

    condition: Expr

    def then(self, value: Any) -> WhenThen:
        return WhenThen(self.condition, lift(value))


@dataclass(frozen=True)
class WhenThen:
    """A ``when`` that waits for its ``otherwise``."""

    condition: Expr
    value: Expr

    def otherwise(self, value: Any) -> Expr:
        return When(self.condition, self.value, lift(value))
