"""Nodes of scalar expressions, and the operators that build them.

There are few nodes and many passes over them; each pass is one ``match`` over :data:`Node`, in a file of its own.
Nodes are immutable. ``==`` builds a comparison, so nodes are compared by :meth:`Expr.show` and hashed by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, cast

import numpy as np
import pyarrow as pa

from whimbrel.clock.duration import exact_nanoseconds
from whimbrel.clock.instant import exact_seconds
from whimbrel.errors import ExpressionError
from whimbrel.expr.marked_function import MarkedFunction
from whimbrel.expr.numeric_methods import NumericMethods
from whimbrel.expr.temporal_methods import TemporalMethods
from whimbrel.expr.type_names import data_type
from whimbrel.migration_hints import EXPRESSION, absent

if TYPE_CHECKING:
    from whimbrel.expr.functions import StringFunctions, TimeFunctions
    from whimbrel.expr.ip_methods import IpFunctions
    from whimbrel.expr.list_methods import ListFunctions
    from whimbrel.expr.segment_functions import SegmentFunctions

Arithmetic = Literal["+", "-", "*", "/", "//", "%", "**"]
Comparison = Literal["==", "!=", "<", "<=", ">", ">="]
Logic = Literal["&", "|", "^"]
Scalar = (bool | int | float | str | bytes | datetime | date | timedelta | np.datetime64 | np.timedelta64 | Decimal
          | None)
"""What may stand as a literal."""

Text = str
"""``str`` by a name that :attr:`Expr.str` does not hide."""


class Expr(NumericMethods, TemporalMethods):
    """A value computed from one row, written with Python's operators.

    Nulls propagate, except through ``&`` and ``|`` (three-valued logic), :meth:`is_null` and :meth:`fill_null`.
    Integer arithmetic is int64; an overflow is an error, never a wrap.

    Examples
    --------
    >>> from whimbrel.expr import col
    >>> (col.distance / 2 + 1 > 500) & ~col.name.str.starts_with("N")
    (col.distance / 2 + 1 > 500) & ~col.name.str.starts_with('N')
    """

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("An expression", EXPRESSION)

    def show(self) -> Text:
        """Show the expression as the user typed it."""
        from whimbrel.expr.format import show

        return show(self)

    def __repr__(self) -> Text:
        return self.show()

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> NoReturn:
        raise ExpressionError(
            "An expression has no truth value before it is evaluated for a row.", where=self.show(),
            hint="Use & | ~ with parentheses for and/or/not, .between(a, b) for a < x < b, wb.when(...) for if.",
        )

    def __add__(self, other: Any) -> Expr:
        return Binary("+", self, lift(other))

    def __radd__(self, other: Any) -> Expr:
        return Binary("+", lift(other), self)

    def __sub__(self, other: Any) -> Expr:
        return Binary("-", self, lift(other))

    def __rsub__(self, other: Any) -> Expr:
        return Binary("-", lift(other), self)

    def __mul__(self, other: Any) -> Expr:
        return Binary("*", self, lift(other))

    def __rmul__(self, other: Any) -> Expr:
        return Binary("*", lift(other), self)

    def __truediv__(self, other: Any) -> Expr:
        return Binary("/", self, lift(other))

    def __rtruediv__(self, other: Any) -> Expr:
        return Binary("/", lift(other), self)

    def __floordiv__(self, other: Any) -> Expr:
        return Binary("//", self, lift(other))

    def __rfloordiv__(self, other: Any) -> Expr:
        return Binary("//", lift(other), self)

    def __mod__(self, other: Any) -> Expr:
        return Binary("%", self, lift(other))

    def __rmod__(self, other: Any) -> Expr:
        return Binary("%", lift(other), self)

    def __pow__(self, other: Any) -> Expr:
        return Binary("**", self, lift(other))

    def __rpow__(self, other: Any) -> Expr:
        return Binary("**", lift(other), self)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return Binary("==", self, _not_none(self, "==", other))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return Binary("!=", self, _not_none(self, "!=", other))

    def __lt__(self, other: Any) -> Expr:
        return Binary("<", self, lift(other))

    def __le__(self, other: Any) -> Expr:
        return Binary("<=", self, lift(other))

    def __gt__(self, other: Any) -> Expr:
        return Binary(">", self, lift(other))

    def __ge__(self, other: Any) -> Expr:
        return Binary(">=", self, lift(other))

    def __and__(self, other: Any) -> Expr:
        return Binary("&", self, lift(other))

    def __rand__(self, other: Any) -> Expr:
        return Binary("&", lift(other), self)

    def __or__(self, other: Any) -> Expr:
        return Binary("|", self, lift(other))

    def __ror__(self, other: Any) -> Expr:
        return Binary("|", lift(other), self)

    def __xor__(self, other: Any) -> Expr:
        return Binary("^", self, lift(other))

    def __rxor__(self, other: Any) -> Expr:
        return Binary("^", lift(other), self)

    def __invert__(self) -> Expr:
        return Unary("~", self)

    def __neg__(self) -> Expr:
        return Unary("-", self)

    def __abs__(self) -> Expr:
        return self.abs()

    def is_null(self) -> Expr:
        """Test for nulls; the result is never null."""
        return Call("is_null", (self,))

    def is_not_null(self) -> Expr:
        """Test for values that are not null; the result is never null."""
        return Call("is_not_null", (self,))

    def fill_null(self, value: Any) -> Expr:
        """Replace nulls with `value`, a literal or an expression."""
        return Call("fill_null", (self, lift(value)))

    def is_in(self, values: Iterable[Any]) -> Expr:
        """Test membership in these literals."""
        if isinstance(values, str):
            raise ExpressionError(f"is_in needs a list, got {values!r}.", where=self.show(),
                                  hint=f"Use is_in([{values!r}]), or .str.contains(...).")
        if not isinstance(values, Iterable):
            raise ExpressionError(f"is_in needs a list, got {values!r}.", where=self.show(),
                                  hint=f"Use is_in([{values!r}]).")
        items = tuple(lift(value) for value in values)
        if not all(isinstance(item, Lit) and item.value is not None for item in items):
            raise ExpressionError("is_in needs literal values other than None.", where=self.show(),
                                  hint="Combine == with |, and use .is_null() for null.")
        return Call("is_in", (self,), tuple(cast(Lit, item).value for item in items))

    def between(self, low: Any, high: Any) -> Expr:
        """Test for a range with both ends.

        The same as ``(x >= low) & (x <= high)``.
        """
        return Call("between", (self, lift(low), lift(high)))

    def cast(self, type_: pa.DataType | type | Text, *, errors: Literal["raise", "null"] = "raise") -> Expr:
        """Cast to another type.

        The type is an Arrow type, its name (``"float32"``) or one of int, float, str, bool. A fraction is cut off; a
        value that does not fit is an error when it is met, or null with ``errors="null"``. Texts of integers are
        decimal: ``"+5"`` is 5, and ``"0x1f"`` does not fit.
        """
        if errors == "null":
            return self.try_cast(type_)
        if errors != "raise":
            raise ExpressionError(f"errors must be 'raise' or 'null', got {errors!r}.",
                                  where=f"{self.show()}.cast(...)", hint='Use errors="null".')
        return Cast(self, data_type(type_, self.show))

    def try_cast(self, type_: pa.DataType | type | Text) -> Expr:
        """Cast to another type, with null where `cast` is an error."""
        return Call("try_cast", (self,), (str(data_type(type_, self.show)),))

    def field(self, name: Text) -> Expr:
        """Select a field of a struct, such as ``col.top.field("value")``."""
        if not isinstance(name, Text):
            raise ExpressionError(f"field() needs the name of a field, got {name!r}.",
                                  where=f"{self.show()}.field(...)", hint='Use field("value").')
        return Call("field", (self,), (name,))

    @property
    def str(self) -> StringFunctions:
        """String functions of the expression."""
        from whimbrel.expr.functions import StringFunctions

        return StringFunctions(self)

    @property
    def dt(self) -> TimeFunctions:
        """Calendar functions of times and dates, in the column's time zone."""
        from whimbrel.expr.functions import TimeFunctions

        return TimeFunctions(self)

    @property
    def list(self) -> ListFunctions:
        """Functions of lists."""
        from whimbrel.expr.list_methods import ListFunctions

        return ListFunctions(self)

    @property
    def ip(self) -> IpFunctions:
        """Functions of addresses of IPv4 and IPv6."""
        from whimbrel.expr.ip_methods import IpFunctions

        return IpFunctions(self)

    @property
    def seg(self) -> SegmentFunctions:
        """Functions of segments, which are windows of samples."""
        from whimbrel.expr.segment_functions import SegmentFunctions

        return SegmentFunctions(self)


