"""A recursive linear filter of an expression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.errors import ExpressionError
from whimbrel.expr import Expr

_NEAR_ONE = 1e-7
"""Roots of polynomials are known up to about this much where several are the same."""


@dataclass(frozen=True, eq=False)
class LinearFilter:
    """A filter of the values of an expression.

    Parameters
    ----------
    expr : Expr
    b, a : tuple of float
        Numerator and denominator. The first of `a` is not 0.
    sections : tuple of tuple of float
        Second-order sections instead: six numbers each.
    text : str
        As the user wrote it.
    """

    expr: Expr
    b: tuple[float, ...]
    a: tuple[float, ...]
    sections: tuple[tuple[float, ...], ...]
    text: str

    condition: ClassVar[None] = None

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if pa.types.is_integer(input_type) or pa.types.is_floating(input_type):
            return pa.float64()
        raise ExpressionError(f"iir needs numbers, got {input_type}.", where=self.text,
                              hint="Cast it first: .cast(float).")

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        """Whether its values may grow without bound."""
        denominators = [section[3:] for section in self.sections] or [self.a]
        largest = max((abs(pole) for each in denominators for pole in np.roots(each)), default=0.0)
        if largest < 1 - _NEAR_ONE:
            return ()
        return (f"a filter of {self.expr.show()} is unstable: a pole has the magnitude {largest:.6g}, not less than 1",)

    def show(self) -> str:
        return self.text
