"""A column of running values of one aggregate."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.clock import TickUnit, quote_ticks
from whimbrel.expr import Expr, columns_of
from whimbrel.operators.aggregation.linear_filter import LinearFilter
from whimbrel.plan import Aggregate


@dataclass(frozen=True, eq=False)
class RunningColumn:
    """The value of an aggregate over the rows of a key so far, or of a filter.

    Parameters
    ----------
    name : str
    of : Aggregate or LinearFilter
    reset : Expr, optional
        Where it is true, the state starts again before the row is taken in.
    at_values : bool
        Whether the value is null at rows that the aggregate does not take in.
    forgets : int, optional
        Ticks after which a row does not matter any more. None: all rows matter.
    until : Expr, optional
        When the event ends, if the aggregate takes the part of each event so far: rows then wait for their end.
    """

    name: str
    of: Aggregate | LinearFilter
    reset: Expr | None = None
    at_values: bool = False
    forgets: int | None = None
    until: Expr | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The columns that it reads."""
        exprs = (self.of.expr, self.of.condition, self.reset)
        return frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None))

    def show(self, unit: TickUnit) -> str:
        options = [] if self.reset is None else [f"reset={self.reset.show()}"]
        options += [] if self.forgets is None else [f"forgets={quote_ticks(self.forgets, unit)}"]
        return self.of.show() + (f" with {', '.join(options)}" if options else "")