@dataclass(frozen=True, slots=True)
class OuterValue:
    """Origin of a value that is not a column.

    A run of a pattern has a register, or a column of the first or last event of a name; "rows" is what an operator
    makes of many rows.
    """

    which: Literal["register", "first", "last", "rows"]
    column: Text
    event: Text = ""


@dataclass(frozen=True, eq=False, repr=False)
class Col(Expr):
    """A column of the stream.

    It may also be a value that a pattern's run remembers, read like a column.
    """

    name: Text
    remembered: OuterValue | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Lit(Expr):
    """A literal: the same value for every row.

    `bare` means that a text was given for an expression, without ``lit``.
    """

    value: Scalar
    bare: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Binary(Expr):
    """Two operands and an operator: arithmetic, comparison or logic."""

    op: Arithmetic | Comparison | Logic
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Unary(Expr):
    """Minus or not."""

    op: Literal["-", "~"]
    x: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expr):
    """A call of a named function.

    It has the expressions it is computed from, the first being its receiver, and plain options.
    """

    function: Text
    args: tuple[Expr, ...]
    options: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class When(Expr):
    """One of two values; a null condition counts as false."""

    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Cast(Expr):
    """A cast to another type."""

    x: Expr
    type: pa.DataType


@dataclass(frozen=True, eq=False, repr=False)
class RowFunction(Expr):
    """A Python function called row by row, where tracing was not possible.

    It is null where anything it reads is null, unless the function itself asks for None: then nulls are None to it.

    Parameters
    ----------
    function : callable
        Takes one row, a named tuple of `fields`.
    fields : tuple of str
        What the function reads of its row.
    args : tuple of Expr
        What stands in those fields.
    takes_nulls : bool
        Whether it is called with None for null.
    declared : pyarrow.DataType, optional
        The type of its results, where the user said it.
    """

    function: Callable[[Any], Any]
    fields: tuple[Text, ...]
    args: tuple[Expr, ...]
    takes_nulls: bool = False
    declared: pa.DataType | None = None


