"""The algebra of aggregates: init, accumulate, merge, finalize."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.clock import TickUnit
from whimbrel.errors import PlanError
from whimbrel.expr import Expr, Reduced, trace, when
from whimbrel.plan.value_state import Frequencies, Multiset, Objects, Sketch

State = tuple[Any, ...]
"""The running value of one group: a tuple of ints and floats, kept as one plain array per position."""


class AggregatePhase(Enum):
    """How much of an aggregate is done in one place."""

    WHOLE = "whole"
    """From rows to values."""
    STATES = "states"
    """From rows to states, one column for each field."""
    MERGED = "merged"
    """From states to states of all their rows."""


@dataclass(frozen=True, slots=True)
class TwoPasses:
    """An algebra for values that lie together, which are gone through twice: the second knows what the first has found.

    Parameters
    ----------
    init : tuple of int and float
        The state of no rows.
    accumulate : callable
        (state, value) -> state with one row more, the first time.
    turn : callable
        state -> another one, for the second time.
    again : callable
        (state, value) -> that state with one row more, the second time.
    result : callable
        state -> value, or None for null.
    """

    init: State
    accumulate: Callable[..., State]
    turn: Callable[[Any], State]
    again: Callable[..., State]
    result: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class ByColumns:
    """What is done to whole columns, where values are more than one number of 64 bits.

    Parameters
    ----------
    split : callable
        column -> the numbers of each of its rows, as many arrays of int64 as the aggregate has inputs.
    join : callable
        arrays of the fields of states -> the column of their values, or an OverflowError.
    """

    split: Callable[[Column], Sequence[np.ndarray[Any, Any]]]
    join: Callable[[Sequence[np.ndarray[Any, Any]]], Column]


@dataclass(frozen=True, slots=True)
class AggregateFunctions:
    """The algebra of one aggregate over one input type: plain Python functions over scalars.

    The same text is interpreted, compiled, and run on panes, bands, partitions and samples. Values arrive as Python or
    NumPy ints and floats (times as ticks, bools as 0 and 1); nulls never arrive. A step keeps nothing but the state.

    Parameters
    ----------
    init : tuple of int and float
        The state of no rows; an int is kept as int64, a float as float64.
    accumulate : callable
        (state, value) -> state with one row more.
    merge : callable or None
        (state, state) -> state of both sets of rows; None when parts cannot be combined.
    result : callable or None
        state -> value, or None for null; None where whole columns of states become values.
    remove : callable, optional
        (state, value) -> state with one row less. None if a row cannot be removed; then a group that lost rows is
        recomputed from those that are left.
    additive : bool
        Whether every field of a state is a sum over its rows. Then the state of a sample, times the number of such
        samples, is an estimate of the state of all rows.
    always : bool
        Whether there is a value of every state, that of no rows too.
    inputs : int
        How many values accumulate and remove take of a row: the fields of a struct, where they are several.
    columns : ByColumns, optional
        How whole columns become these inputs, and states become values; then there is no `result`.
    timed : bool
        Whether accumulate and remove take one argument more: the start of the row, in ticks.
    spans : bool
        Whether accumulate takes two arguments more: when the part of the event inside the window starts and ends.
    in_order : bool
        Whether rows must be accumulated in the order of their start, before any window rounded it.
    spoiled : callable, optional
        state -> whether removed rows may have made it inexact. The group is then recomputed from the rows that are
        left.
    twice : TwoPasses, optional
        What computes the same, but for rounding, where all values lie together: if it needs less for each.
    of_rows : callable, optional
        (values, ones, zeros) -> arrays of the fields of the states that single rows have, from whole arrays. Only an
        aggregate whose states are the same, in whatever order rows come and states merge, has it.
    flagged : callable, optional
        (state, value) -> fields of the state with one row more, and whether only `accumulate` can say what they are. It
        leaves no loop, so SIMD instructions can compute several states at once.
    """

    init: State
    accumulate: Callable[..., State]
    merge: Callable[[Any, Any], State] | None
    result: Callable[[Any], Any] | None
    remove: Callable[..., State] | None = None
    inputs: int = 1
    columns: ByColumns | None = None
    timed: bool = False
    spans: bool = False
    in_order: bool = False
    additive: bool = False
    always: bool = False
    spoiled: Callable[[Any], Any] | None = None
    twice: TwoPasses | None = None
    of_rows: Callable[..., Sequence[np.ndarray[Any, Any]]] | None = None
    flagged: Callable[..., tuple[Any, ...]] | None = None


AggregateSteps = AggregateFunctions | Multiset | Sketch | Frequencies | Objects
"""What an aggregate keeps of a group, and how it changes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate(Reduced, ABC):
    """A value over a set of rows, computed one row at a time (Trill, VLDB 2015, section 3.3).

    Aggregates can be combined as columns can: ``count().where(col.late) / count()``.

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

    chooses: ClassVar[bool] = False
    """Whether its value is one of those that it reads, found by comparing them: any numbers in that order do."""

    takes_turned: ClassVar[bool] = False
    """Whether it takes unsigned integers of 64 bits less 2**63 each: its steps know."""

    counter: ClassVar[type[Aggregate]]
    """The aggregate that counts values; its own file sets it."""

    @property
    def reads_floats(self) -> bool:
        """True if it makes floats of all numbers."""
        return False

    @abstractmethod
    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        """Type of the value.

        Invalid input types raise an ExpressionError.
        """

    @abstractmethod
    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateSteps:
        """Algebra of the aggregate for inputs of this type.

        It is a value state if the state needs more than a few numbers.

        `removable` asks for the form to use where rows also leave: the same values, from a state that does not drift.
        """

    def notes(self, input_type: pa.DataType | None) -> Sequence[str]:
        """Notes for users about the execution."""
        return ()

    @property
    def counts_rows(self) -> bool:
        """True if the value is the number of rows.

        Windows count their rows anyway.
        """
        return False

    @property
    def options(self) -> str:
        """Arguments after the expression, as the user wrote them."""
        return ""

    def in_unit(self, unit: TickUnit) -> Expr:
        """The value for ticks of a unit.

        It is the aggregate itself unless it depends on the unit.
        """
        return self

    def where(self, condition: Expr) -> Self:
        """Count only rows for which `condition` is true."""
        condition = trace(condition, where=f"{self.name}().where()")
        both = condition if self.condition is None else self.condition & condition
        return replace(self, condition=both)

    def min_rows(self, rows: int) -> Expr:
        """The value where enough rows count, otherwise null.

        Parameters
        ----------
        rows : int
            Fewest values that are not null, after ``where``; at least 1. Of ``count()``: fewest rows.

        Returns
        -------
        Expr
            An expression of two aggregates. It has no ``where``, so that comes before.

        Examples
        --------
        >>> import whimbrel as wb
        >>> events = wb.from_arrow({"at": [0, 1, 7], "x": [1.0, 2.0, 4.0]}, time="at")
        >>> events.tumbling_window(5).aggregate(m=wb.mean(wb.col.x).min_rows(2)).collect()["m"].to_pylist()
        [1.5, None]
        """
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise PlanError(f"min_rows must be an integer of at least 1, got {rows!r}.",
                            where=f"{self.show()}.min_rows({rows!r})", hint="Use min_rows(3) for three values or more.")
        enough = self.counter(expr=self.expr, condition=self.condition) >= rows
        return when(enough).then(self).otherwise(None)

    def show(self) -> str:
        """As the user wrote it."""
        text = f"{self.name}({'' if self.expr is None else self.expr.show()}{self.options})"
        return text if self.condition is None else f"{text}.where({self.condition.show()})"
