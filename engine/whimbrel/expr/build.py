"""Where expressions begin: ``col.name``, ``lit(3)``, ``when(...)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from whimbrel.expr.nodes import Col, Expr, When, lift


class Columns:
    """Columns by attribute or by call.

    Examples
    --------
    >>> col.price * col("fee in %")
    col.price * col('fee in %')
    """

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return Col(name)

    def __call__(self, name: str) -> Expr:
        return Col(name)

    def __repr__(self) -> str:
        return "col"


col = Columns()


def lit(value: Any) -> Expr:
    """A literal: the same value for every row.

    Examples
    --------
    >>> lit(3) < col.x
    lit(3) < col.x
    """
    return lift(value)


def when(condition: Any) -> Choice:
    """One of two values, by a condition; a null condition counts as false.

    Only the branch that is taken can fail, so it may guard arithmetic.

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

    def then(self, value: Any) -> Then:
        return Then(self.condition, lift(value))


@dataclass(frozen=True)
class Then:
    """A ``when`` that waits for its ``otherwise``."""

    condition: Expr
    value: Expr

    def otherwise(self, value: Any) -> Expr:
        return When(self.condition, self.value, lift(value))