Node = Col | Lit | Binary | Unary | Call | When | Cast | RowFunction


@dataclass(frozen=True, eq=False, repr=False)
class Called(Expr):
    """What a function of a user made of expressions. It stands for that in every pass that does not ask for costs.

    Parameters
    ----------
    x : Expr
        What the function made.
    args : tuple of Expr
        What it was called with; empty where parts of `x` were replaced since.
    by : MarkedFunction
    """

    x: Expr
    args: tuple[Expr, ...]
    by: MarkedFunction


class Reduced(Expr):
    """A value of many rows, such as an aggregate.

    The operator that makes it puts a column there, named as it shows.
    """

    kind: ClassVar[Text] = "an aggregate of many rows"
    computed_by: ClassVar[Text] = "aggregate(...), or add .past(...) or .so_far() to it"

    @property
    def made(self) -> Col:
        """The column in which its value stands."""
        text = self.show()  # once: what it is of may be of others, and so on
        return Col(text, OuterValue("rows", text))


def node(expr: Expr) -> Node:
    """The expression as a member of the closed set of nodes.

    A type checker can then verify that a ``match`` is complete.
    """
    while isinstance(expr, Called):
        expr = expr.x
    return expr.made if isinstance(expr, Reduced) else cast(Node, expr)


def by_name(name: Any) -> Col:
    """The column of a name, whatever letters that has.

    Raises
    ------
    ExpressionError
        For anything but one text.
    """
    if isinstance(name, str):
        return Col(str(name))
    raise ExpressionError(f"A column name must be a string, got {name!r}."[:200], where=f"col[{name!r}]"[:80],
                          hint='Use one name, such as col["fee in %"].')


