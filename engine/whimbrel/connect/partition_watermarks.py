"""Watermarks of sources that are in order only within partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from whimbrel.batch import Schema
from whimbrel.clock.duration import Duration, duration_ticks
from whimbrel.errors import PlanError, SchemaError, near_match
from whimbrel.migration_hints import renamed
from whimbrel.plan.source import OrderingSpec


@dataclass(frozen=True, slots=True)
class PartitionWatermarks:
    """Watermarks of a source by partition, with their low watermark.

    Order holds in each partition of a source (device, sensor, shard), not in the source as a whole.

    A row is late if it is late in its own partition, independent of all others. The partitions share a **low
    watermark**: no partition, known or unknown, has an on-time row before it. The engine emits rows in order of time
    when the low watermark has passed them. Rows before it are late in every partition.

    Parameters
    ----------
    by : str
        The column that names the partition. Null is a partition like any other.
    max_lag : str, timedelta or int (ticks), optional
        Distance of the low watermark from the newest row of any partition: as much as the slowest partition may lag.
        Without it nothing settles before the source ends or a punctuation arrives. A feed with ``idle_timeout`` does
        not wait for `max_lag` once all partitions that are not idle have passed a time. At several latencies, each
        result waits for its latency in addition.
    every : str, timedelta or int (ticks), optional
        The low watermark advances in multiples of this. Default: with every row that is newer than all before it.

    Notes
    -----
    Only time is partitioned. Rows of different partitions meet in windows, joins and patterns. Use
    ``group_by("device")`` or ``on="device"`` to separate them.

    Examples
    --------
    Device b lags 50 ticks, but its rows are on time:

    >>> import whimbrel as wb
    >>> rows = {"at": [60, 10, 70, 20], "device": ["a", "b", "a", "b"]}
    >>> wb.from_arrow(rows, time="at", partition="device").select("device").collect().column("start").to_pylist()
    [10, 20, 60, 70]

    With a smaller `max_lag`, the rows of b are late:

    >>> slow = wb.PartitionWatermarks(by="device", max_lag=55)
    >>> wb.from_arrow(rows, time="at", partition=slow, late="drop").collect().column("at").to_pylist()
    [10, 20, 60, 70]
    >>> hasty = wb.PartitionWatermarks(by="device", max_lag=45)
    >>> wb.from_arrow(rows, time="at", partition=hasty, late="drop").collect().column("at").to_pylist()
    [60, 70]
    """

    by: str
    max_lag: Duration | None = None
    every: Duration | None = None


PartitionWatermarks.__init__ = renamed(lag="max_lag")(PartitionWatermarks.__init__)  # type: ignore[method-assign]


def by_of(partition: str | PartitionWatermarks | None) -> str | None:
    """The column that names partitions."""
    return partition.by if isinstance(partition, PartitionWatermarks) else partition


def in_partitions(disorder: OrderingSpec, partition: str | PartitionWatermarks | None, schema: Schema, *,
                  where: str) -> OrderingSpec:
    """Make an ordering hold in each partition.

    Parameters
    ----------
    disorder : OrderingSpec
    partition : str or PartitionWatermarks, optional
    schema : Schema
        Payload of the source.
    where : str
        The user's call, for errors.

    Raises
    ------
    SchemaError
        For a column that is not there or cannot tell partitions apart.
    PlanError
        For a negative lag, or a period that is not positive or moves nothing.
    """
    if partition is None:
        return disorder
    watermarks = PartitionWatermarks(partition) if isinstance(partition, str) else partition
    if not isinstance(watermarks, PartitionWatermarks):
        raise PlanError(f"partition must be a column name or wb.PartitionWatermarks, got {partition!r}.", where=where,
                        hint='Use partition="device" or partition=wb.PartitionWatermarks(by="device", max_lag="1m").')
    _check_column(watermarks.by, schema, where)
    lag = None if watermarks.max_lag is None else duration_ticks(watermarks.max_lag, schema.unit, where=where)
    every = 1 if watermarks.every is None else duration_ticks(watermarks.every, schema.unit, where=where)
    if lag is not None and lag < 0:
        raise PlanError(f"max_lag must be at least 0, got {watermarks.max_lag!r}.", where=where,
                        hint='Use for example max_lag="1m".')
    if every <= 0:
        raise PlanError(f"every must be positive, got {watermarks.every!r}.", where=where,
                        hint='Use for example every="10s".')
    if watermarks.every is not None and lag is None:
        raise PlanError(f"every={watermarks.every!r} needs max_lag: without it there is no low watermark.", where=where,
                        hint='Use wb.PartitionWatermarks(by="device", max_lag="1m", every="10s").')
    return replace(disorder, partition=watermarks.by, lag=lag, every=every)


def _check_column(name: str, schema: Schema, where: str) -> None:
    names: Sequence[str] = schema.names
    if name not in names:
        raise SchemaError(f"partition must be a column of the payload, got {name!r}.", where=where,
                          hint=near_match(str(name), names))
    type_ = schema.type_of(name)
    if pa.types.is_nested(type_):
        raise SchemaError(f"The partition column must hold numbers, strings, times or booleans; {name!r} is {type_}.",
                          where=where, hint="Use another column, or convert it first.")
