"""Partial aggregates of windows in Spark SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from whimbrel.aggregates import Count, Max, Mean, Min, Sum
from whimbrel.aggregates.mean import HUGE, HUGE_UNIT
from whimbrel.batch import Schema
from whimbrel.expr import type_of
from whimbrel.operators import GroupAggregate, HoppingWindow, Select, SlidingWindow, Where
from whimbrel.plan import Aggregate, AggregatePhase, Node, Source
from whimbrel.spark.expressions import Names, native
from whimbrel.spark.rows import ENDS, TICKS, SparkRows, quoted
from whimbrel.spark.types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class _Grouped:
    """A query that Spark SQL can group: rows that count, what they are grouped by, and what is kept of each group."""

    rows: DataFrame
    pane: Column
    hop: int
    keys: tuple[Column, ...]
    states: tuple[Column, ...]


def states_in_sql(plan: Node, given: SparkRows) -> DataFrame | None:
    """The states of a window's panes as rows for the next stage; None where Spark would count otherwise.

    Parameters
    ----------
    plan : Node
        An aggregate to states, of windows, of filters and choices of columns, of a source.
    given : Rows
        The source.
    """
    from pyspark.sql import functions as f

    asked = _grouped(plan, given)
    if asked is None:
        return None
    names = [field.name for field in plan.schema]
    grouped = asked.rows.groupBy(asked.pane.alias(TICKS), *(key.alias(f"k{at}") for at, key in enumerate(asked.keys)))
    made = grouped.agg(*(state.alias(f"s{at}") for at, state in enumerate(asked.states)))
    columns = [f"k{at}" for at in range(len(asked.keys))] + [f"s{at}" for at in range(len(asked.states))]
    return made.select(TICKS, (f.col(TICKS) + asked.hop).alias(ENDS),
                       *(f.col(column).alias(name) for column, name in zip(columns, names, strict=True)))


def _grouped(plan: Node, given: SparkRows) -> _Grouped | None:
    from pyspark.sql import functions as f

    aggregate, window = plan.op, plan.inputs[0].op
    if not isinstance(aggregate, GroupAggregate) or aggregate.part is not AggregatePhase.STATES or not isinstance(
            window, HoppingWindow):
        return None
    chosen = _chosen(plan.inputs[0].inputs[0], given)
    if chosen is None:
        return None
    rows, names, schema = chosen
    strict = _is_strict(given.frame)
    if aggregate.condition is not None:
        predicate = native(aggregate.condition, names, schema, may_fail=False)
        if predicate is None:
            return None
        rows = rows.where(predicate)
    keys = [_key(native(expr, names, schema, may_fail=strict), type_of(expr, schema)) for _, expr in aggregate.keys]
    states = [states_of(each, names, schema, strict=strict) for _, each in aggregate.measures]
    if any(key is None for key in keys) or any(state is None for state in states):
        return None
    assert len(keys) + sum(len(state or ()) for state in states) == len(plan.schema.names)
    ticks = f.col(TICKS)
    into = f.pmod(ticks - window.offset, f.lit(window.hop)) if window.label == "start" else f.pmod(
        window.offset - ticks, f.lit(window.hop))
    pane = ticks - into if window.label == "start" else ticks + into
    return _Grouped(rows, pane, window.size, tuple(key for key in keys if key is not None),
                    tuple(column for state in states if state is not None for column in state))


def rows_in_sql(plan: Node, given: SparkRows) -> DataFrame | None:
    """Filters and choices of columns of points as rows for the next stage; None where Spark would count otherwise."""
    from pyspark.sql import functions as f

    if given.timeline is None or given.timeline.end is not None or any(
            isinstance(node.op, SlidingWindow) for node in plan.walk()):
        return None
    chosen = _chosen(plan, given)
    if chosen is None or any(name not in chosen[1] for name in plan.schema.names):
        return None
    rows, names, _ = chosen
    return rows.select(TICKS, (f.col(TICKS) + 1).alias(ENDS), *(names[name].alias(name) for name in plan.schema.names))


def _chosen(node: Node, given: SparkRows) -> tuple[DataFrame, Names, Schema] | None:
    """The rows that a chain of filters and choices leaves, with their start, and what stands for their columns."""
    steps: list[Node] = []
    while not isinstance(node.op, Source):
        steps.append(node)
        node, = node.inputs
    strict = _is_strict(given.frame)
    rows, names, schema = given.frame.withColumn(TICKS, given.ticks()), names_of(given), given.schema
    for step in reversed(steps):
        match step.op:
            case Where(condition=condition):
                predicate = native(condition, names, schema, may_fail=False)
                if predicate is None:
                    return None
                rows = rows.where(predicate)
            case Select(columns=columns):
                made = {name: native(expr, names, schema, may_fail=strict) for name, expr in columns}
                names, schema = {name: column for name, column in made.items() if column is not None}, step.schema
            case SlidingWindow():
                pass  # the window after it needs starts only
            case _:
                return None
    return rows, names, schema


def _is_strict(frame: DataFrame) -> bool:
    return frame.sparkSession.conf.get("spark.sql.ansi.enabled", "false") == "true"


def names_of(given: SparkRows) -> Names:
    """The columns of a source whose values are the same to Spark and to the engine."""
    from pyspark.sql import functions as f

    fields = pa.schema([(field.name, field.type) for field in given.schema if field.name in given.frame.columns])
    here = {field.name: field.dataType for field in given.frame.schema.fields}
    found = {}
    for field in fields:
        try:
            same = spark_schema(pa.schema([field]))[field.name].dataType == here[field.name]
        except Exception:  # noqa: BLE001 - a type that Spark has not
            same = False
        if same:
            found[field.name] = f.col(quoted(field.name))
    return found


def _key(key: Column | None, type_: pa.DataType) -> Column | None:
    """What is one group to Spark is one to the engine, but for floats."""
    return None if key is None or pa.types.is_floating(type_) or pa.types.is_nested(type_) else key


def states_of(aggregate: Aggregate, names: Names, schema: Schema, *, strict: bool) -> tuple[Column, ...] | None:
    """The state of an aggregate as columns, in the order of its fields; None for those that Spark has not."""
    from pyspark.sql import functions as f

    counted = None
    if aggregate.condition is not None and (
            counted := native(aggregate.condition, names, schema, may_fail=False)) is None:
        return None
    if aggregate.expr is None:
        if not isinstance(aggregate, Count):
            return None
        return (f.count(f.lit(1)) if counted is None else f.count(f.when(counted, f.lit(1))),)
    type_ = type_of(aggregate.expr, schema)
    value = native(aggregate.expr, names, schema, may_fail=strict)
    if value is None:
        return None
    if counted is not None:
        value = f.when(counted, value)
    rows = f.count(value)
    number = value.cast("int") if pa.types.is_boolean(type_) else value
    match aggregate:
        case Count():
            return (rows,)
        case Sum() if aggregate.widen:
            return None
        case Sum() if pa.types.is_floating(type_):
            return (f.coalesce(f.sum(number.cast("double")), f.lit(0.0)),)
        case Sum() if pa.types.is_int64(type_):
            return _whole_sum(number)
        case Sum() if pa.types.is_integer(type_) or pa.types.is_boolean(type_):
            return f.coalesce(f.sum(number.cast("long")), f.lit(0).cast("long")), f.lit(0).cast("long")
        case Mean() if pa.types.is_floating(type_):
            return _float_mean(number.cast("double"), rows)
        case Mean() if (pa.types.is_integer(type_) and not pa.types.is_uint64(type_)) or pa.types.is_boolean(type_):
            return _whole_mean(number.cast("long"), rows)
        case Min() | Max() if pa.types.is_integer(type_) or pa.types.is_floating(type_):
            end = f.min(value) if isinstance(aggregate, Min) else f.max(value)
            kind = "double" if pa.types.is_floating(type_) else "long"
            return f.coalesce(end.cast(kind), f.lit(0).cast(kind)), rows
    return None


def _float_mean(value: Column, rows: Column) -> tuple[Column, Column, Column]:
    """The sum of all but the huge values, rows, and the sum of these in their unit."""
    from pyspark.sql import functions as f

    small = f.when((value > -HUGE) & (value < HUGE), value).otherwise(f.lit(0.0))
    sums = (f.coalesce(f.sum(each), f.lit(0.0)) for each in (small, (value - small) / HUGE_UNIT))
    return next(sums), rows, next(sums)


def _whole_mean(value: Column, rows: Column) -> tuple[Column, Column, Column]:
    """The sum of integers in two floats, the larger one last."""
    from pyspark.sql import functions as f

    exact = _exact_sum(value)
    large = exact.cast("double")
    small = (exact - large.cast("decimal(38,0)")).cast("double")
    return f.coalesce(small, f.lit(0.0)), rows, f.coalesce(large, f.lit(0.0))


def _exact_sum(value: Column) -> Column:
    """The halves of the numbers are added up without an overflow."""
    from pyspark.sql import functions as f

    high, low = f.sum(f.shiftright(value, 32)), f.sum(value.bitwiseAND(f.lit(0xFFFFFFFF)))
    return high.cast("decimal(38,0)") * f.lit(1 << 32).cast("decimal(11,0)") + low.cast("decimal(38,0)")


def _whole_sum(value: Column) -> tuple[Column, Column]:
    """A sum modulo 2**64, and how often it went around."""
    from pyspark.sql import functions as f

    half, around = (f.lit(str(number)).cast("decimal(38,0)") for number in (1 << 63, 1 << 64))
    exact = _exact_sum(value)
    total = f.pmod(exact + half, around) - half
    wraps = f.call_function("div", exact - total, around)
    return f.coalesce(total.cast("long"), f.lit(0).cast("long")), f.coalesce(wraps.cast("long"), f.lit(0).cast("long"))