def lift(value: Any) -> Expr:
    """An expression as it is, a plain value as a literal."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return Lit(_checked_time(value))
    if isinstance(value, pa.Scalar):
        return lift(_of_arrow(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ExpressionError(f"{value} does not fit into 64 bits.", hint="Use a float.")
    if isinstance(value, str) and not value.isascii() and _has_surrogate(value):
        raise ExpressionError("A text must be Unicode, and half a pair of surrogates is not.",
                              where=f"lit({value!a})"[:80], hint="Leave the characters from \\ud800 to \\udfff out.")
    if value is None or isinstance(value, bool | int | float | str | bytes | datetime | date | timedelta | Decimal):
        return Lit(value)
    raise ExpressionError(f"Cannot use {type(value).__name__} {value!r} in an expression."[:200],
                          where=f"lit({value!r})"[:80],
                          hint="Use None, bool, int, float, Decimal, str, bytes, datetime, date or timedelta.")


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _of_arrow(value: pa.Scalar) -> Any:
    """The value of an Arrow scalar; times and durations exact to the nanosecond."""
    if not value.is_valid:
        return None
    if pa.types.is_timestamp(value.type) and value.type.tz is None:
        return np.datetime64(value.value, value.type.unit)
    if pa.types.is_duration(value.type):
        return np.timedelta64(value.value, value.type.unit)
    try:
        return value.as_py()
    except ValueError as error:  # without pandas, Arrow has no object for nanoseconds in a zone
        raise ExpressionError(f"Cannot use {value!r} in an expression: {error}"[:200], where=f"lit({value!r})"[:80],
                              hint="Cast it to microseconds first, or install pandas.") from None


def _checked_time(value: np.datetime64 | np.timedelta64) -> Scalar:
    """A time or a duration of NumPy's: as the datetime module has it, or, where it is finer, as it is."""
    if np.isnat(value):
        return None
    unit, _ = np.datetime_data(value.dtype)
    if isinstance(value, np.timedelta64) and unit in ("generic", "Y", "M"):
        raise ExpressionError(f"{value!s} has no fixed length.", where=f"lit({value!r})"[:80],
                              hint='Use a unit from weeks to nanoseconds, such as np.timedelta64(5, "m").')
    is_length = isinstance(value, np.timedelta64)
    microseconds = (exact_nanoseconds(value, where="") / 1_000 if isinstance(value, np.timedelta64)
                    else exact_seconds(value, zone=None)[0] * 10**6)
    if microseconds.denominator != 1:
        return value
    try:
        length = timedelta(microseconds=int(microseconds))
        return length if is_length else datetime(1970, 1, 1) + length  # noqa: DTZ001 - NumPy's times have no zone
    except OverflowError:
        return value


def _not_none(expr: Expr, op: Text, other: object) -> Expr:
    if other is None:
        raise ExpressionError(f"{op} None is null for every row.", where=f"{expr.show()} {op} None",
                              hint="Use .is_null() or .is_not_null().")
    return lift(other)
