"""Methods of expressions that compute numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from whimbrel.errors import ExpressionError

if TYPE_CHECKING:
    from whimbrel.expr.nodes import Expr


class NumericMethods:
    """Functions of one number.

    Results are float64, or float32 for float32. Outside of its domain a function is NaN, never an error. Null stays
    null.
    """

    def abs(self) -> Expr:
        """Absolute value; keeps the type of floats, and is int64 for integers."""
        return self._called("abs")

    def sign(self) -> Expr:
        """-1, 0 or 1; NaN for NaN.

        The type is that of :meth:`abs`.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1, 2, 3], "x": [-2.5, 0.0, 7.0]}, time="at")
        >>> events.select(s=wb.col.x.sign()).collect()["s"].to_pylist()
        [-1.0, 0.0, 1.0]
        """
        return self._called("sign")

    def sqrt(self) -> Expr:
        """Square root; nan below zero."""
        return self._called("sqrt")

    def exp(self) -> Expr:
        """Exponential function; inf where the result is beyond the largest float."""
        return self._called("exp")

    def log(self) -> Expr:
        """Natural logarithm; -inf at zero, nan below.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1, 2, 3], "x": [1.0, 0.0, -1.0]}, time="at")
        >>> events.select(y=wb.col.x.log()).collect()["y"].to_pylist()
        [0.0, -inf, nan]
        """
        return self._called("log")

    def sin(self) -> Expr:
        """Sine of an angle in radians; nan for infinities."""
        return self._called("sin")

    def cos(self) -> Expr:
        """Cosine of an angle in radians; nan for infinities."""
        return self._called("cos")

    def floor(self) -> Expr:
        """Round down to a whole number; keeps the type."""
        return self._called("floor")

    def ceil(self) -> Expr:
        """Round up to a whole number; keeps the type."""
        return self._called("ceil")

    def round(self, digits: int = 0) -> Expr:
        """Round to this many decimals, half to even.

        ``round(-1)`` rounds to tens. A float that is too large to have so many decimals does not change. The type does
        not change, and an integer that leaves its type is an error.
        """
        if isinstance(digits, bool) or not isinstance(digits, int):
            raise ExpressionError(f"round() needs a whole number of digits, got {digits!r}.",
                                  where=f"{cast('Expr', self).show()}.round(...)", hint="Use round(2).")
        return self._called("round", digits)

    def tan(self) -> Expr:
        """Tangent of an angle in radians; nan for infinities."""
        return self._called("tan")

    def asin(self) -> Expr:
        """Arc sine in radians; nan outside of -1 to 1."""
        return self._called("asin")

    def acos(self) -> Expr:
        """Arc cosine in radians; nan outside of -1 to 1."""
        return self._called("acos")

    def atan(self) -> Expr:
        """Arc tangent in radians."""
        return self._called("atan")

    def sinh(self) -> Expr:
        """Hyperbolic sine."""
        return self._called("sinh")

    def cosh(self) -> Expr:
        """Hyperbolic cosine."""
        return self._called("cosh")

    def tanh(self) -> Expr:
        """Hyperbolic tangent."""
        return self._called("tanh")

    def log10(self) -> Expr:
        """Logarithm with base 10; -inf at zero, nan below."""
        return self._called("log10")

    def log2(self) -> Expr:
        """Logarithm with base 2; -inf at zero, nan below."""
        return self._called("log2")

    def log1p(self) -> Expr:
        """Natural logarithm of 1 + x, exact near zero."""
        return self._called("log1p")

    def expm1(self) -> Expr:
        """Exponential function minus 1, exact near zero."""
        return self._called("expm1")

    def cbrt(self) -> Expr:
        """Cube root; negative below zero."""
        return self._called("cbrt")

    def degrees(self) -> Expr:
        """Radians as degrees."""
        return self._called("degrees")

    def radians(self) -> Expr:
        """Degrees as radians."""
        return self._called("radians")

    def is_nan(self) -> Expr:
        """Test for NaN; null for null."""
        return self._called("is_nan")

    def is_finite(self) -> Expr:
        """Test for numbers other than NaN and infinities; null for null."""
        return self._called("is_finite")

    def atan2(self, x: Any) -> Expr:
        """Angle in radians of the point (x, this value)."""
        return self._with("atan2", x)

    def hypot(self, y: Any) -> Expr:
        """Length of the vector of two values."""
        return self._with("hypot", y)

    def clip(self, low: Any = None, high: Any = None) -> Expr:
        """The value, or the nearer end of a range; null stays null.

        An end that is None does not limit it.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [1, 2, 3], "x": [-2.5, 0.5, 7.0]}, time="at")
        >>> events.select(y=wb.col.x.clip(0, 1)).collect()["y"].to_pylist()
        [0.0, 0.5, 1.0]
        >>> events.select(y=wb.col.x.clip(high=1)).collect()["y"].to_pylist()
        [-2.5, 0.5, 1.0]
        """
        from whimbrel.expr.nodes import When, lift

        x = cast("Expr", self)
        if low is None and high is None:
            raise ExpressionError("clip() needs an end of a range.", where=f"{x.show()}.clip()",
                                  hint="Use clip(0, 1), clip(0) or clip(high=1).")
        least, most = lift(low), lift(high)
        below = x if high is None else When(x > most, most, x)
        return below if low is None else When(x < least, least, below)

    def nullif(self, value: Any) -> Expr:
        """Null where it equals `value`."""
        from whimbrel.expr.nodes import Lit, When

        x = cast("Expr", self)
        return When(x == value, Lit(None), x)

    def mod(self, y: Any) -> Expr:
        """Remainder with the sign of `y`, as ``x % y``."""
        return cast("Expr", self) % y

    def pow(self, y: Any) -> Expr:
        """Power, as ``x ** y``."""
        return cast("Expr", self) ** y

    def bitwise_and(self, y: Any) -> Expr:
        """Bits that are set in both integers."""
        return self._with("bitwise_and", y)

    def bitwise_or(self, y: Any) -> Expr:
        """Bits that are set in one of the integers."""
        return self._with("bitwise_or", y)

    def bitwise_xor(self, y: Any) -> Expr:
        """Bits that differ between the integers."""
        return self._with("bitwise_xor", y)

    def bitwise_not(self) -> Expr:
        """Each of the 64 bits turned around."""
        return self._called("bitwise_not")

    def shift_left(self, count: Any) -> Expr:
        """Bits moved up; those beyond the 64th are lost.

        It is null for a count outside of 0 to 63.
        """
        return self._with("shift_left", count)

    def shift_right(self, count: Any) -> Expr:
        """Bits moved down, with the sign kept.

        It is null for a count outside of 0 to 63.
        """
        return self._with("shift_right", count)

    def hash(self) -> Expr:
        """A number from 0 to 2**63 - 1 for each value.

        It is the same in all runs and on all machines. Equal values of a type have equal hashes, and so
        have integers of other widths. Null stays null.
        """
        return self._called("hash")

    def _with(self, function: str, other: Any) -> Expr:
        from whimbrel.expr.nodes import Call, lift

        return Call(function, (cast("Expr", self), lift(other)))

    def _called(self, function: str, *options: Any) -> Expr:
        from whimbrel.expr.nodes import Call

        return Call(function, (cast("Expr", self),), options)
