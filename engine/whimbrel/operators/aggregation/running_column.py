"""A column of running values, and the contract of what computes it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask
from whimbrel.clock import TickUnit, quote_ticks
from whimbrel.errors import ExpressionError
from whimbrel.expr import Expr, columns_of
from whimbrel.operators.aggregation.scalar_accumulator import GROUPS_AT_FIRST
from whimbrel.plan import Aggregate

Array = np.ndarray[Any, Any]


class RunningValues(ABC):
    """Values of some columns of a running aggregate, with one state per key."""

    groups: int = GROUPS_AT_FIRST

    def grow_groups(self, groups: int) -> None:
        """Grow the states to this many keys."""
        if groups > self.groups:
            self.groups = max(groups, 2 * self.groups)
            self._grow(self.groups)

    @abstractmethod
    def _grow(self, groups: int) -> None:
        """Grow the states to exactly this many keys."""

    @abstractmethod
    def take(self, batch: Batch, groups: Array, skip: Mask) -> list[Column]:
        """Take in rows; answer with the value after each row, null for rows to skip."""

    @abstractmethod
    def fork(self) -> RunningValues:
        """An independent copy."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Generated source text that it runs."""
        return ()


@dataclass(frozen=True, eq=False)
class SampleFilter(ABC):
    """A filter of the values of an expression, which goes from value to value of a key; it leaves nulls out.

    Parameters
    ----------
    expr : Expr
    text : str
        As the user wrote it.
    """

    expr: Expr
    text: str

    name: ClassVar[str]

    @abstractmethod
    def values(self) -> RunningValues:
        """What filters the rows of a run."""

    def result_type(self, input_type: pa.DataType) -> pa.DataType:
        """The type of its values; an error where the input has no numbers."""
        if pa.types.is_integer(input_type) or pa.types.is_floating(input_type):
            return pa.float64()
        raise ExpressionError(f"{self.name} needs numbers, got {input_type}.", where=self.text,
                              hint="Cast it first: .cast(float).")

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        """What a user should know of it."""
        return ()

    def show(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class RunningColumn:
    """The value of an aggregate over the rows of a key so far, or of a filter.

    Parameters
    ----------
    name : str
    of : Aggregate or SampleFilter
    reset : Expr, optional
        Where it is true, the state of an aggregate starts again before the row is taken in.
    forgets : int, optional
        Ticks after which a row does not matter any more. None: all rows matter.
    until : Expr, optional
        When the event ends, if the aggregate takes the part of each event so far: rows then wait for their end.
    """

    name: str
    of: Aggregate | SampleFilter
    reset: Expr | None = None
    forgets: int | None = None
    until: Expr | None = None

    @property
    def reads(self) -> frozenset[str]:
        """The columns that it reads."""
        exprs = [self.of.expr, self.reset, self.of.condition if isinstance(self.of, Aggregate) else None]
        return frozenset[str]().union(*(columns_of(expr) for expr in exprs if expr is not None))

    def show(self, unit: TickUnit) -> str:
        options = [] if self.reset is None else [f"reset={self.reset.show()}"]
        options += [] if self.forgets is None else [f"forgets={quote_ticks(self.forgets, unit)}"]
        return self.of.show() + (f" with {', '.join(options)}" if options else "")
