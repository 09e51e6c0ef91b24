"""Pivot rows to columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Mask, Schema
from whimbrel.errors import ExpressionError, KernelError, PlanError
from whimbrel.expr import Col, Expr, Keys, check_name, named_columns
from whimbrel.kernels import Kernel, Stateless
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.operators.aggregation.aggregate import GroupAggregate
from whimbrel.plan import (
    HIDDEN,
    Aggregate,
    AggregateFunctions,
    KnownInput,
    LineageRequest,
    Multiset,
    Operator,
    State,
    fluent,
    is_ordered,
)

_COUNT = "how many "


@dataclass(frozen=True, kw_only=True, eq=False)
class Pivot(Operator):
    """Turn attributes into columns.

    There is one row per key and snapshot. A column is null without a row of its attribute.

        time     0    5    10
        in       x, 2──────            (attribute and value: [0, 10), [5, 10))
                      y, 3─
        out      x=2──x=2, y=3         (values=["x", "y"])

    Parameters
    ----------
    columns : tuple of str
        Keys and attributes.
    single : bool
        Whether there may be one value of an attribute at most. The input counts the values of each attribute, and
        otherwise the rows of each.
    text : str
        As the user wrote it.

    Notes
    -----
    The attributes must be listed, because the columns of a stream are known before its rows. A row of another attribute
    fills no column, but still counts as a row of its key. Several values of one attribute in one snapshot are an error,
    as in Polars and pandas, unless `aggregate` combines them. Nulls are not values. With `aggregate` a column has the
    aggregate of the rows of the attribute, and null if there is no such row. This is so for sums and counts, too, which
    are 0 over rows with only nulls. Shapes: at most two rows out per row in. State: active events. Source: the pivot of
    Trill's open source.

    Examples
    --------
    >>> import whimbrel as wb
    >>> events = wb.from_arrow({"at": [0, 1], "name": ["x", "y"], "v": [2, 3]}, time="at").tumbling_window(5)
    >>> events.pivot(attribute="name", value="v", values=["x", "y", "z"]).collect().to_pylist()
    [{'start': 0, 'end': 5, 'x': 2, 'y': 3, 'z': None}]
    >>> sums = events.union(events).pivot(attribute="name", value="v", values=["x", "z"], aggregate=wb.sum)
    >>> sums.collect().to_pylist()
    [{'start': 0, 'end': 5, 'x': 4, 'z': None}]
    """

    accepts_edges: ClassVar[bool] = True

    columns: tuple[str, ...]
    single: bool
    text: str

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0].select(self.columns)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.columns else HIDDEN

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        return (wanted.same(),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return PivotKernel(self, self.schema(*upstream))

    def show(self) -> str:
        return self.text


@fluent
def pivot(schema: Schema, *names: str | Expr, attribute: str, value: str, values: Sequence[Any],
          aggregate: Callable[[Any], Aggregate] | None = None, keys: Keys = ()) -> Sequence[Operator]:
    """Turn attributes into columns. See :class:`whimbrel.operators.Pivot`.

    Parameters
    ----------
    *names : str or Expr
        Keys of the rows, in addition to those of ``group_by``.
    attribute, value : str
        Columns with the names and the values of attributes.
    values : sequence
        The attributes to make columns of, such as ``["speed", "height"]``.
    aggregate : callable, optional
        How to combine several values, such as ``wb.first`` or ``wb.mean``. Without it they are an error.
    """
    parts = [*map(repr, names), f"attribute={attribute!r}", f"value={value!r}", f"values={list(values)!r}"]
    parts += [] if aggregate is None else [f"aggregate={getattr(aggregate, '__name__', '...')}"]
    text = f"pivot({', '.join(parts)})"
    if not values:
        raise PlanError("pivot() needs at least one attribute in values=.",
                        where=text, hint='Name the attributes, such as values=["speed"].')
    if twice := [each for at, each in enumerate(values) if each in values[:at]]:
        raise PlanError(f"values= must name each attribute once, got {str(twice[0])!r} twice.",
                        where=text, hint="Remove the second one.")
    schema.index(attribute, where=text)
    schema.index(value, where=text)
    every = (*keys, *named_columns("pivot", names, {}))
    made: list[tuple[str, Aggregate]] = []
    for each in values:
        check_name(str(each), "pivot")
        here = Col(attribute) == each
        reduced = (aggregate or Single.of)(Col(value)) if aggregate is None or callable(aggregate) else aggregate
        if not isinstance(reduced, Aggregate):
            raise PlanError("aggregate must be a function from the value to one aggregate.", where=text,
                            hint="Use one such as wb.sum, or lambda value: wb.quantile(value, 0.9).")
        made.append((str(each), reduced.where(here)))
        made.append((_COUNT + str(each), HowMany(expr=Col(value) if aggregate is None else None).where(here)))
    columns = tuple(name for name, _ in every) + tuple(str(each) for each in values)
    reduce = GroupAggregate(keys=every, measures=tuple(made))
    return [reduce, Pivot(columns=columns, single=aggregate is None, text=text)]


class PivotKernel(Stateless):
    """Leaves out the counts, once it has seen that none is above one, or has put null where they are 0."""

    def __init__(self, pivot: Pivot, schema: Schema) -> None:
        self.pivot, self.schema = pivot, schema

    def apply(self, batch: Batch) -> Batch:
        columns = []
        for name in self.schema.names:
            column = batch.column(name)
            if _COUNT + name in batch.schema:
                rows = np.asarray(batch.column(_COUNT + name).values)
                if self.pivot.single and (rows > 1).any():
                    raise KernelError(f"Attribute {name!r} has several values at one time.", where=self.pivot.text,
                                      hint="Combine them with aggregate=, such as aggregate=wb.first.")
                column = _where(column, rows > 0)
            columns.append(column)
        return batch.having(schema=self.schema, columns=tuple(columns))


def _where(column: Column, there: Mask) -> Column:
    """The values that are there, and null elsewhere."""
    if there.all():
        return column
    if column.fixed:
        return Column(column.type, column.values, column.validity() & there)
    return column.take_or_null(np.arange(len(column)), there)


@dataclass(frozen=True, kw_only=True, eq=False)
class Single(Aggregate):
    """The single value; the smallest if there are several."""

    name: ClassVar[str] = "single"

    @staticmethod
    def of(expr: Expr) -> Single:
        return Single(expr=expr)

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        if input_type is None or not is_ordered(input_type):
            raise ExpressionError(f"pivot() supports numbers, booleans, times and strings, got {input_type}.",
                                  where=self.show(),
                                  hint="Cast the column, or leave it out.")
        return input_type

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> Multiset:
        return Multiset(multisets.LOWEST)


@dataclass(frozen=True, kw_only=True, eq=False)
class HowMany(Aggregate):
    """The number of values."""

    name: ClassVar[str] = "count"

    def result_type(self, input_type: pa.DataType | None) -> pa.DataType:
        return pa.int64()

    def steps(self, input_type: pa.DataType | None, *, removable: bool) -> AggregateFunctions:
        return AggregateFunctions(init=(0,), accumulate=one_more, remove=one_less, merge=both, result=number)


def one_more(state: State, value: Any) -> State:
    return (state[0] + 1,)


def one_less(state: State, value: Any) -> State:
    return (state[0] - 1,)


def both(left: State, right: State) -> State:
    return (left[0] + right[0],)


def number(state: State) -> Any:
    return state[0]
