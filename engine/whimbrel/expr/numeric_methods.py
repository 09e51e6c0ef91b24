"""Methods of expressions that compute numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

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

        The type does not change.
        """
        return self._called("round", digits)

    def _called(self, function: str, *options: Any) -> Expr:
        from whimbrel.expr.nodes import Call

        return Call(function, (cast("Expr", self),), options)
