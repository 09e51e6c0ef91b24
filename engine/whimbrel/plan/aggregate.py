"""The aggregate algebra: how many rows become one value, in one form for every way of asking."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from whimbrel.expr import Expr

State = tuple[Any, ...]
"""The running value of one group: a tuple of scalars, kept as one plain array per position."""


@dataclass(frozen=True, kw_only=True)
class Aggregate(ABC):
    """A value over a set of rows, computed one row at a time (SEMANTICS 5; Trill VLDB 2015, section 3.3).

    The steps are plain Python functions over scalars, so that the same text is interpreted, compiled, run on panes,
    bands, partitions and samples. Null inputs never reach them. A step must not keep anything but the state.

    Parameters
    ----------
    expr : Expr, optional
        What is aggregated; None for the rows themselves.
    condition : Expr, optional
        Only rows for which this is true count (``count().where(...)``).
    """

    expr: Expr | None = None
    condition: Expr | None = None

    name: ClassVar[str]
    """What users call it."""

    @abstractmethod
    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        """Type of the value, or an ExpressionError for inputs that make no sense."""

    @abstractmethod
    def state_types(self, input_type: pa.DataType | None) -> tuple[np.dtype[Any], ...]:
        """How each scalar of the state is stored."""

    init: ClassVar[State]
    """The state of no rows."""

    accumulate: ClassVar[Callable[..., State]]
    """(state, value) -> state with one row more."""

    deaccumulate: ClassVar[Callable[..., State] | None] = None
    """(state, value) -> state with one row less; None when a row cannot be taken back."""

    merge: ClassVar[Callable[[State, State], State]]
    """(state, state) -> state of both sets of rows."""

    result: ClassVar[Callable[[State], Any]]
    """state -> value, or None for null."""

    def removable(self) -> Aggregate:
        """The form to use where rows also leave: the same values, a state that does not drift."""
        return self

    def where(self, condition: Expr) -> Self:
        """Count only rows for which `condition` is true."""
        both = condition if self.condition is None else self.condition & condition
        return replace(self, condition=both)

    def show(self) -> str:
        """As the user wrote it."""
        text = f"{self.name}({'' if self.expr is None else self.expr.show()})"
        return text if self.condition is None else f"{text}.where({self.condition.show()})"
